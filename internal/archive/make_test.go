package archive

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"skillgraph/internal/errs"
)

// seen is what came of reading an archive.
type seen struct {
	paths []string
	bytes int64
	err   error
}

// read visits everything that an archive shows.
func read(walk func(Visit) error) (s seen) {
	s.err = walk(func(path string, _ int64, content io.Reader) error {
		s.paths = append(s.paths, path)
		n, err := io.Copy(io.Discard, content)
		s.bytes += n
		return err
	})
	return s
}

func readTarGz(b []byte) seen {
	return read(func(v Visit) error { return TarGz(bytes.NewReader(b), v) })
}

func readZip(b []byte) seen {
	return read(func(v Visit) error { return Zip(bytes.NewReader(b), int64(len(b)), v) })
}

// hostile is an archive that is refused, and why.
type hostile struct {
	name string
	made []byte
	why  string
	code errs.Code // none: INVALID
}

// entry is a file, a folder or something worse in a tar.
type entry struct {
	name string
	kind byte // 0: a file
	data string
	size any    // where it is not that of the data: a number, or the field's bytes
	bad  bool   // its checksum
	as   []byte // all of it, made by hand
}

// raw writes an entry as it is, whatever a proper writer would think of it.
func (e entry) raw() []byte {
	if e.as != nil {
		return e.as
	}
	h := make([]byte, block)
	if e.kind == 0 {
		e.kind = '0'
	}
	size := fmt.Sprintf("%011o", len(e.data))
	switch s := e.size.(type) {
	case int:
		size = fmt.Sprintf("%011o", s)
	case string:
		size = s
	}
	copy(h, e.name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], size)
	copy(h[136:], "00000000000\x00")
	h[156] = e.kind
	copy(h[157:], "target")
	copy(h[257:], "ustar\x0000")
	sign(h)
	if e.bad {
		h[0]++
	}
	return append(h, padded(e.data)...)
}

// sign writes a header's checksum, which is over a blank one.
func sign(h []byte) {
	copy(h[148:], "        ")
	sum := 0
	for _, b := range h[:block] {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
}

func padded(data string) []byte {
	return append([]byte(data), make([]byte, (block-len(data)%block)%block)...)
}

// named makes a file for every name, with a header of GNU for those that are long.
func named(names ...string) (out []entry) {
	for _, n := range names {
		if len(n) > 99 {
			out = append(out, entry{name: "././@LongLink", kind: 'L', data: n + "\x00"})
		}
		out = append(out, entry{name: n[:min(len(n), 99)], data: "x"})
	}
	return out
}

// pax is an extended header.
func pax(records ...string) entry {
	var b strings.Builder
	for i := 0; i < len(records); i += 2 {
		body := " " + records[i] + "=" + records[i+1] + "\n"
		n := len(body) + 1
		for len(fmt.Sprint(n))+len(body) != n {
			n++
		}
		fmt.Fprintf(&b, "%d%s", n, body)
	}
	return entry{name: "PaxHeaders/x", kind: 'x', data: b.String()}
}

var endOfTar = make([]byte, 2*block)

func tarOf(entries ...entry) []byte { return append(cutTar(entries...), endOfTar...) }

// cutTar has no end.
func cutTar(entries ...entry) (out []byte) {
	for _, e := range entries {
		out = append(out, e.raw()...)
	}
	return out
}

func gz(parts ...[]byte) []byte { return gzAt(gzip.BestSpeed, parts...) }

func gzAt(level int, parts ...[]byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err)
	}
	for _, p := range parts {
		_, _ = w.Write(p)
	}
	_ = w.Close()
	return b.Bytes()
}

func tgz(entries ...entry) []byte { return gz(tarOf(entries...)) }

// zipped is an entry of a zip, with a way to lie about everything.
type zipped struct {
	name    string
	data    string
	store   bool
	mode    uint32              // of Unix
	local   func(header []byte) // changes what stands before the file
	central func(header []byte) // changes what the directory says
	extra   []byte              // in the directory
}

// zipFile is a zip with a way to lie about the whole.
type zipFile struct {
	before, gap, after []byte
	entries            []zipped
	junk               []byte // in the directory
	end                func(record []byte)
}

func (z zipFile) raw() []byte {
	out, directory := append([]byte{}, z.before...), []byte{}
	for _, e := range z.entries {
		method, data := uint16(0), []byte(e.data)
		if !e.store {
			method, data = 8, deflate(e.data)
		}
		at := len(out)
		local := make([]byte, localLength)
		put(local, 0, "PK\x03\x04", uint16(20), uint16(0x800), method, uint32(0), crc32.ChecksumIEEE([]byte(e.data)), uint32(len(data)), uint32(len(e.data)), uint16(len(e.name)), uint16(0))
		head := make([]byte, directoryLength)
		put(head, 0, "PK\x01\x02", uint16(3<<8|20), uint16(20), uint16(0x800), method, uint32(0), crc32.ChecksumIEEE([]byte(e.data)), uint32(len(data)), uint32(len(e.data)), uint16(len(e.name)),
			uint16(len(e.extra)), uint16(0), uint16(0), uint16(0), e.mode<<16, uint32(at))
		if e.local != nil {
			e.local(local)
		}
		if e.central != nil {
			e.central(head)
		}
		out = append(append(append(out, local...), e.name...), data...)
		directory = append(append(append(directory, head...), e.name...), e.extra...)
	}
	directory = append(directory, z.junk...)
	end := make([]byte, endLength)
	put(end, 0, "PK\x05\x06", uint32(0), uint16(len(z.entries)), uint16(len(z.entries)), uint32(len(directory)), uint32(len(out)), uint16(0))
	if z.end != nil {
		z.end(end)
	}
	out = append(append(out, directory...), z.gap...)
	return append(append(out, end...), z.after...)
}

func deflate(s string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestSpeed)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.Bytes()
}

// put writes fields one after the other.
func put(b []byte, at int, fields ...any) {
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			at += copy(b[at:], f)
		case uint16:
			binary.LittleEndian.PutUint16(b[at:], f)
			at += 2
		case uint32:
			binary.LittleEndian.PutUint32(b[at:], f)
			at += 4
		}
	}
}

// set changes a field of a header.
func set(at int, v any) func([]byte) { return func(b []byte) { put(b, at, v) } }

// zips makes a file for every name; one that ends with a slash is a folder.
func zips(names ...string) []byte {
	var z zipFile
	for _, n := range names {
		e := zipped{name: n, data: "some content", store: true}
		if strings.HasSuffix(n, "/") {
			e.data = ""
		}
		z.entries = append(z.entries, e)
	}
	return z.raw()
}

func zipOf(entries ...zipped) []byte { return zipFile{entries: entries}.raw() }

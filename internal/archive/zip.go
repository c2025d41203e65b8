package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"skillgraph/internal/errs"
)

// Sizes and marks of the format.
const (
	endLength       = 22
	directoryLength = 46
	localLength     = 30
	maxComment      = 1<<16 - 1
	maxDirectory    = 8 << 20 // bytes: it is held in memory
)

// Zip visits the files of a zip in the order of its directory. The directory must be what it seems to be, every file must be
// where and what it says there, no two may share bytes, and nothing may stand before the first or after the end.
func Zip(r io.ReaderAt, size int64, visit Visit) error {
	if size > MaxPacked {
		return tooLargePacked()
	}
	r = readerAt{r}
	dir, err := readDirectory(r, size)
	if err != nil {
		return err
	}
	archive, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // we have our own rules for paths
		return broken(err, "is not a readable zip archive")
	}
	paths, err := checkFiles(r, archive.File, dir)
	if err != nil {
		return err
	}
	for i, f := range archive.File {
		if isDir(f) {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return broken(err, "%s is damaged or cut off", quote(f.Name))
		}
		err = pass(visit, paths[i], f.Name, int64(f.UncompressedSize64), content)
		_ = content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// directory is what a zip ends with.
type directory struct {
	begin int64
	files []int64 // where they begin, in its order
}

// readDirectory walks the directory before a library makes an object of everything in it.
func readDirectory(r io.ReaderAt, size int64) (d directory, err error) {
	tail := make([]byte, min(size, endLength+maxComment))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return d, broken(err, "is not a zip archive")
	}
	at := bytes.LastIndex(tail[:max(0, len(tail)-endLength+4)], []byte("PK\x05\x06"))
	if at < 0 {
		return d, errs.At().Because("is not a zip archive, or it is cut off")
	}
	end := tail[at:]
	disk, count, length := u16(end, 4)|u16(end, 6), u16(end, 10), u32(end, 12)
	d.begin = u32(end, 16)
	switch {
	case endLength+u16(end, 20) != int64(len(end)):
		return d, errs.At().Because("has something after its end, or it is cut off")
	case count == 0xffff || length == 0xffffffff || d.begin == 0xffffffff:
		return d, errs.New(errs.TooLarge, "The archive is in the format of very large ones, zip64")
	case disk != 0 || u16(end, 8) != count:
		return d, errs.At().Because("is one part of several")
	case count > MaxEntries:
		return d, tooMany()
	case length > maxDirectory:
		return d, errs.New(errs.TooLarge, "The archive's directory is larger than %d MiB", maxDirectory>>20)
	case d.begin+length != size-int64(len(end)):
		return d, errs.At().Because("does not end with its directory, or does not begin with its first file")
	}
	d.files, err = walkDirectory(io.NewSectionReader(r, d.begin, length))
	if err == nil && int64(len(d.files)) != count {
		err = errs.At().Because("says that it has %d entries, and has %d", count, len(d.files))
	}
	return d, err
}

func u16(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint16(b[i:])) }
func u32(b []byte, i int) int64 { return int64(binary.LittleEndian.Uint32(b[i:])) }

func walkDirectory(r io.Reader) (files []int64, err error) {
	in := bufio.NewReader(r)
	head := make([]byte, directoryLength)
	for {
		if _, err := io.ReadFull(in, head); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, broken(err, "has a directory that is cut off")
		}
		if string(head[:4]) != "PK\x01\x02" {
			return nil, errs.At().Because("has a directory with something else in it")
		}
		if files = append(files, u32(head, 42)); len(files) > MaxEntries {
			return nil, tooMany()
		}
		if _, err := in.Discard(int(u16(head, 28) + u16(head, 30) + u16(head, 32))); err != nil { // name, more fields, comment
			return nil, broken(err, "has a directory that is cut off")
		}
	}
}

// checkFiles checks every entry before the first is read, and returns their paths.
func checkFiles(r io.ReaderAt, files []*zip.File, dir directory) ([]string, error) {
	var gate gate
	var packed int64
	paths := make([]string, len(files))
	for i, f := range files {
		err := allowedInZip(f)
		if err == nil {
			// A size beyond all limits is one, not a negative number.
			paths[i], err = gate.enter(f.Name, isDir(f), int64(min(f.UncompressedSize64, MaxUnpacked+1)))
		}
		if err != nil {
			return nil, err
		}
		packed += int64(min(f.CompressedSize64, MaxPacked))
	}
	if gate.bytes > ratioFrom && gate.bytes > maxRatio*packed {
		return nil, bomb()
	}
	return paths, checkPlaces(r, files, dir)
}

func isDir(f *zip.File) bool { return strings.HasSuffix(f.Name, "/") }

func allowedInZip(f *zip.File) error {
	const (
		encrypted = 1 | 1<<6 | 1<<13
		patched   = 1 << 5
		typeBits  = 0o170000
		folder    = 0o040000
		regular   = 0o100000
		link      = 0o120000
	)
	mode := f.ExternalAttrs >> 16 & typeBits
	switch {
	case f.Flags&encrypted != 0:
		return refuse(f.Name, "it is encrypted")
	case f.Flags&patched != 0 || f.Method != zip.Store && f.Method != zip.Deflate:
		return refuse(f.Name, "only deflate and no compression are understood")
	case mode == link:
		return refuse(f.Name, "a link is not allowed")
	case mode != 0 && mode != regular && mode != folder:
		return refuse(f.Name, "only files and folders are allowed")
	case mode == folder && !isDir(f):
		return refuse(f.Name, "the name of a folder must end with a slash")
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return refuse(f.Name, "its size is not what it says")
	}
	return nil
}

// checkPlaces makes sure that the files lie one after the other, each under its own name: bytes that serve several files make a
// bomb, and a second name or size is what another program would go by.
func checkPlaces(r io.ReaderAt, files []*zip.File, dir directory) error {
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(dir.files[a], dir.files[b]) })
	var end int64
	for n, i := range order {
		f, begin := files[i], dir.files[i]
		if n == 0 && begin != 0 {
			return errs.At().Because("has something before its first file")
		}
		if begin < end {
			return refuse(f.Name, "it overlaps another entry")
		}
		if err := agrees(r, f, begin); err != nil {
			return err
		}
		data, err := f.DataOffset()
		if err != nil {
			return broken(err, "%s is damaged or cut off", quote(f.Name))
		}
		if end = data + int64(min(f.CompressedSize64, MaxPacked)); end > dir.begin {
			return refuse(f.Name, "it is larger than the archive")
		}
	}
	return nil
}

// agrees compares the directory with what stands before the file itself.
func agrees(r io.ReaderAt, f *zip.File, at int64) error {
	const sizesFollow = 1 << 3
	head := make([]byte, localLength+len(f.Name))
	if _, err := r.ReadAt(head, at); err != nil {
		return broken(err, "%s is damaged or cut off", quote(f.Name))
	}
	known := u32(head, 22) != 0xffffffff && u16(head, 6)&sizesFollow == 0
	switch {
	case string(head[:4]) != "PK\x03\x04":
		return refuse(f.Name, "it is not where the directory says")
	case u16(head, 26) != int64(len(f.Name)) || string(head[localLength:]) != f.Name:
		return refuse(f.Name, "it has another name in the directory")
	case u16(head, 8) != int64(f.Method) || u16(head, 6)&1 != 0 || known && u32(head, 18) != int64(f.CompressedSize64) || known && u32(head, 22) != int64(f.UncompressedSize64):
		return refuse(f.Name, "the directory says otherwise of it")
	}
	return nil
}

// readerAt marks the errors of the reader below.
type readerAt struct{ r io.ReaderAt }

func (r readerAt) ReadAt(b []byte, at int64) (int, error) {
	n, err := r.r.ReadAt(b, at)
	if err != nil && !errors.Is(err, io.EOF) {
		err = ioError{err}
	}
	return n, err
}

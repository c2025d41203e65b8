package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"skillgraph/internal/errs"
)

const (
	block     = 512
	maxHeader = 64 << 10 // bytes before a file's content: extended headers, long names
	// The whole tar: the files, and some headers and padding for each.
	maxTar = MaxUnpacked + MaxEntries*8*block
)

// TarGz visits the files of a tar.gz, which it reads to the very end: a stream that is cut off, or that has anything after its
// end, is refused. So is a second gzip member, since programs disagree on whether it belongs to the archive.
func TarGz(r io.Reader, visit Visit) error {
	var gate gate
	return tarGz(r, &gate, func(h *tar.Header, content io.Reader) error {
		if err := allowed(h); err != nil {
			return err
		}
		dir := h.Typeflag == tar.TypeDir
		clean, err := gate.enter(h.Name, dir, h.Size)
		if err != nil || dir {
			return err
		}
		return pass(visit, clean, h.Name, h.Size, content)
	})
}

// each is shown every entry, and reads its content to the end.
type each func(h *tar.Header, content io.Reader) error

func tarGz(r io.Reader, gate *gate, each each) error {
	in := &packed{r: r}
	buffered := bufio.NewReader(in) // gzip reads no further than its end from one that has ReadByte
	gz, err := gzip.NewReader(buffered)
	if err != nil {
		return broken(err, "is not a gzip file")
	}
	gz.Multistream(false)
	out := &unpacked{r: gz, in: in}
	if err := readTar(out, gate, each); err != nil {
		return err
	}
	if err := onlyZeros(out); err != nil {
		return err
	}
	if _, err := buffered.ReadByte(); !errors.Is(err, io.EOF) {
		return broken(err, "has something after its end")
	}
	return nil
}

func readTar(out *unpacked, gate *gate, each each) error {
	files := tar.NewReader(out)
	for {
		end := out.n + (block-out.n%block)%block // of what was read, with its padding
		out.until = end + maxHeader
		h, err := files.Next()
		out.until = maxTar
		if errors.Is(err, io.EOF) && out.n-end >= 2*block {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // we have our own rules for paths
			return broken(err, "is not a readable tar archive, or it is cut off")
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // git writes one, with the commit
			if gate.entries++; gate.entries > MaxEntries {
				return tooMany()
			}
			continue
		}
		if err := each(h, files); err != nil {
			return err
		}
	}
}

// allowed are files and folders. A sparse file may be of any size without holding anything.
func allowed(h *tar.Header) error {
	if h.Typeflag == tar.TypeGNUSparse {
		return refuse(h.Name, "a sparse file is not allowed")
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return refuse(h.Name, "a sparse file is not allowed")
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
		return nil
	case tar.TypeSymlink, tar.TypeLink:
		return refuse(h.Name, "a link is not allowed")
	}
	return refuse(h.Name, "only files and folders are allowed")
}

// onlyZeros reads what follows the tar's end mark, which is padding, and makes gzip compare its checksum.
func onlyZeros(out *unpacked) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := out.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return errs.At().Because("has something after the end of its tar")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(err, "is damaged or cut off")
		}
	}
}

// packed counts what comes in.
type packed struct {
	r io.Reader
	n int64
}

func (p *packed) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if p.n += int64(n); p.n > MaxPacked {
		return 0, tooLargePacked()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = ioError{err}
	}
	return n, err
}

// unpacked counts what comes out.
type unpacked struct {
	r     io.Reader
	in    *packed
	n     int64
	until int64 // and no further
}

func (u *unpacked) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	u.n += int64(n)
	switch {
	case u.n > ratioFrom && u.n > maxRatio*u.in.n:
		return 0, bomb()
	case u.n > maxTar:
		return 0, errs.New(errs.TooLarge, "The archive unpacks to more than %d MiB", MaxUnpacked>>20)
	case u.n > u.until:
		return 0, errs.New(errs.TooLarge, "The archive has an entry with more than %d KiB of headers", maxHeader>>10)
	}
	return n, err
}

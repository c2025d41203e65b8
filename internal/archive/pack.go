package archive

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"

	"skillgraph/internal/errs"
)

// Source is a file to pack.
type Source struct {
	Path string
	Size int64
	Open func() (io.ReadCloser, error)
}

// Pack writes files as a tar.gz that TarGz reads. Nothing but paths and content is in it, so that the same files make the same
// bytes, in whatever order they come (and as long as Go compresses as it does: what must last compares manifests).
func Pack(w io.Writer, files []Source) error {
	files = slices.SortedFunc(slices.Values(files), func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	out := &counter{w: w}
	gz := gzip.NewWriter(out)
	archive := tar.NewWriter(gz)
	var gate gate
	for _, f := range files {
		clean, err := gate.enter(f.Path, false, f.Size)
		if err != nil {
			return err
		}
		if err := packFile(archive, clean, f); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := gz.Close(); err != nil {
		return err
	}
	if gate.bytes > ratioFrom && gate.bytes > maxRatio*out.n {
		return bomb()
	}
	return nil
}

func packFile(w *tar.Writer, clean string, f Source) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: clean, Size: f.Size, Mode: 0o644}); err != nil {
		return err
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	n, err := io.Copy(w, content)
	if err == nil && n != f.Size {
		err = fmt.Errorf("archive: %s has %d bytes, not %d", quote(f.Path), n, f.Size)
	}
	return err
}

// counter counts what is written, up to the limit.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	if c.n += int64(len(p)); c.n > MaxPacked {
		return 0, errs.New(errs.TooLarge, "The files are larger than %d MiB when packed", MaxPacked>>20)
	}
	return c.w.Write(p)
}

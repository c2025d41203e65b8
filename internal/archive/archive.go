// Package archive reads archives that nobody trusts: every path is checked, every size is bounded, and what could be read in two
// ways is refused. Files pass through as streams; none is ever held in memory.
//
// What it refuses is told in a sentence that names the entry (errs.At().Because); the caller puts its field before it with
// errs.Within. Whatever is too large is errs.TooLarge. An error of the underlying reader is handed on as it is.
package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"

	"skillgraph/internal/errs"
)

// What an archive may be.
const (
	MaxPacked   = 50 << 20  // bytes
	MaxUnpacked = 200 << 20 // bytes of all files
	MaxEntries  = 10_000    // files and folders

	// Text packs 3 to 10 times, logs up to 100 times. Only beyond 32 MiB does it matter: what is smaller is no bomb.
	maxRatio  = 200
	ratioFrom = 32 << 20
)

// Visit is called for every regular file, in the archive's order. The path is clean, and content need not be read to its end.
type Visit func(path string, size int64, content io.Reader) error

// File is a file of an archive.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // hex
}

// Manifest lists the files that walk visits, sorted by path, while also (it may be nil) sees the same content:
//
//	files, err := archive.Manifest(func(v archive.Visit) error { return archive.TarGz(r, v) }, nil)
func Manifest(walk func(Visit) error, also Visit) ([]File, error) {
	files := []File{}
	err := walk(func(path string, size int64, content io.Reader) error {
		hash := sha256.New()
		content = io.TeeReader(content, hash)
		if also != nil {
			if err := also(path, size, content); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		files = append(files, File{path, size, hex.EncodeToString(hash.Sum(nil))})
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// gate counts the entries of an archive and lets in those that keep to the rules.
type gate struct {
	paths   Paths
	entries int
	bytes   int64 // of all files so far, as they are declared
}

// enter lets an entry in. A folder may be the archive's root: "./".
func (g *gate) enter(name string, dir bool, size int64) (clean string, err error) {
	if g.entries++; g.entries > MaxEntries {
		return "", tooMany()
	}
	if clean, err = g.paths.add(name, dir); err != nil {
		return "", err
	}
	if dir && size != 0 {
		return "", refuse(name, "a folder has no content of its own")
	}
	if size > MaxUnpacked-g.bytes {
		return "", errs.New(errs.TooLarge, "The archive unpacks to more than %d MiB", MaxUnpacked>>20)
	}
	g.bytes += size
	return clean, nil
}

// pass shows a file to its visitor, and makes sure that all of it is there and as it should be.
func pass(visit Visit, clean, name string, size int64, from io.Reader) error {
	c := content{from, name}
	if err := visit(clean, size, c); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c)
	return err
}

// content is a file's bytes. The readers of the library give exactly as many as were declared, or an error, again and again.
type content struct {
	from io.Reader
	name string
}

func (c content) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err, "%s is damaged or cut off", quote(c.name))
	}
	return n, err
}

func bomb() error {
	return errs.New(errs.TooLarge, "The archive unpacks to more than %d times its size", maxRatio)
}

func tooMany() error {
	return errs.New(errs.TooLarge, "The archive has more than %d entries", MaxEntries)
}

func tooLargePacked() error {
	return errs.New(errs.TooLarge, "The archive is larger than %d MiB", MaxPacked>>20)
}

// ioError is an error of the reader below, which says nothing about the archive.
type ioError struct{ error }

func (e ioError) Unwrap() error { return e.error }

// broken says what a library's complaint means, unless it is an answer of ours already, or no complaint about the archive.
func broken(err error, format string, args ...any) error {
	var known *errs.Error
	var below ioError
	switch {
	case errors.As(err, &below):
		return below.error
	case errors.As(err, &known):
		return known
	}
	return errs.At().Because(format, args...)
}

// refuse is about one entry.
func refuse(name, rule string, args ...any) error {
	return errs.At().Because("%s is refused: "+rule, append([]any{quote(name)}, args...)...)
}

// Package folder holds the folders of skills: brought in from an archive, from single files or from a repository under one set
// of rules, packed into one archive, and read again from there.
package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
)

// Folder is what somebody has brought, unpacked into one file on disk, where it can be read in any order.
type Folder struct {
	Files []*File

	disk  *os.File
	size  int64
	paths archive.Paths
}

// File is a file of a folder.
type File struct {
	archive.File

	at int64 // on the disk
}

// New is an empty folder.
func New() (*Folder, error) {
	disk, err := os.CreateTemp("", "skillgraph-folder-*")
	return &Folder{disk: disk}, err
}

// Close removes what is on disk.
func (f *Folder) Close() {
	_ = f.disk.Close()
	_ = os.Remove(f.disk.Name())
}

// Take takes a file, wherever it comes from: the same rules and limits hold for archives, single files and repositories.
func (f *Folder) Take(name string, size int64, content io.Reader) error {
	clean, err := f.paths.Add(name)
	if err != nil {
		return err
	}
	if len(f.Files) >= archive.MaxEntries {
		return errs.New(errs.TooLarge, "There are more than %d files", archive.MaxEntries)
	}
	if size > archive.MaxUnpacked-f.size {
		return errs.New(errs.TooLarge, "The files are larger than %d MiB together", archive.MaxUnpacked>>20)
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(f.disk, hash), content)
	if err != nil {
		return err
	}
	f.Files = append(f.Files, &File{File: archive.File{Path: clean, Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, at: f.size})
	f.size += n
	return nil
}

// Claim takes a name and leaves its file out.
func (f *Folder) Claim(name string) error {
	_, err := f.paths.Add(name)
	return err
}

// Find is the file at a path; nil when there is none.
func (f *Folder) Find(p string) *File {
	i := slices.IndexFunc(f.Files, func(file *File) bool { return file.Path == p })
	if i < 0 {
		return nil
	}
	return f.Files[i]
}

// Sort puts the files into the order of their paths.
func (f *Folder) Sort() {
	slices.SortFunc(f.Files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
}

// Open reads a file.
func (f *Folder) Open(file *File) *io.SectionReader {
	return io.NewSectionReader(f.disk, file.at, file.Size)
}

// Packed is an archive on disk.
type Packed struct {
	*os.File

	Hash string // SHA-256, in hex
	Size int64
}

// Close removes it.
func (p *Packed) Close() {
	_ = p.File.Close()
	_ = os.Remove(p.Name())
}

// Pack writes the archive that is kept: the same files are the same bytes.
func (f *Folder) Pack() (*Packed, error) {
	disk, err := os.CreateTemp("", "skillgraph-packed-*")
	if err != nil {
		return nil, err
	}
	p := &Packed{File: disk}
	sources := make([]archive.Source, len(f.Files))
	for i, file := range f.Files {
		sources[i] = archive.Source{Path: file.Path, Size: file.Size, Open: func() (io.ReadCloser, error) { return io.NopCloser(f.Open(file)), nil }}
	}
	hash := sha256.New()
	if err = archive.Pack(io.MultiWriter(disk, hash), sources); err == nil {
		p.Hash = hex.EncodeToString(hash.Sum(nil))
		p.Size, err = disk.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = disk.Seek(0, io.SeekStart)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

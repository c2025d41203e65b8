package hosting

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// folder is what somebody has brought, unpacked into one file on disk, where it can be read in any order.
type folder struct {
	disk    *os.File
	size    int64
	files   []*file
	paths   archive.Paths
	skipped []models.SkippedEntry
}

type file struct {
	models.SnapshotFile

	at int64 // on the disk
}

func newFolder() (*folder, error) {
	disk, err := os.CreateTemp("", "skillgraph-folder-*")
	return &folder{disk: disk}, err
}

// close removes what is on disk.
func (f *folder) close() {
	_ = f.disk.Close()
	_ = os.Remove(f.disk.Name())
}

// take takes a file, wherever it comes from: the same rules and limits hold for archives, single files and repositories.
func (f *folder) take(name string, size int64, content io.Reader) error {
	clean, err := f.paths.Add(name)
	if err != nil || isJunk(clean) {
		return err
	}
	if len(f.files) >= archive.MaxEntries {
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
	f.files = append(f.files, &file{SnapshotFile: models.SnapshotFile{Path: clean, Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))}, at: f.size})
	f.size += n
	return nil
}

// isJunk: what a Mac adds to archives and folders.
func isJunk(p string) bool {
	return strings.HasPrefix(p, "__MACOSX/") || path.Base(p) == ".DS_Store"
}

var errEmpty = errors.New("hosting: no files")

// finish sorts the files and takes off one folder around everything, where a skill is in it.
func (f *folder) finish() error {
	if len(f.files) == 0 {
		return errEmpty
	}
	top, _, _ := strings.Cut(f.files[0].Path, "/")
	outside := func(file *file) bool { return !strings.HasPrefix(file.Path, top+"/") }
	if f.find(top+"/"+skillmd.File) != nil && !slices.ContainsFunc(f.files, outside) {
		for _, file := range f.files {
			file.Path = strings.TrimPrefix(file.Path, top+"/")
		}
	}
	slices.SortFunc(f.files, func(a, b *file) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (f *folder) find(p string) *file {
	i := slices.IndexFunc(f.files, func(file *file) bool { return file.Path == p })
	if i < 0 {
		return nil
	}
	return f.files[i]
}

func (f *folder) open(file *file) *io.SectionReader {
	return io.NewSectionReader(f.disk, file.at, file.Size)
}

// rows are the files as they are stored.
func (f *folder) rows() []*models.SnapshotFile {
	out := make([]*models.SnapshotFile, len(f.files))
	for i, file := range f.files {
		out[i] = &file.SnapshotFile
	}
	return out
}

// check holds the folder against the rules.
func (f *folder) check() (store.Findings, error) {
	in := skillmd.Folder{Skipped: f.skipped}
	for _, file := range f.files {
		in.Paths = append(in.Paths, file.Path)
	}
	if file := f.find(skillmd.File); file != nil {
		var err error
		if in.SkillMD, err = io.ReadAll(io.LimitReader(f.open(file), skillmd.MaxFile+1)); err != nil {
			return store.Findings{}, err
		}
	}
	return findings(in), nil
}

func findings(in skillmd.Folder) store.Findings {
	r := skillmd.Check(in)
	return store.Findings{RulesVersion: skillmd.Version, SkillName: r.Name, Issues: r.Issues}
}

// packed is an archive on disk.
type packed struct {
	disk *os.File
	hash string
	size int64
}

// close removes it.
func (p *packed) close() {
	_ = p.disk.Close()
	_ = os.Remove(p.disk.Name())
}

// pack writes the archive that is kept.
func (f *folder) pack() (*packed, error) {
	disk, err := os.CreateTemp("", "skillgraph-packed-*")
	if err != nil {
		return nil, err
	}
	p := &packed{disk: disk}
	sources := make([]archive.Source, len(f.files))
	for i, file := range f.files {
		sources[i] = archive.Source{Path: file.Path, Size: file.Size, Open: func() (io.ReadCloser, error) { return io.NopCloser(f.open(file)), nil }}
	}
	hash := sha256.New()
	if err = archive.Pack(io.MultiWriter(disk, hash), sources); err == nil {
		p.hash = hex.EncodeToString(hash.Sum(nil))
		p.size, err = disk.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = disk.Seek(0, io.SeekStart)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

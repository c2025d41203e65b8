package hosting

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"skillgraph/internal/folder"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// brought is a folder that somebody has brought.
type brought struct {
	*folder.Folder

	skipped []models.SkippedEntry
}

func newFolder() (*brought, error) {
	f, err := folder.New()
	return &brought{Folder: f}, err
}

// take takes a file, unless it is what a Mac adds to archives and folders. Its name must be as good as every other's.
func (f *brought) take(name string, size int64, content io.Reader) error {
	if clean := strings.TrimPrefix(name, "./"); strings.HasPrefix(clean, "__MACOSX/") || path.Base(clean) == ".DS_Store" {
		return f.Claim(name)
	}
	return f.Take(name, size, content)
}

var errEmpty = errors.New("hosting: no files")

// finish sorts the files and takes off one folder around everything, where a skill is in it.
func (f *brought) finish() error {
	if len(f.Files) == 0 {
		return errEmpty
	}
	top, _, _ := strings.Cut(f.Files[0].Path, "/")
	outside := func(file *folder.File) bool { return !strings.HasPrefix(file.Path, top+"/") }
	if f.Find(top+"/"+skillmd.File) != nil && !slices.ContainsFunc(f.Files, outside) {
		for _, file := range f.Files {
			file.Path = strings.TrimPrefix(file.Path, top+"/")
		}
	}
	f.Sort()
	return nil
}

// rows are the files as they are stored.
func (f *brought) rows() []*models.SnapshotFile {
	out := make([]*models.SnapshotFile, len(f.Files))
	for i, file := range f.Files {
		out[i] = &models.SnapshotFile{Path: file.Path, Size: file.Size, SHA256: file.SHA256}
	}
	return out
}

// check holds the folder against the rules.
func (f *brought) check() (store.Findings, error) {
	in := skillmd.Folder{Skipped: f.skipped}
	for _, file := range f.Files {
		in.Paths = append(in.Paths, file.Path)
	}
	if file := f.Find(skillmd.File); file != nil {
		var err error
		if in.SkillMD, err = io.ReadAll(io.LimitReader(f.Open(file), skillmd.MaxFile+1)); err != nil {
			return store.Findings{}, err
		}
	}
	return findings(in), nil
}

func findings(in skillmd.Folder) store.Findings {
	r := skillmd.Check(in)
	return store.Findings{RulesVersion: skillmd.Version, SkillName: r.Name, Issues: r.Issues}
}

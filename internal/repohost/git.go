package repohost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	inMemory     = 8 << 20 // larger objects are streamed
	objectsCache = 16 << 20
	tries        = 10 // git does not pack the same repository more often while we read one object
)

// bare is a bare repository that others push to and pack while it is read.
type bare struct {
	dir string
	git *git.Repository
}

func openBare(dir string) (*bare, error) {
	b := &bare{dir: dir}
	return b, b.open()
}

func (b *bare) open() (err error) {
	files := settled{osfs.New(b.dir, osfs.WithBoundOS())}
	store := filesystem.NewStorageWithOptions(files, cache.NewObjectLRU(objectsCache), filesystem.Options{LargeObjectThreshold: inMemory})
	b.git, err = git.Open(store, nil)
	return err
}

// try does something that needs one object. Packing moves objects, and an open repository looks for them where they were: what
// it does not find it looks for again in one that is opened anew.
func (b *bare) try(op func(*git.Repository) error) (err error) {
	for range tries {
		err = op(b.git)
		if !errors.Is(err, plumbing.ErrObjectNotFound) && !errors.Is(err, dotgit.ErrPackfileNotFound) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := b.open(); err != nil {
			return err
		}
	}
	return err
}

// settled shows a repository without what git is just writing: locks, which pass for refs, and packs without an index.
type settled struct{ billy.Filesystem }

// ReadDir looks again where a file went away while it looked: go-git would take that for an empty folder.
func (s settled) ReadDir(dir string) ([]os.FileInfo, error) {
	for range tries {
		files, err := s.Filesystem.ReadDir(dir)
		if !errors.Is(err, fs.ErrNotExist) {
			return slices.DeleteFunc(files, unfinished(files)), err
		}
		if _, err := s.Stat(dir); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s changes all the time", dir)
}

func unfinished(all []os.FileInfo) func(os.FileInfo) bool {
	there := map[string]bool{}
	for _, f := range all {
		there[f.Name()] = true
	}
	return func(f os.FileInfo) bool {
		pack, is := strings.CutSuffix(f.Name(), ".pack")
		return strings.HasSuffix(f.Name(), ".lock") || is && !there[pack+".idx"]
	}
}

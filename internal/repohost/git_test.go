package repohost

import (
	"io/fs"
	"os"
	"testing"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/stretchr/testify/require"
)

// flickering is a folder in which files go away between being listed and being looked at, some times.
type flickering struct {
	billy.Filesystem
	times int
}

func (f *flickering) ReadDir(dir string) ([]os.FileInfo, error) {
	if f.times--; f.times >= 0 {
		return nil, &fs.PathError{Op: "lstat", Path: "refs/tags/v1.lock", Err: fs.ErrNotExist}
	}
	return f.Filesystem.ReadDir(dir)
}

// To go-git a folder that is not there is empty: it must not hear so of one that only changes.
func TestSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"v1", "v2.lock", "pack-1.pack", "pack-1.idx", "pack-2.pack", "pack-3.idx", "pack-1.rev"} {
		require.NoError(t, os.WriteFile(dir+"/"+name, nil, 0o600))
	}
	under := osfs.New(dir, osfs.WithBoundOS())
	for times, works := range map[int]bool{0: true, 1: true, tries - 1: true, tries: false} {
		files, err := settled{&flickering{under, times}}.ReadDir(".")
		if !works {
			require.EqualError(t, err, ". changes all the time")
			require.NotErrorIs(t, err, fs.ErrNotExist)
			continue
		}
		require.NoError(t, err)
		names := []string{}
		for _, f := range files {
			names = append(names, f.Name())
		}
		require.Equal(t, []string{"pack-1.idx", "pack-1.pack", "pack-1.rev", "pack-3.idx", "v1"}, names)
	}
	_, err := settled{under}.ReadDir("nowhere")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

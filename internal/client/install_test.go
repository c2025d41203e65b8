package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func packed(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = 2
		}
		h.Mode = 0o777
		require.NoError(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := w.Write([]byte("hi"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, gz.Close())
	return &b
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }

// An archive that wants to be elsewhere changes nothing: neither there, nor here, nor beside.
func TestPlaceRefuses(t *testing.T) {
	t.Parallel()
	for name, evil := range map[string][]tar.Header{
		"above":    {file("SKILL.md"), file("../outside")},
		"absolute": {file("SKILL.md"), file("/tmp/outside")},
		"link":     {file("SKILL.md"), {Typeflag: tar.TypeSymlink, Name: "out", Linkname: "../.."}, file("out/outside")},
		"twice":    {file("SKILL.md"), file("skill.md")},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "skill")
		require.NoError(t, os.Mkdir(path, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(path, "SKILL.md"), []byte("old"), 0o600))
		_, err := place(packed(t, evil...), path, true)
		require.ErrorContains(t, err, "the archive is refused, and nothing was installed", name)
		requireOnly(t, dir, "skill")
		requireOnly(t, path, "SKILL.md")
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "skill")
	n, err := place(packed(t, file("./SKILL.md"), file("a/b/c")), path, false)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	info, err := os.Stat(filepath.Join(path, "a/b/c"))
	require.NoError(t, err)
	require.Zero(t, info.Mode()&0o111, "an archive makes no programs")
	_, err = place(packed(t, file("SKILL.md")), path, true)
	require.NoError(t, err)
	requireOnly(t, path, "SKILL.md")
	requireOnly(t, filepath.Dir(path), "skill")
}

// Where the file system cannot exchange two folders, it takes two steps, and none when the second fails.
func TestSwapSlowly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, fresh := filepath.Join(dir, "skill"), filepath.Join(dir, "work", "new")
	require.NoError(t, os.MkdirAll(path, 0o700))
	require.NoError(t, os.MkdirAll(fresh, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(fresh, "new"), nil, 0o600))
	require.NoError(t, swapSlowly(fresh, path))
	requireOnly(t, path, "new")
	require.Error(t, swapSlowly(filepath.Join(dir, "work", "nothing"), path))
	requireOnly(t, path, "new")
}

func requireOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	require.Equal(t, names, got)
}

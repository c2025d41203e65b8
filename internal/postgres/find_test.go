package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake makes programs that only know their version.
func fake(t *testing.T, major int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.1'\n", major)
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func TestFind(t *testing.T) {
	fakes := fake(t, 99)
	links := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(fakes, "postgres"), filepath.Join(links, "postgres")))

	t.Setenv("PATH", links)
	bin, err := Find(t.Context(), t.TempDir())
	require.NoError(t, err)
	require.Equal(t, fakes, bin, "PATH comes first, and its links are followed")

	bin, err = find(t.Context(), t.TempDir(), 99)
	require.NoError(t, err)
	require.Equal(t, fakes, bin)

	_, err = find(t.Context(), t.TempDir(), 98)
	require.ErrorContains(t, err, "made by PostgreSQL 98")
	require.ErrorContains(t, err, "PostgreSQL 99 in "+fakes)

	require.NoError(t, os.Remove(filepath.Join(fakes, "initdb")))
	bin, err = Find(t.Context(), t.TempDir())
	require.NotEqual(t, fakes, bin, "postgres alone is not enough")

	t.Setenv("PATH", fake(t, 14))
	bin, err2 := Find(t.Context(), t.TempDir())
	if err != nil {
		require.ErrorIs(t, err2, errMissing)
		require.ErrorContains(t, err2, "too old: PostgreSQL 14")
	} else {
		require.NotContains(t, bin, os.TempDir(), "too old")
	}
}

func TestExplicitBin(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Bin = t.TempDir()
	_, err := Start(t.Context(), o)
	require.ErrorContains(t, err, "does not hold the programs initdb and postgres")
	o.Bin = fake(t, 14)
	_, err = Start(t.Context(), o)
	require.ErrorContains(t, err, "holds PostgreSQL 14; it must be 15 or newer")
}

func TestBundle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("downloads 24 MB")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("NOT TESTED: npm is missing, so the download of PostgreSQL was not tried")
	}
	dir, err := os.UserCacheDir()
	require.NoError(t, err)
	o := testOptions(t)
	o.Cache = filepath.Join(dir, "skillgraph")
	o.Bin, err = bundle(timeout(t), o.Cache)
	require.NoError(t, err)
	s := start(t, o)
	require.Regexp(t, `^PostgreSQL 18\.4 `, ask(t, s, "SELECT version()"))
	require.NoError(t, s.Stop())

	o.Bin = "" // what made the data is found again, whatever else is installed
	s = start(t, o)
	require.Regexp(t, `^PostgreSQL 18\.4 `, ask(t, s, "SELECT version()"))
}

func TestUnpackStaysInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	require.Error(t, write(root, "../outside", nil))
	require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "outside"))
}

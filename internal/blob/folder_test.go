package blob

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// putInto is a folder: the test binary puts what it reads there, and nothing else.
const putInto = "TEST_PUT_INTO"

func TestMain(m *testing.M) {
	at := os.Getenv(putInto)
	if at == "" {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), at, &ledger{touched: map[string]int64{}})
	if err == nil {
		err = s.Put(context.Background(), hashOf(large), int64(len(large)), os.Stdin)
	}
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		os.Exit(1)
	}
}

// Whoever is killed while he writes leaves something to sweep, and nothing to see.
func TestFolderKilled(t *testing.T) {
	t.Parallel()
	for _, sent := range []int{0, 1, 100_000, len(large) - 1} {
		f := open(t, folderPlace(t))
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), putInto+"="+f.url)
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		_, err = io.WriteString(in, large[:sent])
		require.NoError(t, err)
		require.Eventually(t, func() bool { return f.begun(t) == 1 }, time.Minute, 5*time.Millisecond)
		require.NoError(t, c.Process.Signal(syscall.SIGKILL))
		require.Error(t, c.Wait())

		f.missing(t, hashOf(large))
		require.Equal(t, 1, f.begun(t))
		require.NoError(t, f.Sweep(t.Context(), time.Now().Add(time.Hour)))
		require.Zero(t, f.begun(t))
		f.put(t, large)
		require.Equal(t, hashOf(large), hashOf(f.read(t, hashOf(large))))
	}
}

// Archives are nobody else's business.
func TestFolderIsPrivate(t *testing.T) {
	t.Parallel()
	f := open(t, folderPlace(t))
	f.put(t, "some content")
	err := filepath.WalkDir(filepath.Dir(f.dir), func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	})
	require.NoError(t, err)
}

// A link in the folder leads nowhere.
func TestFolderLink(t *testing.T) {
	t.Parallel()
	f := open(t, folderPlace(t))
	elsewhere := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(elsewhere, []byte("x"), 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(f.dir, hashOf("x"))))
	_, err := f.Open(t.Context(), hashOf("x"))
	require.ErrorContains(t, err, "escapes")
	f.put(t, "x")
	require.Equal(t, "x", f.read(t, hashOf("x")), "the link is replaced, not followed")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for at, why := range map[string]string{
		"":                   "must be file:///absolute/path or s3://bucket",
		"/absolute/path":     "must be file:///absolute/path",
		"file://blobs":       "must be file:///absolute/path",
		"file:///a?x=y":      "must be file:///absolute/path",
		"mem://":             "must be file:///absolute/path",
		"s3://":              "must be file:///absolute/path",
		"http://\x7f":        "is not a URL",
		"s3://bucket?wrong=": "unknown query parameter",
		"file://" + file:     "not a directory",
	} {
		_, err := Open(t.Context(), at, nil)
		require.ErrorContains(t, err, why, at)
		require.True(t, strings.HasPrefix(err.Error(), "blobs: "), err)
	}
}

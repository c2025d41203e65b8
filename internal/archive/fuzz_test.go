package archive

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireSafe is what holds of every archive, whatever it is.
func requireSafe(t *testing.T, walk func(Visit) error) {
	t.Helper()
	var total int64
	var paths []string
	_ = walk(func(path string, size int64, content io.Reader) error {
		require.True(t, filepath.IsLocal(path), "%q", path)
		require.NotContains(t, path, `\`)
		for _, other := range paths {
			require.False(t, strings.EqualFold(path, other), "%q and %q", path, other)
			require.False(t, strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/"), "%q and %q", path, other)
		}
		paths = append(paths, path)
		n, err := io.Copy(io.Discard, content)
		total += n
		require.LessOrEqual(t, n, size)
		if err == nil {
			require.Equal(t, size, n)
		}
		return err
	})
	require.LessOrEqual(t, total, int64(MaxUnpacked))
	require.LessOrEqual(t, len(paths), MaxEntries)
}

func FuzzTarGz(f *testing.F) {
	for _, h := range hostileTarGz() {
		if h.code == "" { // those that are too large take their time
			f.Add(h.made)
		}
	}
	f.Add(tarOf(named("SKILL.md", "./a/b")...))
	addFiles(f, "testdata/*.tar.gz")
	f.Fuzz(func(t *testing.T, b []byte) {
		requireSafe(t, func(v Visit) error { return TarGz(bytes.NewReader(b), v) })
		// What is below gzip, too: a change there rarely survives the checksum.
		inner := b
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			inner, _ = io.ReadAll(io.LimitReader(z, 1<<20))
		}
		packed := gzAt(gzip.NoCompression, inner)
		requireSafe(t, func(v Visit) error { return TarGz(bytes.NewReader(packed), v) })
	})
}

func FuzzZip(f *testing.F) {
	for _, h := range hostileZip() {
		if h.code == "" { // those that are too large take their time
			f.Add(h.made)
		}
	}
	addFiles(f, "testdata/*.zip")
	f.Fuzz(func(t *testing.T, b []byte) {
		requireSafe(t, func(v Visit) error { return Zip(bytes.NewReader(b), int64(len(b)), v) })
	})
}

func addFiles(f *testing.F, glob string) {
	f.Helper()
	names, err := filepath.Glob(glob)
	require.NoError(f, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(b)
	}
}

func FuzzPaths(f *testing.F) {
	f.Add("SKILL.md", "skill.md")
	f.Add("./a/b", "a")
	f.Add("../x", "/x")
	f.Add("K", "\u212a")
	f.Add("caf\u00e9", "cafe\u0301")
	f.Fuzz(func(t *testing.T, a, b string) {
		var p Paths
		one, err := p.Add(a)
		if err != nil {
			require.Empty(t, one)
			return
		}
		require.True(t, filepath.IsLocal(one))
		require.Equal(t, one, filepath.Clean(one), "as short as can be")
		again, err := new(Paths).Add(one)
		require.NoError(t, err)
		require.Equal(t, one, again)
		if two, err := p.Add(b); err == nil {
			require.False(t, strings.EqualFold(one, two))
			require.False(t, strings.HasPrefix(two, one+"/") || strings.HasPrefix(one, two+"/"))
		}
	})
}

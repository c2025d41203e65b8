package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// walkFile reads a file by the end of its name.
func walkFile(t *testing.T, name string) func(Visit) error {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	info, err := f.Stat()
	require.NoError(t, err)
	if strings.HasSuffix(name, ".zip") {
		return func(v Visit) error { return Zip(f, info.Size(), v) }
	}
	return func(v Visit) error { return TarGz(f, v) }
}

// The archives in testdata hold the same folder, packed by the programs that people use, each in its own way.
func TestHonest(t *testing.T) {
	t.Parallel()
	want := []File{
		{"SKILL.md", 715, "de5d6d631fabed56d9a7f13f8ccb7d0998ac8918b279403d8c9fd31c1d1fa5f4"},
		{"references/Größe und Maß.md", 6, "d2d8a3547ed87a59bd66ca28402de461108a17edfc3c91d0fe1ecd44f25986b9"},
		{"references/empty", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"references/" + strings.Repeat("long-", 18) + "/" + strings.Repeat("name-", 18) + ".md", 9, "46c7583d8345f406daf36ff933ed7aac4f1452b019200060ed8cf317bfa1192e"},
		{"scripts/run.sh", 21, "bfdeaeb08cffb6a36438bcd12dda25417e3cdd36f1e7e482a2849d539225288b"},
	}
	files, err := filepath.Glob("testdata/*.*")
	require.NoError(t, err)
	require.Len(t, files, 16)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			got, err := Manifest(walkFile(t, name), nil)
			require.NoError(t, err)
			if strings.HasPrefix(filepath.Base(name), "empty") {
				require.Equal(t, []File{}, got)
			} else {
				require.Equal(t, want, got)
			}
		})
	}
}

// The first tar knew no kinds: a name that ends with a slash is a folder.
func TestOldestTar(t *testing.T) {
	t.Parallel()
	old := func(e entry) entry {
		e.as = e.raw()
		clear(e.as[156:block])
		sign(e.as)
		return e
	}
	got := readTarGz(tgz(old(entry{name: "a/"}), old(entry{name: "a/b", data: "x"})))
	require.NoError(t, got.err)
	require.Equal(t, []string{"a/b"}, got.paths)
}

func TestManifest(t *testing.T) {
	t.Parallel()
	walk := func(v Visit) error {
		return TarGz(bytes.NewReader(tgz(entry{name: "./b", data: "beta"}, entry{name: "a/", kind: '5'}, entry{name: "a/c", data: "gamma"}, entry{name: "a/b"})), v)
	}
	var order []string
	files, err := Manifest(walk, func(path string, size int64, content io.Reader) error {
		order = append(order, path)
		_, err := io.CopyN(io.Discard, content, min(1, size)) // and leaves the rest
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a/c", "a/b"}, order, "in the archive's order")
	text, err := json.Marshal(files)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"path": "a/b", "size": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"path": "a/c", "size": 5, "sha256": "be9d587defa1f0c09ef49eb17e206983a5f8f8289e4281860bd0ee5a19592c67"},
		{"path": "b", "size": 4, "sha256": "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753"}]`, string(text))

	stop := errors.New("enough")
	_, err = Manifest(walk, func(string, int64, io.Reader) error { return stop })
	require.ErrorIs(t, err, stop)
}

// A visitor that does not read, or does not care that it could not, changes nothing.
func TestCarelessVisitor(t *testing.T) {
	t.Parallel()
	cut := gz(entry{name: "a", data: strings.Repeat("x", 5000)}.raw()[:2000])
	broken := zipOf(zipped{name: "a", data: "some content", local: set(14, uint32(1)), central: set(16, uint32(1))})
	for what, visit := range map[string]Visit{
		"reads nothing":    func(string, int64, io.Reader) error { return nil },
		"hears no problem": func(_ string, _ int64, r io.Reader) error { _, _ = io.Copy(io.Discard, r); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, TarGz(bytes.NewReader(cut), visit), `"a" is damaged or cut off`)
			require.ErrorContains(t, Zip(bytes.NewReader(broken), int64(len(broken)), visit), `"a" is damaged or cut off`)
		})
	}
}

// What goes wrong below an archive is not the archive's fault.
func TestErrorsOfTheReader(t *testing.T) {
	t.Parallel()
	disk := errors.New("the disk is on fire")
	packed := gzAt(gzip.NoCompression, tarOf(entry{name: "a", data: strings.Repeat("x", 3000)}))
	for n := range len(packed) {
		got := read(func(v Visit) error {
			return TarGz(io.MultiReader(bytes.NewReader(packed[:n]), iotest.ErrReader(disk)), v)
		})
		require.Equal(t, disk, got.err, "after %d bytes", n)
	}
	good := zips("a", "b")
	for n := range len(good) {
		got := read(func(v Visit) error { return Zip(burning{good, n, disk}, int64(len(good)), v) })
		require.Equal(t, disk, got.err, "at %d", n)
	}
}

// burning cannot read one of its bytes.
type burning struct {
	b   []byte
	at  int
	err error
}

func (b burning) ReadAt(p []byte, off int64) (int, error) {
	if n := b.at - int(off); n >= 0 && n < len(p) {
		return copy(p[:n], b.b[off:]), b.err
	}
	return bytes.NewReader(b.b).ReadAt(p, off)
}

// noise does not compress.
func noise(n int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{}), n)
}

// An archive of 50 MiB passes through a few buffers.
func TestMemory(t *testing.T) {
	const files, size = 10, 4_900_000
	dir := t.TempDir()
	write := func(name string, content func(w io.Writer)) string {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		content(f)
		require.NoError(t, f.Close())
		return f.Name()
	}
	names := []string{
		write("a.tar.gz", func(w io.Writer) {
			gz, err := gzip.NewWriterLevel(w, gzip.NoCompression) // which would not make it smaller, and takes its time
			require.NoError(t, err)
			out := tar.NewWriter(gz)
			for i := range files {
				require.NoError(t, out.WriteHeader(&tar.Header{Name: string(rune('a' + i)), Size: size, Mode: 0o644}))
				_, err := io.Copy(out, noise(size))
				require.NoError(t, err)
			}
			require.NoError(t, out.Close())
			require.NoError(t, gz.Close())
		}),
		write("a.zip", func(w io.Writer) {
			out := zip.NewWriter(w)
			out.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.NoCompression) })
			for i := range files {
				f, err := out.Create(string(rune('a' + i)))
				require.NoError(t, err)
				_, err = io.Copy(f, noise(size))
				require.NoError(t, err)
			}
			require.NoError(t, out.Close())
		}),
	}
	for _, name := range names {
		walk := walkFile(t, name)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Manifest(walk, nil)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Len(t, got, files)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), name)
	}
}

func TestTarGzAsLargeAsItMayBe(t *testing.T) {
	t.Parallel()
	got := readTarGz(tgz(slices.Collect(numbered(MaxEntries))...))
	require.NoError(t, got.err)
	require.Len(t, got.paths, MaxEntries)

	// Honest text packs well, and is let in.
	var log strings.Builder
	for i := 0; log.Len() <= ratioFrom; i++ {
		log.WriteString("2026-11-15T12:00:00Z a line as logs have it, again and again, number " + strconv.Itoa(i) + "\n")
	}
	got = readTarGz(gz(tarOf(entry{name: "log", data: log.String()})))
	require.NoError(t, got.err)
	require.Equal(t, int64(log.Len()), got.bytes)
}

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
)

func source(path, content string) Source {
	return Source{path, int64(len(content)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

func pack(t *testing.T, files ...Source) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Pack(&b, files))
	return b.Bytes()
}

func TestPack(t *testing.T) {
	t.Parallel()
	files := []Source{source("b", "beta"), source("./a", "alpha"), source("日本/"+strings.Repeat("long ", 50), ""), source("a.txt", "x"), source("c/d", strings.Repeat("d", 1000))}
	made := pack(t, files...)
	for range 20 {
		rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		require.Equal(t, made, pack(t, files...))
	}

	got, err := Manifest(func(v Visit) error { return TarGz(bytes.NewReader(made), v) }, nil)
	require.NoError(t, err)
	require.Len(t, got, len(files))

	gz, err := gzip.NewReader(bytes.NewReader(made))
	require.NoError(t, err)
	require.Equal(t, gzip.Header{OS: 255}, gz.Header)
	in, names := tar.NewReader(gz), []string{}
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		names = append(names, h.Name)
		require.Equal(t, int64(0o644), h.Mode)
		require.Equal(t, time.Unix(0, 0), h.ModTime)
		require.Empty(t, h.Uname+h.Gname)
		require.Zero(t, h.Uid+h.Gid)
	}
	require.Equal(t, []string{"a", "a.txt", "b", "c/d", "日本/" + strings.Repeat("long ", 50)}, names)

	empty := readTarGz(pack(t))
	require.NoError(t, empty.err)
	require.Empty(t, empty.paths)
}

// What is packed can be read: what could not be is refused.
func TestPackRefuses(t *testing.T) {
	t.Parallel()
	lies := source("a", "alpha")
	lies.Size++
	short := source("a", "alpha")
	short.Size--
	bad := source("a", "")
	bad.Open = func() (io.ReadCloser, error) { return nil, io.ErrClosedPipe }
	zeros := func(n int64) Source {
		return Source{"a", n, func() (io.ReadCloser, error) { return io.NopCloser(io.LimitReader(zero{}, n)), nil }}
	}
	for _, tt := range []struct {
		name  string
		files []Source
		why   string
		code  errs.Code
	}{
		{"path", []Source{source("../a", "")}, `"../a" is refused`, errs.Invalid},
		{"twice", []Source{source("a", ""), source("./a", "")}, "it is there twice", errs.Invalid},
		{"longer", []Source{lies}, "has 5 bytes, not 6", errs.Internal},
		{"shorter", []Source{short}, "write too long", errs.Internal},
		{"not to be had", []Source{bad}, io.ErrClosedPipe.Error(), errs.Internal},
		{"large", []Source{zeros(MaxUnpacked + 1)}, "more than 200 MiB", errs.TooLarge},
		{"a bomb", []Source{zeros(ratioFrom + 1)}, "more than 200 times its size", errs.TooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Pack(io.Discard, tt.files)
			require.ErrorContains(t, err, tt.why)
			require.Equal(t, string(tt.code), string(errs.CodeOf(err)))
		})
	}
}

func TestPackStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	c := &counter{w: io.Discard, n: MaxPacked - 1}
	_, err := c.Write([]byte{1})
	require.NoError(t, err)
	_, err = c.Write([]byte{1})
	require.ErrorContains(t, err, "larger than 50 MiB when packed")
	require.Equal(t, string(errs.TooLarge), string(errs.CodeOf(err)))
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

package repohost_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/apphost"
)

// packed is an archive as a host makes it.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var sources []archive.Source
	for path, text := range files {
		sources = append(sources, archive.Source{Path: path, Size: int64(len(text)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }})
	}
	var out bytes.Buffer
	require.NoError(t, archive.Pack(&out, sources))
	return out.Bytes()
}

// serveArchive answers every request for an archive with this.
func serveArchive(h *apphost.Host, answer http.HandlerFunc) {
	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		is := strings.Contains(r.URL.Path, "/tarball/")
		if is {
			answer(w, r)
		}
		return is
	})
}

func TestArchives(t *testing.T) {
	t.Parallel()
	good := packed(t, map[string]string{"top/pdf/a": strings.Repeat("text ", 50_000), "top/pdf/b": "b"})
	stored := &bytes.Buffer{} // not compressed, so that reading a part gives something
	w, _ := gzip.NewWriterLevel(stored, gzip.NoCompression)
	r, err := gzip.NewReader(bytes.NewReader(good))
	require.NoError(t, err)
	_, err = io.Copy(w, r)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	half := stored.Bytes()[:stored.Len()/2]
	send := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) }
	}
	const damaged = "The repository acme/skills cannot be read at commit "
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   errs.Code // none: it is read
		want   string
	}{
		{"good", send(good), "", ""},
		{"little by little", func(w http.ResponseWriter, _ *http.Request) {
			for chunk := range slices.Chunk(good, 100) {
				_, _ = w.Write(chunk)
				_ = http.NewResponseController(w).Flush()
			}
		}, "", ""},
		{"never done", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, errs.Unavailable, "The code host did not answer within 500ms"},
		{"connection lost", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, errs.Unavailable, "The code host cannot be reached: no valid answer"},
		{"shorter than announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000")
			_, _ = w.Write(half)
		}, errs.Unavailable, "The code host cannot be reached: no valid answer"},
		{"cut off", send(half), errs.Conflict, damaged},
		{"empty", send(nil), errs.Conflict, damaged},
		{"a page", send([]byte("<html>")), errs.Conflict, damaged},
		{"two folders", send(packed(t, map[string]string{"top/pdf/a": "", "pdf/b": ""})), errs.Conflict, damaged},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			gz, _ := gzip.NewWriterLevel(w, gzip.NoCompression)
			files := tar.NewWriter(gz)
			_ = files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "top/beside", Size: archive.MaxPacked})
			_, _ = io.CopyN(files, zero{}, archive.MaxPacked)
			_ = files.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "top/pdf/a"})
			_ = files.Close()
			_ = gz.Close()
		}, errs.TooLarge, "The archive is larger than 50 MiB"},
		{"another failure", func(w http.ResponseWriter, _ *http.Request) { apphost.Fail(w, http.StatusBadGateway, "") }, errs.Unavailable, "The code host has a problem of its own (status 502)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, app, hash := withRepository(t)
			if c.name == "never done" {
				app.Hurry(time.Minute, 500*time.Millisecond)
			}
			serveArchive(h, c.answer)
			// Whether a visitor reads or not, and whatever it makes of an error, is the same.
			for name, visit := range map[string]archive.Visit{
				"reads":   func(_ string, _ int64, content io.Reader) error { _, err := io.Copy(io.Discard, content); return err },
				"ignores": func(string, int64, io.Reader) error { return nil },
				"hides": func(_ string, _ int64, content io.Reader) error {
					if _, err := io.Copy(io.Discard, content); err != nil {
						return errors.New("something is wrong")
					}
					return nil
				},
			} {
				_, err := app.Read(t.Context(), acme, "acme/skills", hash, "pdf", visit)
				if c.code == "" {
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, c.want, name)
				require.Equal(t, c.code, errs.CodeOf(err), "%s: %v", name, err)
			}
		})
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// What the visitor says is handed on as it is.
func TestVisitorStopsApp(t *testing.T) {
	t.Parallel()
	needGit(t)
	_, app, hash := withRepository(t)
	for _, want := range []error{io.ErrClosedPipe, io.ErrUnexpectedEOF, errs.At("file").Because("is refused"), errs.New(errs.TooLarge, "The folder is too large"), repohost.ErrUnsupported} {
		_, err := app.Read(t.Context(), acme, "acme/skills", hash, ".", func(string, int64, io.Reader) error { return want })
		require.Equal(t, want, err)
	}
}

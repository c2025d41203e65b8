package web

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

var built = fstest.MapFS{
	".gitkeep":             {},
	"index.html":           {Data: []byte(`<script src="./assets/app-1a2b.js"></script><h1>dashboard</h1>`)},
	"reference.html":       {Data: []byte("<h1>reference</h1>")},
	"playground.html":      {Data: []byte("<h1>playground</h1>")},
	"assets/app-1a2b.js":   {Data: []byte(strings.Repeat("let a = 1;\n", 100))},
	"assets/app-1a2b.css":  {Data: []byte("a {}")},
	"assets/icon-1a2b.svg": {Data: []byte("<svg/>")},
	"assets/icon-1a2b.ttf": {Data: []byte("font")},
	"assets/odd-1a2b.bin":  {Data: []byte("odd")},
}

// ask sends one request; headers are name, value, name, value.
func ask(h http.Handler, method, path string, headers ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestSite(t *testing.T) {
	t.Parallel()
	const forever, never = "public, max-age=31536000, immutable", "no-cache"
	for _, c := range []struct {
		path, contentType, cache, body string
	}{
		{"/", "text/html; charset=utf-8", never, `"./assets/app-1a2b.js"></script><h1>dashboard`},
		{"/skills", "text/html; charset=utf-8", never, `"./assets/app-1a2b.js"></script><h1>dashboard`},
		{"/skills?page=2", "text/html; charset=utf-8", never, "dashboard"},
		{"/skills/01a1", "text/html; charset=utf-8", never, `"../assets/app-1a2b.js"></script><h1>dashboard`},
		{"/playground", "text/html; charset=utf-8", never, "playground"},
		{"/playground?query=x", "text/html; charset=utf-8", never, "playground"},
		{"/reference", "text/html; charset=utf-8", never, "reference"},
		{"/assets/app-1a2b.js", "text/javascript; charset=utf-8", forever, "let a"},
		{"/assets/app-1a2b.css", "text/css; charset=utf-8", forever, "a {}"},
		{"/assets/icon-1a2b.svg", "image/svg+xml", forever, "<svg/>"},
		{"/assets/icon-1a2b.ttf", "font/ttf", forever, "font"},
		{"/assets/odd-1a2b.bin", "application/octet-stream", forever, "odd"},
	} {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			answer := ask(newSite(built), "GET", c.path)
			require.Equal(t, http.StatusOK, answer.StatusCode)
			require.Equal(t, c.contentType, answer.Header.Get("Content-Type"))
			require.Equal(t, c.cache, answer.Header.Get("Cache-Control"))
			require.Contains(t, body(t, answer.Body), c.body)
		})
	}
}

func TestSiteRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/playground/", http.StatusMovedPermanently},
		{"GET", "/skills/", http.StatusNotFound},
		{"GET", "/skills/a/b", http.StatusNotFound},
		{"GET", "/nonsense", http.StatusNotFound},
		{"GET", "/deeper/index.html", http.StatusNotFound},
		{"POST", "/skills", http.StatusMethodNotAllowed},
		{"GET", "/index.html", http.StatusNotFound},
		{"GET", "/playground.html", http.StatusNotFound},
		{"GET", "/.gitkeep", http.StatusNotFound},
		{"GET", "/assets/", http.StatusNotFound},
		{"GET", "/assets/gone.js", http.StatusNotFound},
		{"GET", "/assets/../index.html", http.StatusNotFound},
		{"POST", "/playground", http.StatusMethodNotAllowed},
		{"DELETE", "/assets/app-1a2b.js", http.StatusMethodNotAllowed},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			t.Parallel()
			answer := ask(newSite(built), c.method, c.path)
			require.Equal(t, c.status, answer.StatusCode)
			require.NotContains(t, answer.Header.Get("Cache-Control"), "immutable")
		})
	}
}

func TestSiteHead(t *testing.T) {
	t.Parallel()
	answer := ask(newSite(built), "HEAD", "/playground")
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Empty(t, body(t, answer.Body))
}

func TestSiteNotModified(t *testing.T) {
	t.Parallel()
	s := newSite(built)
	plain := ask(s, "GET", "/").Header.Get("ETag")
	packed := ask(s, "GET", "/", "Accept-Encoding", "gzip").Header.Get("ETag")
	require.NotEqual(t, plain, packed)
	require.Equal(t, http.StatusNotModified, ask(s, "GET", "/", "If-None-Match", plain).StatusCode)
	require.Equal(t, http.StatusNotModified,
		ask(s, "GET", "/", "If-None-Match", packed, "Accept-Encoding", "gzip").StatusCode)
	require.Equal(t, http.StatusOK, ask(s, "GET", "/", "If-None-Match", `"another build"`).StatusCode)
}

func TestSiteGzip(t *testing.T) {
	t.Parallel()
	s := newSite(built)
	want := body(t, ask(s, "GET", "/assets/app-1a2b.js").Body)
	for accept, packed := range map[string]bool{
		"":                  false,
		"br":                false,
		"gzip":              true,
		"br, gzip;q=0.5":    true,
		"gzip; q=0":         false,
		"gzip;q=0.0, br":    false,
		"deflate,gzip ,*":   true,
		"x-gzip-like, br":   false,
		"gzip;q=nonsense":   true,
		"identity, gzip;q=": true,
	} {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			answer := ask(s, "GET", "/assets/app-1a2b.js", "Accept-Encoding", accept)
			require.Equal(t, "Accept-Encoding", answer.Header.Get("Vary"))
			require.Equal(t, "text/javascript; charset=utf-8", answer.Header.Get("Content-Type"))
			if !packed {
				require.Empty(t, answer.Header.Get("Content-Encoding"))
				require.Equal(t, want, body(t, answer.Body))
				return
			}
			require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
			z, err := gzip.NewReader(answer.Body)
			require.NoError(t, err)
			require.Equal(t, want, body(t, z))
		})
	}
}

func TestSiteSecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/skills/a", "/playground", "/assets/app-1a2b.js", "/gone"} {
		h := ask(newSite(built), "GET", path).Header
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), path)
		require.Equal(t, "no-referrer", h.Get("Referrer-Policy"), path)
		require.Contains(t, h.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Contains(t, h.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
	}
}

func TestSiteNotBuilt(t *testing.T) {
	t.Parallel()
	s := newSite(fstest.MapFS{".gitkeep": {}})
	for _, path := range []string{"/", "/skills/a", "/playground"} {
		answer := ask(s, "GET", path)
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Regexp(t, "make web\nmake build", body(t, answer.Body))
	}
	require.Equal(t, http.StatusNotFound, ask(s, "GET", "/assets/app.js").StatusCode)
}

// What a page asks for must be in the binary, and nothing may be asked of another host.
func TestHandler(t *testing.T) {
	t.Parallel()
	if _, err := fs.Stat(dist, "dist/index.html"); err != nil {
		require.Equal(t, http.StatusServiceUnavailable, ask(Handler(), "GET", "/playground").StatusCode)
		return
	}
	for _, page := range []string{"/", "/playground"} {
		html := body(t, ask(Handler(), "GET", page).Body)
		require.NotRegexp(t, `(src|href)="(https?:)?//`, html)
		assets := regexp.MustCompile(`"\./(assets/[^"]+)"`).FindAllStringSubmatch(html, -1)
		require.NotEmpty(t, assets, page)
		for _, asset := range assets {
			require.Equal(t, http.StatusOK, ask(Handler(), "GET", "/"+asset[1]).StatusCode, asset[1])
		}
	}
}

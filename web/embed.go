// Package web serves the browser's side of skillgraph from the binary: the dashboard, the playground, the
// reference and their assets, built by Vite into dist.
package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed all:dist
var dist embed.FS

//go:embed missing.html
var missing []byte

// security goes with every answer. Monaco writes style elements and draws squiggles from data: images; all else
// must come from this server.
var security = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; " +
		"font-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Referrer-Policy":            "no-referrer",
	"X-Content-Type-Options":     "nosniff",
}

// contentTypes does not ask the machine's MIME table, which differs from one to the next.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".html":  "text/html; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".png":   "image/png",
	".svg":   "image/svg+xml",
	".ttf":   "font/ttf",
	".woff2": "font/woff2",
}

// views are the first parts of the dashboard's addresses; src/dashboard/routes.ts says what they show. An id may follow.
var views = []string{"skills", "sources", "suites", "compare", "registry", "codehost", "community", "search", "settings"}

// Paths are the patterns that Handler answers.
func Paths() []string {
	out := []string{"/", "/playground", "/playground/", "/reference", "/assets/*"}
	for _, view := range views {
		out = append(out, "/"+view, "/"+view+"/{id}")
	}
	return out
}

// Handler answers GET and HEAD of Paths. In a binary that was built without the pages it
// answers 503 and says how to build them.
func Handler() http.Handler {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only for a malformed constant
	}
	return newSite(built)
}

// site is one finished Vite build.
type site struct {
	built fs.FS
	files map[string]file
}

// file computes at the first call and then remembers, so that starting the server costs nothing.
type file struct {
	body func() []byte
	etag func() string
	gzip func() []byte
}

// deep is the dashboard's page for addresses with an id, one level below the others.
const deep = "deeper/index.html"

func newSite(built fs.FS) site {
	s := site{built: built, files: map[string]file{}}
	names, _ := fs.Glob(built, "*.html")
	assets, _ := fs.Glob(built, "assets/*")
	for _, name := range append(names, assets...) {
		s.files[name] = newFile(func() []byte { return s.read(name) })
	}
	if index, ok := s.files["index.html"]; ok {
		s.files[deep] = newFile(sync.OnceValue(func() []byte {
			return bytes.ReplaceAll(index.body(), []byte(`"./`), []byte(`"../`))
		}))
	}
	return s
}

func newFile(body func() []byte) file {
	return file{
		body: body,
		etag: sync.OnceValue(func() string { return hash(body()) }),
		gzip: sync.OnceValue(func() []byte { return pack(body()) }),
	}
}

func (s site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range security {
		w.Header().Set(name, value)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return
	}
	view, id, inside := strings.Cut(r.URL.Path[1:], "/")
	switch {
	case r.URL.Path == "/":
		s.page(w, r, "index.html")
	case slices.Contains(views, view) && !inside:
		s.page(w, r, "index.html")
	case slices.Contains(views, view) && id != "" && !strings.Contains(id, "/"):
		s.page(w, r, deep)
	case r.URL.Path == "/playground":
		s.page(w, r, "playground.html")
	case r.URL.Path == "/reference":
		s.page(w, r, "reference.html")
	case r.URL.Path == "/playground/": // where the page's relative addresses would not fit
		http.Redirect(w, r, "/playground", http.StatusMovedPermanently)
	case strings.HasPrefix(r.URL.Path, "/assets/"):
		s.asset(w, r, r.URL.Path[1:])
	default:
		http.NotFound(w, r)
	}
}

func (s site) page(w http.ResponseWriter, r *http.Request, name string) {
	w.Header().Set("Cache-Control", "no-cache")
	if f, ok := s.files[name]; ok {
		s.send(w, r, name, f)
		return
	}
	w.Header().Set("Content-Type", contentTypes[".html"])
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(missing)
}

func (s site) asset(w http.ResponseWriter, r *http.Request, name string) {
	f, ok := s.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	// The name carries a hash of the content.
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	s.send(w, r, name, f)
}

func (s site) send(w http.ResponseWriter, r *http.Request, name string, f file) {
	h := w.Header()
	h.Set("Content-Type", cmp.Or(contentTypes[path.Ext(name)], "application/octet-stream"))
	h.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("ETag", strconv.Quote(f.etag()+"-gzip"))
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.gzip()))
		return
	}
	h.Set("ETag", strconv.Quote(f.etag()))
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(f.body()))
}

func (s site) read(name string) []byte {
	body, err := fs.ReadFile(s.built, name)
	if err != nil {
		panic(err) // newSite has seen the file, and it is in memory
	}
	return body
}

func hash(body []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(body))[:16]
}

func pack(body []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return packed.Bytes()
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.TrimSpace(name) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}

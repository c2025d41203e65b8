package registry_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/internal/request"
	"skillgraph/internal/server"
	"skillgraph/internal/store"
)

// serve is a whole server of the shop.
func (s *shop) serve(t *testing.T, db *store.Store, r *registry.Registry) *httptest.Server {
	t.Helper()
	srv, err := server.New(server.Config{Store: db, Registry: r, Clock: s.now})
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	return web
}

func link(t *testing.T, r *registry.Registry, base string, version ids.ID) string {
	t.Helper()
	to, err := r.Links.To(request.WithBase(t.Context(), base), version)
	require.NoError(t, err)
	return to
}

// ask sends a request; headers come in pairs.
func ask(t *testing.T, method, to string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, to, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, body
}

func requireStatus(t *testing.T, want int, to string, headers ...string) []byte {
	t.Helper()
	res, body := ask(t, http.MethodGet, to, headers...)
	require.Equal(t, want, res.StatusCode, "%s: %s", to, body)
	return body
}

// change makes another link of one.
func change(t *testing.T, to string, how func(u *url.URL, q url.Values)) string {
	t.Helper()
	u, err := url.Parse(to)
	require.NoError(t, err)
	q := u.Query()
	how(u, q)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestDownload(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	archive := skill(t, strings.Repeat("good", 100))
	e := s.entry(t, s.acme, archive)
	web := s.serve(t, s.store, s.Registry)
	to := link(t, s.Registry, web.URL, e.Version.ID)
	require.True(t, strings.HasPrefix(to, web.URL+registry.Path+e.Version.ID.String()+"?expires="+strconv.FormatInt(noon.Add(5*time.Minute).Unix(), 10)+"&signature="), to)

	res, body := ask(t, http.MethodGet, to)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, archive, body)
	tag := `"` + hash(archive) + `"`
	for key, want := range map[string]string{
		"Content-Type": "application/gzip", "Content-Length": strconv.Itoa(len(archive)), "Etag": tag, "Content-Disposition": `attachment; filename="pdf-1.0.0.tar.gz"`,
		"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes",
	} {
		require.Equal(t, want, res.Header.Get(key), key)
	}

	for _, c := range []struct {
		headers []string
		status  int
		body    []byte
	}{
		{[]string{"If-None-Match", tag}, http.StatusNotModified, []byte{}},
		{[]string{"If-None-Match", `"other", ` + tag}, http.StatusNotModified, []byte{}},
		{[]string{"If-None-Match", "*"}, http.StatusNotModified, []byte{}},
		{[]string{"If-None-Match", `"other"`}, http.StatusOK, archive},
		{[]string{"Range", "bytes=0-9"}, http.StatusPartialContent, archive[:10]},
		{[]string{"Range", "bytes=10-"}, http.StatusPartialContent, archive[10:]},
		{[]string{"Range", "bytes=-7"}, http.StatusPartialContent, archive[len(archive)-7:]},
		{[]string{"Range", "bytes=10-", "If-Range", tag}, http.StatusPartialContent, archive[10:]},
		{[]string{"Range", "bytes=10-", "If-Range", `"other"`}, http.StatusOK, archive},
		{[]string{"Range", "bytes=10-", "If-None-Match", tag}, http.StatusNotModified, []byte{}},
		{[]string{"Range", "lines=1"}, http.StatusRequestedRangeNotSatisfiable, nil},
		{[]string{"Range", "bytes=99999999-"}, http.StatusRequestedRangeNotSatisfiable, nil},
	} {
		got := requireStatus(t, c.status, to, c.headers...)
		if c.body != nil {
			require.Equal(t, c.body, got, "%v", c.headers)
		}
	}
	for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		res, body := ask(t, method, to)
		require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode, method)
		require.Equal(t, "GET", res.Header.Get("Allow"))
		require.NotContains(t, string(body), "good")
	}
}

// A link holds for five minutes, and for one version.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	e := s.entry(t, s.acme, skill(t, "good"))
	other := s.push(t, s.acme, e.Entry.ID, "1.1.0", skill(t, "other"))
	web := s.serve(t, s.store, s.Registry)
	to := link(t, s.Registry, web.URL, e.Version.ID)

	for name, bad := range map[string]func(u *url.URL, q url.Values){
		"later":                func(_ *url.URL, q url.Values) { q.Set("expires", strconv.FormatInt(noon.Add(time.Hour).Unix(), 10)) },
		"sooner":               func(_ *url.URL, q url.Values) { q.Set("expires", strconv.FormatInt(noon.Add(time.Minute).Unix(), 10)) },
		"with a sign":          func(_ *url.URL, q url.Values) { q.Set("expires", "+"+q.Get("expires")) },
		"with a zero":          func(_ *url.URL, q url.Values) { q.Set("expires", "0"+q.Get("expires")) },
		"never":                func(_ *url.URL, q url.Values) { q.Del("expires") },
		"no number":            func(_ *url.URL, q url.Values) { q.Set("expires", "soon") },
		"beyond all numbers":   func(_ *url.URL, q url.Values) { q.Set("expires", strings.Repeat("9", 30)) },
		"unsigned":             func(_ *url.URL, q url.Values) { q.Del("signature") },
		"signed with nothing":  func(_ *url.URL, q url.Values) { q.Set("signature", "") },
		"signed with less":     func(_ *url.URL, q url.Values) { q.Set("signature", q.Get("signature")[:63]) },
		"signed with more":     func(_ *url.URL, q url.Values) { q.Set("signature", q.Get("signature")+"0") },
		"signed in capitals":   func(_ *url.URL, q url.Values) { q.Set("signature", strings.ToUpper(q.Get("signature"))) },
		"to another version":   func(u *url.URL, _ url.Values) { u.Path = registry.Path + other.ID.String() },
		"to an entry":          func(u *url.URL, _ url.Values) { u.Path = registry.Path + e.Entry.ID.String() },
		"to nothing":           func(u *url.URL, _ url.Values) { u.Path = registry.Path + ids.New(ids.Version, noon).String() },
		"expires given before": func(_ *url.URL, q url.Values) { q["expires"] = append([]string{"99999999999"}, q["expires"]...) },
	} {
		body := requireStatus(t, http.StatusForbidden, change(t, to, bad))
		require.Contains(t, string(body), "This link does not work", name)
	}
	for _, id := range []string{"x", "..", "1", e.Version.ID.String()[1:]} {
		requireStatus(t, http.StatusNotFound, change(t, to, func(u *url.URL, _ url.Values) { u.Path = registry.Path + id }))
	}

	// Not a single character of the signature, or of the time, can be another.
	u, err := url.Parse(to)
	require.NoError(t, err)
	until, signature := u.Query().Get("expires"), u.Query().Get("signature")
	require.Len(t, signature, 64)
	holds := func(until, signature string) bool {
		ok, err := s.Links.Holds(t.Context(), e.Version.ID, until, signature)
		require.NoError(t, err)
		return ok
	}
	require.True(t, holds(until, signature))
	for i := range signature {
		for _, c := range "0123456789abcdefABCDEF g" {
			if changed := signature[:i] + string(c) + signature[i+1:]; changed != signature {
				require.False(t, holds(until, changed))
			}
		}
	}
	for i := range until {
		for c := '0'; c <= '9'; c++ {
			if changed := until[:i] + string(c) + until[i+1:]; changed != until {
				require.False(t, holds(changed, signature))
			}
		}
	}

	s.pass(5*time.Minute - time.Second)
	requireStatus(t, http.StatusOK, to)
	s.pass(time.Second)
	require.Contains(t, string(requireStatus(t, http.StatusForbidden, to)), "links last 5 minutes")
	requireStatus(t, http.StatusOK, link(t, s.Registry, web.URL, e.Version.ID))
}

// Whoever takes a version away ends its links at once.
func TestDownloadOfWhatIsGone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	e := s.entry(t, s.acme, skill(t, "good"))
	revoked, deleted := s.push(t, s.acme, e.Entry.ID, "1.1.0", skill(t, "revoked")), s.push(t, s.acme, e.Entry.ID, "1.2.0", skill(t, "deleted"))
	web := s.serve(t, s.store, s.Registry)
	toRevoked, toDeleted := link(t, s.Registry, web.URL, revoked.ID), link(t, s.Registry, web.URL, deleted.ID)
	requireStatus(t, http.StatusOK, toRevoked)
	_, err := s.acme.RevokeVersion(t.Context(), revoked.ID, nil)
	require.NoError(t, err)
	requireStatus(t, http.StatusNotFound, toRevoked)
	requireStatus(t, http.StatusNotFound, toRevoked, "If-None-Match", "*")
	_, err = s.acme.Rollback(t.Context(), e.Entry.ID, nil, nil) // what is left is no longer current, but still there
	require.NoError(t, err)
	requireStatus(t, http.StatusOK, toDeleted)
	require.NoError(t, s.acme.DeleteEntry(t.Context(), e.Entry.ID))
	requireStatus(t, http.StatusNotFound, toDeleted)
}

// Every server reads the links of every other, also of one that has just begun.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	archive := skill(t, "good")
	e := s.entry(t, s.acme, archive)
	type replica struct {
		*registry.Registry
		web *httptest.Server
	}
	var all []replica
	for range 3 {
		db, r := s.open(t)
		all = append(all, replica{r, s.serve(t, db, r)})
	}
	links := make([]string, len(all))
	failed := make([]error, len(all))
	var wg sync.WaitGroup
	for i, r := range all { // they make the secret at once
		wg.Go(func() { links[i], failed[i] = r.Links.To(t.Context(), e.Version.ID) })
	}
	wg.Wait()
	require.Equal(t, make([]error, len(all)), failed)
	for _, to := range links {
		require.Equal(t, links[0], to, "at the same moment, to the same version, they are the same")
		for _, r := range all {
			require.Equal(t, archive, requireStatus(t, http.StatusOK, r.web.URL+to))
		}
	}
	// Those of another installation are no good.
	another := newShop(t)
	to := link(t, another.Registry, all[0].web.URL, e.Version.ID)
	requireStatus(t, http.StatusForbidden, to)
}

// Bytes that are not what was published, or are gone, are never served: nothing of them, and nothing of why.
func TestDownloadOfDamagedBytes(t *testing.T) {
	var log journal
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	s := newShop(t)
	archive := skill(t, strings.Repeat("good", 1000))
	e := s.entry(t, s.acme, archive)
	web := s.serve(t, s.store, s.Registry)
	to, path := link(t, s.Registry, web.URL, e.Version.ID), filepath.Join(s.folder, hash(archive))
	_, signature, _ := strings.Cut(to, "signature=")
	require.Equal(t, archive, requireStatus(t, http.StatusOK, to))

	last := bytes.Clone(archive)
	last[len(last)-1] ^= 1
	for name, content := range map[string][]byte{"another last byte": last, "cut off": archive[:len(archive)-1], "empty": {}, "longer": append(bytes.Clone(archive), 0), "another": skill(t, "evil"), "gone": nil} {
		require.NoError(t, os.Remove(path))
		if content != nil {
			require.NoError(t, os.WriteFile(path, content, 0o600))
		}
		for _, headers := range [][]string{nil, {"Range", "bytes=0-3"}, {"If-None-Match", `"` + hash(archive) + `"`}} {
			log.Reset()
			res, body := ask(t, http.MethodGet, to, append([]string{"X-Request-Id", "damaged"}, headers...)...)
			require.Equal(t, http.StatusInternalServerError, res.StatusCode, name)
			require.Equal(t, `{"error":{"message":"Something went wrong on our side. It is in the log under request id damaged","status":500,"code":"INTERNAL"}}`, strings.TrimSpace(string(body)), name)
			require.Empty(t, res.Header.Get("ETag"))
			require.Empty(t, res.Header.Get("Content-Disposition"))
			require.Contains(t, log.String(), "the archive of version "+e.Version.ID.String(), name)
			require.Contains(t, log.String(), "request_id=damaged")
			require.NotContains(t, log.String(), signature, "a link is a secret")
		}
		if content == nil {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
	}
	// Whoever publishes the same bytes again mends them.
	again, err := s.CreateEntry(t.Context(), s.acme, newEntry("pdf"), newVersion("1.0.0"), bytes.NewReader(archive))
	require.NoError(t, err)
	require.False(t, again.Created)
	require.Equal(t, archive, requireStatus(t, http.StatusOK, to))
}

// journal is a log that may be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) Reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Reset()
}

// What is signed by us and is no version is not found.
func TestLinkOfAnotherKind(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	e := s.entry(t, s.acme, skill(t, "good"))
	web := s.serve(t, s.store, s.Registry)
	body := requireStatus(t, http.StatusNotFound, link(t, s.Registry, web.URL, e.Entry.ID)) // signed by us, for no version
	require.Contains(t, string(body), string(errs.NotFound))
}

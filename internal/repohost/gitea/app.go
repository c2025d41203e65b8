package gitea

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// App is the address of an API that speaks for Gitea where it differs from a host with apps: the owner has installed one as
// number 1, whose token is the owner's; refs are listed at another path, and none is "not found"; a commit is inside of another.
func (g *Gitea) App(t testing.TB) string {
	t.Helper()
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	same := httputil.NewSingleHostReverseProxy(to)
	answer := func(w http.ResponseWriter, status int, body any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v1")
		repo, refs, asksRefs := strings.Cut(path, "/git/matching-refs/")
		switch {
		case path == "/app/installations/1":
			answer(w, http.StatusOK, map[string]any{"account": map[string]string{"login": Owner}})
		case path == "/app/installations/1/access_tokens":
			answer(w, http.StatusCreated, map[string]any{"token": g.Token, "expires_at": time.Now().Add(time.Hour)}) //nolint:forbidigo // of the real world
		case path == "/installation/repositories" || path == "/user/repos":
			status, header, b := g.call(t, r.Method, "/user/repos?"+r.URL.RawQuery, nil)
			w.Header()["Link"] = header["Link"]
			answer(w, status, map[string]json.RawMessage{"repositories": b})
		case asksRefs:
			status, _, b := g.call(t, r.Method, repo+"/git/refs/"+refs, nil)
			if status == http.StatusNotFound {
				if status, _, b = g.call(t, r.Method, repo, nil); status == http.StatusOK {
					b = []byte("[]")
				}
			}
			answer(w, status, json.RawMessage(b))
		case strings.Contains(path, "/git/commits/"):
			status, _, b := g.call(t, r.Method, path, nil)
			var long struct {
				Commit json.RawMessage `json:"commit"`
			}
			_ = json.Unmarshal(b, &long)
			answer(w, status, long.Commit)
		default:
			same.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/api/v1"
}

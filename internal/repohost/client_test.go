package repohost_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/apphost"
	"skillgraph/internal/repohost/gitrepo"
)

const bought = "POST /app/installations/"

// resolve makes one call that needs a token for reading.
func resolve(t *testing.T, app *repohost.App) error {
	t.Helper()
	_, err := app.Resolve(t.Context(), acme, "acme/skills", "main")
	return err
}

func withRepository(t *testing.T) (*apphost.Host, *repohost.App, string) {
	t.Helper()
	h, app := apphost.New(t)
	return h, app, commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"SKILL.md": "skill", "pdf/SKILL.md": "pdf"}))
}

// A token is bought once for each purpose, and again shortly before it expires.
func TestTokensAreKept(t *testing.T) {
	t.Parallel()
	h, app, hash := withRepository(t)
	var g errgroup.Group
	for range 50 {
		g.Go(func() error {
			_, err := app.Resolve(context.WithoutCancel(t.Context()), acme, "acme/skills", "main")
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, 1, h.Count(bought+"7"))
	require.NoError(t, app.PostStatus(t.Context(), acme, "acme/skills", hash, repohost.Status{}))
	require.NoError(t, app.PostStatus(t.Context(), acme, "acme/skills", hash, repohost.Status{}))
	require.NoError(t, resolve(t, app))
	require.Equal(t, 1, h.Count(bought))
	h.Pass(59*time.Minute - time.Second)
	require.NoError(t, resolve(t, app))
	require.Zero(t, h.Count(bought))
	h.Pass(time.Second)
	require.NoError(t, resolve(t, app))
	require.Equal(t, 1, h.Count(bought))
	_, err := app.Resolve(t.Context(), repohost.Account{InstallationID: 8, Login: "other"}, "other/skills", "main")
	require.Error(t, err)
	require.Equal(t, 1, h.Count(bought+"8"), "nobody has the token of another")
}

// A token that the host does not take any more is replaced once.
func TestTokenIsReplaced(t *testing.T) {
	t.Parallel()
	h, app, _ := withRepository(t)
	require.NoError(t, resolve(t, app))
	h.Forget()
	h.Count("")
	var g errgroup.Group
	for range 20 {
		g.Go(func() error {
			_, err := app.Resolve(context.WithoutCancel(t.Context()), acme, "acme/skills", "main")
			return err
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, 1, h.Count(bought), "all who were refused share the new one")

	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			apphost.Fail(w, http.StatusUnauthorized, "Bad credentials")
		}
		return r.Method == http.MethodGet
	})
	err := resolve(t, app)
	require.EqualError(t, err, "The code host does not accept this server's app: Bad credentials")
	require.Equal(t, errs.Unavailable, errs.CodeOf(err))
	require.Equal(t, 3, h.Count(""), "two tries, and a token between them")
}

// One who waits for a token that another buys can give up.
func TestTokenIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	h, app, _ := withRepository(t)
	buying, release := make(chan struct{}), make(chan struct{})
	h.Instead(func(http.ResponseWriter, *http.Request) bool {
		h.Instead(nil)
		close(buying)
		<-release
		return false
	})
	first := make(chan error, 1)
	go func() { first <- resolve(t, app) }()
	<-buying
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := app.Resolve(ctx, acme, "acme/skills", "main")
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	require.NoError(t, <-first)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).Unix(), 10) }
	for _, c := range []struct {
		name   string
		status int
		header map[string]string
		words  string
		wait   time.Duration // 0: not a limit
	}{
		{"used up", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(20 * time.Minute)}, "API rate limit exceeded for installation ID 7.", 20 * time.Minute},
		{"used up, as 429", 429, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(time.Minute)}, "", time.Minute},
		{"used up until a moment ago", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(-time.Minute)}, "", time.Second},
		{"used up for ever", 403, map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9223372036854775807"}, "", time.Hour},
		{"too fast", 403, map[string]string{"Retry-After": "37"}, "You have exceeded a secondary rate limit.", 37 * time.Second},
		{"too fast, as 429", 429, map[string]string{"Retry-After": "37", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": at(time.Hour)}, "", 37 * time.Second},
		{"too fast, with a date", 429, map[string]string{"Retry-After": noon.Add(90 * time.Second).Format(http.TimeFormat)}, "", 90 * time.Second},
		{"too fast for ever", 429, map[string]string{"Retry-After": "9223372036854775807"}, "", time.Hour},
		{"too fast, with a number below zero", 429, map[string]string{"Retry-After": "-5"}, "", time.Second},
		{"too fast, without a word", 429, nil, "", time.Minute},
		{"too fast, only in words", 403, map[string]string{"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": at(time.Hour)}, "You have exceeded a secondary rate limit.", time.Minute},
		{"forbidden", 403, map[string]string{"X-RateLimit-Remaining": "4000", "X-RateLimit-Reset": at(time.Hour)}, "Resource not accessible by integration", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, app, _ := withRepository(t)
			require.NoError(t, resolve(t, app))
			h.Instead(func(w http.ResponseWriter, _ *http.Request) bool {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				apphost.Fail(w, c.status, c.words)
				return true
			})
			h.Count("")
			err := resolve(t, app)
			require.Equal(t, 1, h.Count(""))
			h.Instead(nil)
			if c.wait == 0 {
				requireConflict(t, err, "The code host refuses this (status 403): "+c.words)
				require.NoError(t, resolve(t, app))
				return
			}
			requireUnavailable(t, err, "The code host takes no more calls for acme at the moment", c.wait)
			// Nobody asks again before it is time, and nobody else has to wait.
			h.Pass(c.wait - 1)
			requireUnavailable(t, resolve(t, app), "The code host takes no more calls for acme at the moment", 1)
			require.Zero(t, h.Count(""))
			require.NoError(t, app.Check(t.Context(), repohost.Account{InstallationID: 8, Login: "other"}))
			h.Pass(1)
			require.NoError(t, resolve(t, app))
		})
	}
}

func requireUnavailable(t *testing.T, err error, words string, wait time.Duration) {
	t.Helper()
	var e *errs.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, errs.Error{Code: errs.Unavailable, Message: words, RetryAfter: wait}, *e)
}

// What goes wrong at the host, or on the way, is told in words for whoever asked, and never with a token.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   string
		code   errs.Code
		wait   time.Duration
	}{
		{"a problem", func(w http.ResponseWriter, _ *http.Request) { apphost.Fail(w, 500, "oops") }, "The code host has a problem of its own (status 500)", errs.Unavailable, 0},
		{"a page of a proxy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); _, _ = io.WriteString(w, "<html>") }, "The code host has a problem of its own (status 502)", errs.Unavailable, 0},
		{"maintenance", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "120"); w.WriteHeader(503) }, "The code host has a problem of its own (status 503)", errs.Unavailable, 2 * time.Minute},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "The code host cannot be reached: no valid answer", errs.Unavailable, 0},
		{"cut off inside", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "[")
		}, "The code host cannot be reached: no valid answer", errs.Unavailable, 0},
		{"never done", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "[")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "The code host did not answer within 500ms", errs.Unavailable, 0},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, "The code host gave an answer that cannot be understood", errs.Unavailable, 0},
		{"other JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ref": "refs/heads/main"}`) }, "The code host gave an answer that cannot be understood", errs.Unavailable, 0},
		{"endless", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "["+strings.Repeat(" ", 9<<20)+"]")
		}, "The code host answered with more than 8 MiB", errs.TooLarge, 0},
		{"gone", func(w http.ResponseWriter, _ *http.Request) { apphost.Fail(w, 404, "Not Found") }, "There is no repository acme/skills that the installation of acme may read", errs.Conflict, 0},
		{"blocked", func(w http.ResponseWriter, _ *http.Request) { apphost.Fail(w, 451, strings.Repeat("long ", 100)) }, "The code host refuses this (status 451): " + strings.Repeat("long ", 39) + "long…", errs.Conflict, 0},
		{"suspended", func(w http.ResponseWriter, _ *http.Request) {
			apphost.Fail(w, 403, "This installation has been suspended")
		}, "The installation of acme is suspended at the code host", errs.Conflict, 0},
		{"round in circles", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }, "The code host refuses this (status 302): ", errs.Conflict, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, app, _ := withRepository(t)
			if c.name == "never done" {
				app.Hurry(500*time.Millisecond, time.Minute)
			}
			h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet {
					c.answer(w, r)
				}
				return r.Method == http.MethodGet
			})
			err := resolve(t, app)
			var e *errs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, errs.Error{Code: c.code, Message: c.want, RetryAfter: c.wait}, *e)
			require.NotContains(t, fmt.Sprintf("%+v", err), "ghs_")

			// The token itself meets the same fate.
			h.Instead(func(w http.ResponseWriter, r *http.Request) bool { c.answer(w, r); return true })
			err = app.PostStatus(t.Context(), acme, "acme/skills", strings.Repeat("a", 40), repohost.Status{})
			require.Error(t, err)
			require.NotErrorIs(t, err, repohost.ErrUnsupported)
			require.NotEqual(t, errs.Internal, errs.CodeOf(err), "%v", err)
		})
	}
	h, app, _ := withRepository(t)
	h.Server.Close()
	requireUnavailable(t, resolve(t, app), "The code host cannot be reached: no connection: it was refused", 0)
	h, app, _ = withRepository(t)
	h.Installations[7].Suspended = true
	requireConflict(t, resolve(t, app), "The installation of acme is suspended at the code host")
	delete(h.Installations, 7)
	requireConflict(t, resolve(t, app), "The code host has no installation 7 of the account acme")
}

// The caller's own patience is not the host's fault.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	h, app, hash := withRepository(t)
	require.NoError(t, resolve(t, app))
	asked := make(chan struct{}, 2)
	h.Instead(func(_ http.ResponseWriter, r *http.Request) bool {
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	})
	for _, op := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := app.Resolve(ctx, acme, "acme/skills", "main"); return err },
		func(ctx context.Context) error {
			_, err := app.Read(ctx, acme, "acme/skills", hash, ".", nil)
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		require.ErrorIs(t, op(ctx), context.Canceled)
	}
}

// A repository that was renamed answers with its new address. The token goes there when it is the same host, and nowhere else; and
// what is posted is not turned into something that is read.
func TestRedirects(t *testing.T) {
	t.Parallel()
	h, app, hash := withRepository(t)
	commit(t, h.Root, "acme/new", "main", gitrepo.Files(map[string]string{"a": "new"}))
	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		renamed := strings.HasPrefix(r.URL.Path, "/api/v3/repos/acme/new/") || strings.HasPrefix(r.URL.Path, "/api/v3/app")
		if !renamed {
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/skills/", "/new/", 1), http.StatusMovedPermanently)
		}
		return !renamed
	})
	head, err := app.Resolve(t.Context(), acme, "acme/skills", "main")
	require.NoError(t, err)
	require.NotEqual(t, hash, head)
	requireConflict(t, app.PostStatus(t.Context(), acme, "acme/skills", head, repohost.Status{}), "The code host refuses this (status 301): ")
	require.Empty(t, h.Statuses())
	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		old := strings.HasPrefix(r.URL.Path, "/api/v3/repos/acme/skills/")
		if old {
			http.Redirect(w, r, strings.Replace(r.URL.Path, "/skills/", "/new/", 1), http.StatusTemporaryRedirect)
		}
		return old
	})
	require.NoError(t, app.PostStatus(t.Context(), acme, "acme/skills", head, repohost.Status{State: "success"}))
	require.Len(t, h.Statuses(), 1)
	require.Equal(t, "success", h.Statuses()[0]["state"])

	var leaked atomic.Value
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(r.Header.Get("Authorization")) }))
	defer elsewhere.Close()
	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		return true
	})
	requireUnavailable(t, resolve(t, app), "The code host gave an answer that cannot be understood", 0)
	require.Empty(t, leaked.Load())
}

// A token is never sent in the clear, however the host may ask for it.
func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	app := repohost.NewApp("https://code.example.com/api/v3", apphost.ID, apphost.Key(), nil, time.Now)
	from := func(method string) []*http.Request {
		return []*http.Request{httptest.NewRequest(method, "https://code.example.com/api/v3/x", nil)}
	}
	for _, c := range []struct {
		method, to    string
		follow, token bool
	}{
		{"GET", "https://code.example.com/api/v3/y", true, true},
		{"GET", "https://files.example.com/y", true, false},
		{"GET", "https://code.example.com.evil.example/api/v3/y", true, false},
		{"GET", "https://sub.code.example.com/api/v3/y", true, false},
		{"GET", "https://code.example.com:8443/api/v3/y", true, false},
		{"GET", "http://code.example.com/api/v3/y", false, true},
		{"GET", "http://127.0.0.1/y", false, true},
		{"POST", "https://code.example.com/api/v3/y", false, true},
	} {
		r := httptest.NewRequest("GET", c.to, nil)
		r.Header = http.Header{"Authorization": {"Bearer secret"}, "Referer": {"https://code.example.com"}}
		err := app.Redirect(r, from(c.method))
		require.Equal(t, c.follow, err == nil, c.to)
		if c.follow {
			require.Equal(t, c.token, r.Header.Get("Authorization") != "", c.to)
			require.Empty(t, r.Header.Get("Referer"))
		}
	}
}

// The server's own network is out of reach, wherever the host sends us.
func TestPrivateNetworksAreRefused(t *testing.T) {
	t.Parallel()
	h, _, _ := withRepository(t)
	app := repohost.NewApp(h.Server.URL+"/api/v3", apphost.ID, apphost.Key(), nil, h.Clock)
	requireUnavailable(t, resolve(t, app), "The code host cannot be reached: no connection: the address is not allowed", 0)
	require.Zero(t, h.Count(""))
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	key, junk, foreign := write("key.pem", apphost.PEM(t, "RSA PRIVATE KEY")), write("junk.pem", "junk"), write("ec.pem", apphost.PEM(t, "EC PRIVATE KEY"))
	key8 := write("key8.pem", apphost.PEM(t, "PRIVATE KEY"))
	for _, c := range []struct{ url, id, key, want string }{
		{"https://code.example.com/api/v3", "", "", "--repohost-app-key is missing: with --repohost-url it takes --repohost-url, --repohost-app-id and --repohost-app-key"},
		{"", "1", key, "--repohost-url is missing: with --repohost-app-key it takes --repohost-url, --repohost-app-id and --repohost-app-key"},
		{"https://code.example.com/api/v3", "", key, "--repohost-app-id is missing: with --repohost-app-key it takes --repohost-url, --repohost-app-id and --repohost-app-key"},
		{"http://code.example.com/api/v3", "1", key, "--repohost-url must begin with https: tokens travel there"},
		{"https://10.0.0.1/api/v3", "1", key, "--repohost-url must not point to a private address that --allow-networks does not list"},
		{"https://me:secret@code.example.com", "1", key, "--repohost-url must not hold a user name or password"},
		{"https://code.example.com/api?x=1", "1", key, "--repohost-url must end with its path"},
		{"code.example.com", "1", key, "--repohost-url must be an http or https URL"},
		{"https://code.example.com/api/v3", "1", junk, "--repohost-app-key " + junk + " is not a private key in PEM"},
		{"https://code.example.com/api/v3", "1", foreign, "--repohost-app-key " + foreign + " is not an RSA private key"},
		{"https://code.example.com/api/v3", "1", filepath.Join(dir, "none"), "--repohost-app-key: open " + filepath.Join(dir, "none") + ": no such file or directory"},
	} {
		_, err := repohost.Open(repohost.Settings{URL: c.url, AppID: c.id, AppKey: c.key, Networks: apphost.Loopback, Now: time.Now})
		require.EqualError(t, err, c.want)
	}
	d, err := repohost.Open(repohost.Settings{Root: dir})
	require.NoError(t, err)
	require.IsType(t, &repohost.Local{}, d)
	h, _, _ := withRepository(t)
	for _, k := range []string{key, key8} {
		d, err = repohost.Open(repohost.Settings{Root: dir, URL: h.Server.URL + "/api/v3", AppID: apphost.ID, AppKey: k, Networks: apphost.Loopback, Now: h.Clock})
		require.NoError(t, err)
		require.NoError(t, d.Check(t.Context(), acme))
	}
}

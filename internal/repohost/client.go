package repohost

import (
	"bytes"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"skillgraph/internal/errs"
	"skillgraph/internal/outbound"
)

const (
	maxJSON      = 8 << 20
	maxPages     = 100 // of 100 each
	maxComplaint = 16 << 10
	remembered   = 20_000 // tags and commits
)

// App is a host which has apps that an account installs: a token of the app buys tokens of its installations, and those are good
// for what the account has agreed to.
type App struct {
	base        string // of the API, without a slash at its end
	id          string
	key         *rsa.PrivateKey
	now         func() time.Time
	out         *outbound.Client
	http        *http.Client
	quick, slow time.Duration // for a call; for an archive

	tags    *lru.Cache[string, remoteTag]
	commits *lru.Cache[string, time.Time]

	mu     sync.Mutex
	tokens map[grant]*token
	paused map[int64]time.Time // until then the host takes no calls of an installation
}

// NewApp calls the API at base, as the app with an id and a private key.
func NewApp(base, id string, key *rsa.PrivateKey, allow []netip.Prefix, now func() time.Time) *App {
	d := &App{
		base: strings.TrimRight(base, "/"), id: id, key: key, now: now, out: outbound.New(allow), quick: 30 * time.Second, slow: 5 * time.Minute,
		tokens: map[grant]*token{}, paused: map[int64]time.Time{},
	}
	d.tags, _ = lru.New[string, remoteTag](remembered)
	d.commits, _ = lru.New[string, time.Time](remembered)
	d.http = &http.Client{Transport: d.out.Transport(), CheckRedirect: d.redirect}
	return d
}

// redirect goes where the host sends us, as it does for an archive, or for a repository that has another name now. The token
// stays at home.
func (d *App) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.Method != via[0].Method || r.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
		return http.ErrUseLastResponse
	}
	if !strings.HasPrefix(r.URL.String(), d.origin()+"/") {
		r.Header.Del("Authorization")
	}
	r.Header.Del("Referer")
	return nil
}

// origin is the scheme and host of the API.
func (d *App) origin() string {
	u, _ := url.Parse(d.base)
	return u.Scheme + "://" + u.Host
}

// within bounds a call, and says so when it is over.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errs.New(errs.Unavailable, "The code host did not answer within %v", limit))
}

// call makes a request as an installation and reads the JSON of the answer into out, unless that is nil. Next is where a list
// goes on.
func (d *App) call(ctx context.Context, a Account, s scope, method, at string, in, out any) (next string, err error) {
	ctx, cancel := within(ctx, d.quick)
	defer cancel()
	res, err := d.as(ctx, a, s, method, at, in)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	return d.next(res), d.decode(ctx, res.Body, out)
}

// pages reads a list to its end.
func pages[T any](ctx context.Context, d *App, a Account, s scope, at string, each func(T)) error {
	for range maxPages {
		var page T
		next, err := d.call(ctx, a, s, http.MethodGet, at, nil, &page)
		if err != nil {
			return err
		}
		each(page)
		if next == "" {
			return nil
		}
		at = next
	}
	return errs.New(errs.TooLarge, "The code host lists more than %d things", 100*maxPages)
}

var nextLink = regexp.MustCompile(`<([^<>]*)>\s*;[^,<]*\brel="?next\b`)

// next is where a list goes on: at the host that we know, whatever it calls itself.
func (d *App) next(res *http.Response) string {
	for _, link := range res.Header.Values("Link") {
		if m := nextLink.FindStringSubmatch(link); m != nil {
			if u, err := url.Parse(m[1]); err == nil {
				return d.origin() + u.RequestURI()
			}
		}
	}
	return ""
}

// as makes a request as an installation, with a token for what it needs. One that the host does not take any more is replaced, once.
func (d *App) as(ctx context.Context, a Account, s scope, method, at string, in any) (*http.Response, error) {
	token, err := d.token(ctx, a, s, "")
	if err != nil {
		return nil, err
	}
	res, err := d.send(ctx, a, token, method, at, in)
	if !refused(err, http.StatusUnauthorized) {
		return res, err
	}
	if token, err = d.token(ctx, a, s, token); err != nil {
		return nil, err
	}
	return d.send(ctx, a, token, method, at, in)
}

// send makes a request. An answer that is not a success is an error.
func (d *App) send(ctx context.Context, a Account, bearer, method, at string, in any) (*http.Response, error) {
	if err := d.pause(a); err != nil {
		return nil, err
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	req.Header.Set("User-Agent", "skillgraph")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, d.broken(ctx, err)
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	return nil, d.complaint(a, res)
}

func (d *App) decode(ctx context.Context, body io.Reader, out any) error {
	b, err := io.ReadAll(io.LimitReader(body, maxJSON+1))
	switch {
	case err != nil:
		return d.broken(ctx, err)
	case len(b) > maxJSON:
		return errs.New(errs.TooLarge, "The code host answered with more than %d MiB", maxJSON>>20)
	case out == nil:
		return nil
	}
	if json.Unmarshal(b, out) != nil {
		return senseless()
	}
	return nil
}

func senseless() error {
	return errs.New(errs.Unavailable, "The code host gave an answer that cannot be understood")
}

// refusal is an answer that is not a success, and whose meaning depends on the question.
type refusal struct {
	status  int
	message string // of the host
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the code host answered %d: %q", r.status, r.message)
}

func refused(err error, status int) bool {
	var r *refusal
	return errors.As(err, &r) && r.status == status
}

// complaint is the error in an answer.
func (d *App) complaint(a Account, res *http.Response) error {
	var said struct {
		Message string `json:"message"`
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxComplaint))
	_ = json.Unmarshal(b, &said) // a proxy in between may answer something else
	wait, told := d.wait(res)
	switch few := res.StatusCode == http.StatusTooManyRequests; {
	case few || res.StatusCode == http.StatusForbidden && (told || strings.Contains(said.Message, "rate limit")):
		d.mu.Lock()
		d.paused[a.InstallationID] = d.now().Add(max(wait, time.Second))
		d.mu.Unlock()
		return d.pause(a)
	case res.StatusCode >= http.StatusInternalServerError:
		e := errs.New(errs.Unavailable, "The code host has a problem of its own (status %d)", res.StatusCode)
		if told {
			e.RetryAfter = wait
		}
		return e
	case res.StatusCode == http.StatusForbidden && strings.Contains(said.Message, "suspended"):
		return errs.New(errs.Conflict, "The installation of %s is suspended at the code host", a.Login)
	}
	return &refusal{res.StatusCode, clip(said.Message, 200)}
}

// wait tells how long to wait, and whether the host says so: in so many words after too many calls at a time, or by what it
// counts when all calls of an hour are used up. Otherwise it is a minute.
func (d *App) wait(res *http.Response) (wait time.Duration, told bool) {
	now := d.now()
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = at // the host's clock, which the times below are of
	}
	after := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil {
		return time.Duration(min(seconds, 3600)) * time.Second, true
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(at.Sub(now), time.Hour), true
	}
	reset, err := strconv.ParseInt(res.Header.Get("X-RateLimit-Reset"), 10, 64)
	if err == nil && res.Header.Get("X-RateLimit-Remaining") == "0" {
		return time.Duration(min(reset-now.Unix(), 3600)) * time.Second, true
	}
	return time.Minute, false
}

// pause fails as long as the host takes no calls of an installation: who goes on calling is locked out for longer.
func (d *App) pause(a Account) error {
	d.mu.Lock()
	wait := d.paused[a.InstallationID].Sub(d.now())
	d.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	e := errs.New(errs.Unavailable, "The code host takes no more calls for %s at the moment", a.Login)
	e.RetryAfter = wait
	return e
}

// broken says why there is no answer. When the caller has given up, that is the reason.
func (d *App) broken(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return errs.New(errs.Unavailable, "The code host cannot be reached: %v", d.out.Explain(err))
}

// explain says what a refusal means to whoever asked for a repository.
func (d *App) explain(a Account, repo string, err error) error {
	var r *refusal
	switch {
	case !errors.As(err, &r):
		return err
	case r.status == http.StatusNotFound && repo == "":
		return noInstallation(a)
	case r.status == http.StatusNotFound:
		return noRepository(a, repo)
	case r.status == http.StatusUnauthorized:
		return errs.New(errs.Unavailable, "The code host does not accept this server's app: %s", r.message)
	}
	return errs.New(errs.Conflict, "The code host refuses this (status %d): %s", r.status, r.message)
}

// remember asks only for what it does not know yet.
func remember[T any](known *lru.Cache[string, T], key string, ask func() (T, error)) (T, error) {
	if v, ok := known.Get(key); ok {
		return v, nil
	}
	v, err := ask()
	if err == nil {
		known.Add(key, v)
	}
	return v, err
}

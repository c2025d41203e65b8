// Package apphost is a code host with the API of apps, for tests.
package apphost

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"skillgraph/internal/repohost"
)

// ID is the app's.
const ID = "4711"

// Noon is when every test begins.
var Noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

var (
	// Key is the app's.
	Key = sync.OnceValue(func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 2048); return k })
	// Loopback is where tests listen.
	Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
)

// Host is a code host with the API of apps, over bare repositories. It trusts nothing that it is sent: a request that a real host
// would refuse, or take for another one, fails the test.
type Host struct {
	t      *testing.T
	Root   string // of bare repositories
	Server *httptest.Server
	files  *httptest.Server // where archives are fetched from

	Installations map[int64]*Installation

	mu        sync.Mutex
	now       time.Time
	tokens    map[string]issued
	calls     []string // all requests, as METHOD /path
	statuses  []map[string]string
	checkRuns []CheckRun
	answer    func(w http.ResponseWriter, r *http.Request) bool // answers in the host's place
}

// Installation is what an account has agreed to.
type Installation struct {
	Login     string
	Suspended bool
	Granted   map[string]string
}

type issued struct {
	installation int64
	permissions  map[string]string
	until        time.Time
}

// CheckRun is one as it was posted.
type CheckRun struct {
	ID         int64             `json:"id"`
	Name       string            `json:"name"`
	HeadSHA    string            `json:"head_sha"`
	ExternalID string            `json:"external_id"`
	Status     string            `json:"status"`
	Conclusion string            `json:"conclusion"`
	DetailsURL string            `json:"details_url"`
	Output     map[string]string `json:"output"`
}

// Everything is all that the app may ask for.
var Everything = map[string]string{"contents": "read", "metadata": "read", "statuses": "write", "checks": "write"}

// New is a host where acme has installed the app as number 7, and a driver for it.
func New(t *testing.T) (*Host, *repohost.App) {
	t.Helper()
	h := &Host{
		t: t, Root: t.TempDir(), now: Noon, tokens: map[string]issued{},
		Installations: map[int64]*Installation{7: {Login: "Acme", Granted: Everything}, 8: {Login: "other", Granted: Everything}},
	}
	h.Server = httptest.NewServer(http.HandlerFunc(h.Serve))
	h.files = httptest.NewServer(http.HandlerFunc(h.serveFile))
	t.Cleanup(h.Server.Close)
	t.Cleanup(h.files.Close)
	return h, repohost.NewApp(h.Server.URL+"/api/v3/", ID, Key(), Loopback, h.Clock)
}

// Clock is the host's.
func (h *Host) Clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Pass lets time pass.
func (h *Host) Pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Instead answers in the host's place, as often as it says so.
func (h *Host) Instead(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

// Count is how many requests begin so, and forgets all.
func (h *Host) Count(prefix string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.calls {
		if strings.HasPrefix(c, prefix) {
			n++
		}
	}
	h.calls = nil
	return n
}

// Statuses are the commit statuses that were posted.
func (h *Host) Statuses() []map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.statuses)
}

// Forget makes every token worthless: the account has taken the app's access back, and given it again.
func (h *Host) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.tokens)
}

// CheckRuns are the check-runs that were posted.
func (h *Host) CheckRuns() []CheckRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.checkRuns)
}

// Serve answers a request.
func (h *Host) Serve(w http.ResponseWriter, r *http.Request) {
	path, inside := strings.CutPrefix(r.URL.EscapedPath(), "/api/v3")
	if !inside {
		h.t.Errorf("a request outside of the API: %s", r.URL)
	}
	h.mu.Lock()
	h.calls = append(h.calls, r.Method+" "+path)
	answer := h.answer
	h.mu.Unlock()
	if r.UserAgent() != "skillgraph" || r.Header.Get("Accept") != "application/vnd.github+json" || r.Header.Get("X-Github-Api-Version") != "2022-11-28" {
		h.t.Errorf("%s: headers %v", path, r.Header)
	}
	w.Header().Set("Date", h.Clock().UTC().Format(http.TimeFormat))
	if answer != nil && answer(w, r) {
		return
	}
	if rest, is := strings.CutPrefix(path, "/app/installations/"); is {
		h.app(w, r, rest)
		return
	}
	token, ok := h.authorized(r)
	switch {
	case !ok:
		Fail(w, http.StatusUnauthorized, "Bad credentials")
	case h.Installations[token.installation].Suspended:
		Fail(w, http.StatusForbidden, "This installation has been suspended")
	case path == "/installation/repositories":
		h.allow(token, "metadata", "read")
		h.list(w, r, token)
	default:
		h.repository(w, r, token, strings.Split(strings.TrimPrefix(path, "/"), "/"))
	}
}

// Fail is how the host says no.
func Fail(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message, "documentation_url": "https://docs.example.com"})
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// body reads a request that may have these keys and no other.
func (h *Host) body(r *http.Request, into any) {
	if r.Header.Get("Content-Type") != "application/json" {
		h.t.Errorf("%s: content type %q", r.URL, r.Header.Get("Content-Type"))
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		h.t.Errorf("%s: %v", r.URL, err)
	}
}

// app answers what the app itself asks, if its token is one.
func (h *Host) app(w http.ResponseWriter, r *http.Request, rest string) {
	if message := h.jwt(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); message != "" {
		Fail(w, http.StatusUnauthorized, message)
		return
	}
	number, rest, _ := strings.Cut(rest, "/")
	id, _ := strconv.ParseInt(number, 10, 64)
	in := h.Installations[id]
	switch {
	case in == nil:
		Fail(w, http.StatusNotFound, "Not Found")
	case r.Method == http.MethodGet && rest == "":
		Reply(w, http.StatusOK, map[string]any{"id": id, "account": map[string]any{"login": in.Login, "type": "Organization"}, "suspended_at": nil})
	case r.Method != http.MethodPost || rest != "access_tokens":
		h.t.Errorf("%s %s", r.Method, r.URL)
	case in.Suspended:
		Fail(w, http.StatusForbidden, "This installation has been suspended")
	default:
		h.issue(w, r, id, in)
	}
}

func (h *Host) issue(w http.ResponseWriter, r *http.Request, id int64, in *Installation) {
	var asked struct {
		Permissions map[string]string `json:"permissions"`
	}
	h.body(r, &asked)
	if len(asked.Permissions) != 2 {
		h.t.Errorf("a token for %v is not the least that a call needs", asked.Permissions)
	}
	for name, level := range asked.Permissions {
		if in.Granted[name] != level {
			Fail(w, http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			return
		}
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	value := "ghs_" + hex.EncodeToString(secret)
	h.mu.Lock()
	until := h.now.Add(time.Hour)
	h.tokens[value] = issued{id, asked.Permissions, until}
	h.mu.Unlock()
	Reply(w, http.StatusCreated, map[string]any{"token": value, "expires_at": until.UTC().Format(time.RFC3339), "permissions": asked.Permissions, "repository_selection": "all"})
}

// jwt says what is wrong with a token of the app.
func (h *Host) jwt(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "A JSON web token could not be decoded"
	}
	decoded := make([][]byte, 3)
	for i, p := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return "A JSON web token could not be decoded"
		}
	}
	var header struct{ Alg, Typ string }
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &claims) != nil || header.Alg != "RS256" || header.Typ != "JWT" {
		return "A JSON web token could not be decoded"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now := h.Clock().Unix()
	switch {
	case rsa.VerifyPKCS1v15(&Key().PublicKey, crypto.SHA256, sum[:], decoded[2]) != nil:
		return "A JSON web token could not be decoded"
	case claims.Iss != ID:
		return "Integration not found"
	case claims.Iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.Exp <= now || claims.Exp > now+600:
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

func (h *Host) authorized(r *http.Request) (issued, bool) {
	value, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	h.mu.Lock()
	defer h.mu.Unlock()
	token, known := h.tokens[value]
	return token, is && known && h.now.Before(token.until)
}

// allow fails the test when a token is not for what is asked with it: another host would answer 403.
func (h *Host) allow(token issued, permission, level string) {
	if token.permissions[permission] != level {
		h.t.Errorf("a token for %v is used where %s:%s is needed", token.permissions, permission, level)
	}
}

// PEM is the app's key as hosts give it out, or one that is none.
func PEM(t *testing.T, kind string) string {
	t.Helper()
	bytes := x509.MarshalPKCS1PrivateKey(Key())
	var err error
	switch kind {
	case "PRIVATE KEY":
		bytes, err = x509.MarshalPKCS8PrivateKey(Key())
	case "EC PRIVATE KEY":
		bytes = []byte("not RSA")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

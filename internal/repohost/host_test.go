package repohost_test

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

const appID = "4711"

var (
	appKey   = sync.OnceValue(func() *rsa.PrivateKey { k, _ := rsa.GenerateKey(rand.Reader, 2048); return k })
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
)

// host is a code host with the API of apps, over bare repositories. It trusts nothing that it is sent: a request that a real host
// would refuse, or take for another one, fails the test.
type host struct {
	t      *testing.T
	root   string // of bare repositories
	server *httptest.Server
	files  *httptest.Server // where archives are fetched from

	mu            sync.Mutex
	now           time.Time
	installations map[int64]*installation
	tokens        map[string]issued
	calls         []string // all requests, as METHOD /path
	statuses      []map[string]string
	checkRuns     []checkRun
	answer        func(w http.ResponseWriter, r *http.Request) bool // answers in the host's place
}

type installation struct {
	login     string
	suspended bool
	granted   map[string]string
}

type issued struct {
	installation int64
	permissions  map[string]string
	until        time.Time
}

type checkRun struct {
	ID         int64             `json:"id"`
	Name       string            `json:"name"`
	HeadSHA    string            `json:"head_sha"`
	ExternalID string            `json:"external_id"`
	Status     string            `json:"status"`
	Conclusion string            `json:"conclusion"`
	DetailsURL string            `json:"details_url"`
	Output     map[string]string `json:"output"`
}

var everything = map[string]string{"contents": "read", "metadata": "read", "statuses": "write", "checks": "write"}

// newHost is a host where acme has installed the app as number 7, and a driver for it.
func newHost(t *testing.T) (*host, *repohost.App) {
	t.Helper()
	h := &host{
		t: t, root: t.TempDir(), now: noon, tokens: map[string]issued{},
		installations: map[int64]*installation{7: {login: "Acme", granted: everything}, 8: {login: "other", granted: everything}},
	}
	h.server = httptest.NewServer(http.HandlerFunc(h.serve))
	h.files = httptest.NewServer(http.HandlerFunc(h.serveFile))
	t.Cleanup(h.server.Close)
	t.Cleanup(h.files.Close)
	return h, repohost.NewApp(h.server.URL+"/api/v3/", appID, appKey(), loopback, h.clock)
}

func (h *host) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *host) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// instead answers in the host's place, as often as it says so.
func (h *host) instead(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = f
}

// count is how many requests begin so, and forgets all.
func (h *host) count(prefix string) (n int) {
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

// posted are the check-runs that were posted.
func (h *host) posted() []checkRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.checkRuns)
}

func (h *host) serve(w http.ResponseWriter, r *http.Request) {
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
	w.Header().Set("Date", h.clock().UTC().Format(http.TimeFormat))
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
		fail(w, http.StatusUnauthorized, "Bad credentials")
	case h.installations[token.installation].suspended:
		fail(w, http.StatusForbidden, "This installation has been suspended")
	case path == "/installation/repositories":
		h.allow(token, "metadata", "read")
		h.list(w, r, token)
	default:
		h.repository(w, r, token, strings.Split(strings.TrimPrefix(path, "/"), "/"))
	}
}

func fail(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message, "documentation_url": "https://docs.example.com"})
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// body reads a request that may have these keys and no other.
func (h *host) body(r *http.Request, into any) {
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
func (h *host) app(w http.ResponseWriter, r *http.Request, rest string) {
	if message := h.jwt(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); message != "" {
		fail(w, http.StatusUnauthorized, message)
		return
	}
	number, rest, _ := strings.Cut(rest, "/")
	id, _ := strconv.ParseInt(number, 10, 64)
	in := h.installations[id]
	switch {
	case in == nil:
		fail(w, http.StatusNotFound, "Not Found")
	case r.Method == http.MethodGet && rest == "":
		reply(w, http.StatusOK, map[string]any{"id": id, "account": map[string]any{"login": in.login, "type": "Organization"}, "suspended_at": nil})
	case r.Method != http.MethodPost || rest != "access_tokens":
		h.t.Errorf("%s %s", r.Method, r.URL)
	case in.suspended:
		fail(w, http.StatusForbidden, "This installation has been suspended")
	default:
		h.issue(w, r, id, in)
	}
}

func (h *host) issue(w http.ResponseWriter, r *http.Request, id int64, in *installation) {
	var asked struct {
		Permissions map[string]string `json:"permissions"`
	}
	h.body(r, &asked)
	if len(asked.Permissions) != 2 {
		h.t.Errorf("a token for %v is not the least that a call needs", asked.Permissions)
	}
	for name, level := range asked.Permissions {
		if in.granted[name] != level {
			fail(w, http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
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
	reply(w, http.StatusCreated, map[string]any{"token": value, "expires_at": until.UTC().Format(time.RFC3339), "permissions": asked.Permissions, "repository_selection": "all"})
}

// jwt says what is wrong with a token of the app.
func (h *host) jwt(token string) string {
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
	now := h.clock().Unix()
	switch {
	case rsa.VerifyPKCS1v15(&appKey().PublicKey, crypto.SHA256, sum[:], decoded[2]) != nil:
		return "A JSON web token could not be decoded"
	case claims.Iss != appID:
		return "Integration not found"
	case claims.Iat > now:
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case claims.Exp <= now || claims.Exp > now+600:
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}

func (h *host) authorized(r *http.Request) (issued, bool) {
	value, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	h.mu.Lock()
	defer h.mu.Unlock()
	token, known := h.tokens[value]
	return token, is && known && h.now.Before(token.until)
}

// allow fails the test when a token is not for what is asked with it: another host would answer 403.
func (h *host) allow(token issued, permission, level string) {
	if token.permissions[permission] != level {
		h.t.Errorf("a token for %v is used where %s:%s is needed", token.permissions, permission, level)
	}
}

// pemKey is the app's key as hosts give it out, or one that is none.
func pemKey(t *testing.T, kind string) string {
	t.Helper()
	bytes := x509.MarshalPKCS1PrivateKey(appKey())
	var err error
	switch kind {
	case "PRIVATE KEY":
		bytes, err = x509.MarshalPKCS8PrivateKey(appKey())
	case "EC PRIVATE KEY":
		bytes = []byte("not RSA")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
}

package repohost_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

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

// list pages through the repositories of an installation, five at a time at most.
func (h *host) list(w http.ResponseWriter, r *http.Request, token issued) {
	dirs, _ := filepath.Glob(filepath.Join(h.root, strings.ToLower(h.installations[token.installation].login), "*.git"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	const most = 5
	page = max(page, 1)
	if last := (len(dirs) + most - 1) / most; page < last {
		at := fmt.Sprintf("https://api.elsewhere.example%s?per_page=100&page=", r.URL.Path) // behind a proxy it does not know its address
		w.Header().Set("Link", fmt.Sprintf(`<%s%d>; rel="next", <%s%d>; rel="last"`, at, page+1, at, last))
	}
	repos := []any{}
	for _, dir := range dirs[min((page-1)*most, len(dirs)):min(page*most, len(dirs))] {
		repos = append(repos, describe(h.installations[token.installation].login, strings.TrimSuffix(filepath.Base(dir), ".git")))
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(dirs), "repositories": repos})
}

func describe(owner, name string) map[string]any {
	out := map[string]any{
		"id": int64(1)<<40 + int64(len(name)), "name": name, "full_name": owner + "/" + name, "owner": map[string]any{"login": owner},
		"private": name != "open", "default_branch": "main", "html_url": "https://code.example.com/" + owner + "/" + name, "pushed_at": noon.Format(time.RFC3339),
	}
	switch name {
	case "inside":
		out["visibility"] = "internal"
	case "empty":
		out["pushed_at"] = nil
	}
	return out
}

// repository answers what is asked about a repository: repos, owner, name, and more.
func (h *host) repository(w http.ResponseWriter, r *http.Request, token issued, path []string) {
	if len(path) < 3 || path[0] != "repos" {
		h.t.Errorf("%s %s", r.Method, r.URL)
		return
	}
	dir := filepath.Join(h.root, strings.ToLower(path[1]), path[2]+".git")
	repo, err := git.PlainOpen(dir)
	if err != nil || !strings.EqualFold(path[1], h.installations[token.installation].login) {
		fail(w, http.StatusNotFound, "Not Found")
		return
	}
	what := strings.Join(path[3:], "/")
	switch {
	case what == "":
		h.allow(token, "metadata", "read")
		reply(w, http.StatusOK, describe(path[1], path[2]))
	case strings.HasPrefix(what, "statuses/"), strings.Contains(what, "check-runs"):
		h.write(w, r, token, repo, path[3:])
	case r.Method != http.MethodGet:
		h.t.Errorf("%s %s", r.Method, r.URL)
	default:
		h.allow(token, "contents", "read")
		h.read(w, r, repo, path)
	}
}

func (h *host) read(w http.ResponseWriter, r *http.Request, repo *git.Repository, path []string) {
	what, name := strings.Join(path[3:min(5, len(path))], "/"), path[len(path)-1]
	hash := plumbing.NewHash(name)
	switch {
	case path[3] == "tarball":
		if _, err := repo.CommitObject(hash); err != nil {
			fail(w, http.StatusNotFound, "Not Found")
			return
		}
		http.Redirect(w, r, h.files.URL+"/"+path[1]+"/"+path[2]+"/"+name+"?token=once", http.StatusFound)
	case what == "git/matching-refs":
		prefix, _ := url.PathUnescape(strings.Join(path[5:], "/"))
		h.refs(w, repo, "refs/"+prefix)
	case what == "git/tags":
		tag, err := repo.TagObject(hash)
		if err != nil {
			fail(w, http.StatusNotFound, "Not Found")
			return
		}
		out := map[string]any{"tag": tag.Name, "sha": name, "object": map[string]string{"type": tag.TargetType.String(), "sha": tag.Target.String()}}
		if !tag.Tagger.When.IsZero() {
			out["tagger"] = map[string]any{"name": tag.Tagger.Name, "date": tag.Tagger.When.Format(time.RFC3339)}
		}
		reply(w, http.StatusOK, out)
	case what == "git/commits":
		c, err := repo.CommitObject(hash)
		if err != nil {
			fail(w, http.StatusNotFound, "Not Found")
			return
		}
		reply(w, http.StatusOK, map[string]any{"sha": name, "committer": map[string]any{"date": c.Committer.When.Format(time.RFC3339)}})
	default:
		h.t.Errorf("%s %s", r.Method, r.URL)
	}
}

func (h *host) refs(w http.ResponseWriter, repo *git.Repository, prefix string) {
	if _, err := repo.Head(); err != nil {
		fail(w, http.StatusConflict, "Git Repository is empty.")
		return
	}
	out := []any{}
	refs, err := repo.References()
	if err != nil {
		h.t.Error(err)
		return
	}
	_ = refs.ForEach(func(ref *plumbing.Reference) error {
		if strings.HasPrefix(ref.Name().String(), prefix) {
			o, err := repo.Object(plumbing.AnyObject, ref.Hash())
			if err != nil {
				return err
			}
			out = append(out, map[string]any{"ref": ref.Name(), "object": map[string]string{"type": o.Type().String(), "sha": ref.Hash().String()}})
		}
		return nil
	})
	reply(w, http.StatusOK, out)
}

// serveFile hands out archives to whoever has the link, and wants no token: it is another host.
func (h *host) serveFile(w http.ResponseWriter, r *http.Request) {
	for _, header := range []string{"Authorization", "Referer", "Cookie"} {
		if r.Header.Get(header) != "" {
			h.t.Errorf("%s is sent to another host", header)
		}
	}
	path := strings.Split(r.URL.Path, "/")
	cmd := exec.Command("git", "archive", "--format=tar.gz", fmt.Sprintf("--prefix=%s-%s-%.7s/", path[1], path[2], path[3]), path[3])
	cmd.Dir = filepath.Join(h.root, strings.ToLower(path[1]), path[2]+".git")
	var made bytes.Buffer
	cmd.Stdout = &made
	if err := cmd.Run(); err != nil {
		h.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-gzip")
	_, _ = io.Copy(w, &made)
}

// write takes statuses and check-runs.
func (h *host) write(w http.ResponseWriter, r *http.Request, token issued, repo *git.Repository, path []string) {
	what := r.Method + " " + path[0]
	if path[0] != "check-runs" {
		if _, err := repo.CommitObject(plumbing.NewHash(path[1])); err != nil {
			fail(w, http.StatusUnprocessableEntity, "No commit found for SHA: "+path[1])
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what {
	case "POST statuses":
		h.allow(token, "statuses", "write")
		s := map[string]string{}
		h.body(r, &s)
		h.statuses = append(h.statuses, s)
		reply(w, http.StatusCreated, map[string]any{"id": len(h.statuses)})
	case "GET commits":
		h.allow(token, "checks", "write")
		if r.URL.Query().Get("filter") != "all" {
			h.t.Error("only the latest check-runs are asked for")
		}
		found := slices.DeleteFunc(slices.Clone(h.checkRuns), func(c checkRun) bool { return c.HeadSHA != path[1] || c.Name != r.URL.Query().Get("check_name") })
		reply(w, http.StatusOK, map[string]any{"total_count": len(found), "check_runs": found})
	case "POST check-runs":
		h.allow(token, "checks", "write")
		c := checkRun{}
		h.body(r, &c)
		c.ID = int64(1000 + len(h.checkRuns))
		h.checkRuns = append(h.checkRuns, c)
		reply(w, http.StatusCreated, c)
	case "PATCH check-runs":
		h.allow(token, "checks", "write")
		i := slices.IndexFunc(h.checkRuns, func(c checkRun) bool { return strconv.FormatInt(c.ID, 10) == path[1] })
		c := checkRun{}
		h.body(r, &c)
		if c.HeadSHA != "" || c.ID != 0 {
			h.t.Errorf("a check-run keeps its commit and its id: %+v", c)
		}
		c.ID, c.HeadSHA = h.checkRuns[i].ID, h.checkRuns[i].HeadSHA
		h.checkRuns[i] = c
		reply(w, http.StatusOK, c)
	default:
		h.t.Errorf("%s %s", r.Method, r.URL)
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

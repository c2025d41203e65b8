// Package apitest runs the whole server on a database of the test's own and speaks the protocol to it.
package apitest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/alerting"
	"skillgraph/internal/blob"
	"skillgraph/internal/codehost"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/jobs"
	"skillgraph/internal/outbound"
	"skillgraph/internal/registry"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/internal/server"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Server is a running server with people to ask it.
type Server struct {
	URL      string
	Handler  http.Handler // what answers there
	Store    *store.Store
	Blobs    *blob.Store
	Hosting  *hosting.Hosting
	Host     *codehost.Host
	Repos    string                    // where the repositories of the code host are
	Alerts   *jobs.Alerts              // no jobs run unless a test runs them
	Database string                    // its URL
	Keys     map[string]string         // API keys by who holds them
	Viewers  map[string]*models.Viewer // and who they stand for
	Orgs     map[string]ids.ID         // organizations by name

	config server.Config
}

// people are in every test: one of each role in acme, which is on the team plan, a key that may do exactly one thing, and the
// owners of an organization on the free plan, of one on the pro plan, and of one that is nobody's business.
var people = []struct {
	name, org string
	plan      models.Plan
	role      models.Role
	can       []models.Permission
}{
	{"owner", "acme", models.PlanTeam, models.RoleOwner, nil},
	{"admin", "acme", models.PlanTeam, models.RoleAdmin, nil},
	{"member", "acme", models.PlanTeam, models.RoleMember, nil},
	{"viewer", "acme", models.PlanTeam, models.RoleViewer, nil},
	{"installer", "acme", models.PlanTeam, models.RoleMember, []models.Permission{models.PermissionRegistryInstall}},
	{"free", "small", models.PlanFree, models.RoleOwner, nil},
	{"pro", "studio", models.PlanPro, models.RoleOwner, nil},
	{"stranger", "other", models.PlanEnterprise, models.RoleOwner, nil},
}

// New starts a server.
func New(t testing.TB) *Server {
	t.Helper()
	url := dbtest.Database(t)
	return Open(t, url, dbtest.Open(t, url, store.Options{MaxConns: 10, Clock: clock(time.Now())}))
}

// WebhookSecret signs what the code host tells in tests.
const WebhookSecret = "a secret between two"

// Noon is when every test begins, so that scenarios can have dates in them.
var Noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// clock never shows the same millisecond twice, so that what is made later is newer.
func clock(start time.Time) func() time.Time {
	var mu sync.Mutex
	last := Noon
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		last = last.Add(time.Millisecond)
		if now := Noon.Add(time.Since(start)); now.After(last) {
			last = now
		}
		return last
	}
}

// Open starts a server on a store.
func Open(t testing.TB, url string, db *store.Store) *Server {
	t.Helper()
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} // where tests listen
	sender, err := alerting.New(outbound.New(allow), alerting.MailConfig{}, time.Now)
	require.NoError(t, err)
	alerts := &jobs.Alerts{Sender: sender, Now: time.Now, Check: func(url string) error { return outbound.CheckURL(url, allow) }}
	blobs := dbtest.Blobs(t, db)
	repos := t.TempDir()
	driver := repohost.NewLocal(repos)
	sources := hosting.New(blobs, driver)
	published := &registry.Registry{Blobs: blobs, Links: registry.Links{Store: db, Clock: time.Now}}
	host := &codehost.Host{Driver: driver, Registry: published, BaseURL: "https://skills.example.com", Grants: true}
	cfg := server.Config{Store: db, Alerts: alerts, Registry: published, Sources: sources, Host: host, WebhookSecret: WebhookSecret}
	s := &Server{config: cfg, Store: db, Blobs: blobs, Hosting: sources, Host: host, Repos: repos, Alerts: alerts, Database: url, Keys: map[string]string{}, Viewers: map[string]*models.Viewer{}, Orgs: map[string]ids.ID{}}
	for _, p := range people {
		s.Keys[p.name], s.Viewers[p.name] = dbtest.Key(t, db, p.org, p.name+"@example.com", p.plan, p.role, p.can...)
		s.Orgs[p.org] = s.Viewers[p.name].OrgID
	}
	return s.Also(t, func(*server.Config) {})
}

// Also starts another server beside it, for the same people, that differs in something.
func (s *Server) Also(t testing.TB, differ func(*server.Config)) *Server {
	t.Helper()
	other := *s
	differ(&other.config)
	srv, err := server.New(other.config)
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	other.URL, other.Handler = web.URL, srv
	return &other
}

// Counting starts another server whose clock stands still and that has read already what it reads once, the keys and the
// secret of links, so that the statements of everything else can be counted.
func (s *Server) Counting(t testing.TB) *Server {
	t.Helper()
	out := s.Also(t, func(c *server.Config) { c.Clock = func() time.Time { return Noon } })
	for who := range out.Keys {
		out.Query(t, who, "{ __typename }", nil)
	}
	_, err := (registry.Links{Store: s.Store, Clock: time.Now}).To(t.Context(), ids.ID{})
	require.NoError(t, err)
	return out
}

// DropDatabase takes the database away from under the server, for good.
func (s *Server) DropDatabase(t testing.TB) {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.Database)
	require.NoError(t, err)
	run := func(ctx context.Context, sql string) {
		conn, err := pgx.Connect(ctx, dbtest.URL("postgres"))
		require.NoError(t, err)
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, sql)
		require.NoError(t, err)
	}
	run(t.Context(), "DROP DATABASE "+cfg.Database+" WITH (FORCE)")
	t.Cleanup(func() { run(context.Background(), "CREATE DATABASE "+cfg.Database) }) // whoever made it drops it once more
}

// Org is acme, seen by its owner.
func (s *Server) Org() store.Org {
	v := s.Viewers["owner"]
	return s.Store.Org(v.OrgID, v.UserID)
}

// Commit makes a tree the head of main in a repository of the code host, and returns the commit.
func (s *Server) Commit(t testing.TB, repo string, tree gitrepo.Tree) string {
	t.Helper()
	hash, err := gitrepo.Commit(filepath.Join(s.Repos, repo+".git"), "main", tree, Noon)
	require.NoError(t, err)
	return hash
}

// Suggest brings the suggestions of acme up to date, as the jobs do.
func (s *Server) Suggest(t testing.TB) {
	t.Helper()
	for {
		n, err := s.Org().Suggest(t.Context())
		require.NoError(t, err)
		if n == 0 {
			return
		}
	}
}

// Signature signs a body as the code host does.
func Signature(body []byte) string {
	mac := hmac.New(sha256.New, []byte(WebhookSecret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Work acts upon what the code host has told, and tells it what became of that, as the jobs do.
func (s *Server) Work(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	queues, err := pgx.CollectRows(s.rows(t, "SELECT DISTINCT queue FROM repo_deliveries WHERE state = 'PENDING'"), pgx.RowTo[string])
	require.NoError(t, err)
	for _, queue := range queues {
		for {
			d, err := s.Store.NextDelivery(ctx, queue)
			require.NoError(t, err)
			if d == nil {
				break
			}
			require.NoError(t, s.Host.Deliver(ctx, s.Store, d))
		}
	}
	type attempt struct{ OrgID, ID ids.ID }
	waiting, err := pgx.CollectRows(s.rows(t, "SELECT org_id, id FROM publish_attempts WHERE write_back_status = 'PENDING' ORDER BY number"), pgx.RowToStructByPos[attempt])
	require.NoError(t, err)
	for _, a := range waiting {
		require.NoError(t, s.Host.WriteBack(ctx, s.Store.Org(a.OrgID, ids.ID{}), a.ID, false))
	}
}

func (s *Server) rows(t testing.TB, sql string) pgx.Rows {
	t.Helper()
	rows, err := s.Store.Pool().Query(t.Context(), sql)
	require.NoError(t, err)
	return rows
}

// Response is an answer that was read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// client shows a redirection as it is: a test that wants to follow it asks again.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Do sends a request with somebody's key ("" sends none).
func (s *Server) Do(t testing.TB, who, method, path string, header http.Header, body []byte) Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, bytes.NewReader(body))
	require.NoError(t, err)
	maps.Copy(req.Header, header)
	if key := s.Keys[who]; key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return Response{Status: res.StatusCode, Header: res.Header, Body: b}
}

// GraphQL runs an operation.
func (s *Server) GraphQL(t testing.TB, who, query string, variables map[string]any) Response {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	return s.Do(t, who, http.MethodPost, "/graphql", nil, body)
}

// Query runs an operation that must succeed and returns its data.
func (s *Server) Query(t testing.TB, who, query string, variables map[string]any) map[string]any {
	t.Helper()
	res := s.GraphQL(t, who, query, variables)
	var out struct {
		Data   map[string]any
		Errors []any
	}
	require.NoError(t, json.Unmarshal(res.Body, &out), string(res.Body))
	require.Empty(t, out.Errors, string(res.Body))
	return out.Data
}

// REST sends JSON and returns the answer.
func (s *Server) REST(t testing.TB, who, method, path, body string) Response {
	t.Helper()
	return s.Do(t, who, method, path, nil, []byte(strings.TrimSpace(body)))
}

// Form posts a multipart form and returns the answer.
func (s *Server) Form(t testing.TB, who, path string, parts ...Part) Response {
	t.Helper()
	header, body := Form(t, parts...)
	return s.Do(t, who, http.MethodPost, path, header, body)
}

// JSON decodes the answer.
func (r Response) JSON(t testing.TB) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &out), string(r.Body))
	return out
}

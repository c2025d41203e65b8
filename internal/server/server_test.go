package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/server"
	"skillgraph/internal/store"
	"skillgraph/models"
	"skillgraph/resolvers"
)

// logs is everything that this package's tests have logged.
var logs buffer

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewJSONHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	dbtest.Main(m)
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for sent, taken := range map[string]bool{
		"": false, "abc-123_X.y": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
		"with space": false, `"quoted"`: false, "<script>": false, "é": false,
	} {
		res := srv.Do(t, "owner", http.MethodGet, "/api/v1/eval-suites", http.Header{"X-Request-Id": {sent}}, nil)
		got := res.Header.Get("X-Request-Id")
		require.Regexp(t, `^[A-Za-z0-9._-]{1,64}$`, got)
		require.Equal(t, taken, got == sent, sent)
		require.Contains(t, logs.String(), `"request_id":"`+got+`"`)
		require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
	}
	a := srv.Do(t, "", http.MethodGet, "/healthz", nil, nil).Header.Get("X-Request-Id")
	require.NotEqual(t, a, srv.Do(t, "", http.MethodGet, "/healthz", nil, nil).Header.Get("X-Request-Id"))
}

// watched remembers how long an operation had.
type watched struct {
	resolvers.Sources
	left chan time.Duration
}

func (w watched) Create(ctx context.Context, org store.Org, in models.CreateSourceInput) (*models.CloudSource, error) {
	until, _ := ctx.Deadline()
	w.left <- time.Until(until)
	return w.Sources.Create(ctx, org, in)
}

// An operation of a client has ten seconds, one of ours a minute: it may have a large folder to take in.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	api := apitest.New(t)
	w := watched{api.Hosting, make(chan time.Duration, 1)}
	srv, err := server.New(server.Config{Store: api.Store, Sources: w})
	require.NoError(t, err)
	web := httptest.NewServer(srv)
	t.Cleanup(web.Close)
	api.URL = web.URL
	require.Equal(t, http.StatusCreated, api.REST(t, "owner", http.MethodPost, "/api/v1/cloud-sources", `{"type": "upload", "label": "x"}`).Status)
	left := <-w.left
	require.Greater(t, left, 30*time.Second)
	require.LessOrEqual(t, left, time.Minute)
	api.Query(t, "owner", `mutation { createSource(input: {type: UPLOAD, label: "x"}) { source { id } } }`, nil)
	require.LessOrEqual(t, <-w.left, 10*time.Second)
}

// TestLogsKeepSecrets: of a request the log has the method, the path and what became of it. Keys, headers, query
// strings, bodies, variables and answers are nobody's business, whatever goes wrong.
func TestLogsKeepSecrets(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	const secret = "hunter2"
	paths := map[string]string{}
	send := func(who, method, path string, header http.Header, body string) {
		res := srv.Do(t, who, method, path, header, []byte(body))
		paths[res.Header.Get("X-Request-Id")], _, _ = strings.Cut(path, "?")
	}
	suite := `{"name": "` + secret + `", "source_kind": "manual", "verifier_kind": "llm_judge", "cases_json": [{"case_kind": "trigger_query", "query": "` + secret + `", "expectation": "should_trigger"}]}`
	for _, who := range []string{"owner", "viewer", ""} {
		send(who, http.MethodPost, "/api/v1/eval-suites", nil, suite)
		send(who, http.MethodPost, "/api/v1/eval-suites", nil, suite[:60])
		send(who, http.MethodGet, "/api/v1/eval-suites?source_id="+secret, nil, "")
		send(who, http.MethodGet, "/graphql?query="+secret+"&variables="+secret, nil, "")
		send(who, http.MethodPost, "/graphql", nil, `{"query": "{ viewer { plan } `+secret+` }", "variables": {"x": "`+secret+`"}}`)
		send(who, http.MethodPost, "/graphql", nil, `{"query": "query($x: ID!) { node(id: $x) { id } }", "variables": {"x": "`+secret+`"}}`)
		send(who, http.MethodPost, "/graphql", http.Header{"Cookie": {secret}, "User-Agent": {secret}, "Referer": {secret}}, `{"query": "mutation { createApiKey(input: {name: \"`+secret+`\"}) { key } }"}`)
	}
	send("", http.MethodGet, "/api/v1/eval-suites", http.Header{"Authorization": {"Bearer sg_live_" + strings.Repeat(secret, 6)}}, "")
	send("", http.MethodGet, "/api/v1/eval-suites", http.Header{"Authorization": {"Basic " + secret}}, "")
	srv.Store.Close() // and now everything fails
	send("owner", http.MethodPost, "/api/v1/eval-suites", nil, suite)
	send("owner", http.MethodPost, "/graphql", nil, `{"query": "{ suites(filter: {nameContains: \"`+secret+`\"}) { totalCount } }"}`)

	text := logs.String()
	require.NotContains(t, text, secret)
	require.NotContains(t, text, "sg_live_")
	require.NotContains(t, text, "Bearer")
	for id, path := range paths {
		require.Regexp(t, `"msg":"request","method":"[A-Z]+","path":"`+regexp.QuoteMeta(path)+`","status":\d+,"bytes":\d+,"ms":[\d.]+,"request_id":"`+id+`"`, text)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const ours, theirs = "https://app.example.com", "https://evil.example.com"
	tests := map[string]struct {
		configured []string
		origin     string
		allowed    string
	}{
		"none by default":         {nil, ours, ""},
		"listed":                  {[]string{"https://other.example.com", ours}, ours, ours},
		"not listed":              {[]string{ours}, theirs, ""},
		"no origin":               {[]string{ours}, "", ""},
		"a part of the name":      {[]string{ours}, "https://app.example.com.evil.example.com", ""},
		"another scheme":          {[]string{ours}, "http://app.example.com", ""},
		"null":                    {[]string{ours}, "null", ""},
		"everybody":               {[]string{"*"}, theirs, theirs},
		"everybody but no origin": {[]string{"*"}, "", ""},
	}
	db := dbtest.New(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := server.New(server.Config{Store: db, CORSOrigins: tt.configured})
			require.NoError(t, err)
			send := func(method string, header map[string]string) *httptest.ResponseRecorder {
				req := httptest.NewRequestWithContext(t.Context(), method, "/graphql", nil)
				if tt.origin != "" {
					req.Header.Set("Origin", tt.origin)
				}
				for k, v := range header {
					req.Header.Set(k, v)
				}
				w := httptest.NewRecorder()
				srv.ServeHTTP(w, req)
				return w
			}
			w := send(http.MethodPost, nil)
			require.Equal(t, http.StatusUnauthorized, w.Code, "an origin is no key")
			require.Equal(t, tt.allowed, w.Header().Get("Access-Control-Allow-Origin"))
			require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
			require.Equal(t, len(tt.configured) > 0, w.Header().Get("Vary") == "Origin")

			w = send(http.MethodOptions, map[string]string{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"})
			require.Equal(t, tt.allowed, w.Header().Get("Access-Control-Allow-Origin"))
			if tt.allowed == "" {
				require.Empty(t, w.Header().Get("Access-Control-Allow-Methods"))
				return
			}
			require.Equal(t, http.StatusNoContent, w.Code)
			require.Equal(t, "GET, POST, PATCH, DELETE", w.Header().Get("Access-Control-Allow-Methods"))
			for _, name := range []string{"Authorization", "Content-Type", "If-Match"} {
				require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), name)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	get := func(path string) apitest.Response { return srv.Do(t, "", http.MethodGet, path, nil, nil) }
	require.Equal(t, `{"status":"ok"}`+"\n", string(get("/healthz").Body))
	require.Equal(t, `{"status":"ready"}`+"\n", string(get("/readyz").Body))
	srv.DropDatabase(t)
	require.Equal(t, http.StatusOK, get("/healthz").Status, "alive, if of no use")
	res := get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, res.Status)
	require.NotContains(t, string(res.Body), "test_", "nothing of the inside")
	require.Contains(t, logs.String(), `"msg":"not ready"`)
}

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	db := dbtest.Open(t, url, store.Options{MaxConns: 2})
	srv, err := server.New(server.Config{Store: db})
	require.NoError(t, err)
	status := func() int {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		return w.Code
	}
	require.Equal(t, http.StatusOK, status())
	dbtest.Exec(t, url, "INSERT INTO bun_migrations (name, group_id, migrated_at) VALUES ('29990101000000', 9, now())")
	require.Equal(t, http.StatusServiceUnavailable, status(), "a newer program has been here")
	dbtest.Exec(t, url, "DELETE FROM bun_migrations")
	require.Equal(t, http.StatusServiceUnavailable, status(), "a step is missing")
	dbtest.Exec(t, url, "DROP TABLE bun_migrations")
	require.Equal(t, http.StatusServiceUnavailable, status(), "all of them are")
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	require.Equal(t, http.StatusOK, srv.GraphQL(t, "owner", "query ClientsOwnName { viewer { plan } }", nil).Status)
	srv.GraphQL(t, "viewer", `mutation Another { deleteSuite(id: "01a1dd16-1347-802f-b0ba-5c52843fd1bf") { deletedId } }`, nil)
	srv.GraphQL(t, "viewer", "{ nonsense }", nil)
	srv.REST(t, "owner", http.MethodGet, "/api/v1/eval-suites", "")
	srv.REST(t, "owner", http.MethodGet, "/api/v1/eval-suites/01a1dd16-1347-802f-b0ba-5c52843fd1bf", "")
	srv.Do(t, "", "INVENTED", "/healthz", nil, nil)
	res := srv.Do(t, "", http.MethodGet, "/metrics", nil, nil)
	require.Equal(t, http.StatusOK, res.Status)
	text := string(res.Body)
	for _, line := range []string{
		`skillgraph_operation_seconds_count{operation="query"} 1`,
		`skillgraph_operation_seconds_count{operation="ListSuites"} 1`,
		`skillgraph_operation_seconds_count{operation="GetSuite"} 1`,
		`skillgraph_operation_seconds_count{operation="refused"} 1`,
		`skillgraph_errors_total{code="NOT_FOUND"} 1`,
		`skillgraph_errors_total{code="FORBIDDEN"} 1`,
		`skillgraph_errors_total{code="INVALID"} 1`,
		`skillgraph_http_requests_total{method="other",status="405"} 1`,
		`skillgraph_db_connections_max 10`,
	} {
		require.Contains(t, text, line+"\n")
	}
	for _, family := range []string{"skillgraph_db_statements_total", "skillgraph_db_connections_open", "skillgraph_db_connections_busy", "skillgraph_db_connection_waits_total", "go_goroutines", "process_open_fds"} {
		require.Regexp(t, `(?m)^`+family+` [\d.e+]+$`, text)
	}
	for _, never := range []string{"ClientsOwnName", "INVENTED", "nonsense", "acme"} {
		require.NotContains(t, text, never)
	}

	elsewhere, err := server.New(server.Config{Store: srv.Store, MetricsElsewhere: true})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	elsewhere.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusNotFound, w.Code)
	w = httptest.NewRecorder()
	elsewhere.Metrics.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "skillgraph_db_statements_total")
}

// TestOpen: what needs no key.
func TestOpen(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/schema.graphql"} {
		require.Equal(t, http.StatusOK, srv.Do(t, "", http.MethodGet, path, nil, nil).Status, path)
	}
	for _, path := range []string{"/", "/playground"} { // which may not be built
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, srv.Do(t, "", http.MethodGet, path, nil, nil).Status, path)
	}
	for _, path := range []string{"/graphql", "/api/v1/eval-suites"} {
		require.Equal(t, http.StatusUnauthorized, srv.Do(t, "", http.MethodGet, path, nil, nil).Status, path)
	}
	file, err := os.ReadFile("../../schema.graphqls")
	require.NoError(t, err)
	require.Equal(t, string(file), string(srv.Do(t, "", http.MethodGet, "/schema.graphql", nil, nil).Body))
}

package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
)

const suites = "/api/v1/eval-suites"

// suite is the body of one with n cases.
func suite(n int, more string) string {
	c := `{"case_kind": "trigger_query", "query": "q", "expectation": "should_trigger"}`
	return `{"name": "x", "source_kind": "manual", "verifier_kind": "llm_judge", "cases_json": [` + strings.TrimSuffix(strings.Repeat(c+",", n), ",") + `]` + more + `}`
}

func TestSuiteHas500CasesAtMost(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	res := srv.REST(t, "owner", http.MethodPost, suites, suite(500, ""))
	require.Equal(t, http.StatusCreated, res.Status)
	made := res.JSON(t)["suite"].(map[string]any)
	require.Len(t, made["cases_json"], 500)

	const refusal = `{"error": "Validation failed", "details": {"path": ["cases_json"], "message": "must have between 1 and 500 cases"}}`
	for _, n := range []int{0, 501} {
		res = srv.REST(t, "owner", http.MethodPost, suites, suite(n, ""))
		require.Equal(t, http.StatusBadRequest, res.Status)
		require.JSONEq(t, refusal, string(res.Body))
		res = srv.REST(t, "owner", http.MethodPatch, suites+"/"+made["id"].(string), suite(n, ""))
		require.Equal(t, http.StatusBadRequest, res.Status)
		require.JSONEq(t, refusal, string(res.Body))
	}
}

// TestSuiteBodyLimit: 4 MiB here, though 1 MiB is the rule.
func TestSuiteBodyLimit(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	of := func(n int) string {
		head, tail := `{"cases_json": 7, "ignored": "`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	res := srv.REST(t, "owner", http.MethodPost, suites, of(4<<20))
	require.Equal(t, http.StatusBadRequest, res.Status, "read, and found wanting")
	res = srv.REST(t, "owner", http.MethodPost, suites, of(4<<20+1))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.Status)
	require.JSONEq(t, `{"error": {"message": "The body is too large: the limit is 4096 KiB", "status": 413, "code": "TOO_LARGE"}}`, string(res.Body))
}

// TestSuiteOfASource: one's own is linked, another's is forbidden, an unknown one is not found.
func TestSuiteOfASource(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	now := time.Now()
	source := func(org string) string {
		id := ids.New(ids.Source, now)
		dbtest.Exec(t, srv.Database, "INSERT INTO cloud_sources (org_id, id, label, source_type, created_at) VALUES ($1, $2, 'l', 'UPLOAD', $3)", srv.Orgs[org], id, now)
		return id.String()
	}
	own, foreign := source("acme"), source("other")
	res := srv.REST(t, "owner", http.MethodPost, suites, suite(1, `, "source_id": "src_`+own+`"`))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	id := res.JSON(t)["suite"].(map[string]any)["id"].(string)
	shown := srv.REST(t, "viewer", http.MethodGet, suites+"/"+id, "").JSON(t)["suite"].(map[string]any)
	require.Equal(t, own, shown["source_id"], "a bare UUID on output")

	for _, tt := range []struct {
		source  string
		status  int
		message string
	}{
		{foreign, http.StatusForbidden, "This cloud source belongs to another organization"},
		{"src_" + foreign, http.StatusForbidden, "This cloud source belongs to another organization"},
		{"f47ac10b-58cc-4372-a567-0e02b2c3d479", http.StatusNotFound, "There is no cloud source with the id f47ac10b-58cc-4372-a567-0e02b2c3d479"},
		{id, http.StatusNotFound, id + " is the id of an eval suite, not of a cloud source"},
	} {
		res := srv.REST(t, "owner", http.MethodPost, suites, suite(1, `, "source_id": "`+tt.source+`"`))
		require.Equal(t, tt.status, res.Status, string(res.Body))
		require.Equal(t, tt.message, res.JSON(t)["error"].(map[string]any)["message"])
	}

	// The list can be asked for one source; another's has nothing for us.
	count := func(query string) int {
		return len(srv.REST(t, "owner", http.MethodGet, suites+query, "").JSON(t)["suites"].([]any))
	}
	require.Equal(t, http.StatusCreated, srv.REST(t, "owner", http.MethodPost, suites, suite(1, "")).Status)
	require.Equal(t, 2, count(""))
	require.Equal(t, 1, count("?source_id="+own))
	require.Equal(t, 1, count("?source_id=src_"+own))
	require.Equal(t, 0, count("?source_id="+foreign))

	// What it belongs to never changes, though saying the same is no change.
	for body, status := range map[string]int{
		`{"source_id": "` + own + `"}`:     http.StatusOK,
		`{"source_id": "` + foreign + `"}`: http.StatusBadRequest,
		`{"source_id": null}`:              http.StatusBadRequest,
	} {
		require.Equal(t, status, srv.REST(t, "owner", http.MethodPatch, suites+"/"+id, body).Status, body)
	}
}

// TestTruncatedList: a list that shows no pages shows a thousand, and says when there are more.
func TestTruncatedList(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	insert := func(from, to int) {
		dbtest.Exec(t, srv.Database, `INSERT INTO eval_suites (org_id, id, source_kind, name, verifier_kind, supports_no_skill, case_count, suite_kind, revision, created_at, updated_at)
			SELECT $1, ('01a1dd16-1347-8050-8000-' || lpad(n::text, 12, '0'))::uuid, 'MANUAL', 'suite ' || n, 'LLM_JUDGE', false, 1, 'TRIGGER_QUERY', 1, now(), now()
			FROM generate_series($2::int, $3::int) n`, srv.Orgs["acme"], from, to)
	}
	list := func() (string, []any) {
		res := srv.REST(t, "viewer", http.MethodGet, suites, "")
		require.Equal(t, http.StatusOK, res.Status)
		return res.Header.Get("X-Truncated"), res.JSON(t)["suites"].([]any)
	}
	insert(1, 1000)
	truncated, all := list()
	require.Empty(t, truncated)
	require.Len(t, all, 1000)
	insert(1001, 1001)
	truncated, all = list()
	require.Equal(t, "true", truncated)
	require.Len(t, all, 1000)
	require.Equal(t, "suite 1001", all[0].(map[string]any)["name"], "newest first")
	require.Equal(t, "suite 2", all[999].(map[string]any)["name"])
	require.NotContains(t, all[0], "cases_json")

	// The graph pages through all of them.
	seen, after := 0, "null"
	for page := 1; after != ""; page++ {
		require.LessOrEqual(t, page, 11)
		data := srv.Query(t, "viewer", fmt.Sprintf(`{ suites(first: 100, after: %s) { nodes { id } pageInfo { hasNextPage endCursor } } }`, after), nil)["suites"].(map[string]any)
		seen += len(data["nodes"].([]any))
		after = ""
		if info := data["pageInfo"].(map[string]any); info["hasNextPage"].(bool) {
			quoted, err := json.Marshal(info["endCursor"])
			require.NoError(t, err)
			after = string(quoted)
		}
	}
	require.Equal(t, 1001, seen)
}

// TestListCostsOneStatement, however many suites there are: the caller's key is known, the list is one statement.
func TestListCostsOneStatement(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for range 3 {
		require.Equal(t, http.StatusCreated, srv.REST(t, "owner", http.MethodPost, suites, suite(2, "")).Status)
	}
	before := srv.Store.Statements()
	require.Equal(t, http.StatusOK, srv.REST(t, "owner", http.MethodGet, suites, "").Status)
	require.Equal(t, int64(1), srv.Store.Statements()-before)
}

// TestForeignSuite: what another organization has is answered as if it were not there, on every route.
func TestForeignSuite(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	id := srv.REST(t, "owner", http.MethodPost, suites, suite(1, "")).JSON(t)["suite"].(map[string]any)["id"].(string)
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "", ""},
		{http.MethodGet, "/revisions", ""},
		{http.MethodPatch, "", `{"name": "mine"}`},
		{http.MethodDelete, "", ""},
		{http.MethodPost, "/archive", ""},
		{http.MethodPost, "/restore", ""},
	} {
		foreign := srv.REST(t, "stranger", r.method, suites+"/"+id+r.path, r.body)
		require.Equal(t, http.StatusNotFound, foreign.Status, r.method+r.path)
		unknown := srv.REST(t, "stranger", r.method, suites+"/01a1dd16-1347-8050-8000-000000000000"+r.path, r.body)
		require.Equal(t, strings.ReplaceAll(string(unknown.Body), "01a1dd16-1347-8050-8000-000000000000", id), string(foreign.Body))
	}
	require.Empty(t, srv.REST(t, "stranger", http.MethodGet, suites, "").JSON(t)["suites"])
	require.Equal(t, http.StatusOK, srv.REST(t, "owner", http.MethodGet, suites+"/"+id, "").Status)
}

// TestReadersMayNotWrite: a key without the permission reads every route and changes nothing by any.
func TestReadersMayNotWrite(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	id := srv.REST(t, "owner", http.MethodPost, suites, suite(1, "")).JSON(t)["suite"].(map[string]any)["id"].(string)
	for _, who := range []string{"viewer", "installer"} {
		for _, r := range []struct{ method, path, body, field string }{
			{http.MethodPost, suites, suite(1, ""), "createSuite"},
			{http.MethodPatch, suites + "/" + id, `{"name": "mine"}`, "updateSuite"},
			{http.MethodDelete, suites + "/" + id, "", "deleteSuite"},
			{http.MethodPost, suites + "/" + id + "/archive", "", "archiveSuite"},
			{http.MethodPost, suites + "/" + id + "/restore", "", "restoreSuite"},
		} {
			res := srv.REST(t, who, r.method, r.path, r.body)
			require.Equal(t, http.StatusForbidden, res.Status)
			require.JSONEq(t, `{"error": {"message": "`+r.field+` needs the permission sources:write, which this API key does not have", "status": 403, "code": "FORBIDDEN"}}`, string(res.Body))
		}
		for _, path := range []string{suites, suites + "/" + id, suites + "/" + id + "/revisions"} {
			require.Equal(t, http.StatusOK, srv.REST(t, who, http.MethodGet, path, "").Status)
		}
	}
}

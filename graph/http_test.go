package graph_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
)

const response = "application/graphql-response+json"

// ask sends a body and decodes the answer.
func ask(t *testing.T, srv *apitest.Server, header http.Header, body string) (apitest.Response, answer) {
	t.Helper()
	return decode(t, srv.Do(t, "owner", http.MethodPost, "/graphql", header, []byte(body)))
}

func decode(t *testing.T, res apitest.Response) (apitest.Response, answer) {
	t.Helper()
	var out answer
	require.NoError(t, json.Unmarshal(res.Body, &out), string(res.Body))
	return res, out
}

// refused requires an answer of errors alone: no data was made, so there is not even the key.
func refused(t *testing.T, res apitest.Response, status int, code string) {
	t.Helper()
	var keys map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(res.Body, &keys), string(res.Body))
	require.Equal(t, status, res.Status, string(res.Body))
	require.NotContains(t, keys, "data")
	_, out := decode(t, res)
	require.NotEmpty(t, out.Errors)
	require.Equal(t, code, out.Errors[0].Extensions.Code, string(res.Body))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	tests := map[string]string{ // Accept -> Content-Type, or "" where there is none that fits
		"":                                    "application/json",
		"*/*":                                 "application/json",
		"application/*":                       "application/json",
		"application/json":                    "application/json",
		"application/json; charset=utf-8":     "application/json",
		"application/json; charset=UTF-8":     "application/json",
		response:                              response,
		response + ", application/json":       response,
		"application/json, " + response:       "application/json",
		"application/json;q=0.5, " + response: response,
		response + ";q=0.1, application/json;q=0.2": "application/json",
		"text/html, */*;q=0.1":                      "application/json",
		"text/html, " + response + ";q=0.1":         response,
		response + "; charset=utf-8":                response,
		response + "; charset=latin1, */*;q=0.1":    "application/json",
		"text/html":                                 "",
		"application/json;q=0":                      "",
		"application/json; charset=latin1":          "",
		"image/*":                                   "",
		"nonsense":                                  "",
	}
	for accept, want := range tests {
		t.Run(accept, func(t *testing.T) {
			t.Parallel()
			res := srv.Do(t, "owner", http.MethodPost, "/graphql", http.Header{"Accept": {accept}}, []byte(`{"query": "{ __typename }"}`))
			if want == "" {
				refused(t, res, http.StatusNotAcceptable, "UNSUPPORTED_MEDIA_TYPE")
				return
			}
			require.Equal(t, http.StatusOK, res.Status)
			require.Equal(t, want+"; charset=utf-8", res.Header.Get("Content-Type"))
			require.JSONEq(t, `{"data": {"__typename": "Query"}}`, string(res.Body))
		})
	}
}

// TestStatus: the newer media type shows in the status that nothing ran, the older one says 200 to all that is
// well-formed. What is not well-formed is 400 in both.
func TestStatus(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	tests := map[string]struct {
		body     string
		old, new int
		code     string
	}{
		"no such field":        {`{"query": "{ nonsense }"}`, 200, 400, "GRAPHQL_VALIDATION_FAILED"},
		"no document":          {`{"query": "{ "}`, 200, 400, "GRAPHQL_PARSE_FAILED"},
		"a wrong variable":     {`{"query": "query($n: Int!) { suites(first: $n) { totalCount } }", "variables": {"n": true}}`, 200, 400, "INVALID"},
		"a missing variable":   {`{"query": "query($n: Int!) { suites(first: $n) { totalCount } }"}`, 200, 400, "INVALID"},
		"too much":             {`{"query": "{ suites(first: 101) { totalCount } }"}`, 200, 400, "TOO_COMPLEX"},
		"an unknown operation": {`{"query": "query A { __typename }", "operationName": "B"}`, 200, 400, "GRAPHQL_VALIDATION_FAILED"},
		"which of two":         {`{"query": "query A { __typename } query B { __typename }"}`, 200, 400, "GRAPHQL_VALIDATION_FAILED"},
		"no operation":         {`{"query": "fragment F on Query { __typename }"}`, 400, 400, "GRAPHQL_VALIDATION_FAILED"},
		"an empty query":       {`{"query": ""}`, 400, 400, "INVALID"},
		"no query":             {`{}`, 400, 400, "INVALID"},
		"a null query":         {`{"query": null}`, 400, 400, "INVALID"},
		"a number":             {`{"query": 7}`, 400, 400, "INVALID"},
		"a batch":              {`[{"query": "{ __typename }"}]`, 400, 400, "INVALID"},
		"a string":             {`"{ __typename }"`, 400, 400, "INVALID"},
		"null":                 {`null`, 400, 400, "INVALID"},
		"two bodies":           {`{"query": "{ __typename }"} {}`, 400, 400, "INVALID"},
		"half a body":          {`{"query": "{ __typename }"`, 400, 400, "INVALID"},
		"variables: a list":    {`{"query": "{ __typename }", "variables": []}`, 400, 400, "INVALID"},
		"variables: a string":  {`{"query": "{ __typename }", "variables": "{}"}`, 400, 400, "INVALID"},
		"variables: a number":  {`{"query": "{ __typename }", "variables": 0}`, 400, 400, "INVALID"},
		"operationName: a 7":   {`{"query": "{ __typename }", "operationName": 7}`, 400, 400, "INVALID"},
		"operationName: {}":    {`{"query": "{ __typename }", "operationName": {}}`, 400, 400, "INVALID"},
		"extensions: a string": {`{"query": "{ __typename }", "extensions": "x"}`, 400, 400, "INVALID"},
		"extensions: a list":   {`{"query": "{ __typename }", "extensions": [1]}`, 400, 400, "INVALID"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := ask(t, srv, nil, tt.body)
			refused(t, res, tt.old, tt.code)
			res, _ = ask(t, srv, http.Header{"Accept": {response}}, tt.body)
			refused(t, res, tt.new, tt.code)
		})
	}
	for name, body := range map[string]string{
		"nulls":              `{"query": "{ __typename }", "variables": null, "operationName": null, "extensions": null}`,
		"more keys":          `{"query": "{ __typename }", "id": 7, "doc_id": [1]}`,
		"one of two":         `{"query": "query A { __typename } query B { viewer { plan } }", "operationName": "A"}`,
		"an extra variable":  `{"query": "{ __typename }", "variables": {"x": {"y": [1.5, "z"]}}}`,
		"any extension":      `{"query": "{ __typename }", "extensions": {"x": 1}}`,
		"white space around": " \n{\"query\": \"{ __typename }\"}\n ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := ask(t, srv, http.Header{"Accept": {response}}, body)
			require.Equal(t, http.StatusOK, res.Status)
			require.JSONEq(t, `{"data": {"__typename": "Query"}}`, string(res.Body))
		})
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete, "QUERY"} {
		res := srv.Do(t, "owner", method, "/graphql", nil, []byte(`{"query": "{ __typename }"}`))
		refused(t, res, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		require.Equal(t, "GET, POST", res.Header.Get("Allow"), method)
	}
	get := func(query string, more url.Values) apitest.Response {
		if more == nil {
			more = url.Values{}
		}
		more.Set("query", query)
		return srv.Do(t, "owner", http.MethodGet, "/graphql?"+more.Encode(), nil, nil)
	}
	res := get("query A { viewer { plan } } query($n: Int) { suites(first: $n) { pageInfo { perPage } } }", nil)
	refused(t, res, http.StatusOK, "GRAPHQL_VALIDATION_FAILED") // an operation without a name beside another
	res = get("query A($n: Int) { suites(first: $n) { pageInfo { perPage } } }", url.Values{"variables": {`{"n": 3}`}, "operationName": {"A"}, "extensions": {"{}"}})
	require.JSONEq(t, `{"data": {"suites": {"pageInfo": {"perPage": 3}}}}`, string(res.Body))
	refused(t, get("{ __typename }", url.Values{"variables": {"[]"}}), http.StatusBadRequest, "INVALID")
	refused(t, get("{ __typename }", url.Values{"extensions": {"{"}}), http.StatusBadRequest, "INVALID")
	refused(t, get("", nil), http.StatusBadRequest, "INVALID")

	// A link must not be able to change anything, and one operation's name must not hide another.
	id := srv.Query(t, "owner", `mutation { createSuite(input: {name: "kept", sourceKind: MANUAL, verifierKind: LLM_JUDGE, casesJson: [{case_kind: "trigger_query", query: "q", expectation: "should_trigger"}]}) { suite { id } } }`, nil)["createSuite"].(map[string]any)["suite"].(map[string]any)["id"].(string)
	gone := `mutation M { deleteSuite(id: "` + id + `") { deletedId } }`
	for _, res := range []apitest.Response{get(gone, nil), get("query Q { __typename } "+gone, url.Values{"operationName": {"M"}})} {
		refused(t, res, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		require.Equal(t, "POST", res.Header.Get("Allow"))
	}
	require.NotNil(t, srv.Query(t, "owner", `{ suite(id: "`+id+`") { name } }`, nil)["suite"])
	res = get("query Q { __typename } "+gone, url.Values{"operationName": {"Q"}})
	require.Equal(t, http.StatusOK, res.Status)
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	body := []byte(`{"query": "{ __typename }"}`)
	for _, ok := range []string{"application/json", "application/json; charset=utf-8", "APPLICATION/JSON"} {
		require.Equal(t, http.StatusOK, srv.Do(t, "owner", http.MethodPost, "/graphql", http.Header{"Content-Type": {ok}}, body).Status, ok)
	}
	for _, wrong := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/graphql", ";"} {
		refused(t, srv.Do(t, "owner", http.MethodPost, "/graphql", http.Header{"Content-Type": {wrong}}, body), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	}
	refused(t, srv.Do(t, "owner", http.MethodPost, "/graphql", nil, nil), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	of := func(n int) string {
		head, tail := `{"query": "{ __typename }", "variables": {"x": "`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	res, _ := ask(t, srv, nil, of(256<<10))
	require.Equal(t, http.StatusOK, res.Status)
	res, _ = ask(t, srv, nil, of(256<<10+1))
	refused(t, res, http.StatusRequestEntityTooLarge, "TOO_LARGE")
	require.Contains(t, string(res.Body), "256 KiB")
}

// TestTypes: nothing is turned into something else on the way in, and a wrong value is the caller's mistake, not ours.
func TestTypes(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	const create = `mutation($in: CreateSuiteInput!) { createSuite(input: $in) { suite { id } } }`
	input := func(more string) string {
		return `{"in": {"name": "x", "sourceKind": "MANUAL", "verifierKind": "LLM_JUDGE", "casesJson": []` + more + `}}`
	}
	tests := map[string]struct{ query, variables, path string }{
		"a number for a string":         {`query($v: String) { suites(after: $v) { totalCount } }`, `{"v": 7}`, "v"},
		"true for a string":             {`query($v: String) { suites(after: $v) { totalCount } }`, `{"v": true}`, "v"},
		"an object for a string":        {`query($v: String) { suites(after: $v) { totalCount } }`, `{"v": {}}`, "v"},
		"a number for a nested string":  {create, input(`, "name": 7`), "in.name"},
		"a number in a list of strings": {`query($v: [String!]) { events(filter: {kinds: $v}) { totalCount } }`, `{"v": ["a", 7]}`, "v.1"},
		"a number as a list of strings": {`query($v: [String!]) { events(filter: {kinds: $v}) { totalCount } }`, `{"v": 7}`, "v.0"},
		"null in a list":                {`query($v: [String!]) { events(filter: {kinds: $v}) { totalCount } }`, `{"v": [null]}`, "v.0"},
		"null for what is needed":       {`query($v: ID!) { node(id: $v) { id } }`, `{"v": null}`, "v"},
		"a fraction for an Int":         {`query($v: Int) { suites(first: $v) { totalCount } }`, `{"v": 1.5}`, "first"},
		"a whole fraction for an Int":   {`query($v: Int) { suites(page: $v) { totalCount } }`, `{"v": 1e0}`, "page"},
		"a string for an Int":           {`query($v: Int) { suites(first: $v) { totalCount } }`, `{"v": "7"}`, "first"},
		"more than 32 bits":             {`query($v: Int) { suites(page: $v) { totalCount } }`, `{"v": 2147483648}`, "page"},
		"more than 64 bits":             {`query($v: Int) { suites(page: $v) { totalCount } }`, `{"v": 92233720368547758080}`, "page"},
		"a fraction in a list":          {`mutation($v: [Int!]) { updateSuite(id: "01a1dd16-1347-802f-b0ba-5c52843fd1bf", input: {}, ifRevision: $v) { suite { id } } }`, `{"v": [1, 2.5]}`, "ifRevision.1"},
		"a string for a Boolean":        {`query($v: Boolean) { suites(filter: {archived: $v}) { totalCount } }`, `{"v": "true"}`, "v"},
		"a number for a Boolean":        {`query($v: Boolean) { suites(filter: {archived: $v}) { totalCount } }`, `{"v": 1}`, "v"},
		"an id that is none":            {`query($v: ID!) { node(id: $v) { id } }`, `{"v": "x"}`, "id"},
		"a number for an id":            {`query($v: ID!) { node(id: $v) { id } }`, `{"v": 7}`, "id"},
		"one bad id of several":         {`query($v: [ID!]!) { nodes(ids: $v) { id } }`, `{"v": ["01a1dd16-1347-802f-b0ba-5c52843fd1bf", "x"]}`, "ids.1"},
		"an unknown enum value":         {create, input(`, "sourceKind": "NONSENSE"`), "in.sourceKind"},
		"an enum value in lower case":   {create, input(`, "sourceKind": "manual"`), "sourceKind"},
		"a number for an enum":          {create, input(`, "sourceKind": 1`), "in.sourceKind"},
		"an unknown input field":        {create, input(`, "nonsense": 1`), "in.nonsense"},
		"a missing input field":         {create, `{"in": {"name": "x"}}`, "in.sourceKind"},
		"a time that is none":           {`mutation($v: Time) { createApiKey(input: {name: "x", expiresAt: $v}) { key } }`, `{"v": "tomorrow"}`, "expiresAt"},
		"a number for a time":           {`mutation($v: Time) { createApiKey(input: {name: "x", expiresAt: $v}) { key } }`, `{"v": 1893456000}`, "expiresAt"},
		"deep JSON":                     {create, `{"in": {"name": "x", "sourceKind": "MANUAL", "verifierKind": "LLM_JUDGE", "casesJson": ` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `}}`, "casesJson"},
		"a rule's own path":             {create, input(`, "casesJson": [{"case_kind": "trigger_query", "query": 7}]`), "casesJson.0.query"},
		"page and after":                {`query($v: String) { suites(after: $v, page: 1) { totalCount } }`, `{"v": "x"}`, "page"},
		"a cursor that is none":         {`query($v: String) { suites(after: $v) { totalCount } }`, `{"v": "x"}`, "after"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, err := json.Marshal(map[string]any{"query": tt.query, "variables": json.RawMessage(tt.variables)})
			require.NoError(t, err)
			res := srv.Do(t, "owner", http.MethodPost, "/graphql", nil, body)
			var out struct {
				Errors []struct {
					Message    string
					Extensions struct {
						Code string
						Path []string
					}
				}
			}
			require.NoError(t, json.Unmarshal(res.Body, &out))
			require.Len(t, out.Errors, 1, string(res.Body))
			require.Equal(t, "INVALID", out.Errors[0].Extensions.Code, string(res.Body))
			require.Equal(t, tt.path, strings.Join(out.Errors[0].Extensions.Path, "."), string(res.Body))
			require.NotContains(t, string(res.Body), "models.")
		})
	}
}

// TestJSONIsKept: through a JSON variable numbers keep their size, and what is whole stays whole.
func TestJSONIsKept(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	body := `{"query": "mutation($c: JSON!, $r: JSON) { createSuite(input: {name: \"x\", sourceKind: MANUAL, verifierKind: LLM_JUDGE, resourceLimitsJson: $r, casesJson: $c}) { suite { resourceLimitsJson } } }",
		"variables": {"c": [{"case_kind": "trigger_query", "query": "q", "expectation": "should_trigger"}], "r": {"id": 9007199254740993, "max": 9223372036854775807, "half": 0.5}}}`
	res, _ := ask(t, srv, nil, body)
	require.Contains(t, string(res.Body), `"id":9007199254740993`)
	require.Contains(t, string(res.Body), `"max":9223372036854775807`)
	require.Contains(t, string(res.Body), `"half":0.5`)
}

// TestListCoercion: one value where a list belongs is a list of one, as the specification says.
func TestListCoercion(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	me := srv.Viewers["owner"].UserID.String()
	data := srv.Query(t, "owner", `query($i: [ID!]!) { nodes(ids: $i) { id } }`, map[string]any{"i": me})
	require.Equal(t, []any{map[string]any{"id": me}}, data["nodes"])
	data = srv.Query(t, "owner", `query($k: [String!]) { events(filter: {kinds: $k}) { nodes { id } } }`, map[string]any{"k": "none"})
	require.Empty(t, data["events"].(map[string]any)["nodes"])
}

// TestPartialData: an error in one field leaves the others their answers.
func TestPartialData(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for _, accept := range []string{"application/json", response} {
		res, out := ask(t, srv, http.Header{"Accept": {accept}}, `{"query": "{ viewer { plan } suite(id: \"01a1dd16-1347-802f-b0ba-5c52843fd1bf\") { name } }"}`)
		require.Equal(t, http.StatusOK, res.Status)
		require.JSONEq(t, `{"viewer": {"plan": "TEAM"}, "suite": null}`, string(out.Data))
		require.Len(t, out.Errors, 1)
		require.Equal(t, "NOT_FOUND", out.Errors[0].Extensions.Code)
	}
}

func TestErrorsAreCapped(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	fields := func(n int) string { return repeat(n, `a#: suite(id: \"x\") { id }`) }
	_, out := ask(t, srv, nil, `{"query": "{`+fields(10)+`}"}`)
	require.Len(t, out.Errors, 10)
	_, out = ask(t, srv, nil, `{"query": "{`+fields(20)+`}"}`)
	require.Len(t, out.Errors, 10)
	_, out = ask(t, srv, nil, `{"query": "{ viewer {`+repeat(98, "plan @nonsense#")+`}}"}`)
	require.LessOrEqual(t, len(out.Errors), 10)
	_, out = ask(t, srv, nil, `{"query": "{ viewer {`+repeat(400, "f#")+`}}"}`)
	require.Len(t, out.Errors, 10)
}

// TestNothingIsEchoed: a body that cannot be read does not come back.
func TestNothingIsEchoed(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for _, body := range []string{`{"query": "{ __typename }", "secret`, `{"query": 7, "x": "secret"}`, `["secret"]`, `{"query": "{ __typename }", "variables": "secret"}`, `secret`} {
		res, _ := ask(t, srv, nil, body)
		require.Equal(t, http.StatusBadRequest, res.Status)
		require.NotContains(t, string(res.Body), "secret")
	}
}

// TestTimeout: an operation that waits too long says so.
func TestTimeout(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	conn, err := pgx.Connect(t.Context(), srv.Database)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE eval_suites")
	require.NoError(t, err)
	for _, face := range []struct{ method, path, body string }{
		{http.MethodPost, "/graphql", `{"query": "{ suites { totalCount } }"}`},
		{http.MethodPost, "/graphql", `{"query": "mutation { deleteSuite(id: \"01a1dd16-1347-802f-b0ba-5c52843fd1bf\") { deletedId } }"}`},
		{http.MethodGet, "/api/v1/eval-suites", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		req := httptest.NewRequestWithContext(ctx, face.method, face.path, strings.NewReader(face.body))
		req.Header.Set("Authorization", "Bearer "+srv.Keys["owner"])
		req.Header.Set("Content-Type", "application/json")
		res := httptest.NewRecorder()
		srv.Handler.ServeHTTP(res, req)
		cancel()
		require.Contains(t, res.Body.String(), `"code":"TIMEOUT"`)
		require.Equal(t, face.path != "/graphql", res.Code == http.StatusServiceUnavailable)
	}
}

// TestDatabaseAway: both faces say that it is for now, and when to try again.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	require.Equal(t, http.StatusOK, srv.GraphQL(t, "owner", "{ viewer { plan } }", nil).Status)
	srv.DropDatabase(t)

	// The owner's key is remembered, so the operation itself finds the database gone; that of the admin is not.
	res, out := decode(t, srv.GraphQL(t, "owner", "{ suites { totalCount } }", nil))
	require.Equal(t, http.StatusOK, res.Status)
	require.Equal(t, "UNAVAILABLE", out.Errors[0].Extensions.Code, string(res.Body))
	res = srv.GraphQL(t, "admin", "{ suites { totalCount } }", nil)
	refused(t, res, http.StatusServiceUnavailable, "UNAVAILABLE")
	require.Equal(t, "5", res.Header.Get("Retry-After"))
	for _, who := range []string{"owner", "admin"} {
		res = srv.REST(t, who, http.MethodGet, "/api/v1/eval-suites", "")
		require.Equal(t, http.StatusServiceUnavailable, res.Status)
		require.Equal(t, "5", res.Header.Get("Retry-After"))
		require.JSONEq(t, `{"error": {"message": "The database is not reachable; try again in a moment", "status": 503, "code": "UNAVAILABLE"}}`, string(res.Body))
	}
}

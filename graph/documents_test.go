package graph_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"crypto/sha256"
	"encoding/hex"

	"github.com/stretchr/testify/require"

	"skillgraph/graph"
	"skillgraph/internal/apitest"
	"skillgraph/internal/server"
)

const plan = "query Plan { viewer { plan } }"

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hashed(query, hash string) string {
	body := map[string]any{"extensions": map[string]any{"persistedQuery": map[string]any{"version": 1, "sha256Hash": hash}}}
	if query != "" {
		body["query"] = query
	}
	text, _ := json.Marshal(body)
	return string(text)
}

// TestPersistedQueries: a client sends a text once, then its hash. Another organization does not even learn that it is there.
func TestPersistedQueries(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const missing = `{"errors":[{"message":"PersistedQueryNotFound","extensions":{"code":"PERSISTED_QUERY_NOT_FOUND"}}]}` + "\n"
	ask := func(who, body string) string {
		return string(s.Do(t, who, http.MethodPost, "/graphql", nil, []byte(body)).Body)
	}
	answer := `{"data":{"viewer":{"plan":"TEAM"}}}` + "\n"

	require.Equal(t, missing, ask("owner", hashed("", sha(plan))))
	require.Equal(t, answer, ask("owner", hashed(plan, sha(plan))))
	require.Equal(t, answer, ask("owner", hashed("", sha(plan))))
	require.Equal(t, answer, ask("viewer", hashed("", strings.ToUpper(sha(plan)))), "a colleague")
	require.Equal(t, missing, ask("stranger", hashed("", sha(plan))))
	res := s.Do(t, "owner", http.MethodGet, "/graphql?extensions="+url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"`+sha(plan)+`"}}`), nil, nil)
	require.Equal(t, answer, string(res.Body))
	res = s.Do(t, "owner", http.MethodPost, "/graphql", http.Header{"Accept": {"application/json"}}, []byte(hashed("", sha("x"))))
	require.Equal(t, http.StatusOK, res.Status)
	res = s.Do(t, "owner", http.MethodPost, "/graphql", http.Header{"Accept": {"application/graphql-response+json"}}, []byte(hashed("", sha("x"))))
	require.Equal(t, http.StatusBadRequest, res.Status)

	// Nothing is remembered under a hash that is not its own, and nothing that is not valid.
	require.Contains(t, ask("owner", hashed("{ viewer { role } }", sha("{ viewer { user { id } } }"))), "provided sha does not match query")
	require.Equal(t, missing, ask("owner", hashed("", sha("{ viewer { user { id } } }"))))
	require.Contains(t, ask("owner", hashed("{ nonsense }", sha("{ nonsense }"))), "GRAPHQL_VALIDATION_FAILED")
	require.Equal(t, missing, ask("owner", hashed("", sha("{ nonsense }"))))
	for _, bad := range []string{`{}`, `7`, `{"version":2,"sha256Hash":"` + sha(plan) + `"}`, `{"version":1,"sha256Hash":"abc"}`, `{"version":1,"sha256Hash":7}`} {
		require.Contains(t, ask("owner", `{"extensions":{"persistedQuery":`+bad+`}}`), `"code":"INVALID"`, bad)
	}
	require.Equal(t, answer, ask("owner", `{"query":"`+plan+`","extensions":{"persistedQuery":null}}`))
	require.Contains(t, ask("owner", `{"operationName":"Plan"}`), "A query is needed")
}

// TestStoredDocuments: by hash, by file name, by the name of the operation, or as they are; and nothing else where the operator wants it so.
func TestStoredDocuments(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	folder := fstest.MapFS{
		"plan.graphql":     {Data: []byte(plan + "\n")},
		"sub/two.graphql":  {Data: []byte("query One { viewer { plan } } query Two { organization { name } }")},
		"unrelated.txt":    {Data: []byte("nonsense")},
		"sub/live.graphql": {Data: []byte("subscription Live { events { id } }")},
	}
	for _, only := range []bool{false, true} {
		docs, err := graph.LoadDocuments(folder, only)
		require.NoError(t, err)
		srv, err := server.New(server.Config{Store: s.Store, Documents: docs})
		require.NoError(t, err)
		web := httptest.NewServer(srv)
		t.Cleanup(web.Close)
		s.URL = web.URL
		ask := func(body string) string {
			return string(s.Do(t, "owner", http.MethodPost, "/graphql", nil, []byte(body)).Body)
		}
		for _, body := range []string{
			`{"query":"` + plan + `"}`, `{"query":"` + plan + `\n"}`, hashed("", sha(plan)), hashed("", sha(plan+"\n")), hashed(plan, sha(plan)),
			`{"operationName":"Plan"}`, `{"operationName":"One"}`, `{"id":"plan"}`, `{"documentId":"plan"}`, `{"documentId":"sha256:` + sha(plan) + `"}`, `{"id":"two","operationName":"One"}`,
		} {
			require.Equal(t, `{"data":{"viewer":{"plan":"TEAM"}}}`+"\n", ask(body), body)
		}
		require.Equal(t, `{"data":{"viewer":{"plan":"TEAM"}}}`+"\n", string(s.Do(t, "owner", http.MethodGet, "/graphql?documentId=plan", nil, nil).Body))
		require.Equal(t, `{"data":{"organization":{"name":"acme"}}}`+"\n", ask(`{"operationName":"Two"}`))
		require.Contains(t, ask(`{"id":"unrelated"}`), `"code":"DOCUMENT_NOT_STORED"`)
		for _, body := range []string{`{"query":"{ viewer { plan } }"}`, `{"query":"{ __schema { queryType { name } } }"}`, hashed("{ viewer { role } }", sha("{ viewer { role } }"))} {
			require.Equal(t, only, strings.Contains(ask(body), `"code":"DOCUMENT_NOT_STORED"`), body)
		}
		if only {
			require.Contains(t, ask(hashed("", sha("{ viewer { role } }"))), `"code":"DOCUMENT_NOT_STORED"`)
			require.Contains(t, ask(`{"operationName":"ListSuites"}`), `"code":"DOCUMENT_NOT_STORED"`, "those of REST are for REST")
		}
		require.Equal(t, http.StatusOK, s.REST(t, "owner", http.MethodGet, "/api/v1/eval-suites", "").Status)
	}
	for name, text := range map[string]string{"bad syntax": "{", "unknown": "{ nonsense }", "twice": plan} {
		_, err := graph.LoadDocuments(fstest.MapFS{"a.graphql": {Data: []byte(plan)}, "x.graphql": {Data: []byte(text)}}, true)
		require.ErrorContains(t, err, "x.graphql", name)
	}
}

package graph_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/models"
)

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for name, header := range map[string]string{
		"no header":       "",
		"another scheme":  "Basic " + srv.Keys["owner"],
		"no key":          "Bearer",
		"an empty key":    "Bearer ",
		"not a key":       "Bearer secret",
		"an unknown key":  "Bearer " + models.NewKey(),
		"a changed key":   "Bearer " + srv.Keys["owner"] + "x",
		"two keys":        "Bearer " + srv.Keys["owner"] + "," + srv.Keys["owner"],
		"the key alone":   srv.Keys["owner"],
		"a very long key": "Bearer sg_live_" + strings.Repeat("x", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if header != "" {
				h.Set("Authorization", header)
			}
			res := srv.Do(t, "", http.MethodPost, "/graphql", h, []byte(`{"query": "{ __typename }"}`))
			refused(t, res, http.StatusUnauthorized, "UNAUTHENTICATED")
			require.Equal(t, "Bearer", res.Header.Get("WWW-Authenticate"))
			require.Contains(t, res.Header.Get("Content-Type"), "application/json")
		})
	}
	for _, header := range []string{"bearer " + srv.Keys["owner"], "BEARER  " + srv.Keys["owner"] + " "} {
		res := srv.Do(t, "", http.MethodPost, "/graphql", http.Header{"Authorization": {header}}, []byte(`{"query": "{ __typename }"}`))
		require.Equal(t, http.StatusOK, res.Status, header)
	}
}

// TestIntrospection: the queries that playgrounds and code generators send run, and one that nests does not.
func TestIntrospection(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	files, err := filepath.Glob("testdata/introspection/*.graphql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		query, err := os.ReadFile(file)
		require.NoError(t, err)
		data := srv.Query(t, "viewer", string(query), nil)
		require.Greater(t, len(data["__schema"].(map[string]any)["types"].([]any)), 30, file)
	}
	for _, query := range []string{
		"{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
		`{ __type(name: "Query") { fields { type { fields { type { fields { type { name } } } } } } } }`,
		"{ __schema { types { ...F } } } fragment F on __Type { fields { type { ...G } } } fragment G on __Type { fields { type { interfaces { name } } } }",
	} {
		res, out := decode(t, srv.GraphQL(t, "viewer", query, nil))
		require.Empty(t, out.Data, string(res.Body))
		require.NotEmpty(t, out.Errors)
	}
}

// TestAuthorizationOverHTTP: the same document, which the server remembers, answers to each what they may have.
func TestAuthorizationOverHTTP(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	const conditional = `query($s: Boolean!) { organization { name apiKeys @skip(if: $s) { totalCount } } }`
	const plain = `{ organization { apiKeys { totalCount } } }`
	may := func(who, query string, vars map[string]any) bool {
		res, out := decode(t, srv.GraphQL(t, who, query, vars))
		require.Equal(t, http.StatusOK, res.Status)
		if len(out.Errors) == 0 {
			return true
		}
		require.Equal(t, "FORBIDDEN", out.Errors[0].Extensions.Code)
		require.Contains(t, out.Errors[0].Message, "apiKeys")
		require.Empty(t, out.Data)
		return false
	}
	shown, hidden := map[string]any{"s": false}, map[string]any{"s": true}
	for range 2 {
		require.True(t, may("owner", plain, nil))
		require.False(t, may("viewer", plain, nil))
		require.True(t, may("viewer", conditional, hidden))
		require.False(t, may("viewer", conditional, shown))
		require.True(t, may("owner", conditional, shown))
		require.True(t, may("viewer", conditional, hidden))
		require.False(t, may("member", plain, nil))
		require.True(t, may("admin", plain, nil))
		require.False(t, may("installer", plain, nil))
	}
}

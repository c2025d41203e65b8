package rest_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/server"
)

// endpoint is an operation of the interface, or one that we add to it, and the part of the work that brings it.
type endpoint struct{ part, method, path string }

// documented are the operations of the interface, in its order.
var documented = []endpoint{
	{"alerts", "POST", "/api/v1/alerts"},

	{"sources", "GET", "/api/v1/cloud-sources"},
	{"sources", "POST", "/api/v1/cloud-sources"},
	{"sources", "GET", "/api/v1/cloud-sources/{id}"},
	{"sources", "POST", "/api/v1/cloud-sources/upload"},
	{"sources", "POST", "/api/v1/cloud-sources/{id}/repohost-sync"},
	{"sources", "POST", "/api/v1/cloud-sources/{sourceId}/eval-suggestions/review"},
	{"sources", "DELETE", "/api/v1/cloud-sources/{sourceId}/eval-suggestions/{suggestionId}/review"},
	{"sources", "POST", "/api/v1/cloud-sources/{sourceId}/eval-suggestions/{suggestionId}/apply-to-suite"},

	{"suites", "GET", "/api/v1/eval-suites"},
	{"suites", "GET", "/api/v1/eval-suites/{id}"},
	{"suites", "POST", "/api/v1/eval-suites"},
	{"suites", "PATCH", "/api/v1/eval-suites/{id}"},

	{"repohost", "GET", "/api/v1/repohost/settings"},
	{"repohost", "POST", "/api/v1/repohost/settings"},
	{"repohost", "GET", "/api/v1/repohost/installations"},
	{"repohost", "POST", "/api/v1/repohost/installations"},
	{"repohost", "GET", "/api/v1/repohost/repos"},
	{"repohost", "GET", "/api/v1/repohost/connections"},
	{"repohost", "POST", "/api/v1/repohost/connections"},
	{"repohost", "PATCH", "/api/v1/repohost/connections/{id}"},
	{"repohost", "DELETE", "/api/v1/repohost/connections/{id}"},
	{"repohost", "POST", "/api/v1/repohost/connections/{id}/sync"},

	{"registry", "POST", "/api/v1/registry"},
	{"registry", "GET", "/api/v1/registry"},
	{"registry", "GET", "/api/v1/registry/{id}"},
	{"registry", "POST", "/api/v1/registry/{id}/versions"},
	{"registry", "GET", "/api/v1/registry/{id}/versions"},
	{"registry", "POST", "/api/v1/registry/{id}/rollback"},
	{"registry", "POST", "/api/v1/registry/{id}/install"},
	{"registry", "GET", "/api/v1/registry/{id}/installations"},
	{"registry", "GET", "/api/v1/registry/sync/check"},
	{"registry", "POST", "/api/v1/registry/sync"},
	{"registry", "GET", "/api/v1/registry/installed"},
	{"registry", "DELETE", "/api/v1/registry/{id}"},

	{"community", "POST", "/api/v1/community/bundles"},
	{"community", "GET", "/api/v1/community/bundles/overview"},
	{"community", "GET", "/api/v1/community/bundles/skills/{skillName}"},
	{"community", "GET", "/api/v1/community/bundles/recent"},

	{"signals", "POST", "/api/v1/signals"},
	{"signals", "GET", "/api/v1/signals/aggregates"},
	{"signals", "GET", "/api/v1/creator-signals/overview"},
	{"signals", "GET", "/api/v1/creator-signals/skills/{name}"},
	{"signals", "GET", "/api/v1/creator-signals/proposals"},

	{"skills", "GET", "/v1/skills"},
	{"skills", "GET", "/v1/skills/{skill_id}"},
}

// extensions are what we add.
var extensions = []endpoint{
	{"alerts", "GET", "/api/v1/alerts"},
	{"alerts", "GET", "/api/v1/alerts/{id}"},
	{"alerts", "PATCH", "/api/v1/alerts/{id}"},
	{"alerts", "DELETE", "/api/v1/alerts/{id}"},
	{"alerts", "POST", "/api/v1/alerts/{id}/test"},

	{"telemetry", "POST", "/api/v1/push"},
	{"telemetry", "POST", "/v1/logs"},

	{"sources", "PATCH", "/api/v1/cloud-sources/{id}"},
	{"sources", "DELETE", "/api/v1/cloud-sources/{id}"},

	{"suites", "POST", "/api/v1/eval-suites/{id}/archive"},
	{"suites", "POST", "/api/v1/eval-suites/{id}/restore"},
	{"suites", "DELETE", "/api/v1/eval-suites/{id}"},
	{"suites", "GET", "/api/v1/eval-suites/{id}/revisions"},

	{"runs", "POST", "/api/v1/eval-runs"},
	{"runs", "GET", "/api/v1/eval-runs"},
	{"runs", "GET", "/api/v1/eval-runs/{id}"},

	{"repohost", "POST", "/api/v1/repohost/webhook"},

	{"registry", "PATCH", "/api/v1/registry/{id}"},
	{"registry", "GET", "/api/v1/registry/{id}/versions/{version}/download"},
	{"registry", "GET", "/api/v1/registry/public"},

	{"community", "GET", "/api/v1/community/bundles/schema"},

	{"export", "GET", "/v1/export/{dataset}"},
}

// built are the parts that are there: all of their endpoints must be.
var built = []string{"alerts", "community", "export", "registry", "repohost", "runs", "signals", "skills", "sources", "suites", "telemetry"}

var parameter = regexp.MustCompile(`\{[^}]+\}`)

func (e endpoint) String() string { return e.method + " " + parameter.ReplaceAllString(e.path, "{}") }

// TestContract holds what is mounted against what is promised.
func TestContract(t *testing.T) {
	t.Parallel()
	require.Len(t, documented, 46)
	promised := map[string]endpoint{}
	for _, e := range slices.Concat(documented, extensions) {
		require.NotContains(t, promised, e.String())
		promised[e.String()] = e
	}

	mounted := map[string]bool{}
	routes := apitest.New(t).Handler.(*server.Server).Handler.(chi.Routes)
	err := chi.Walk(routes, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/") {
			e := endpoint{method: method, path: path}
			require.Contains(t, promised, e.String(), "is mounted, but nobody has promised it")
			mounted[e.String()] = true
		}
		return nil
	})
	require.NoError(t, err)

	missing := func(list []endpoint) (out []string) {
		for _, e := range list {
			if mounted[e.String()] {
				continue
			}
			require.NotContains(t, built, e.part, "%s is not mounted", e)
			out = append(out, e.part+": "+e.method+" "+e.path)
		}
		return out
	}
	later := missing(documented)
	t.Logf("%d of %d operations of the interface are not mounted yet:\n%s", len(later), len(documented), strings.Join(later, "\n"))
	later = missing(extensions)
	t.Logf("%d of %d extensions are not mounted yet:\n%s", len(later), len(extensions), strings.Join(later, "\n"))
}

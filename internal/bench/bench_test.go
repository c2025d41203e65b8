// Package bench measures what a request costs, as ratios to a floor in the same run: the same page read by one
// hand-written statement that builds the JSON in PostgreSQL, behind net/http, with the key looked up and the
// organization in the condition.
package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/models"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // a line a request would be most of the output
	dbtest.Main(m)
}

const (
	suites      = 200
	connections = 16
	round       = 500 * time.Millisecond
	rounds      = 6
)

const floorSQL = `SELECT json_build_object('suites', coalesce(json_agg(s), '[]')) FROM (
	SELECT t.id, t.source_id, t.name, lower(t.source_kind) AS source_kind, lower(t.verifier_kind) AS verifier_kind, t.supports_no_skill,
		t.resource_limits AS resource_limits_json, t.case_count, lower(t.suite_kind) AS suite_kind,
		(SELECT json_build_object('email', u.email) FROM users u WHERE u.id = t.created_by) AS created_by
	FROM eval_suites t WHERE t.org_id = (SELECT org_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL) AND t.archived_at IS NULL
	ORDER BY t.id DESC LIMIT 20) s`

const graphQuery = `{"query":"{ suites(first: 20) { nodes { id sourceId name sourceKind verifierKind supportsNoSkill resourceLimitsJson caseCount suiteKind createdBy { email } } } }"}`

// BenchmarkSuites reads a page of 20 suites with their authors.
func BenchmarkSuites(b *testing.B) {
	s := apitest.New(b)
	one := fill(b, s)
	floor := floorServer(b, s)
	asks := map[string]func() (*http.Request, error){
		"floor": func() (*http.Request, error) { return http.NewRequest(http.MethodGet, floor, nil) },
		"graphql": func() (*http.Request, error) {
			return http.NewRequest(http.MethodPost, s.URL+"/graphql", strings.NewReader(graphQuery))
		},
		"rest (one suite)": func() (*http.Request, error) {
			return http.NewRequest(http.MethodGet, s.URL+one, nil)
		},
	}
	done := map[string]int{}
	for range b.N {
		for range rounds { // alternating, so that whatever else the machine does hits all alike
			for name, ask := range asks {
				done[name] += hammer(b, s.Keys["owner"], ask)
			}
		}
	}
	seconds := (round * rounds).Seconds() * float64(b.N)
	for name, n := range done {
		b.ReportMetric(float64(n)/seconds, strings.ReplaceAll(name, " ", "-")+"/s")
	}
	b.ReportMetric(float64(done["graphql"])/float64(done["floor"]), "graphql/floor")
	b.ReportMetric(0, "ns/op")
}

// hammer sends requests over several connections for a while and counts the answers.
func hammer(b *testing.B, key string, ask func() (*http.Request, error)) int {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(b.Context(), round)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range connections {
		wg.Go(func() {
			n := 0
			for ctx.Err() == nil {
				req, err := ask()
				require.NoError(b, err)
				req.Header.Set("Authorization", "Bearer "+key)
				req.Header.Set("Content-Type", "application/json")
				res, err := client.Do(req)
				require.NoError(b, err)
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				require.Equal(b, http.StatusOK, res.StatusCode)
				n++
			}
			mu.Lock()
			total += n
			mu.Unlock()
		})
	}
	wg.Wait()
	return total
}

// fill makes suites and returns the path of the last one.
func fill(b *testing.B, s *apitest.Server) (path string) {
	for i := range suites {
		made, err := s.Org().CreateSuite(b.Context(), models.CreateSuiteInput{
			Name: fmt.Sprintf("Suite %03d", i), SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
			CasesJSON: models.JSON(`[{"case_kind":"trigger_query","query":"fill the form","expectation":"should_trigger"}]`),
		})
		require.NoError(b, err)
		path = "/api/v1/eval-suites/" + made.ID.String()
	}
	dbtest.Exec(b, s.Database, "VACUUM ANALYZE")
	return path
}

func floorServer(b *testing.B, s *apitest.Server) string {
	pool, err := pgxpool.New(b.Context(), s.Database)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body []byte
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if err := pool.QueryRow(r.Context(), floorSQL, models.HashKey(key)).Scan(&body); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	b.Cleanup(srv.Close)
	return srv.URL
}

package store_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a database with two organizations.
type world struct {
	*store.Store
	url         string
	owner       *models.Viewer // of acme
	acme, other store.Org      // each seen by its owner
	stranger    *models.Viewer // owner of other
}

func newWorld(t *testing.T) world {
	t.Helper()
	return newWorldAt(t, ticking())
}

// ticking is the wall clock, but for no two readings of one millisecond: what is newest would be anybody's guess.
func ticking() func() time.Time {
	var last atomic.Int64
	return func() time.Time {
		for {
			before := last.Load()
			now := max(time.Now().UnixMilli(), before+1)
			if last.CompareAndSwap(before, now) {
				return time.UnixMilli(now)
			}
		}
	}
}

// newWorldAt has a clock of its own.
func newWorldAt(t *testing.T, clock func() time.Time) world {
	t.Helper()
	w := world{url: dbtest.Database(t)}
	w.Store = dbtest.Open(t, w.url, store.Options{MaxConns: 10, Clock: clock})
	_, w.owner = dbtest.Key(t, w.Store, "acme", "owner@example.com", models.PlanTeam, models.RoleOwner)
	_, w.stranger = dbtest.Key(t, w.Store, "other", "stranger@example.com", models.PlanTeam, models.RoleOwner)
	w.acme, w.other = w.Org(w.owner.OrgID, w.owner.UserID), w.Org(w.stranger.OrgID, w.stranger.UserID)
	return w
}

// conn is a connection that the store knows nothing of.
func (w world) conn(t *testing.T) *pgx.Conn {
	t.Helper()
	return connect(t, w.url)
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// count is the number that a statement selects.
func (w world) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, w.conn(t).QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// source makes a cloud source, for which there is no verb yet.
func (w world) source(t *testing.T, org store.Org) ids.ID {
	t.Helper()
	id := ids.New(ids.Source, time.Now())
	dbtest.Exec(t, w.url, "INSERT INTO cloud_sources (org_id, id, label, source_type, created_at) VALUES ($1, $2, 'folder', 'UPLOAD', now())", org.ID(), id)
	return id
}

// suite makes a suite with one case.
func suite(t *testing.T, org store.Org, name string) *models.EvalSuite {
	t.Helper()
	s, err := org.CreateSuite(t.Context(), newSuite(name))
	require.NoError(t, err)
	return s
}

func newSuite(name string) models.CreateSuiteInput {
	return models.CreateSuiteInput{
		Name: name, SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
		CasesJSON: models.JSON(`[{"id":"1","case_kind":"trigger_query","query":"q","expectation":"should_trigger"}]`),
	}
}

func set[T any](v T) graphql.Omittable[T] { return graphql.OmittableOf(v) }

func rename(name string) models.UpdateSuiteInput {
	return models.UpdateSuiteInput{Name: set(&name)}
}

// requireCode is for an error made for the caller.
func requireCode(t *testing.T, want errs.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, string(want), string(errs.CodeOf(err)), err.Error())
}

// everything is the window of a list that fits one page.
var everything = models.Window{Limit: 1000}

// happened lists the kinds of an organization's events, oldest first.
func happened(t *testing.T, org store.Org) []string {
	t.Helper()
	out := []string{}
	for _, e := range events(t, org) {
		out = append(out, e.Kind)
	}
	return out
}

// events lists an organization's events, oldest first.
func events(t *testing.T, org store.Org) []*models.Event {
	t.Helper()
	page, err := org.Events(t.Context(), models.EventFilter{}, everything)
	require.NoError(t, err)
	slices.Reverse(page.Nodes)
	return page.Nodes
}

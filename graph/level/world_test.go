package level_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph"
	"skillgraph/graph/generated"
	"skillgraph/graph/level"
	"skillgraph/internal/apitest"
	"skillgraph/internal/blob"
	"skillgraph/internal/codehost"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/demo"
	"skillgraph/internal/face"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/internal/repohost"
	"skillgraph/internal/request"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
	"skillgraph/models"
	"skillgraph/resolvers"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // thousands of errors are wanted
	dbtest.Main(m)
}

var now = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// world is a database, and both executors on it. Time stands still, so that both see the same.
type world struct {
	admin         *pgxpool.Pool
	viewer        *models.Viewer
	schema        *ast.Schema
	table         level.Types
	level, gqlgen *executor
}

// executor runs operations on a store of its own, which counts its statements.
type executor struct {
	graphql.GraphExecutor
	store  *store.Store
	plans  func(*graphql.OperationContext) bool
	viewer *models.Viewer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	url := dbtest.Database(t)
	w := &world{schema: graph.Schema()}
	var err error
	w.admin, err = pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(w.admin.Close)
	seeded := dbtest.Open(t, url, store.Options{MaxConns: 4, Clock: clock})
	blobs := dbtest.Blobs(t, seeded)
	repos := t.TempDir()
	w.viewer = seed(t, seeded, blobs, repos)
	w.level = w.executor(t, url, blobs, repos, graph.Level)
	w.gqlgen = w.executor(t, url, blobs, repos, graph.Gqlgen)
	return w
}

// broken makes everything that asks for the time panic.
var broken atomic.Bool

func clock() time.Time {
	if broken.Load() {
		panic("what time is it?")
	}
	return now
}

// grab is a transport that only takes the executor.
type grab struct{ graphql.GraphExecutor }

func (*grab) Supports(*http.Request) bool { return true }

func (g *grab) Do(_ http.ResponseWriter, _ *http.Request, exec graphql.GraphExecutor) {
	g.GraphExecutor = exec
}

func (w *world) executor(t testing.TB, url string, blobs *blob.Store, repos string, kind graph.Executor) *executor {
	t.Helper()
	s := dbtest.Open(t, url, store.Options{MaxConns: 10, Clock: clock})
	driver := repohost.NewLocal(repos)
	published := &registry.Registry{Blobs: blobs, Links: registry.Links{Store: s, Clock: clock}}
	root := resolvers.Root{Registry: published, Sources: hosting.New(blobs, driver), Host: &codehost.Host{Driver: driver, Registry: published}}
	g := &grab{}
	server, _ := graph.New(graph.Config{
		Store: s, Resolvers: root, Metrics: graph.NewMetrics(prometheus.NewRegistry()), Transport: g, Executor: kind,
	})
	server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	of := generated.Config{Resolvers: root}
	w.table = generated.Level(of)
	return &executor{GraphExecutor: g, store: s, plans: level.New(generated.NewExecutableSchema(of), w.table).Plans, viewer: w.viewer}
}

// run executes an operation. REST operations spell enums their own way, and have no limits.
func (e *executor) run(ctx context.Context, query string, vars map[string]any, rest bool) answer {
	ctx = request.WithID(viewer.With(graphql.StartOperationTrace(ctx), e.viewer), "test")
	if rest {
		ctx = face.REST(ctx, "Test")
	}
	op, refused := e.CreateOperationContext(ctx, &graphql.RawParams{Query: query, Variables: vars})
	if refused != nil {
		return answer{Response: &graphql.Response{Errors: refused}}
	}
	respond, ctx := e.DispatchOperation(ctx, op)
	return answer{respond(ctx), e.plans(op)}
}

// answer is what came of an operation, and whether there is a plan for it.
type answer struct {
	*graphql.Response
	planned bool
}

// seed fills the database with the demo and with a few entries in the registry, and returns who looks at them.
func seed(t testing.TB, s *store.Store, blobs *blob.Store, repos string) *models.Viewer {
	t.Helper()
	ctx := t.Context()
	key, err := demo.Load(ctx, s, blobs, repos, demo.NewClock(now))
	require.NoError(t, err)
	v, err := s.Viewer(ctx, key)
	require.NoError(t, err)
	own := s.Org(v.OrgID, v.UserID)
	_, other := dbtest.Key(t, s, "elsewhere", "stranger@example.com", models.PlanTeam, models.RoleOwner)
	publish(t, s.Org(other.OrgID, other.UserID), blobs, "theirs", models.VisibilityPublic)
	for _, visibility := range models.AllVisibility {
		publish(t, own, blobs, "extra-"+visibility.Wire(), visibility)
	}
	connect(t, own, blobs, repos, publish(t, own, blobs, "connected", models.VisibilityOrg))
	for n := 1; n > 0; {
		n, err = own.Suggest(ctx)
		require.NoError(t, err)
	}
	_, err = s.EvaluateAlerts(ctx, time.Hour)
	require.NoError(t, err)
	return v
}

// connect connects an entry with the repository of the demo, and publishes from it.
func connect(t testing.TB, o store.Org, blobs *blob.Store, repos string, entry ids.ID) {
	t.Helper()
	host := &codehost.Host{Driver: repohost.NewLocal(repos), Registry: &registry.Registry{Blobs: blobs}}
	_, _, err := host.Bind(t.Context(), o, models.BindInstallationInput{InstallationID: 1, AccountLogin: "demo", AccountType: models.AccountTypeOrganization})
	require.NoError(t, err)
	link, err := host.Connect(t.Context(), o, models.ConnectRepositoryInput{
		EntryID: entry, InstallationID: 1, RepoFullName: "demo/skills", SkillPath: graphql.OmittableOf(new("skills/sql-review")),
	})
	require.NoError(t, err)
	_, _, err = host.Sync(t.Context(), o, link.ID)
	require.NoError(t, err)
}

// publish makes an entry with a history: versions, one of them taken back, one revoked, and devices that have it.
func publish(t testing.TB, o store.Org, blobs *blob.Store, name string, v models.Visibility) ids.ID {
	t.Helper()
	ctx := t.Context()
	reg := &registry.Registry{Blobs: blobs}
	summary, reason := "First \"words\"\n", "worse"
	first, err := reg.CreateEntry(ctx, o, &models.RegistryEntry{Name: name, EntryType: models.EntryTypeSkill, Visibility: v, Description: "About " + name},
		models.NewVersion{Version: "1.0.0", ChangeSummary: &summary, Source: models.VersionSourceCli}, archive(t, "SKILL.md", "one "+name))
	require.NoError(t, err)
	last := first
	for i := range 4 {
		file := "SKILL.md"
		if i == 2 {
			file = "other.md"
		}
		last, err = reg.PushVersion(ctx, o, first.Entry.ID, models.NewVersion{Version: fmt.Sprintf("1.%d.0", i+1), Source: models.VersionSourceCli}, archive(t, file, fmt.Sprint(name, i)))
		require.NoError(t, err)
		_, _, err = o.Install(ctx, first.Entry.ID, models.InstallEntryInput{DeviceID: fmt.Sprint("device ", i)})
		require.NoError(t, err)
	}
	_, err = o.Rollback(ctx, first.Entry.ID, nil, &reason)
	require.NoError(t, err)
	_, err = o.RevokeVersion(ctx, last.Version.ID, &reason)
	require.NoError(t, err)
	return first.Entry.ID
}

func archive(t testing.TB, path, content string) *bytes.Reader {
	t.Helper()
	return bytes.NewReader(apitest.Archive(t, map[string]string{path: content}))
}

// exec changes the database behind the server's back.
func (w *world) exec(t testing.TB, sql string) {
	t.Helper()
	_, err := w.admin.Exec(t.Context(), sql)
	require.NoError(t, err, sql)
}

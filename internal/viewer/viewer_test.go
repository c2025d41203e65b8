package viewer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// clock is a time that passes when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type bundle struct {
	url   string
	store *store.Store
	clock *clock
	keys  *viewer.Keys
	key   string
	who   *models.Viewer
}

func setup(t *testing.T) bundle {
	t.Helper()
	b := bundle{url: dbtest.Database(t), clock: &clock{now: time.Date(2026, 11, 15, 1, 2, 3, 456e6, time.UTC)}}
	b.store = dbtest.Open(t, b.url, store.Options{MaxConns: 4, Clock: b.clock.Now})
	b.keys = viewer.NewKeys(b.store, b.clock.Now)
	b.key, b.who = dbtest.Key(t, b.store, "acme", "a@example.com", models.PlanTeam, models.RoleMember)
	return b
}

func (b bundle) org() store.Org { return b.store.Org(b.who.OrgID, b.who.UserID) }

// statements is how many f costs.
func (b bundle) statements(f func()) int64 {
	before := b.store.Statements()
	f()
	return b.store.Statements() - before
}

func (b bundle) asks(t *testing.T, keys *viewer.Keys) error {
	t.Helper()
	v, err := keys.Viewer(t.Context(), b.key)
	if err == nil {
		require.Equal(t, b.who.KeyID, v.KeyID)
	}
	return err
}

func (b bundle) lastUsed(t *testing.T) *time.Time {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var at *time.Time
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT last_used_at FROM api_keys WHERE id = $1", b.who.KeyID).Scan(&at))
	return at
}

// TestRemembered: a busy client costs a statement every few seconds, and one more a minute to note that it is there.
func TestRemembered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ask := func() { require.NoError(t, b.asks(t, b.keys)) }
	require.Nil(t, b.lastUsed(t))
	require.Equal(t, int64(2), b.statements(ask), "who it is, and that it was used")
	first := b.clock.Now()
	require.Equal(t, first, b.lastUsed(t).UTC())
	for range 10 {
		require.Zero(t, b.statements(ask))
	}
	b.clock.pass(2 * time.Second)
	require.Zero(t, b.statements(ask))
	b.clock.pass(3 * time.Second)
	require.Equal(t, int64(1), b.statements(ask), "asked again, but not noted again")
	require.Equal(t, first, b.lastUsed(t).UTC())
	b.clock.pass(54 * time.Second)
	require.Equal(t, int64(1), b.statements(ask), "59 s")
	b.clock.pass(5 * time.Second)
	require.Equal(t, int64(2), b.statements(ask), "64 s")
	require.Equal(t, first.Add(64*time.Second), b.lastUsed(t).UTC())
}

// TestRevoked: a key that was revoked, has expired or whose member has left is refused within 5 seconds, on every
// replica, however busy it is.
func TestRevoked(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, b bundle){
		"revoked": func(t *testing.T, b bundle) {
			_, err := b.org().RevokeKey(t.Context(), b.who.KeyID)
			require.NoError(t, err)
		},
		"expired": func(t *testing.T, b bundle) {
			dbtest.Exec(t, b.url, "UPDATE api_keys SET expires_at = $2 WHERE id = $1", b.who.KeyID, b.clock.Now())
		},
		"its member left": func(t *testing.T, b bundle) {
			_, err := b.org().RemoveMember(t.Context(), b.who.UserID)
			require.NoError(t, err)
		},
		"deleted": func(t *testing.T, b bundle) {
			dbtest.Exec(t, b.url, "DELETE FROM api_keys WHERE id = $1", b.who.KeyID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			other := viewer.NewKeys(dbtest.Open(t, b.url, store.Options{MaxConns: 2, Clock: b.clock.Now}), b.clock.Now)
			replicas := []*viewer.Keys{b.keys, other}
			for _, keys := range replicas {
				require.NoError(t, b.asks(t, keys))
			}
			end(t, b)
			for range 50 { // asking all the time does not keep it alive
				b.clock.pass(100 * time.Millisecond)
				for _, keys := range replicas {
					_ = b.asks(t, keys)
				}
			}
			for _, keys := range replicas {
				require.Equal(t, errs.Unauthenticated, errs.CodeOf(b.asks(t, keys)))
			}
		})
	}
}

// TestChanged: a new role or plan is seen within the same time.
func TestChanged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.keys.Viewer(t.Context(), b.key)
	require.NoError(t, err)
	_, err = b.org().ChangeMemberRole(t.Context(), b.who.UserID, models.RoleViewer)
	require.NoError(t, err)
	require.NoError(t, b.store.SetPlan(t.Context(), "acme", models.PlanPro))
	b.clock.pass(5 * time.Second)
	v, err := b.keys.Viewer(t.Context(), b.key)
	require.NoError(t, err)
	require.Equal(t, models.RoleViewer, v.Role)
	require.Equal(t, models.PlanPro, v.Plan)
	require.Empty(t, v.Permissions)
}

// TestExpiry: a key stops to work when it says so, give or take how long it is remembered.
func TestExpiry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := b.clock.Now().Add(time.Hour)
	_, key, err := b.org().CreateKey(t.Context(), models.APIKey{UserID: b.who.UserID, Name: "short", ExpiresAt: &at})
	require.NoError(t, err)
	_, err = b.keys.Viewer(t.Context(), key)
	require.NoError(t, err)
	b.clock.pass(time.Hour - time.Second)
	_, err = b.keys.Viewer(t.Context(), key)
	require.NoError(t, err)
	b.clock.pass(5 * time.Second)
	_, err = b.keys.Viewer(t.Context(), key)
	require.Equal(t, errs.Unauthenticated, errs.CodeOf(err))
}

// TestNotAKey: what does not even look like a key costs nothing, and an unknown one is not remembered
// as anything.
func TestNotAKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"", "x", "sg_live_", "sg_live_short", "sg_test_" + b.key[8:], b.key[1:]} {
		require.Zero(t, b.statements(func() {
			_, err := b.keys.Viewer(t.Context(), key)
			require.Equal(t, errs.Unauthenticated, errs.CodeOf(err), key)
		}))
	}
	unknown := models.NewKey()
	for range 2 {
		_, err := b.keys.Viewer(t.Context(), unknown)
		require.Equal(t, errs.Unauthenticated, errs.CodeOf(err))
	}
}

func TestMiddleware(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var seen *models.Viewer
	h := b.keys.Middleware(func(w http.ResponseWriter, _ *http.Request, err error) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(errs.CodeOf(err)))
	})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = viewer.From(r.Context()) }))
	send := func(ctx context.Context, authorization string) *httptest.ResponseRecorder {
		seen = nil
		req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		req.Header.Set("Authorization", authorization)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w
	}
	require.Equal(t, http.StatusOK, send(t.Context(), "Bearer "+b.key).Code)
	require.Equal(t, b.who, seen)
	w := send(t.Context(), "Bearer nonsense")
	require.Nil(t, seen)
	require.Equal(t, "UNAUTHENTICATED", w.Body.String())
	require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))

	// When the database cannot be asked nobody is let in, but nobody is told that the key is wrong either.
	b.clock.pass(time.Minute)
	b.store.Close()
	w = send(t.Context(), "Bearer "+b.key)
	require.Nil(t, seen)
	require.Equal(t, "UNAVAILABLE", w.Body.String())
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
}

// TestAtOnce: many requests with one key at the same moment.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var all sync.WaitGroup
	failures := make(chan error, 50)
	for range 50 {
		all.Go(func() {
			_, err := b.keys.Viewer(t.Context(), b.key)
			failures <- err
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}

func TestFromNobody(t *testing.T) {
	t.Parallel()
	require.Nil(t, viewer.From(t.Context()))
	v := &models.Viewer{Role: models.RoleAdmin}
	require.Same(t, v, viewer.From(viewer.With(t.Context(), v)))
}

package jobs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/alerting"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/jobs"
	"skillgraph/internal/outbound"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(asServer); url != "" {
		serveUntilKilled(url)
		return
	}
	dbtest.Main(m)
}

const (
	limit    = time.Minute // no step of a test may take longer
	poll     = 10 * time.Millisecond
	interval = 5 * time.Minute
	secret   = "whsec_of_the_test"
)

// message is what a receiver got.
type message struct {
	Path, Delivery, Signature string
	Raw                       []byte
	Body                      struct {
		Type            string   `json:"type"`
		Skill           string   `json:"skill"`
		Threshold       float64  `json:"threshold"`
		CurrentPassRate *float64 `json:"current_pass_rate"`
		TriggeredAt     string   `json:"triggered_at"`
		AlertID         string   `json:"alert_id"`
		IncidentID      string   `json:"incident_id"`
		State           string   `json:"state"`
		DaysWithoutData *float64 `json:"days_without_data"`
	}
}

// receiver listens on loopback and remembers.
type receiver struct {
	*httptest.Server
	status atomic.Int64  // what it answers
	hold   func(message) // may block

	mu  sync.Mutex
	got []message
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{hold: func(message) {}}
	r.status.Store(http.StatusOK)
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	raw, err := io.ReadAll(req.Body)
	m := message{Path: req.URL.Path, Delivery: req.Header.Get("Skillgraph-Delivery"), Signature: req.Header.Get("Skillgraph-Signature"), Raw: raw}
	if err != nil || json.Unmarshal(raw, &m.Body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.hold(m)
	r.mu.Lock()
	r.got = append(r.got, m)
	r.mu.Unlock()
	w.WriteHeader(int(r.status.Load()))
	_, _ = w.Write([]byte("words of the receiver"))
}

func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]message{}, r.got...)
}

// world is a database with an organization, under a clock that a test moves.
type world struct {
	*store.Store
	alerts *jobs.Alerts
	url    string
	org    store.Org
	pool   *pgxpool.Pool // that the store knows nothing of
	passed atomic.Int64
	made   atomic.Int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: dbtest.Database(t), alerts: newAlerts()}
	w.Store = w.open(t)
	w.org = w.organization(t, "acme")
	pool, err := pgxpool.New(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w.pool = pool
	return w
}

func newAlerts() *jobs.Alerts {
	allow := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	sender, err := alerting.New(outbound.New(allow), alerting.MailConfig{}, time.Now)
	if err != nil {
		panic(err) // only mail can be set up wrongly
	}
	return &jobs.Alerts{Sender: sender, Now: time.Now, BaseURL: "https://skills.example.com", Check: func(string) error { return nil }}
}

func (w *world) open(t *testing.T) *store.Store {
	t.Helper()
	return dbtest.Open(t, w.url, store.Options{MaxConns: 20, Clock: w.now})
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.passed.Load())) }

func (w *world) pass(d time.Duration) { w.passed.Add(int64(d)) }

func (w *world) organization(t *testing.T, name string) store.Org {
	t.Helper()
	_, v := dbtest.Key(t, w.Store, name, name+"@example.com", models.PlanTeam, models.RoleOwner)
	return w.Org(v.OrgID, v.UserID)
}

// grade makes sessions of skills that are graded now: enough of them are all that a pass rate is made of.
func (w *world) grade(t *testing.T, org store.Org, rate float64, skills ...string) {
	t.Helper()
	at := w.now()
	var c models.Canonical
	for _, skill := range skills {
		for range 20 {
			id := fmt.Sprint("session ", w.made.Add(1))
			c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
			c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: skill, OccurredAt: &at, Triggered: new(true)})
			c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: skill, GradedAt: &at, PassRate: &rate})
		}
	}
	_, err := org.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
}

// alert tells a receiver of every skill whose pass rate is below 0.6.
func (w *world) alert(t *testing.T, org store.Org, url string) *models.Alert {
	t.Helper()
	config, err := json.Marshal(map[string]string{"webhook_url": url})
	require.NoError(t, err)
	a, err := org.CreateAlert(t.Context(), &models.Alert{
		Type: models.AlertTypePassRateBelow, Threshold: 0.6, Channel: models.AlertChannelWebhook, State: models.AlertStateOk,
		Destination: config, Secret: new(secret),
	})
	require.NoError(t, err)
	return a
}

// evaluate makes every alert due and evaluates it.
func (w *world) evaluate(t *testing.T) {
	t.Helper()
	w.pass(interval)
	_, err := w.EvaluateAlerts(t.Context(), interval)
	require.NoError(t, err)
}

// pending lists the jobs that have something to send, oldest first.
func (w *world) pending(t *testing.T) (out []store.DeliverJob) {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), "SELECT org_id, id FROM notifications WHERE state = 'PENDING' ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var j store.DeliverJob
		require.NoError(t, rows.Scan(&j.OrgID, &j.NotificationID))
		out = append(out, j)
	}
	require.NoError(t, rows.Err())
	return out
}

// count is the number that a statement selects.
func (w *world) count(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func (w *world) notification(t *testing.T, job store.DeliverJob) (*models.Notification, []*models.NotificationAttempt) {
	t.Helper()
	org := w.Org(job.OrgID, ids.ID{})
	found, err := org.NotificationsByID(t.Context(), []ids.ID{job.NotificationID})
	require.NoError(t, err)
	attempts, err := org.AttemptsOf(t.Context(), []ids.ID{job.NotificationID})
	require.NoError(t, err)
	return found[job.NotificationID], attempts[job.NotificationID]
}

func (w *world) state(t *testing.T, a *models.Alert) *models.Alert {
	t.Helper()
	got, err := w.Org(a.OrgID, ids.ID{}).Alert(t.Context(), a.ID)
	require.NoError(t, err)
	return got
}

// start works on the queue as a server does, until the test ends.
func (w *world) start(t *testing.T, s *store.Store) *jobs.Jobs {
	t.Helper()
	blobs := dbtest.Blobs(t, s)
	j, err := jobs.Start(t.Context(), jobs.Config{Store: s, Alerts: w.alerts, AlertInterval: time.Second, Blobs: blobs, Hosting: hosting.New(blobs, nil)})
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, j) })
	return j
}

// first is the job of the only notification.
func first(t *testing.T, w *world) (j store.DeliverJob) {
	t.Helper()
	require.NoError(t, w.pool.QueryRow(t.Context(), "SELECT org_id, id FROM notifications").Scan(&j.OrgID, &j.NotificationID))
	return j
}

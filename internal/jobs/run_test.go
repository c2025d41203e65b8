package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/jobs"
	"skillgraph/models"
)

func omittable[T any](v T) graphql.Omittable[*T] { return graphql.OmittableOf(&v) }

// stop stops as a server does.
func stop(t *testing.T, j *jobs.Jobs) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	defer cancel()
	require.NoError(t, j.Stop(ctx))
}

// From bad telemetry to a message, and from good telemetry to another one.
func TestRun(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.alert(t, w.org, r.URL)
	w.start(t, w.Store)
	w.grade(t, w.org, 0.1, "pdf")
	require.Eventually(t, func() bool { return len(r.messages()) == 1 }, limit, poll)
	w.grade(t, w.org, 1, "pdf")
	require.Eventually(t, func() bool { return len(r.messages()) == 2 }, limit, poll)
	got := r.messages()
	require.Equal(t, "firing", got[0].Body.State)
	require.Equal(t, "resolved", got[1].Body.State)
	require.Eventually(t, func() bool { return len(w.pending(t)) == 0 }, limit, poll)

	// What a scrape sees of it.
	reg := prometheus.NewRegistry()
	jobs.Collect(w.Store, reg)
	require.Eventually(t, func() bool {
		rec := httptest.NewRecorder()
		promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		text := rec.Body.String()
		return strings.Contains(text, `skillgraph_jobs{kind="deliver_notification",state="completed"} 2`) && strings.Contains(text, `skillgraph_jobs{kind="evaluate_alerts",state="completed"}`)
	}, limit, poll)
}

// Two servers on one database: each notification is delivered once.
func TestRunTwoServers(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	names := make([]string, 15)
	for i := range names {
		names[i] = fmt.Sprint("skill ", i)
	}
	w.alert(t, w.org, r.URL)
	w.start(t, w.Store)
	w.start(t, w.open(t))
	w.grade(t, w.org, 0, names...)
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT count(*) FROM notifications WHERE state = 'DELIVERED'") == len(names)
	}, limit, poll)
	w.grade(t, w.org, 1, names...)
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT count(*) FROM notifications WHERE state = 'DELIVERED'") == 2*len(names)
	}, limit, poll)
	seen := map[string]int{}
	for _, m := range r.messages() {
		seen[m.Delivery]++
	}
	require.Len(t, seen, 2*len(names))
	require.Len(t, r.messages(), 2*len(names))
	require.Equal(t, 2*len(names), w.count(t, "SELECT count(*) FROM notification_attempts"))
	require.Equal(t, len(names), w.count(t, "SELECT count(*) FROM incidents"))
}

// Stop waits for what is under way.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	r.hold = func(message) { close(arrived); <-release }
	w.alert(t, w.org, r.URL)
	j := w.start(t, w.Store)
	w.grade(t, w.org, 0, "pdf")
	<-arrived
	stopped := make(chan error, 1)
	go func() { stopped <- j.Stop(t.Context()) }()
	require.Never(t, func() bool { return len(stopped) > 0 }, 200*time.Millisecond, poll)
	close(release)
	require.NoError(t, <-stopped)
	n, attempts := w.notification(t, first(t, w))
	require.Equal(t, models.NotificationStateDelivered, n.State)
	require.Len(t, attempts, 1)
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM river_job WHERE kind = 'deliver_notification' AND state = 'completed'"))
}

// A receiver that keeps many of one organization's messages waiting does not delay another organization's.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	w, slow, quick := newWorld(t), newReceiver(t), newReceiver(t)
	release := make(chan struct{})
	held := make(chan struct{}, 1000)
	slow.hold = func(message) { held <- struct{}{}; <-release }
	names := make([]string, 120) // more than there are workers
	for i := range names {
		names[i] = fmt.Sprint("skill ", i)
	}
	other := w.organization(t, "other")
	w.alert(t, w.org, slow.URL)
	w.alert(t, other, quick.URL)
	w.grade(t, w.org, 0, names...)
	w.evaluate(t)
	require.Len(t, w.pending(t), len(names))
	w.start(t, w.Store)
	t.Cleanup(func() { close(release) }) // before the jobs are waited for
	for range 5 {
		<-held
	}
	w.pass(interval)
	begun := time.Now()
	w.grade(t, other, 0, "pdf")
	require.Eventually(t, func() bool { return len(quick.messages()) == 1 }, limit, poll)
	took := time.Since(begun)
	t.Logf("the other organization waited %s", took)
	require.Less(t, took, 8*time.Second, "a call to the slow receiver takes 10 s until it is given up")
	require.Empty(t, slow.messages())
}

// What is rolled back was never to be told.
func TestRollbackLeavesNoJob(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.grade(t, w.org, 0, "a", "b", "c")
	w.alert(t, w.org, r.URL)
	_, err := w.pool.Exec(t.Context(), `CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'on purpose'; END $$;
		CREATE TRIGGER fails BEFORE UPDATE OF state ON alerts FOR EACH ROW EXECUTE FUNCTION fails()`)
	require.NoError(t, err)
	_, err = w.EvaluateAlerts(t.Context(), interval)
	require.ErrorContains(t, err, "on purpose")
	require.Zero(t, w.count(t, "SELECT count(*) FROM river_job"))
	require.Zero(t, w.count(t, "SELECT count(*) FROM notifications"))
}

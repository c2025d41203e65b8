package jobs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/hosting"
	"skillgraph/internal/jobs"
	"skillgraph/internal/store"
)

// asServer holds a database's URL: the test binary is a server of its queue, and nothing else.
const (
	asServer = "TEST_AS_SERVER"
	blobsAt  = "TEST_BLOBS"
)

func serveUntilKilled(url string) {
	ctx := context.Background()
	s, err := store.Open(ctx, url, store.Options{MaxConns: 20})
	var blobs *blob.Store
	if err == nil {
		blobs, err = blob.Open(ctx, os.Getenv(blobsAt), s)
	}
	if err == nil {
		_, err = jobs.Start(ctx, jobs.Config{Store: s, Alerts: newAlerts(), AlertInterval: time.Second, Blobs: blobs, Hosting: hosting.New(blobs, nil)})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// A server that is killed at any moment loses nothing: each incident has one notification for its beginning, and the
// receiver has had at least one message for each.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	w, r := newWorld(t), newReceiver(t)
	const skills, kills = 60, 5
	names := make([]string, skills)
	for i := range names {
		names[i] = fmt.Sprint("skill ", i)
	}
	w.alert(t, w.org, r.URL)
	w.grade(t, w.org, 0, names...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	serve := func() *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0])
		c.Env = append(os.Environ(), asServer+"="+w.url, blobsAt+"=file://"+t.TempDir())
		c.Stderr = os.Stderr
		require.NoError(t, c.Start())
		return c
	}
	// done says how many are delivered. A job that was cut short several times does not wait for its turn, which comes
	// later each time.
	done := func() int {
		_, err := w.pool.Exec(t.Context(), "UPDATE river_job SET scheduled_at = now() WHERE state = 'retryable' AND scheduled_at > now()")
		require.NoError(t, err)
		return w.count(t, "SELECT count(*) FROM notifications WHERE state = 'DELIVERED'")
	}
	for range kills {
		before := done()
		c := serve()
		// It is killed when some more are delivered, or at some moment before the first one is.
		more, moment := 1+rnd.IntN(skills/kills), time.Duration(rnd.IntN(3000))*time.Millisecond
		if rnd.IntN(3) > 0 {
			moment = limit / 4
		}
		begun := time.Now()
		require.Eventually(t, func() bool { return time.Since(begun) > moment || done() >= min(before+more, skills) }, limit, poll)
		require.NoError(t, c.Process.Kill())
		require.Error(t, c.Wait())
		// What takes minutes otherwise: the next server leads at once, and finds the jobs of the dead one long overdue.
		_, err := w.pool.Exec(t.Context(), "DELETE FROM river_leader")
		require.NoError(t, err)
		_, err = w.pool.Exec(t.Context(), "UPDATE river_job SET attempted_at = attempted_at - interval '1 hour' WHERE state = 'running'")
		require.NoError(t, err)
	}
	t.Logf("%d delivered by servers that were killed", done())
	c := serve()
	require.Eventually(t, func() bool { return done() == skills }, limit, poll)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())

	require.Equal(t, skills, w.count(t, "SELECT count(*) FROM incidents"))
	require.Equal(t, skills, w.count(t, "SELECT count(DISTINCT incident_id) FROM notifications WHERE kind = 'OPENED'"))
	require.Equal(t, skills, w.count(t, "SELECT count(*) FROM notifications"))
	told := map[string]string{} // delivery by skill
	for _, m := range r.messages() {
		if id, again := told[m.Body.Skill]; again {
			require.Equal(t, id, m.Delivery, "a second copy can be told by its id")
		}
		told[m.Body.Skill] = m.Delivery
	}
	require.Len(t, told, skills)
	t.Logf("%d messages for %d incidents", len(r.messages()), skills)
}

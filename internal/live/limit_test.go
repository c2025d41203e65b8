package live_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/live"
	"skillgraph/internal/postgres"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Who does not read is dropped, and told where to go on; nobody else notices.
func TestTooSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{Buffer: 3})
	slow, narrow, quick := follow(t, h, w.acme, nil, live.Filter{}), follow(t, h, w.acme, nil, live.Filter{Kinds: []string{"suite.deleted"}}), follow(t, h, w.acme, nil, live.Filter{})
	var first *models.Event
	var last ids.ID
	for range 8 {
		last = suite(t, w.acme, "s").ID
		e := next(t, quick)
		require.Equal(t, last, e.ObjectID)
		if first == nil {
			first = next(t, slow)
			require.Equal(t, e.ID, first.ID)
		}
	}
	_, err := slow.Next(t.Context())
	require.Equal(t, errs.TooSlow, errs.CodeOf(err))
	require.EqualError(t, err, "too slow: resume with after: "+first.ID.String())
	_, err = slow.Next(t.Context())
	require.Equal(t, errs.TooSlow, errs.CodeOf(err), "it stays ended")

	require.NoError(t, w.acme.DeleteSuite(t.Context(), last))
	require.Equal(t, "suite.deleted", next(t, narrow).Kind, "what it did not ask for does not fill its buffer")
	resumed := follow(t, h, w.acme, &first.ID, live.Filter{})
	for range 7 {
		require.Equal(t, "suite.created", next(t, resumed).Kind)
	}
	require.Equal(t, "suite.deleted", next(t, resumed).Kind)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{PerOrg: 2})
	first := newest(t, w.acme).ID
	a := follow(t, h, w.acme, nil, live.Filter{})
	follow(t, h, w.acme, &first, live.Filter{})
	for _, after := range []*ids.ID{nil, &first} {
		_, err := h.Follow(t.Context(), w.acme, after, live.Filter{})
		require.Equal(t, errs.RateLimited, errs.CodeOf(err))
		require.ErrorContains(t, err, "2 subscriptions")
	}
	follow(t, h, w.other, nil, live.Filter{})
	a.Close()
	a.Close()
	follow(t, h, w.acme, nil, live.Filter{})
	nowhere := ids.New(ids.Event, time.Now())
	for range 3 { // what fails takes no place
		_, err := h.Follow(t.Context(), w.other, &nowhere, live.Filter{})
		require.Equal(t, errs.NotFound, errs.CodeOf(err))
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{})
	first := newest(t, w.acme).ID
	for _, after := range []*ids.ID{nil, &first} {
		s := follow(t, h, w.acme, after, live.Filter{})
		defer func() {
			_, err := s.Next(t.Context())
			require.ErrorIs(t, err, live.ErrClosing)
		}()
	}
	h.Close()
	_, err := h.Follow(t.Context(), w.acme, nil, live.Filter{})
	require.ErrorIs(t, err, live.ErrClosing)
}

// Nobody follows, so nobody listens; whoever comes then misses nothing.
func TestListensWhileFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{})
	require.Zero(t, listeners(t, w))
	for range 3 {
		s := follow(t, h, w.acme, nil, live.Filter{})
		follow(t, h, w.other, nil, live.Filter{}).Close()
		made := suite(t, w.acme, "a")
		require.Equal(t, made.ID, next(t, s).ObjectID)
		require.Equal(t, 1, listeners(t, w))
		s.Close()
		require.Eventually(t, func() bool { return listeners(t, w) == 0 }, limit, time.Millisecond)
		suite(t, w.acme, "unseen")
	}
}

func listeners(t *testing.T, w world) int {
	t.Helper()
	dbtest.Exec(t, w.url, "DROP TABLE IF EXISTS listeners; CREATE TABLE listeners AS SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'")
	return dbtest.Count(t, w.url, "listeners")
}

// Each batch is read once for all who follow, and not at all for those whom nobody does.
func TestReadsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := dbtest.Open(t, w.url, store.Options{MaxConns: 4})
	h := live.New(reader, live.Limits{})
	var streams []*live.Stream
	org := reader.Org(w.acme.ID(), ids.ID{})
	for range 20 {
		streams = append(streams, follow(t, h, org, nil, live.Filter{}))
	}
	suite(t, w.acme, "first")
	for _, s := range streams {
		next(t, s)
	}
	before := reader.Statements()
	for range 5 {
		suite(t, w.other, "theirs")
	}
	for range 10 {
		made := suite(t, w.acme, "a")
		for _, s := range streams {
			require.Equal(t, made.ID, next(t, s).ObjectID)
		}
	}
	require.LessOrEqual(t, reader.Statements()-before, int64(12))
}

// TestRestart: PostgreSQL goes away in the middle, in an orderly way and not, and comes back; what was committed arrives once and
// in order.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sglive") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	start := func() *postgres.Server {
		pg, err := postgres.Start(t.Context(), postgres.Options{Dir: dir, Volatile: true})
		require.NoError(t, err)
		return pg
	}
	pg := start()
	t.Cleanup(func() { _ = pg.Stop() })
	url := pg.URL("sg")
	require.NoError(t, store.CreateDatabase(t.Context(), pg.URL("postgres"), "sg"))
	s := dbtest.Open(t, url, store.Options{MaxConns: 8})
	_, err = s.Migrate(t.Context())
	require.NoError(t, err)
	w := open(t, url, s)
	h := live.New(s, live.Limits{Buffer: 10_000})
	first := newest(t, w.acme).ID
	fromNow, fromStart := follow(t, h, w.acme, nil, live.Filter{}), follow(t, h, w.acme, &first, live.Filter{})
	got := make(chan []*models.Event, 2)
	for _, s := range []*live.Stream{fromNow, fromStart} {
		go func() {
			events, err := until(t.Context(), s, "suite.deleted")
			if err != nil {
				t.Error(err)
			}
			got <- events
		}()
	}
	made := suite(t, w.acme, "a")
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if rename(ctx, w.acme, made.ID, fmt.Sprint(n, i)) != nil {
					time.Sleep(10 * time.Millisecond) // it is away
				}
			}
		})
	}
	for range 2 {
		grown := func(by int) {
			before := 0
			require.Eventually(t, func() bool {
				page, err := w.acme.Events(t.Context(), models.EventFilter{}, models.Window{Limit: 1})
				if err != nil {
					return false
				}
				total, err := page.TotalCount(t.Context())
				if before == 0 {
					before = total
				}
				return err == nil && total >= before+by
			}, limit, 5*time.Millisecond)
		}
		grown(20)
		require.NoError(t, pg.Stop())
		pg = start()
		grown(20)
	}
	stop()
	writers.Wait()
	require.NoError(t, w.acme.DeleteSuite(t.Context(), made.ID))
	want := since(t, w.acme, first)
	for range 2 {
		require.Equal(t, want[:len(want)-1], idsOf(<-got))
	}
}

package live_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/live"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a database in which things happen.
type world struct {
	*store.Store
	url         string
	acme, other store.Org
}

func newWorld(t *testing.T) world {
	t.Helper()
	url := dbtest.Database(t)
	return open(t, url, dbtest.Open(t, url, store.Options{MaxConns: 12}))
}

func open(t *testing.T, url string, s *store.Store) world {
	t.Helper()
	_, owner := dbtest.Key(t, s, "acme", "owner@example.com", models.PlanTeam, models.RoleOwner)
	_, stranger := dbtest.Key(t, s, "other", "stranger@example.com", models.PlanTeam, models.RoleOwner)
	return world{s, url, s.Org(owner.OrgID, owner.UserID), s.Org(stranger.OrgID, stranger.UserID)}
}

func suite(t *testing.T, o store.Org, name string) *models.EvalSuite {
	t.Helper()
	s, err := create(t.Context(), o, name)
	require.NoError(t, err)
	return s
}

func create(ctx context.Context, o store.Org, name string) (*models.EvalSuite, error) {
	return o.CreateSuite(ctx, models.CreateSuiteInput{
		Name: name, SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
		CasesJSON: models.JSON(`[{"case_kind":"trigger_query","query":"q","expectation":"should_trigger"}]`),
	})
}

func rename(ctx context.Context, o store.Org, id ids.ID, name string) error {
	_, err := o.UpdateSuite(ctx, id, models.UpdateSuiteInput{Name: graphql.OmittableOf(&name)}, nil)
	return err
}

// newest is the last event of an organization.
func newest(t *testing.T, o store.Org) *models.Event {
	t.Helper()
	return history(t, o)[0]
}

// history is what the table has, newest first.
func history(t *testing.T, o store.Org) (out []*models.Event) {
	t.Helper()
	for w := (models.Window{Limit: 100}); ; w.Offset += w.Limit {
		page, err := o.Events(t.Context(), models.EventFilter{}, w)
		require.NoError(t, err)
		if out = append(out, page.Nodes...); !page.PageInfo.HasNextPage {
			return out
		}
	}
}

// since is what the table has after an event, oldest first.
func since(t *testing.T, o store.Org, id ids.ID) (out []string) {
	t.Helper()
	for _, e := range history(t, o) {
		if e.ID == id {
			break
		}
		out = append(out, e.ID.String())
	}
	slices.Reverse(out)
	return out
}

const limit = time.Minute

func follow(t *testing.T, h *live.Hub, o store.Org, after *ids.ID, f live.Filter) *live.Stream {
	t.Helper()
	s, err := h.Follow(t.Context(), o, after, f)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func next(t *testing.T, s *live.Stream) *models.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	e, err := s.Next(ctx)
	require.NoError(t, err)
	return e
}

// until reads a stream up to the event of a kind, which it leaves out.
func until(ctx context.Context, s *live.Stream, kind string) (out []*models.Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		e, err := s.Next(ctx)
		if err != nil {
			return out, err
		}
		if e.Kind == kind {
			return out, nil
		}
		out = append(out, e)
	}
}

func idsOf(events []*models.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.ID.String())
	}
	return out
}

// TestOrder: however transactions overlap, every stream has every event once, in the order of the table, and so that the
// changes of each object come as they were made: from now on, from an event on, and when it is cut off all the time. Two
// hubs are two servers.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A transaction takes its time between the number of its event and its commit.
	dbtest.Exec(t, w.url, `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() * 0.01); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION dawdle()`)
	const writers, changes = 8, 25
	suites := []ids.ID{suite(t, w.acme, "a").ID, suite(t, w.acme, "b").ID, suite(t, w.acme, "c").ID}
	start := newest(t, w.acme).ID
	hubs := []*live.Hub{live.New(w.Store, live.Limits{Buffer: 10_000}), live.New(dbtest.Open(t, w.url, store.Options{MaxConns: 6}), live.Limits{Buffer: 10_000})}

	var followers sync.WaitGroup
	streams := map[string][]*models.Event{}
	var mu sync.Mutex
	keep := func(name string, events []*models.Event, err error) {
		mu.Lock()
		defer mu.Unlock()
		if streams[name] = append(streams[name], events...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i, h := range hubs {
		fromNow := follow(t, h, w.acme, nil, live.Filter{})
		fromStart := follow(t, h, w.acme, &start, live.Filter{})
		followers.Go(func() {
			events, err := until(t.Context(), fromNow, "suite.deleted")
			keep(fmt.Sprint("from now ", i), events, err)
		})
		followers.Go(func() {
			events, err := until(t.Context(), fromStart, "suite.deleted")
			keep(fmt.Sprint("from the start ", i), events, err)
		})
		followers.Go(func() { // reads three, and connects again
			at := start
			for {
				s, err := h.Follow(t.Context(), w.acme, &at, live.Filter{})
				for range 3 {
					var e *models.Event
					if err == nil {
						e, err = s.Next(t.Context())
					}
					if err != nil || e.Kind == "suite.deleted" {
						keep(fmt.Sprint("again and again ", i), nil, err)
						return
					}
					at = e.ID
					keep(fmt.Sprint("again and again ", i), []*models.Event{e}, nil)
				}
				s.Close()
			}
		})
	}
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := range changes {
				if err := rename(t.Context(), w.acme, suites[(n+i)%len(suites)], fmt.Sprint(n, " ", i)); err != nil {
					t.Error(err)
				}
				if _, err := create(t.Context(), []store.Org{w.acme, w.other}[i%2], "more"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, w.acme.DeleteSuite(t.Context(), suites[0]))
	followers.Wait()
	want := since(t, w.acme, start)
	want = want[:len(want)-1] // the deletion
	require.Greater(t, len(want), writers*changes)
	require.Len(t, streams, 6)
	for name, events := range streams {
		require.Equal(t, want, idsOf(events), name)
		revision := map[ids.ID]int{}
		for _, e := range events {
			var data struct{ Revision int }
			require.NoError(t, json.Unmarshal(e.Data, &data))
			if e.Kind == "suite.updated" {
				require.Equal(t, max(revision[e.ObjectID], 1)+1, data.Revision, name)
				revision[e.ObjectID] = data.Revision
			}
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{})
	start := newest(t, w.acme).ID
	a, b := suite(t, w.acme, "a"), suite(t, w.acme, "b")
	_ = suite(t, w.other, "theirs")
	colleague, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	require.NoError(t, rename(t.Context(), w.acme, a.ID, "c"))
	require.NoError(t, w.acme.DeleteSuite(t.Context(), b.ID))
	_, err = w.acme.RemoveMember(t.Context(), colleague.ID)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		filter live.Filter
		want   []string
	}{
		"all":        {live.Filter{}, []string{"suite.created", "suite.created", "member.added", "suite.updated", "suite.deleted"}},
		"a kind":     {live.Filter{Kinds: []string{"suite.created", "member.removed"}}, []string{"suite.created", "suite.created"}},
		"a noun":     {live.Filter{Kinds: []string{"suite.*", "member.removed"}}, []string{"suite.created", "suite.created", "suite.updated", "suite.deleted"}},
		"an object":  {live.Filter{Objects: []ids.ID{a.ID, colleague.ID}}, []string{"suite.created", "member.added", "suite.updated"}},
		"both":       {live.Filter{Kinds: []string{"suite.updated", "member.*"}, Objects: []ids.ID{a.ID, colleague.ID}}, []string{"member.added", "suite.updated"}},
		"not a noun": {live.Filter{Kinds: []string{"sui.*", "member.removed"}}, nil},
	} {
		got, err := until(t.Context(), follow(t, h, w.acme, &start, row.filter), "member.removed")
		require.NoError(t, err, name)
		var kinds []string
		for _, e := range got {
			kinds = append(kinds, e.Kind)
		}
		require.Equal(t, row.want, kinds, name)
	}
	for _, bad := range []string{"", "*", "*.created", "suite", "suite.", ".created", "suite.cr*", "su*.created", "suite.**"} {
		_, err := h.Follow(t.Context(), w.acme, nil, live.Filter{Kinds: []string{"suite.*", bad}})
		require.ErrorContains(t, err, "must be a kind", bad)
	}
	_, err = h.Follow(t.Context(), w.acme, nil, live.Filter{Kinds: slices.Repeat([]string{"suite.*"}, 51)})
	require.ErrorContains(t, err, "at most 50")
	_, err = h.Follow(t.Context(), w.acme, nil, live.Filter{Objects: make([]ids.ID, 51)})
	require.ErrorContains(t, err, "at most 50")
}

// What cannot be gone on from is an error: an event of somebody else, none at all, one that is too old.
func TestAfter(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	now := time.Now()
	w := open(t, url, dbtest.Open(t, url, store.Options{MaxConns: 6, Clock: func() time.Time { return now }}))
	h := live.New(w.Store, live.Limits{})
	first, theirs, made := newest(t, w.acme).ID, newest(t, w.other).ID, suite(t, w.acme, "a")
	require.Equal(t, made.ID, next(t, follow(t, h, w.acme, &first, live.Filter{})).ObjectID)
	now = now.Add(366 * 24 * time.Hour)
	for name, id := range map[string]ids.ID{"theirs": theirs, "none": ids.New(ids.Event, now), "no event": made.ID, "too old": first} {
		_, err := h.Follow(t.Context(), w.acme, &id, live.Filter{})
		require.Equal(t, errs.NotFound, errs.CodeOf(err), name)
		require.ErrorContains(t, err, "read anew", name)
	}
	_, _, err := w.Prune(t.Context())
	require.NoError(t, err)
	s := follow(t, h, w.acme, nil, live.Filter{})
	again := suite(t, w.acme, "b")
	require.Equal(t, again.ID, next(t, s).ObjectID)
}

// A long history is read in pages; what is written meanwhile follows it, however small the buffer.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := live.New(w.Store, live.Limits{Buffer: 1})
	start := newest(t, w.acme).ID
	dbtest.Exec(t, w.url, `INSERT INTO events (org_id, id, kind, object_id, data, created_at) SELECT $1, gen_random_uuid(), 'suite.updated', $1, '{}', now() FROM generate_series(1, 1700)`, w.acme.ID())
	s := follow(t, h, w.acme, &start, live.Filter{})
	require.Equal(t, "suite.updated", next(t, s).Kind)
	for range 3 { // more than the buffer holds, while the follower is not done with the past
		suite(t, w.acme, "meanwhile")
	}
	for range 1699 {
		require.Equal(t, "suite.updated", next(t, s).Kind)
	}
	for range 3 {
		require.Equal(t, "suite.created", next(t, s).Kind)
	}
}

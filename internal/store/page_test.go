package store_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// list is a list of the graph with the ids it should show, in order.
type list[T any] struct {
	page func(context.Context, models.Window) (*models.Connection[T], error)
	id   func(*T) ids.ID
}

func (l list[T]) read(t *testing.T, args models.PageArgs) *models.Connection[T] {
	t.Helper()
	w, err := args.Window()
	require.NoError(t, err)
	page, err := l.page(t.Context(), w)
	require.NoError(t, err)
	return page
}

func (l list[T]) ids(page *models.Connection[T]) []ids.ID {
	out := []ids.ID{}
	for _, n := range page.Nodes {
		out = append(out, l.id(n))
	}
	return out
}

// walk follows the cursors from page to page; between, where not nil, runs after each page.
func (l list[T]) walk(t *testing.T, size int, between func()) []ids.ID {
	t.Helper()
	out, args := []ids.ID{}, models.PageArgs{First: &size}
	for {
		page := l.read(t, args)
		require.Equal(t, args.After != nil, page.PageInfo.HasPreviousPage)
		require.Equal(t, size, page.PageInfo.PerPage)
		require.Nil(t, page.PageInfo.Page)
		require.LessOrEqual(t, len(page.Nodes), size)
		out = append(out, l.ids(page)...)
		require.Less(t, len(out), 1000, "it comes to an end")
		if !page.PageInfo.HasNextPage {
			return out
		}
		require.Len(t, page.Nodes, size)
		edges := page.Edges()
		require.Equal(t, edges[0].Cursor, *page.PageInfo.StartCursor())
		require.Equal(t, edges[size-1].Cursor, *page.PageInfo.EndCursor())
		args.After = page.PageInfo.EndCursor()
		if between != nil {
			between()
		}
	}
}

// check reads the list in every way there is.
func (l list[T]) check(t *testing.T, want []ids.ID) {
	t.Helper()
	for _, size := range []int{1, 2, 3, 7, len(want) - 1, len(want), len(want) + 1, 100} {
		require.Equal(t, want, l.walk(t, size, nil), "pages of %d", size)
		for n := 1; n <= len(want)/size+2; n++ {
			page := l.read(t, models.PageArgs{Page: &n, PerPage: &size})
			from, to := min((n-1)*size, len(want)), min(n*size, len(want))
			require.Equal(t, want[from:to], l.ids(page), "page %d of %d", n, size)
			require.Equal(t, to < len(want), page.PageInfo.HasNextPage)
			require.Equal(t, n > 1, page.PageInfo.HasPreviousPage)
			require.Equal(t, &n, page.PageInfo.Page)
			require.Equal(t, size, page.PageInfo.PerPage)
			total, err := page.TotalCount(t.Context())
			require.NoError(t, err)
			require.Equal(t, len(want), total, "the total is that of all pages")
		}
	}
	for i, e := range l.read(t, models.PageArgs{First: new(100)}).Edges() {
		rest := l.read(t, models.PageArgs{First: new(100), After: &e.Cursor})
		require.Equal(t, want[i+1:], l.ids(rest), "every cursor is a place to start from")
		total, err := rest.TotalCount(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(want), total)
	}
}

func (w world) suites(by models.SuiteOrder, f models.SuiteFilter) list[models.EvalSuite] {
	return list[models.EvalSuite]{
		page: func(ctx context.Context, win models.Window) (*models.EvalSuiteConnection, error) {
			return w.acme.Suites(ctx, f, by, win)
		},
		id: func(s *models.EvalSuite) ids.ID { return s.ID },
	}
}

func suiteIDs(list []*models.EvalSuite) []ids.ID {
	out := []ids.ID{}
	for _, s := range list {
		out = append(out, s.ID)
	}
	return out
}

func byID(a, b ids.ID) int { return strings.Compare(a.String(), b.String()) }

// tied makes suites of which several have the same name and several the same times.
func tied(t *testing.T, n int) (world, []*models.EvalSuite) {
	t.Helper()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	made := []*models.EvalSuite{}
	for i := range n {
		if i%3 == 0 {
			now = now.Add(time.Millisecond)
		}
		made = append(made, suite(t, w.acme, fmt.Sprint("name ", i%4)))
	}
	for i := 0; i < n; i += 2 { // half of them are changed later, three at a time
		if i%3 == 0 {
			now = now.Add(time.Second)
		}
		s, err := w.acme.UpdateSuite(t.Context(), made[i].ID, models.UpdateSuiteInput{SupportsNoSkill: set(new(true))}, nil)
		require.NoError(t, err)
		made[i] = s
	}
	suite(t, w.other, "name 0")
	return w, made
}

// documented are the orders of the schema, ties broken by id.
var documented = map[models.SuiteOrder]func(a, b *models.EvalSuite) int{
	models.SuiteOrderCreatedAt: func(a, b *models.EvalSuite) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), byID(b.ID, a.ID)) },
	models.SuiteOrderUpdatedAt: func(a, b *models.EvalSuite) int { return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), byID(b.ID, a.ID)) },
	models.SuiteOrderName:      func(a, b *models.EvalSuite) int { return cmp.Or(cmp.Compare(a.Name, b.Name), byID(a.ID, b.ID)) },
}

func TestPagesOfSuites(t *testing.T) {
	t.Parallel()
	require.Len(t, documented, len(models.AllSuiteOrder))
	for _, by := range models.AllSuiteOrder {
		t.Run(by.Wire(), func(t *testing.T) {
			t.Parallel()
			w, made := tied(t, 14)
			slices.SortFunc(made, documented[by])
			w.suites(by, models.SuiteFilter{}).check(t, suiteIDs(made))
		})
	}
}

func TestPagesOfEverythingElse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	s := suite(t, w.acme, "0")
	users, keys := []*models.User{}, []*models.APIKey{}
	for i := range 12 {
		if i%4 == 0 {
			now = now.Add(time.Minute)
		}
		_, err := w.acme.UpdateSuite(t.Context(), s.ID, rename(fmt.Sprint(i+1)), nil)
		require.NoError(t, err)
		u, err := w.acme.AddMember(t.Context(), fmt.Sprintf("%d@example.com", i), models.RoleMember)
		require.NoError(t, err)
		users = append(users, u)
		k, _, err := w.acme.CreateKey(t.Context(), models.APIKey{Name: fmt.Sprint(i), UserID: u.ID})
		require.NoError(t, err)
		keys = append(keys, k)
	}
	_, err := w.acme.RemoveMember(t.Context(), users[5].ID)
	require.NoError(t, err)
	t.Run("revisions", func(t *testing.T) {
		t.Parallel()
		rows := revisions(t, w.acme, s.ID)
		want := []ids.ID{}
		for i, r := range rows {
			require.Equal(t, 13-i, r.Number)
			want = append(want, r.ID)
		}
		list[models.SuiteRevision]{
			page: func(ctx context.Context, win models.Window) (*models.SuiteRevisionConnection, error) {
				pages, err := w.acme.RevisionsOf(ctx, []ids.ID{s.ID}, win)
				return pages[s.ID], err
			},
			id: func(r *models.SuiteRevision) ids.ID { return r.ID },
		}.check(t, want)
	})
	t.Run("members", func(t *testing.T) {
		t.Parallel()
		first, err := w.acme.Member(t.Context(), w.owner.UserID)
		require.NoError(t, err)
		present := append(slices.Delete(slices.Clone(users), 5, 6), first)
		slices.SortFunc(present, func(a, b *models.User) int { return cmp.Or(b.JoinedAt.Compare(a.JoinedAt), byID(b.ID, a.ID)) })
		want := []ids.ID{}
		for _, u := range present {
			want = append(want, u.ID)
		}
		list[models.User]{
			page: func(ctx context.Context, win models.Window) (*models.UserConnection, error) {
				pages, err := w.acme.MembersOf(ctx, []ids.ID{w.acme.ID()}, win)
				return pages[w.acme.ID()], err
			},
			id: func(u *models.User) ids.ID { return u.ID },
		}.check(t, want)
	})
	t.Run("keys", func(t *testing.T) {
		t.Parallel()
		want := []ids.ID{w.owner.KeyID}
		for _, k := range keys {
			want = append(want, k.ID)
		}
		slices.SortFunc(want, func(a, b ids.ID) int { return byID(b, a) })
		list[models.APIKey]{
			page: func(ctx context.Context, win models.Window) (*models.APIKeyConnection, error) {
				pages, err := w.acme.KeysOf(ctx, []ids.ID{w.acme.ID()}, win)
				return pages[w.acme.ID()], err
			},
			id: func(k *models.APIKey) ids.ID { return k.ID },
		}.check(t, want)
	})
	t.Run("events", func(t *testing.T) {
		t.Parallel()
		rows, err := w.conn(t).Query(t.Context(), "SELECT id::text FROM events WHERE org_id = $1 ORDER BY seq DESC", w.acme.ID())
		require.NoError(t, err)
		want, text := []ids.ID{}, ""
		for rows.Next() {
			require.NoError(t, rows.Scan(&text))
			id, err := ids.Parse(text)
			require.NoError(t, err)
			want = append(want, id)
		}
		require.NoError(t, rows.Err())
		require.Len(t, want, 3+3*12)
		list[models.Event]{
			page: func(ctx context.Context, win models.Window) (*models.EventConnection, error) {
				return w.acme.Events(ctx, models.EventFilter{}, win)
			},
			id: func(e *models.Event) ids.ID { return e.ID },
		}.check(t, want)
	})
}

// Pages of several parents are cut at once, each on its own.
func TestPagesOfManyParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parents, want := []ids.ID{}, map[ids.ID]int{}
	for n := range 4 {
		s := suite(t, w.acme, "0")
		for i := range n {
			_, err := w.acme.UpdateSuite(t.Context(), s.ID, rename(fmt.Sprint(i+1)), nil)
			require.NoError(t, err)
		}
		parents, want[s.ID] = append(parents, s.ID), n+1
	}
	theirs := suite(t, w.other, "theirs")
	parents = append(parents, theirs.ID)
	before := w.Statements()
	pages, err := w.acme.RevisionsOf(t.Context(), parents, models.Window{Limit: 2})
	require.NoError(t, err)
	require.Len(t, pages, 5)
	require.Equal(t, int64(1), w.Statements()-before)
	for _, p := range parents {
		require.Len(t, pages[p].Nodes, min(2, want[p]))
		require.Equal(t, want[p] > 2, pages[p].PageInfo.HasNextPage)
		for i, r := range pages[p].Nodes {
			require.Equal(t, p, r.SuiteID)
			require.Equal(t, want[p]-i, r.Number)
		}
		total, err := pages[p].TotalCount(t.Context())
		require.NoError(t, err)
		require.Equal(t, want[p], total)
	}
	require.Equal(t, int64(2), w.Statements()-before, "all totals are counted at once")
	none, err := w.acme.RevisionsOf(t.Context(), nil, models.Window{Limit: 2})
	require.NoError(t, err)
	require.Empty(t, none)
}

// Whatever is added while somebody reads, what was there is read once, in order.
func TestPagesWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	for _, by := range models.AllSuiteOrder {
		t.Run(by.Wire(), func(t *testing.T) {
			t.Parallel()
			w, made := tied(t, 10)
			slices.SortFunc(made, documented[by])
			want, added := suiteIDs(made), 0
			got := w.suites(by, models.SuiteFilter{}).walk(t, 3, func() {
				suite(t, w.acme, "a before all others")
				suite(t, w.acme, fmt.Sprint("name ", added%4))
				added += 2
			})
			require.Positive(t, added)
			unique := map[ids.ID]bool{}
			for _, id := range got {
				require.False(t, unique[id], "nothing is shown twice")
				unique[id] = true
			}
			require.Equal(t, want, slices.DeleteFunc(got, func(id ids.ID) bool { return !slices.Contains(want, id) }))
		})
	}
}

func TestPagesWhileRowsAreDeleted(t *testing.T) {
	t.Parallel()
	w, made := tied(t, 9)
	slices.SortFunc(made, documented[models.SuiteOrderName])
	l := w.suites(models.SuiteOrderName, models.SuiteFilter{})
	first := l.read(t, models.PageArgs{First: new(3)})
	require.NoError(t, w.acme.DeleteSuite(t.Context(), made[2].ID))
	rest := l.read(t, models.PageArgs{First: new(100), After: first.PageInfo.EndCursor()})
	require.Equal(t, suiteIDs(made[3:]), l.ids(rest), "a cursor outlives its row")
}

func TestCursorsOfOtherLists(t *testing.T) {
	t.Parallel()
	w, _ := tied(t, 3)
	cursors := map[models.SuiteOrder]string{}
	for _, by := range models.AllSuiteOrder {
		cursors[by] = *w.suites(by, models.SuiteFilter{}).read(t, models.PageArgs{First: new(1)}).PageInfo.EndCursor()
	}
	for _, by := range models.AllSuiteOrder {
		for from, cursor := range cursors {
			win, err := models.PageArgs{After: &cursor}.Window()
			require.NoError(t, err)
			_, err = w.acme.Suites(t.Context(), models.SuiteFilter{}, by, win)
			if from == by {
				require.NoError(t, err)
				continue
			}
			requireCode(t, errs.Invalid, err)
			require.EqualError(t, err, "is a cursor of another list or order")
		}
	}
}

// A cursor that we never gave is refused, not a failure of the server.
func TestForgedCursors(t *testing.T) {
	t.Parallel()
	w, made := tied(t, 3)
	id := made[0].ID.String()
	lists := map[string]func(context.Context, models.Window) error{
		"newest": func(ctx context.Context, win models.Window) error {
			_, err := w.acme.Suites(ctx, models.SuiteFilter{}, models.SuiteOrderCreatedAt, win)
			return err
		},
		"updated": func(ctx context.Context, win models.Window) error {
			_, err := w.acme.Suites(ctx, models.SuiteFilter{}, models.SuiteOrderUpdatedAt, win)
			return err
		},
		"number": func(ctx context.Context, win models.Window) error {
			_, err := w.acme.RevisionsOf(ctx, suiteIDs(made), win)
			return err
		},
		"joined": func(ctx context.Context, win models.Window) error {
			_, err := w.acme.MembersOf(ctx, []ids.ID{w.acme.ID()}, win)
			return err
		},
		"seq": func(ctx context.Context, win models.Window) error {
			_, err := w.acme.Events(ctx, models.EventFilter{}, win)
			return err
		},
	}
	for order, read := range lists {
		for _, key := range []string{"", "x", "99999999999999999999999", "2026-13-45T00:00:00Z", "' OR true --"} {
			if order == "newest" && key == "" {
				continue // the id says it all
			}
			after := base64.RawURLEncoding.EncodeToString([]byte(order + "\n" + id + "\n" + key))
			win, err := models.PageArgs{After: &after}.Window()
			require.NoError(t, err)
			err = read(t.Context(), win)
			requireCode(t, errs.Invalid, err)
			var e *errs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, []string{"after"}, e.Path, "%s: %q", order, key)
		}
	}
}

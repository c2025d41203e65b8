package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Fifty clients accept, reject and apply the same suggestion, to two suites: one of them decides, and everybody else is told.
func TestReviewAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	suites := []*models.EvalSuite{suiteOf(t, w.acme, source), suiteOf(t, w.acme, source)}
	for round := range 5 {
		id := newSuggestion()
		decisions := map[string]func() error{
			"accept": func() error {
				_, err := w.acme.ReviewSuggestion(t.Context(), source, decision(id, models.ReviewStatusAccepted))
				return err
			},
			"reject": func() error {
				_, err := w.acme.ReviewSuggestion(t.Context(), source, decision(id, models.ReviewStatusRejected))
				return err
			},
			"apply 0": func() error {
				_, _, err := w.acme.ApplySuggestion(t.Context(), source, id, application(suites[0].ID))
				return err
			},
			"apply 1": func() error {
				_, _, err := w.acme.ApplySuggestion(t.Context(), source, id, application(suites[1].ID))
				return err
			},
			"review 0": func() error {
				_, err := w.acme.ReviewSuggestion(t.Context(), source, forSuite(id, suites[0].ID))
				return err
			},
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		done := map[string]int{}
		for n := range 50 {
			name := []string{"accept", "reject", "apply 0", "apply 1", "review 0"}[(n+round)%5]
			wg.Go(func() {
				err := decisions[name]()
				mu.Lock()
				defer mu.Unlock()
				switch errs.CodeOf(err) {
				case errs.Conflict:
				case errs.Internal:
					if err != nil {
						t.Error(err)
					}
					done[name]++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		list, err := w.acme.ReviewsOf(t.Context(), []ids.ID{source}, models.ReviewList{Window: models.Window{Limit: 1}})
		require.NoError(t, err)
		final := list[source].Nodes[0]
		require.Equal(t, id, final.SuggestionID)
		in := 0
		for n, s := range suites {
			has := 0
			for _, c := range caseList(t, w.acme, s.ID) {
				if c["suggestion_id"] == id.String() {
					has++
				}
			}
			require.LessOrEqual(t, has, 1)
			require.Equal(t, final.AppliedSuiteID != nil && *final.AppliedSuiteID == s.ID, has == 1)
			if has == 0 {
				require.Zero(t, done[fmt.Sprint("apply ", n)], "who was not told no had their way")
			}
			in += has
		}
		if final.ReviewStatus == models.ReviewStatusRejected {
			require.Equal(t, 10, done["reject"])
			require.Len(t, done, 1)
			require.Zero(t, in)
		} else {
			require.Equal(t, 1, in, "somebody applied it, and one suite has it")
			require.Zero(t, done["reject"])
			require.Equal(t, 10, done["accept"])
		}
		require.Equal(t, round+1, w.count(t, "SELECT count(*) FROM suggestion_reviews"))
	}
}

// Fifty suggestions go into one suite while others change it: no case is lost.
func TestAppendAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	s := suiteOf(t, w.acme, source)
	var wg sync.WaitGroup
	want := []string{}
	for n := range 50 {
		id := newSuggestion()
		want = append(want, id.String())
		wg.Go(func() {
			if _, _, err := w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID)); err != nil {
				t.Error(err)
			}
		})
		if n%5 == 0 {
			wg.Go(func() {
				if _, err := w.acme.UpdateSuite(t.Context(), s.ID, rename(fmt.Sprint("name ", n)), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	got := []string{}
	for _, c := range caseList(t, w.acme, s.ID)[1:] {
		got = append(got, c["suggestion_id"].(string))
	}
	slices.Sort(got)
	slices.Sort(want)
	require.Equal(t, want, got)
	now, err := w.acme.Suite(t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, 51, now.CaseCount)
	require.Equal(t, 61, now.Revision)
}

// Reviews are cleared and made again while a suite is deleted under them: nobody hangs, and what is left makes sense.
func TestReviewsAndSuitesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	for range 5 {
		s, id := suiteOf(t, w.acme, source), newSuggestion()
		var wg sync.WaitGroup
		for _, do := range []func() error{
			func() error {
				_, _, err := w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID))
				return err
			},
			func() error { _, err := w.acme.ClearReview(t.Context(), source, id); return err },
			func() error { return w.acme.DeleteSuite(t.Context(), s.ID) },
			func() error { _, err := w.acme.ReviewSuggestion(t.Context(), source, forSuite(id, s.ID)); return err },
		} {
			wg.Go(func() {
				if err := do(); err != nil && errs.CodeOf(err) != errs.NotFound {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Zero(t, w.count(t, "SELECT count(*) FROM suggestion_reviews WHERE applied_suite_id IS NOT NULL OR (accept_target = 'SAVED_SUITE')"))
	}
}

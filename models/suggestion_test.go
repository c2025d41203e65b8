package models

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
)

func TestFoldQuery(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"Fill in the form!":        "fill in the form",
		"  fill\tIN\n the — form?": "fill in the form",
		"fill-in (the) form...":    "fill in the form",
		"":                         "",
		" .,;!? ":                  "",
		"Straße":                   "strasse",
		"STRASSE":                  "strasse",
		"e\u0301té":                "été",
		"ﬁle １２":                   "file 12",
		"C++ > C":                  "c++ > c", // symbols are not punctuation
		"日本語。":                     "日本語",
		"👍 ok":                     "👍 ok",
	} {
		require.Equal(t, want, FoldQuery(q), q)
		require.Equal(t, want, FoldQuery(want), "folding twice is as good as once")
	}
}

func TestSuggestionID(t *testing.T) {
	t.Parallel()
	a, b := ids.ID{1}, ids.ID{2}
	id := suggestionID(a, "q", true)
	require.Equal(t, ids.Suggestion, id.Kind())
	require.Equal(t, id, suggestionID(a, "q", true))
	for _, other := range []ids.ID{suggestionID(b, "q", true), suggestionID(a, "q", false), suggestionID(a, "r", true)} {
		require.NotEqual(t, id, other)
	}
}

func similar(a, b string) float64 { return similarity(trigrams(FoldQuery(a)), trigrams(FoldQuery(b))) }

func TestSimilarity(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1, similar("Fill in the form", "fill, in the FORM!"), 0)
	require.Zero(t, similar("abc", "xyz"))
	require.Zero(t, similar("", ""))
	require.InDelta(t, 0.5714, similar("word", "words"), 1e-4)
	require.InDelta(t, 0.3636, similar("word", "two words"), 1e-4)
}

// Queries that are similar share a band as often as they should, and queries that are not hardly ever do.
func TestSimilarityBands(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 400)
	for i := range words {
		for range 3 + rnd.IntN(6) {
			words[i] += string(rune('a' + rnd.IntN(26)))
		}
	}
	phrase := func() []string {
		out := make([]string, 6+rnd.IntN(6))
		for i := range out {
			out[i] = words[rnd.IntN(len(words))]
		}
		return out
	}
	share := func(a, b string) bool {
		x, y := similarityBands(ids.ID{7}, a), similarityBands(ids.ID{7}, b)
		for i := range x {
			if x[i] == y[i] {
				return true
			}
		}
		return false
	}
	found, pairs := map[int]int{}, map[int]int{}
	for range 4000 {
		a := phrase()
		b := append([]string{}, a...)
		for range rnd.IntN(len(b)) {
			b[rnd.IntN(len(b))] = words[rnd.IntN(len(words))]
		}
		x, y := strings.Join(a, " "), strings.Join(b, " ")
		tenth := int(similar(x, y) * 10)
		pairs[tenth]++
		if share(x, y) {
			found[tenth]++
		}
	}
	for tenth := range 11 {
		t.Logf("%.1f: %d of %d", float64(tenth)/10, found[tenth], pairs[tenth])
	}
	for tenth := 5; tenth <= 10; tenth++ {
		require.Greater(t, float64(found[tenth]), 0.98*float64(pairs[tenth]), tenth)
	}
	require.Less(t, float64(found[0]), 0.05*float64(pairs[0])+1)
	once, again := similarityBands(ids.ID{7}, "a b"), similarityBands(ids.ID{7}, "a b")
	require.Equal(t, once, again)
	require.NotEqual(t, similarityBands(ids.ID{7}, "a b"), similarityBands(ids.ID{8}, "a b"), "sources have nothing in common")
}

func TestRationale(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		counts SuggestionCounts
		want   string
	}{
		{SuggestionCounts{Missed: 1}, "Observed once: the skill did not fire."},
		{SuggestionCounts{Missed: 7, Failed: 2, Good: 3}, "Observed 12 times: 7 times the skill did not fire, twice the session was graded as failed and 3 times all went well."},
		{SuggestionCounts{RunRegressions: 1, RunFailures: 1}, "Observed twice: once an eval run failed that had passed before and once an eval run failed."},
		{SuggestionCounts{RunFailures: 3}, "Observed 3 times: an eval run failed."},
		{SuggestionCounts{}, "What spoke for it is gone."},
	} {
		c := row.counts
		s := EvalSuggestion{SuggestionCounts: c, ObservedCount: c.Missed + c.Failed + c.RunFailures + c.RunRegressions}
		require.Equal(t, row.want, s.Rationale())
	}
}

func TestCompareEvidence(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	observe := func(ref, text string, kind Provenance) *Observation {
		o := &Observation{SourceID: ids.ID{1}, Text: text, ShouldTrigger: true}
		o.Ref, o.Kind, o.Origin, o.ObservedAt = ref, kind, OriginPrompt, at
		return o
	}
	first := CompareEvidence(nil, []*Observation{observe("a", "One", ProvenanceMissedQuery), observe("b", "one", ProvenanceGood), observe("c", "!", ProvenanceMissedQuery), observe("d", strings.Repeat("é", MaxQuery+1), ProvenanceMissedQuery)})
	require.Len(t, first.Put, 2)
	require.Equal(t, first.Put[0].SuggestionID, first.Put[1].SuggestionID)
	require.Equal(t, &SuggestionCounts{Missed: 1, Good: 1}, first.Counts[first.Put[0].SuggestionID])
	before := []*SuggestionEvidence{&first.Put[0].SuggestionEvidence, &first.Put[1].SuggestionEvidence}
	second := CompareEvidence(before, []*Observation{observe("a", "One!", ProvenanceMissedQuery), observe("b", "two", ProvenanceFailedEvaluation)})
	require.Len(t, second.Put, 1)
	require.Equal(t, []ids.ID{before[1].ID}, second.Drop)
	require.Equal(t, &SuggestionCounts{Good: -1}, second.Counts[before[0].SuggestionID])
	require.Equal(t, &SuggestionCounts{Failed: 1}, second.Counts[second.Put[0].SuggestionID])
	require.Len(t, second.Touched, 2)
	third := CompareEvidence(before, nil)
	require.Len(t, third.Drop, 2)
	require.Equal(t, &SuggestionCounts{Missed: -1, Good: -1}, third.Counts[before[0].SuggestionID])
}

// McNemar's exact test, by hand.
func TestMcNemar(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fixed, broken int
		want          float64
	}{
		{0, 0, 1}, {1, 0, 1}, {0, 2, 0.5}, {5, 0, 0.0625}, {0, 6, 0.03125}, {1, 9, 0.021484375}, {4, 6, 0.75390625}, {5, 5, 1}, {250, 250, 1},
	} {
		require.InDelta(t, row.want, mcnemar(row.fixed, row.broken), 1e-12, fmt.Sprint(row))
		require.InDelta(t, row.want, mcnemar(row.broken, row.fixed), 1e-12)
	}
	require.Positive(t, mcnemar(500, 0))
	require.Less(t, mcnemar(500, 0), 1e-100)
}

func TestHasSuggestion(t *testing.T) {
	t.Parallel()
	id := ids.New(ids.Suggestion, time.Unix(0, 0))
	for raw, want := range map[string]bool{
		`[]`: false, `[{"suggestion_id":7},{"suggestion_id":null}]`: false, `[{"query":"` + id.String() + `"}]`: false,
		`[{},{"suggestion_id":"` + strings.ToUpper(id.String()) + `"}]`: true,
	} {
		has, err := HasSuggestion(JSON(raw), id)
		require.NoError(t, err)
		require.Equal(t, want, has, raw)
	}
	_, err := HasSuggestion(JSON(`{`), id)
	require.Error(t, err)
}

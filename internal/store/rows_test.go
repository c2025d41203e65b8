package store_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// only asks for some columns of T.
func only[T any](names ...string) *store.Columns {
	c := &store.Columns{Model: reflect.TypeFor[T]().Name(), Names: map[string]bool{}}
	for _, name := range names {
		c.Names[name] = true
	}
	return c
}

// requireSamePlaces: a list of which nothing is shown has the same rows, at the same places, as the whole.
func requireSamePlaces[T any](t *testing.T, org store.Org, name string, list func(store.Org) (*models.Connection[T], error)) {
	t.Helper()
	whole, err := list(org)
	require.NoError(t, err, name)
	require.NotEmpty(t, whole.Nodes, name)
	bare, err := list(org.Only(only[T]()))
	require.NoError(t, err, name)
	require.NotEqual(t, whole.Nodes, bare.Nodes, name)
	places := func(c *models.Connection[T]) (out []string) {
		for _, e := range c.Edges() {
			out = append(out, e.Cursor)
		}
		return out
	}
	require.Equal(t, places(whole), places(bare), name)
}

// of makes a list of one parent of a batch.
func of[T, A any](batch func(store.Org, context.Context, []ids.ID, A) (map[ids.ID]*models.Connection[T], error), parent ids.ID, args A) func(store.Org) (*models.Connection[T], error) {
	return func(o store.Org) (*models.Connection[T], error) {
		found, err := batch(o, context.Background(), []ids.ID{parent}, args)
		return found[parent], err
	}
}

// by makes a list of the organization's own.
func by[T, F, O any](list func(store.Org, context.Context, F, O, models.Window) (*models.Connection[T], error), order O) func(store.Org) (*models.Connection[T], error) {
	return func(o store.Org) (*models.Connection[T], error) {
		var all F
		return list(o, context.Background(), all, order, everything)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.furnished(t, w.acme, w.owner)
	for _, o := range []models.SkillOrder{models.SkillOrderLastSeen, models.SkillOrderName} {
		requireSamePlaces(t, w.acme, "skills "+string(o), by(store.Org.Skills, o))
	}
	for _, o := range []models.SuiteOrder{models.SuiteOrderCreatedAt, models.SuiteOrderName, models.SuiteOrderUpdatedAt} {
		requireSamePlaces(t, w.acme, "suites "+string(o), by(store.Org.Suites, o))
	}
	for _, o := range []models.EntryOrder{models.EntryOrderCreatedAt, models.EntryOrderName, models.EntryOrderUpdatedAt} {
		requireSamePlaces(t, w.acme, "entries "+string(o), by(store.Org.Entries, o))
	}
	for _, o := range []models.VersionOrder{models.VersionOrderPushedAt, models.VersionOrderVersion} {
		requireSamePlaces(t, w.acme, "versions "+string(o), of(store.Org.VersionsOf, f.entry, models.VersionList{Window: everything, OrderBy: o}))
	}
	for _, o := range []models.SuggestionOrder{models.SuggestionOrderConfidence, models.SuggestionOrderLastObserved, models.SuggestionOrderObservedCount} {
		list, err := models.NewSuggestionList(models.PageArgs{}, models.SuggestionFilter{}, o)
		require.NoError(t, err)
		requireSamePlaces(t, w.acme, "suggestions "+string(o), of(store.Org.SuggestionsOf, f.source, list))
	}
	requireSamePlaces(t, w.acme, "members", of(store.Org.MembersOf, f.org, everything))
	requireSamePlaces(t, w.acme, "revisions", of(store.Org.RevisionsOf, f.suite, everything))
	requireSamePlaces(t, w.acme, "releases", of(store.Org.ReleasesOf, f.entry, everything))
	requireSamePlaces(t, w.acme, "snapshots", of(store.Org.SnapshotsOf, f.source, everything))
	requireSamePlaces(t, w.acme, "files", of(store.Org.FilesOf, f.snapshot, everything))
	requireSamePlaces(t, w.acme, "evidence", of(store.Org.EvidenceOf, f.suggestion, everything))
	requireSamePlaces(t, w.acme, "attempts", of(store.Org.AttemptsOfLinks, f.repoLink.ID, models.AttemptList{Window: everything}))
	requireSamePlaces(t, w.acme, "results", of(store.Org.ResultsOf, f.run, models.ResultList{Window: everything}))
	requireSamePlaces(t, w.acme, "proposals", of(store.Org.ProposalsOf, f.skill, models.ProposalList{Window: everything}))

	whole, err := w.acme.SuitesByID(t.Context(), []ids.ID{f.suite})
	require.NoError(t, err)
	found, err := w.acme.Only(only[models.EvalSuite]("name")).SuitesByID(t.Context(), []ids.ID{f.suite})
	require.NoError(t, err)
	want := whole[f.suite]
	bare := &models.EvalSuite{OrgID: want.OrgID, ID: want.ID, SuiteSettings: models.SuiteSettings{Name: want.Name}}
	require.Equal(t, bare, found[f.suite])
	leading := only[models.EvalSuite]("name")
	leading.Edges = true
	found, err = w.acme.Only(leading).SuitesByID(t.Context(), []ids.ID{f.suite})
	require.NoError(t, err)
	bare.SourceID, bare.CreatedByID = want.SourceID, want.CreatedByID
	require.Equal(t, bare, found[f.suite])
	found, err = w.acme.Only(only[models.Skill]("name")).SuitesByID(t.Context(), []ids.ID{f.suite})
	require.NoError(t, err)
	require.Equal(t, want, found[f.suite], "columns of something else say nothing about it")
}

package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// furnished is an organization that has something at the end of every edge.
func (w world) furnished(t *testing.T, org store.Org, owner *models.Viewer) foreign {
	t.Helper()
	ctx, f := t.Context(), w.objects(t, org, owner)
	w.hosted(t, org, &f)
	w.watched(t, org, &f)
	w.contributed(t, org, &f)
	f.shelf = w.shelved(t, org, "secret", models.VisibilityOrg)
	f.linked = w.linked(t, org, f.entry)
	w.reviewed(t, org, &f)
	_, _, err := org.ApplySuggestion(ctx, f.source, f.suggestion, application(f.suite))
	require.NoError(t, err)
	of := report(f.suite, "of a version", "pp")
	of.Revision, of.VersionID = set(new(1)), set(&f.current)
	record(t, org, of)
	of = report(f.suite, "of a snapshot", "pp")
	of.Revision, of.SnapshotID = set(new(1)), set(&f.snapshot)
	record(t, org, of)
	revisions, err := org.RevisionsOf(ctx, []ids.ID{f.suite}, everything)
	require.NoError(t, err)
	f.revision = revisions[f.suite].Nodes[len(revisions[f.suite].Nodes)-1].ID
	_, err = org.DecideProposal(ctx, f.proposal, true)
	require.NoError(t, err)
	_, err = org.ApplyProposal(ctx, f.proposal, f.current)
	require.NoError(t, err)
	_, err = org.Attempt(ctx, f.repoLink, models.PublishAttempt{Trigger: models.AttemptTriggerTag, Status: models.AttemptStatusPublished, VersionID: &f.current, SourceRef: "v2"})
	require.NoError(t, err)
	f.repoInstallation = f.repoLink.RepoInstallationID
	_, err = org.CreateSource(ctx, &models.CloudSource{Label: "secret", SourceType: models.SourceTypeRepohost, BoundID: &f.repoInstallation, RepoFullName: "elsewhere/pdf", DefaultBranch: "main", SkillPath: "."})
	require.NoError(t, err)
	return f
}

// edge counts what an organization finds from one of the objects.
type edge func(t *testing.T, o store.Org, f foreign) int

func toMany[T, A any](load func(store.Org, context.Context, []ids.ID, A) (map[ids.ID]*models.Connection[T], error), from func(foreign) ids.ID, args A) edge {
	return func(t *testing.T, o store.Org, f foreign) int {
		t.Helper()
		found, err := load(o, t.Context(), []ids.ID{from(f)}, args)
		require.NoError(t, err)
		total, err := found[from(f)].TotalCount(t.Context())
		require.NoError(t, err)
		require.Len(t, found[from(f)].Nodes, total)
		return total
	}
}

func toOne[T any](load func(store.Org, context.Context, []ids.ID) (map[ids.ID]T, error), from func(foreign) ids.ID) edge {
	return func(t *testing.T, o store.Org, f foreign) int {
		t.Helper()
		found, err := load(o, t.Context(), []ids.ID{from(f)})
		require.NoError(t, err)
		return len(found)
	}
}

var (
	fromEntry    = func(f foreign) ids.ID { return f.entry }
	fromOrg      = func(f foreign) ids.ID { return f.org }
	fromResult   = func(f foreign) ids.ID { return f.result }
	fromRun      = func(f foreign) ids.ID { return f.run }
	fromSkill    = func(f foreign) ids.ID { return f.skill }
	fromSource   = func(f foreign) ids.ID { return f.source }
	fromSuite    = func(f foreign) ids.ID { return f.suite }
	fromUser     = func(f foreign) ids.ID { return f.user }
	fromVersion  = func(f foreign) ids.ID { return f.current }
	fromBound    = func(f foreign) ids.ID { return f.repoInstallation }
	fromIncident = func(f foreign) ids.ID { return f.incident }
)

// reaching is the part of the table of tenancy that needs a furnished organization: what it finds for itself is what others do not.
var reaching = map[string]struct {
	find edge
	own  int
}{
	"AlertsBy":                 {toMany(store.Org.AlertsBy, fromUser, models.AlertList{Window: everything}), 1},
	"AttemptsOfVersions":       {toOne(store.Org.AttemptsOfVersions, fromVersion), 1},
	"BundlesOfSkills":          {toMany(store.Org.BundlesOfSkills, fromSkill, everything), 1},
	"EntriesBy":                {toMany(store.Org.EntriesBy, fromUser, models.EntryList{Window: everything, Order: models.EntryOrderName}), 1},
	"InstallationsBy":          {toMany(store.Org.InstallationsBy, fromUser, everything), 1},
	"InstallationsOfVersions":  {toMany(store.Org.InstallationsOfVersions, fromVersion, everything), 1},
	"KeysBy":                   {toMany(store.Org.KeysBy, fromUser, everything), 1},
	"NotificationsOfIncidents": {toMany(store.Org.NotificationsOfIncidents, fromIncident, everything), 1},
	"PreviousVersions":         {toOne(store.Org.PreviousVersions, fromVersion), 1},
	"ProposalsDecidedBy":       {toMany(store.Org.ProposalsDecidedBy, fromUser, models.ProposalList{Window: everything}), 1},
	"ProposalsOfVersions":      {toMany(store.Org.ProposalsOfVersions, fromVersion, models.ProposalList{Window: everything}), 1},
	"RepoLinksBy":              {toMany(store.Org.RepoLinksBy, fromUser, everything), 1},
	"RepoLinksOfInstallations": {toMany(store.Org.RepoLinksOfInstallations, fromBound, everything), 1},
	"ReviewsBy":                {toMany(store.Org.ReviewsBy, fromUser, models.ReviewList{Window: everything}), 1},
	"ReviewsOfSuites":          {toMany(store.Org.ReviewsOfSuites, fromSuite, models.ReviewList{Window: everything}), 1},
	"RunsBy":                   {toMany(store.Org.RunsBy, fromUser, models.RunList{Window: everything}), 4},
	"RunsOfEntries":            {toMany(store.Org.RunsOfEntries, fromEntry, models.RunList{Window: everything}), 1},
	"RunsOfRevisions":          {toMany(store.Org.RunsOfRevisions, func(f foreign) ids.ID { return f.revision }, models.RunList{Window: everything}), 4},
	"RunsOfSkills":             {toMany(store.Org.RunsOfSkills, fromSkill, models.RunList{Window: everything}), 4},
	"RunsOfSources":            {toMany(store.Org.RunsOfSources, fromSource, models.RunList{Window: everything}), 4},
	"RunsOfVersions":           {toMany(store.Org.RunsOfVersions, fromVersion, models.RunList{Window: everything}), 1},
	"SkillsOfBundles":          {toOne(store.Org.SkillsOfBundles, func(f foreign) ids.ID { return f.bundle }), 1},
	"SkillsOfSources":          {toOne(store.Org.SkillsOfSources, fromSource), 1},
	"SourcesBy":                {toMany(store.Org.SourcesBy, fromUser, models.SourceList{Window: everything}), 2},
	"SourcesOfInstallations":   {toMany(store.Org.SourcesOfInstallations, fromBound, models.SourceList{Window: everything}), 1},
	"SuggestionsOfResults":     {toOne(store.Org.SuggestionsOfResults, fromResult), 1},
	"SuggestionsOfRuns":        {toMany(store.Org.SuggestionsOfRuns, fromRun, models.SuggestionList{Window: everything, Order: models.SuggestionOrderConfidence}), 1},
	"SuitesBy":                 {toMany(store.Org.SuitesBy, fromUser, models.SuiteList{Window: everything, Order: models.SuiteOrderName}), 2},
	"SuitesOfSkills":           {toMany(store.Org.SuitesOfSkills, fromSkill, models.SuiteList{Window: everything, Order: models.SuiteOrderName}), 1},
	"VersionsBy":               {toMany(store.Org.VersionsBy, fromUser, everything), 2},

	"CountsOf":                {toOne(store.Org.CountsOf, fromOrg), 1},
	"DeviceCounts":            {toOne(store.Org.DeviceCounts, fromOrg), 1},
	"PendingSuggestionCounts": {toOne(store.Org.PendingSuggestionCounts, fromOrg), 1},
	"VersionCounts":           {toOne(store.Org.VersionCounts, fromOrg), 1},
	"EventsBy": {func(t *testing.T, o store.Org, f foreign) int {
		t.Helper()
		found, err := o.EventsBy(t.Context(), []ids.ID{f.user}, filtered(t, models.EventFilter{Kinds: set([]string{"proposal.applied"})}))
		require.NoError(t, err)
		return len(found[f.user].Nodes)
	}, 1},
	"Incidents": {func(t *testing.T, o store.Org, f foreign) int {
		t.Helper()
		page, err := o.Incidents(t.Context(), models.IncidentFilter{Open: set(new(true)), SkillID: set(&f.skill)}, everything)
		require.NoError(t, err)
		return len(page.Nodes)
	}, 1},
	"Search": {func(t *testing.T, o store.Org, _ foreign) int {
		t.Helper()
		found, err := o.Search(t.Context(), "secret", models.AllSearchType, 100)
		require.NoError(t, err)
		return len(found)
	}, 8}, // a skill, two sources, a suite, an entry, two suggestions and a proposal
}

// filtered is everything that passes a filter.
func filtered[F any](t *testing.T, f F) models.List[F, models.NoOrder] {
	t.Helper()
	l, err := models.NewList(models.PageArgs{First: new(100)}, &f, models.NoOrder(""))
	require.NoError(t, err)
	return l
}

func init() {
	for name, row := range reaching {
		tenancy[name] = func(t *testing.T, o store.Org, f foreign) { require.Zero(t, row.find(t, o, f)) }
	}
}

// The same edges find what is the organization's own, as much as there is.
func TestOwnEdges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.furnished(t, w.acme, w.owner)
	for name, row := range reaching {
		require.Equal(t, row.own, row.find(t, w.acme, f), name)
	}
	counts, err := w.acme.CountsOf(t.Context(), []ids.ID{f.org})
	require.NoError(t, err)
	require.Equal(t, &models.OrganizationCounts{
		OrgID: f.org, Critical: 1, Sources: 3, Suites: 2, Entries: 1, RepoLinks: 1, FiringAlerts: 1, OpenIncidents: 1, Members: 1,
	}, counts[f.org])
	for want, load := range map[int]func(context.Context, []ids.ID) (map[ids.ID]int, error){1: w.acme.DeviceCounts, 2: w.acme.VersionCounts} {
		found, err := load(t.Context(), []ids.ID{f.org})
		require.NoError(t, err)
		require.Equal(t, map[ids.ID]int{f.org: want}, found)
	}
}

// Filters of nested lists hold, and equal ones share a batch.
func TestNestedFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.furnished(t, w.acme, w.owner)
	for status, want := range map[models.RunStatus]int{models.RunStatusPassed: 3, models.RunStatusFailed: 1, models.RunStatusInvalid: 0} {
		filter := models.RunFilter{Status: set(&status)}
		in := filtered(t, filter)
		require.Equal(t, in, filtered(t, models.RunFilter{Status: set(new(status))}))
		for _, find := range []edge{
			toMany(store.Org.RunsOfSkills, fromSkill, in), toMany(store.Org.RunsOfSources, fromSource, in), toMany(store.Org.RunsOf, fromSuite, in), toMany(store.Org.RunsBy, fromUser, in),
		} {
			require.Equal(t, want, find(t, w.acme, f), status)
		}
	}
	for state, want := range map[models.AlertState]int{models.AlertStateFiring: 1, models.AlertStateOk: 0} {
		require.Equal(t, want, toMany(store.Org.AlertsBy, fromUser, filtered(t, models.AlertFilter{State: set(&state)}))(t, w.acme, f))
	}
	for status, want := range map[models.AttemptStatus]int{models.AttemptStatusPublished: 1, models.AttemptStatusFailed: 1, models.AttemptStatusUnchanged: 0} {
		require.Equal(t, want, toMany(store.Org.AttemptsOfLinks, func(f foreign) ids.ID { return f.link }, filtered(t, models.AttemptFilter{Status: set(&status)}))(t, w.acme, f))
	}
	for status, want := range map[models.ReviewStatus]int{models.ReviewStatusAccepted: 1, models.ReviewStatusRejected: 0} {
		require.Equal(t, want, toMany(store.Org.ReviewsOfSuites, fromSuite, filtered(t, models.ReviewFilter{ReviewStatus: set(&status)}))(t, w.acme, f))
	}
	for open, want := range map[bool]int{true: 1, false: 0} {
		require.Equal(t, want, toMany(store.Org.IncidentsOfSkills, fromSkill, filtered(t, models.IncidentFilter{Open: set(&open)}))(t, w.acme, f))
	}
	_, err := models.NewList(models.PageArgs{}, &models.SuiteFilter{NameContains: set(new(""))}, models.SuiteOrderName)
	require.EqualError(t, err, "must not be empty")
}

package demo_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/demo"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var everything = models.Window{Limit: 1000}

// The demo has something to show on every page: a regression, a silence, two skills that compete, incidents and contributions.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), // a Sunday
		time.Date(2026, 3, 4, 0, 0, 1, 0, time.UTC),    // a Wednesday that has just begun
	} {
		t.Run(now.Weekday().String(), func(t *testing.T) {
			t.Parallel()
			clock := demo.NewClock(now)
			s := dbtest.Open(t, dbtest.Database(t), store.Options{MaxConns: 10, Clock: clock.Now})
			blobs, repos := dbtest.Blobs(t, s), t.TempDir()
			begun := time.Now()
			key, err := demo.Load(t.Context(), s, blobs, repos, clock)
			require.NoError(t, err)
			t.Logf("loaded in %s", time.Since(begun))

			orgs, err := s.Organizations(t.Context())
			require.NoError(t, err)
			require.Len(t, orgs, 3)
			v, err := s.Viewer(t.Context(), key)
			require.NoError(t, err)
			org := s.Org(v.OrgID, v.UserID)
			requireSkills(t, org, now)
			requireIncidents(t, s, org)
			requireSuggestions(t, org)
			requireSources(t, org)
			requireContributions(t, org)
			requireRegistry(t, org, now)
			requireConnection(t, org)

			before := requireEvents(t, org)
			again, err := demo.Load(t.Context(), s, blobs, repos, clock)
			require.NoError(t, err)
			_, err = s.Viewer(t.Context(), again)
			require.NoError(t, err)
			orgs, err = s.Organizations(t.Context())
			require.NoError(t, err)
			require.Len(t, orgs, 3)
			require.Equal(t, before+1, requireEvents(t, org), "nothing but another key")
		})
	}
}

func requireEvents(t *testing.T, org store.Org) int {
	t.Helper()
	page, err := org.Events(t.Context(), models.EventFilter{}, everything)
	require.NoError(t, err)
	return len(page.Nodes)
}

// The registry has a version that broke a skill, one that was rolled back, one that was revoked, devices that are behind, and an
// entry of somebody else. What telemetry reports belongs to the versions.
func requireRegistry(t *testing.T, org store.Org, now time.Time) {
	t.Helper()
	own, err := org.Entries(t.Context(), models.EntryFilter{}, models.EntryOrderName, everything)
	require.NoError(t, err)
	require.Len(t, own.Nodes, 6)
	versions, quality := map[string]*models.RegistryVersion{}, map[string]*models.VersionQuality{}
	status := map[models.SyncStatus]int{}
	for _, e := range own.Nodes {
		require.NotNil(t, e.CurrentVersionID, e.Name)
		found, err := org.VersionsOf(t.Context(), []ids.ID{e.ID}, models.VersionList{Window: everything, OrderBy: models.VersionOrderPushedAt})
		require.NoError(t, err)
		for _, v := range found[e.ID].Nodes {
			q, err := org.QualityOf(t.Context(), []ids.ID{v.ID})
			require.NoError(t, err)
			versions[e.Name+" "+v.Version], quality[e.Name+" "+v.Version] = v, q[v.ID]
			require.True(t, v.PushedAt.Before(now.AddDate(0, 0, -5)), "the past is past")
		}
		devices, err := org.InstallationsOf(t.Context(), []ids.ID{e.ID}, everything)
		require.NoError(t, err)
		for _, i := range devices[e.ID].Nodes {
			status[i.SyncStatus]++
		}
	}
	require.Greater(t, *quality["sql-review 1.4.0"].Sums.PassRate(), 0.8)
	require.Less(t, *quality["sql-review 2.0.0"].Sums.PassRate(), 0.5)
	require.Greater(t, *versions["sql-review 2.0.0"].Baseline, 0.8)
	require.True(t, versions["changelog 1.1.0"].RolledBack)
	require.Positive(t, quality["changelog 1.1.0"].Sessions)
	require.NotNil(t, versions["unit-conversion 1.0.0"].RevokedAt)
	require.True(t, versions["pdf-forms 1.2.0-rc.1"].Prerelease)
	require.Zero(t, quality["pdf-forms 1.2.0-rc.1"].Sessions, "it was never current")
	require.Equal(t, map[models.SyncStatus]int{models.SyncStatusUpToDate: 3, models.SyncStatusOutdated: 4}, status)

	public, err := org.PublicEntries(t.Context(), "letters", everything)
	require.NoError(t, err)
	require.Len(t, public.Nodes, 1)
	require.NotEqual(t, org.ID(), public.Nodes[0].OrgID)
	installed, err := org.Installed(t.Context(), everything)
	require.NoError(t, err)
	require.Equal(t, public.Nodes[0].ID, installed.Nodes[0].EntryID)
}

// One entry is published from a repository: tags have made its releases, and one that was moved was refused.
func requireConnection(t *testing.T, org store.Org) {
	t.Helper()
	links, err := org.RepoLinks(t.Context(), everything)
	require.NoError(t, err)
	require.Len(t, links.Nodes, 1)
	l := links.Nodes[0]
	pages, err := org.AttemptsOfLinks(t.Context(), []ids.ID{l.ID}, models.AttemptList{Window: everything})
	require.NoError(t, err)
	statuses, made := map[models.AttemptStatus]int{}, []string{}
	for _, a := range pages[l.ID].Nodes {
		statuses[a.Status]++
		if a.Trigger == models.AttemptTriggerTag && a.VersionName != nil {
			made = append(made, *a.VersionName)
		}
	}
	require.Equal(t, map[models.AttemptStatus]int{models.AttemptStatusPublished: 7, models.AttemptStatusFailed: 1}, statuses)
	require.Equal(t, []string{"1.1.1", "1.1.0", "1.0.0"}, made)
	found, err := org.VersionNamed(t.Context(), []ids.ID{l.EntryID}, "1.1.1")
	require.NoError(t, err)
	v := found[l.EntryID]
	require.Equal(t, models.VersionSourceRepohost, v.Source)
	entries, err := org.EntriesByID(t.Context(), []ids.ID{l.EntryID})
	require.NoError(t, err)
	require.Equal(t, v.ID, *entries[l.EntryID].CurrentVersionID)
	quality, err := org.QualityOf(t.Context(), []ids.ID{v.ID})
	require.NoError(t, err)
	require.Positive(t, quality[v.ID].Sessions, "telemetry reports it")
	told, err := org.RepoDeliveries(t.Context(), everything)
	require.NoError(t, err)
	require.Len(t, told.Nodes, 8)
	for _, d := range told.Nodes {
		require.Equal(t, models.DeliveryStateDone, d.State)
	}
}

func requireSkills(t *testing.T, org store.Org, now time.Time) {
	t.Helper()
	page, err := org.Skills(t.Context(), models.SkillFilter{}, models.SkillOrderName, everything)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(page.Nodes), 12)
	skills := map[string]*models.Skill{}
	for _, s := range page.Nodes {
		skills[s.Name] = s
		require.False(t, s.LastSeenAt.After(now), s.Name)
	}
	require.Contains(t, []models.SkillStatus{models.SkillStatusCritical, models.SkillStatusWarning}, skills["sql-review"].Status)
	require.Equal(t, models.SkillStatusHealthy, skills["pdf-forms"].Status)
	require.GreaterOrEqual(t, now.Sub(*skills["incident-notes"].LastSeenAt), 12*24*time.Hour)
	confused, err := org.ConfusionsOf(t.Context(), []ids.ID{skills["docx-edit"].ID}, 3)
	require.NoError(t, err)
	require.Equal(t, skills["pdf-forms"].ID, confused[skills["docx-edit"].ID][0].OtherID)

	versions, err := org.BreakdownsOf(t.Context(), []ids.ID{skills["sql-review"].ID}, models.DimensionVersion)
	require.NoError(t, err)
	require.Len(t, versions[skills["sql-review"].ID], 2, "before the release that broke it, and after")
	days, err := org.DaysOf(t.Context(), []ids.ID{skills["pdf-forms"].ID}, models.DayRange{})
	require.NoError(t, err)
	list := days[skills["pdf-forms"].ID]
	require.Greater(t, len(list), 75, "nearly every day has a session")
	working, weekend := 0, 0
	for _, d := range list {
		switch d.Date.Time().Weekday() {
		case time.Saturday, time.Sunday:
			weekend += d.Sessions
		default:
			working += d.Sessions
		}
	}
	require.Greater(t, working, 5*weekend, "a weekly rhythm")
}

func requireIncidents(t *testing.T, s *store.Store, org store.Org) {
	t.Helper()
	n, err := s.EvaluateAlerts(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	alerts, err := org.Alerts(t.Context(), models.AlertFilter{}, everything)
	require.NoError(t, err)
	broken := map[models.AlertType][]string{}
	for _, a := range alerts.Nodes {
		incidents, err := org.IncidentsOfAlerts(t.Context(), []ids.ID{a.ID}, models.IncidentList{Window: everything})
		require.NoError(t, err)
		for _, i := range incidents[a.ID].Nodes {
			found, err := org.SkillsByID(t.Context(), []ids.ID{i.SkillID})
			require.NoError(t, err)
			broken[a.Type] = append(broken[a.Type], found[i.SkillID].Name)
		}
		require.Equal(t, models.AlertStateFiring, a.State)
		slices.Sort(broken[a.Type])
		t.Log(a.Type, broken[a.Type])
	}
	require.Contains(t, broken[models.AlertTypePassRateBelow], "sql-review")
	require.Contains(t, broken[models.AlertTypeNoData], "incident-notes")
}

// Two sources: one that was uploaded, at first with mistakes, and one of a repository; both are linked to skills with figures.
func requireSources(t *testing.T, org store.Org) {
	t.Helper()
	page, err := org.Sources(t.Context(), models.SourceFilter{}, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 2)
	repo, upload := page.Nodes[0], page.Nodes[1]
	if repo.SourceType == models.SourceTypeUpload { // made in the same millisecond
		repo, upload = upload, repo
	}
	require.Equal(t, models.SourceTypeRepohost, repo.SourceType)
	statuses := func(s *models.CloudSource) (out []models.ValidationStatus) {
		snapshots, err := org.SnapshotsOf(t.Context(), []ids.ID{s.ID}, everything)
		require.NoError(t, err)
		for _, snapshot := range snapshots[s.ID].Nodes {
			reports, err := org.ReportsOfSnapshots(t.Context(), []ids.ID{snapshot.ID})
			require.NoError(t, err)
			out = append(out, reports[snapshot.ID].Status)
		}
		return out
	}
	passed, failed := models.ValidationStatusPassed, models.ValidationStatusFailed
	require.Equal(t, []models.ValidationStatus{passed, passed, failed}, statuses(upload))
	require.Equal(t, []models.ValidationStatus{passed, passed}, statuses(repo))
	suites, err := org.SuitesOf(t.Context(), []ids.ID{upload.ID}, everything)
	require.NoError(t, err)
	counts := map[models.SuiteSourceKind]int{}
	for _, s := range suites[upload.ID].Nodes {
		counts[s.SourceKind] = s.CaseCount
	}
	require.Equal(t, map[models.SuiteSourceKind]int{models.SuiteSourceKindImported: 3, models.SuiteSourceKindManual: 7}, counts, "imported from its evals, and one that runs are of")
	for s, name := range map[*models.CloudSource]string{upload: "pdf-forms", repo: "sql-review"} {
		found, err := org.SkillsByID(t.Context(), []ids.ID{*s.SkillID})
		require.NoError(t, err)
		require.Equal(t, name, found[*s.SkillID].Name)
		require.Positive(t, found[*s.SkillID].UniqueSessions)
	}
}

func requireContributions(t *testing.T, org store.Org) {
	t.Helper()
	bundles, err := org.BundleOverview(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{5, 3, 3}, []int{bundles.TotalSubmissions, bundles.TotalSkills, bundles.TotalContributors})
	signals, err := org.SignalOverview(t.Context())
	require.NoError(t, err)
	states := map[string]models.SignalState{}
	for _, s := range signals.Skills {
		states[s.SkillName] = s.State()
	}
	const above, below = models.SignalStateAvailable, models.SignalStateBelowThreshold
	require.Equal(t, map[string]models.SignalState{"pdf-forms": above, "docx-edit": above, "sql-review": above, "api-docs": below, "translate": below}, states)
	detail, err := org.SignalSkill(t.Context(), "docx-edit")
	require.NoError(t, err)
	require.Len(t, detail.ByWeek, 4)
	require.Len(t, detail.QueryBuckets, 2)
	page, err := org.Proposals(t.Context(), models.ProposalFilter{}, everything)
	require.NoError(t, err)
	drawn := map[string]models.ProposalType{}
	for _, p := range page.Nodes {
		drawn[p.SkillName] = p.ProposalType
		require.NotNil(t, p.SkillID)
	}
	require.Len(t, page.Nodes, 2)
	require.Equal(t, map[string]models.ProposalType{"docx-edit": models.ProposalTypeWordingChange, "sql-review": models.ProposalTypeInvestigateRegression}, drawn)
}

// There is a suggestion of every provenance, one that was accepted and one that was rejected, and three runs with a regression.
func requireSuggestions(t *testing.T, org store.Org) {
	t.Helper()
	found, err := org.Sources(t.Context(), models.SourceFilter{}, everything)
	require.NoError(t, err)
	provenances, statuses := map[models.Provenance]int{}, map[models.SuggestionStatus]int{}
	for _, source := range found.Nodes {
		for _, status := range models.AllSuggestionStatus {
			pages, err := org.SuggestionsOf(t.Context(), []ids.ID{source.ID}, models.SuggestionList{Window: everything, Order: models.SuggestionOrderConfidence, Status: status})
			require.NoError(t, err)
			for _, s := range pages[source.ID].Nodes {
				provenances[s.Provenance]++
				statuses[status]++
				t.Log(source.Label, status, s.Provenance, s.ObservedCount, s.Query, s.Rationale())
			}
		}
	}
	require.Len(t, provenances, 4)
	require.Equal(t, 1, statuses[models.SuggestionStatusAccepted])
	require.Equal(t, 1, statuses[models.SuggestionStatusRejected])
	page, err := org.Runs(t.Context(), models.RunFilter{}, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 3)
	run := func(key string) ids.ID {
		return page.Nodes[slices.IndexFunc(page.Nodes, func(r *models.EvalRun) bool { return r.RunKey == key })].ID
	}
	c, err := org.CompareRuns(t.Context(), run("release-1.2"), run("release-1.3"))
	require.NoError(t, err)
	require.Len(t, c.Broken, 2)
}

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

// The demo has something to show on every page: a regression, a silence, two skills that compete, and incidents.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC), // a Sunday
		time.Date(2026, 3, 4, 0, 0, 1, 0, time.UTC),    // a Wednesday that has just begun
	} {
		t.Run(now.Weekday().String(), func(t *testing.T) {
			t.Parallel()
			s := dbtest.Open(t, dbtest.Database(t), store.Options{MaxConns: 10, Clock: func() time.Time { return now }})
			begun := time.Now()
			blobs, repos := dbtest.Blobs(t, s), t.TempDir()
			key, err := demo.Load(t.Context(), s, blobs, repos, now)
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

			again, err := demo.Load(t.Context(), s, blobs, repos, now)
			require.NoError(t, err)
			_, err = s.Viewer(t.Context(), again)
			require.NoError(t, err)
			orgs, err = s.Organizations(t.Context())
			require.NoError(t, err)
			require.Len(t, orgs, 3)
		})
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
	alerts, err := org.Alerts(t.Context(), everything)
	require.NoError(t, err)
	broken := map[models.AlertType][]string{}
	for _, a := range alerts.Nodes {
		incidents, err := org.IncidentsOfAlerts(t.Context(), []ids.ID{a.ID}, everything)
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

package loader_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph/loader"
	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// crowd fills acme: every suite has a maker and three revisions of its own, every member a key, every skill an alert of
// its own with an incident, of which somebody was told in vain.
func crowd(t *testing.T, n int) *apitest.Server {
	t.Helper()
	s := apitest.New(t)
	ctx, acme := t.Context(), s.Orgs["acme"]
	for i := range n {
		u, err := s.Org().AddMember(ctx, fmt.Sprintf("member%d@example.com", i), models.RoleMember)
		require.NoError(t, err)
		org := s.Store.Org(acme, u.ID)
		_, _, err = org.CreateKey(ctx, models.APIKey{Name: "k", UserID: u.ID})
		require.NoError(t, err)
		suite, err := org.CreateSuite(ctx, models.CreateSuiteInput{
			Name: "s", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
			CasesJSON: models.JSON(`[{"case_kind":"trigger_query","query":"q","expectation":"should_trigger"}]`),
		})
		require.NoError(t, err)
		for _, supports := range []bool{true, false} {
			_, err = org.UpdateSuite(ctx, suite.ID, models.UpdateSuiteInput{SupportsNoSkill: graphql.OmittableOf(&supports)}, nil)
			require.NoError(t, err)
		}
	}
	watch(t, s, n)
	host(t, s, n)
	contribute(t, s, n)
	stock(t, s, n)
	connect(t, s, n)
	return s.Counting(t)
}

// connect connects every entry with a repository, with an installation and a maker of its own, two attempts that found a version, and a delivery.
func connect(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx, acme := t.Context(), s.Orgs["acme"]
	entries, err := s.Org().Entries(ctx, models.EntryFilter{}, models.EntryOrderName, models.Window{Limit: n})
	require.NoError(t, err)
	members, err := s.Org().MembersOf(ctx, []ids.ID{acme}, models.Window{Limit: n})
	require.NoError(t, err)
	for k, e := range entries.Nodes {
		by, number := s.Store.Org(acme, members[acme].Nodes[k].ID), int64(100+k)
		i, _, err := by.BindInstallation(ctx, &models.RepoInstallation{InstallationID: number, AccountLogin: "acme", AccountType: models.AccountTypeUser}, true)
		require.NoError(t, err)
		l, err := by.Connect(ctx, &models.RepoLink{EntryID: e.ID, RepoInstallationID: i.ID, RepoFullName: fmt.Sprint("acme/", k), DefaultBranch: "main", SkillPath: ".", TagPattern: "v*"})
		require.NoError(t, err)
		for range 2 {
			_, err = by.Attempt(ctx, l, models.PublishAttempt{Trigger: models.AttemptTriggerTag, Status: models.AttemptStatusUnchanged, VersionID: e.CurrentVersionID, SourceRef: "v1"})
			require.NoError(t, err)
		}
		_, err = s.Store.Receive(ctx, models.Received{Key: fmt.Sprint(k), Queue: l.RepoFullName, Event: "push", InstallationID: number, RepoFullName: l.RepoFullName, Payload: "{}"})
		require.NoError(t, err)
	}
}

// host makes sources of both types, each of another member and for another skill, with two snapshots and a suite that was run.
func host(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx, acme := t.Context(), s.Orgs["acme"]
	i, _, err := s.Org().BindInstallation(ctx, &models.RepoInstallation{InstallationID: 1, AccountLogin: "acme", AccountType: models.AccountTypeUser}, true)
	require.NoError(t, err)
	members, err := s.Org().MembersOf(ctx, []ids.ID{acme}, models.Window{Limit: n})
	require.NoError(t, err)
	for m := range n {
		org := s.Store.Org(acme, members[acme].Nodes[m].ID)
		hash := fmt.Sprintf("%064x", m)
		require.NoError(t, s.Store.TouchBlob(ctx, hash, 1))
		c := store.Content{
			BlobHash: hash, Files: []*models.SnapshotFile{{Path: "SKILL.md", SHA256: "1"}, {Path: "a", SHA256: "1"}},
			Findings: store.Findings{RulesVersion: 1, SkillName: fmt.Sprint("skill ", m)},
			Source:   &models.CloudSource{Label: "s", SourceType: models.SourceTypeUpload},
		}
		if m%2 == 1 {
			c.Source = &models.CloudSource{Label: "s", SourceType: models.SourceTypeRepohost, BoundID: &i.ID, RepoFullName: "acme/x", DefaultBranch: "main", SkillPath: "."}
		}
		made, err := org.SaveContent(ctx, c)
		require.NoError(t, err)
		c.Source, c.SourceID, c.Files = nil, made.Source.ID, c.Files[:1]
		_, err = org.SaveContent(ctx, c)
		require.NoError(t, err)
		suite, err := org.CreateSuite(ctx, models.CreateSuiteInput{
			Name: "of a source", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge, SourceID: graphql.OmittableOf(&made.Source.ID),
			CasesJSON: models.JSON(`[{"id":"a","case_kind":"trigger_query","query":"q","expectation":"should_trigger"}]`),
		})
		require.NoError(t, err)
		_, _, err = org.RecordRun(ctx, models.RecordRunInput{
			SuiteID: suite.ID, SnapshotID: graphql.OmittableOf(&made.Snapshot.ID), Variant: models.RunVariantSkill, RunKey: hash, Results: models.JSON(`[{"case_id":"a","outcome":"passed"}]`),
		})
		require.NoError(t, err)
	}
}

// contribute adds a bundle to the owner, signals, and a proposal that another member has decided on, for every skill.
func contribute(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx := t.Context()
	members, err := s.Org().MembersOf(ctx, []ids.ID{s.Orgs["acme"]}, models.Window{Limit: n})
	require.NoError(t, err)
	for i := range n {
		skill := fmt.Sprint("skill ", i)
		var signals []*models.Signal
		for j := range 12 {
			signals = append(signals, &models.Signal{SourceKey: fmt.Sprint(skill, "/", j), SkillName: &skill, SignalType: "missed_trigger", Missed: true, UserCohort: new(fmt.Sprint(j % 3))})
		}
		_, err = s.Org().AddSignals(ctx, signals)
		require.NoError(t, err)
		bundle := &models.Submission{Digest: []byte(skill), Bundle: models.JSON("{}")}
		bundle.CreatorID, bundle.SkillName = s.Viewers["owner"].UserID, skill
		_, _, err = s.Org().SubmitBundle(ctx, bundle)
		require.NoError(t, err)
	}
	require.NoError(t, s.Org().Propose(ctx))
	drawn, err := s.Org().Proposals(ctx, models.ProposalFilter{}, models.Window{Limit: n})
	require.NoError(t, err)
	for i, p := range drawn.Nodes {
		_, err := s.Store.Org(s.Orgs["acme"], members[s.Orgs["acme"]].Nodes[i].ID).DecideProposal(ctx, p.ID, true)
		require.NoError(t, err)
	}
}

// stock fills the registry: every entry has a maker, three versions, a rollback and devices of two people. The archives are
// entered, but there are none.
func stock(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx, acme := t.Context(), s.Orgs["acme"]
	members, err := s.Org().MembersOf(ctx, []ids.ID{acme}, models.Window{Limit: n})
	require.NoError(t, err)
	version := func(entry, v int) (*models.RegistryVersion, []models.FileInfo) {
		name := fmt.Sprintf("%d.%d.0", v, entry)
		a := models.Archive{Hash: fmt.Sprintf("%x", sha256.Sum256([]byte(name))), Files: []models.FileInfo{{Path: "README.md"}}}
		require.NoError(t, s.Store.TouchBlob(ctx, a.Hash, 0))
		made, err := models.NewVersion{Version: name, Source: models.VersionSourceCli}.Of(a)
		require.NoError(t, err)
		return made, a.Files
	}
	for i := range n {
		by := s.Store.Org(acme, members[acme].Nodes[i].ID)
		v, files := version(i, 1)
		made, err := by.CreateEntry(ctx, &models.RegistryEntry{Name: fmt.Sprint("entry-", i), EntryType: models.EntryTypeSkill, Visibility: models.VisibilityPublic}, v, files)
		require.NoError(t, err)
		for _, v := range []int{2, 3} {
			v, files := version(i, v)
			_, err := by.PushVersion(ctx, made.Entry.ID, models.NewVersion{}, v, files)
			require.NoError(t, err)
			_, _, err = by.Install(ctx, made.Entry.ID, models.InstallEntryInput{DeviceID: v.Version})
			require.NoError(t, err)
		}
		_, _, err = s.Org().Install(ctx, made.Entry.ID, models.InstallEntryInput{DeviceID: "desk"})
		require.NoError(t, err)
		_, err = by.Rollback(ctx, made.Entry.ID, nil, nil)
		require.NoError(t, err)
	}
	dbtest.Exec(t, s.Database, `UPDATE registry_entries e SET skill_id = s.id FROM skills s WHERE s.name = replace(e.name, 'entry-', 'skill ')`)
}

// watch makes skills that fail, each with an alert of another member.
func watch(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	ctx, at := t.Context(), apitest.Noon
	var c models.Canonical
	for i := range 3 * n {
		id, rate, yes := fmt.Sprint(i), 0.0, true
		name := fmt.Sprint("skill ", i%n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: name, OccurredAt: &at, Triggered: &yes})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: name, GradedAt: &at, PassRate: &rate})
	}
	_, err := s.Org().Push(ctx, &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
	skills, err := s.Org().Skills(ctx, models.SkillFilter{}, models.SkillOrderName, models.Window{Limit: n})
	require.NoError(t, err)
	members, err := s.Org().MembersOf(ctx, []ids.ID{s.Orgs["acme"]}, models.Window{Limit: n})
	require.NoError(t, err)
	for i, skill := range skills.Nodes {
		_, err := s.Store.Org(s.Orgs["acme"], members[s.Orgs["acme"]].Nodes[i].ID).CreateAlert(ctx, &models.Alert{
			SkillID: &skill.ID, Type: models.AlertTypePassRateBelow, Threshold: 0.6, Channel: models.AlertChannelWebhook,
			Destination: models.JSON(`{"webhook_url": "https://hooks.example.com/"}`), State: models.AlertStateOk,
		})
		require.NoError(t, err)
	}
	evaluated, err := s.Store.EvaluateAlerts(ctx, time.Hour)
	require.NoError(t, err)
	require.Equal(t, n, evaluated)
	alerts, err := s.Org().Alerts(ctx, models.AlertFilter{}, models.Window{Limit: n})
	require.NoError(t, err)
	for _, a := range alerts.Nodes {
		told, err := s.Org().NotificationsOf(ctx, []ids.ID{a.ID}, models.Window{Limit: 1})
		require.NoError(t, err)
		d, err := s.Org().PendingDelivery(ctx, told[a.ID].Nodes[0].ID)
		require.NoError(t, err)
		_, err = s.Org().RecordAttempt(ctx, d, 500, "the endpoint answered 500", false)
		require.NoError(t, err)
	}
}

// cost is in statements: the list itself, and one for every edge below it, however many parents there are.
type cost struct {
	name, query string
	want        int64
	most        int // parents that an operation may ask for at that price
}

var costs = []cost{
	{"a list", `suites(first: $n) { nodes { id } }`, 1, 100},
	{"its total", `suites(first: $n) { totalCount nodes { id } pageInfo { total } }`, 2, 100},
	{"EvalSuite.createdBy", `suites(first: $n) { nodes { createdBy { email } } }`, 2, 100},
	{"through edges", `suites(first: $n) { edges { cursor node { createdBy { email } } } }`, 2, 100},
	{"under two names", `suites(first: $n) { nodes { a: createdBy { email } b: createdBy { role } } }`, 2, 100},
	{"EvalSuite.casesJson", `suites(first: $n) { nodes { casesJson } }`, 2, 90},
	{"EvalSuite.cases", `suites(first: $n) { nodes { cases { id } } }`, 2, 90},
	{"both kinds of cases", `suites(first: $n) { nodes { casesJson cases { id } } }`, 2, 45},
	{"EvalSuite.revisions", `suites(first: $n) { nodes { revisions(first: 2) { nodes { number } } } }`, 2, 100},
	{"with totals", `suites(first: $n) { nodes { revisions(first: 2) { totalCount nodes { number } } } }`, 3, 100},
	{"totals alone", `suites(first: $n) { nodes { revisions(first: 1) { totalCount pageInfo { total } } } }`, 3, 100},
	{"two windows", `suites(first: $n) { nodes { a: revisions(first: 1) { nodes { number } } b: revisions(page: 2, perPage: 1) { nodes { number } } } }`, 3, 100},
	{"SuiteRevision.suite", `suites(first: $n) { nodes { revisions(first: 3) { nodes { suite { name } } } } }`, 3, 100},
	{"SuiteRevision.createdBy", `suites(first: $n) { nodes { revisions(first: 3) { nodes { createdBy { email } } } } }`, 3, 100},
	{"SuiteRevision.casesJson", `suites(first: $n) { nodes { revisions(first: 1) { nodes { casesJson } } } }`, 3, 90},
	{"SuiteRevision.cases", `suites(first: $n) { nodes { revisions(first: 1) { nodes { casesJson cases { id } } } } }`, 3, 45},
	{"there and back", `suites(first: $n) { nodes { revisions(first: 2) { nodes { suite { createdBy { email } } createdBy { email } } } createdBy { email } } }`, 5, 100},
	{"Event.actor", `events(first: $n, filter: {kinds: ["suite.created"]}) { nodes { actor { email } } }`, 2, 100},
	{"Event.object", `events(first: $n, filter: {kinds: ["suite.created"]}) { nodes { object { id } } }`, 2, 100},
	{"what nobody shows", `events(first: $n, filter: {kinds: ["key.created"]}) { nodes { object { id } } }`, 1, 100},
	{"behind an object", `events(first: $n, filter: {kinds: ["suite.updated"]}) { nodes { actor { email } object { ... on EvalSuite { createdBy { email } revisions(first: 1) { totalCount } } } } }`, 6, 100},
	{"ApiKey.user", `organization { apiKeys(first: $n) { nodes { user { email } } } }`, 3, 100},
	{"Organization.members", `organization { members(first: $n) { totalCount nodes { email role } } }`, 3, 100},
	{"Alert.createdBy", `alerts(first: $n) { nodes { createdBy { email } } }`, 2, 100},
	{"Alert.skill", `alerts(first: $n) { nodes { skill { name } } }`, 2, 100},
	{"Alert.incidents", `alerts(first: $n) { nodes { incidents(first: 2) { nodes { value } } } }`, 2, 100},
	{"with the total of incidents", `alerts(first: $n) { nodes { incidents(first: 2) { totalCount nodes { value } } } }`, 3, 100},
	{"Alert.notifications", `alerts(first: $n) { nodes { notifications(first: 2) { nodes { kind state } } } }`, 2, 100},
	{"Notification.attempts", `alerts(first: $n) { nodes { notifications(first: 1) { nodes { attempts { number status message } } } } }`, 3, 100},
	{"Notification.incident", `alerts(first: $n) { nodes { notifications(first: 1) { nodes { incident { value } } } } }`, 3, 100},
	{"Incident.alert and Incident.skill", `alerts(first: $n) { nodes { incidents(first: 1) { nodes { alert { threshold } skill { name } } } } }`, 4, 100},
	{"Skill.alerts", `skills(first: $n) { nodes { alerts(first: 2) { nodes { threshold } } } }`, 2, 100},
	{"Skill.incidents", `skills(first: $n) { nodes { incidents(first: 2) { nodes { value } } } }`, 2, 100},
	{"around an alert", `alerts(first: $n) { nodes { skill { name } incidents(first: 1) { nodes { skill { name } } } notifications(first: 1) { nodes { attempts { number } incident { value } } } } }`, 7, 100},
	{"events of alerts", `events(first: $n, filter: {kinds: ["alert.created"]}) { nodes { object { ... on Alert { skill { name } } } } }`, 3, 100},
	{"events of incidents", `events(first: $n, filter: {kinds: ["incident.opened"]}) { nodes { object { ... on Incident { alert { threshold } } } } }`, 3, 100},
	{"CloudSource.skill", `sources(first: $n) { nodes { skill { name } } }`, 2, 100},
	{"CloudSource.createdBy", `sources(first: $n) { edges { node { createdBy { email } } } }`, 2, 100},
	{"CloudSource.currentSnapshot", `sources(first: $n) { nodes { currentSnapshot { number } } }`, 2, 100},
	{"CloudSource.snapshots", `sources(first: $n) { nodes { snapshots(first: 2) { totalCount nodes { number } } } }`, 3, 100},
	{"CloudSource.validationReports", `sources(first: $n) { nodes { validationReports(first: 2) { nodes { status issues { code } } } } }`, 2, 100},
	{"CloudSource.suites", `sources(first: $n) { nodes { suites(first: 2) { nodes { name } } } }`, 2, 100},
	{"RepohostSource.installation", `sources(first: $n, filter: {type: REPOHOST}) { nodes { ... on RepohostSource { installation { accountLogin } } } }`, 2, 100},
	{"Skill.sources", `skills(first: $n) { nodes { sources(first: 2) { nodes { label } } } }`, 2, 100},
	{"EvalSuite.source", `suites(first: $n) { nodes { source { label } } }`, 2, 100},
	{"Snapshot.files", `sources(first: $n) { nodes { currentSnapshot { files(first: 2) { nodes { path } } } } }`, 3, 100},
	{"Snapshot.file", `sources(first: $n) { nodes { currentSnapshot { file(path: "SKILL.md") { size } } } }`, 3, 100},
	{"Snapshot.report", `sources(first: $n) { nodes { snapshots(first: 2) { nodes { report { status } } } } }`, 3, 100},
	{"Snapshot.createdBy and Snapshot.source", `sources(first: $n) { nodes { snapshots(first: 2) { nodes { createdBy { email } source { label } } } } }`, 4, 100},
	{"ValidationReport.snapshot", `sources(first: $n) { nodes { validationReports(first: 2) { nodes { snapshot { number } } } } }`, 3, 100},
	{"events of snapshots", `events(first: $n, filter: {kinds: ["snapshot.created"]}) { nodes { object { ... on Snapshot { source { label } } } } }`, 3, 100},
	{"Skill.community", `skills(first: $n) { nodes { community { submissionCount passRate { value } } } }`, 2, 100},
	{"Skill.signals", `skills(first: $n) { nodes { signals { totalSignals byType { totalSignals } byWeek { week } queryBuckets { queryBucket } } } }`, 2, 60},
	{"Skill.proposals", `skills(first: $n) { nodes { proposals(first: 2) { nodes { reason evidence { totalSignals weeks { week } } } } } }`, 2, 90},
	{"Proposal.skill", `proposals(first: $n) { nodes { skill { name } } }`, 2, 100},
	{"Proposal.decidedBy and Proposal.appliedBy", `proposals(first: $n) { nodes { decidedBy { email } appliedBy { email } } }`, 2, 100},
	{"events of proposals", `events(first: $n, filter: {kinds: ["proposal.approved"]}) { nodes { object { ... on Proposal { skill { name } } } } }`, 3, 100},
	{"Viewer.submissions", `viewer { submissions(first: $n) { totalCount nodes { skillName bundle } } }`, 3, 90},
	{"CommunityOverview.recentSubmissions", `skills(first: $n) { nodes { id } } communityOverview { skills { skillName } recentSubmissions(limit: 100) { id } skill(name: "skill 1") { skillName } }`, 5, 100},
	{"signals at a glance", `skills(first: $n) { nodes { id } } signalOverview { totalSignals skills { skillName } } signalAggregates { aggregates { state } } signalSkill(name: "skill 1") { byWeek { week } }`, 4, 100},
	{"RegistryEntry, its own fields", `entries(first: $n) { nodes { id name entryType description visibility sourceRepo isOwn createdAt updatedAt } }`, 1, 100},
	{"RegistryEntry.organizationName", `entries(first: $n) { nodes { organizationName } }`, 2, 100},
	{"RegistryEntry.currentVersion", `entries(first: $n) { nodes { currentVersion { version } } }`, 2, 100},
	{"RegistryEntry.version", `entries(first: $n) { nodes { version(version: "1.0.0") { version } } }`, 2, 100},
	{"RegistryEntry.versions", `entries(first: $n) { nodes { versions(first: 3) { nodes { version prerelease downloadUrl warnings } } } }`, 2, 100},
	{"in two orders", `entries(first: $n) { nodes { versions(first: 3) { nodes { id } } best: versions(first: 1, orderBy: VERSION) { nodes { id } } } }`, 3, 100},
	{"with their total", `entries(first: $n) { nodes { versions(first: 3) { totalCount nodes { version } } } }`, 3, 100},
	{"RegistryEntry.releases", `entries(first: $n) { nodes { releases(first: 5) { nodes { kind reason } } } }`, 2, 100},
	{"RegistryEntry.installations", `entries(first: $n) { nodes { installations(first: 5) { nodes { deviceId syncStatus } } } }`, 2, 100},
	{"RegistryEntry.installationCount", `entries(first: $n) { nodes { installationCount } }`, 2, 100},
	{"RegistryEntry.evidence", `entries(first: $n) { nodes { passRate evalCount evidence { gradedSessions passRate { value } } } }`, 2, 100},
	{"RegistryEntry.skill and back", `entries(first: $n) { nodes { skill { name registryEntry { name } } } }`, 3, 100},
	{"RegistryEntry.alerts", `entries(first: $n) { nodes { alerts(first: 2) { nodes { threshold } } } }`, 2, 100},
	{"RegistryEntry.createdBy", `entries(first: $n) { nodes { createdBy { email } } }`, 2, 100},
	{"RegistryVersion.entry", `entries(first: $n) { nodes { versions(first: 3) { nodes { isCurrent entry { name } } } } }`, 3, 100},
	{"RegistryVersion.quality", `entries(first: $n) { nodes { versions(first: 3) { nodes { passRate sessions quality { gradedSessions triggerRate { value } } } } } }`, 3, 100},
	{"RegistryVersion.files", `entries(first: $n) { nodes { versions(first: 1) { nodes { files { path sha256 } } } } }`, 3, 90},
	{"RegistryVersion.fileManifest", `entries(first: $n) { nodes { versions(first: 3) { nodes { fileManifest } } } }`, 3, 90},
	{"RegistryVersion.installationCount", `entries(first: $n) { nodes { versions(first: 3) { nodes { installationCount } } } }`, 3, 100},
	{"RegistryVersion.pushedBy", `entries(first: $n) { nodes { versions(first: 3) { nodes { pushedBy { email } } } } }`, 3, 100},
	{"Release.from, to and createdBy", `entries(first: $n) { nodes { releases(first: 5) { nodes { from { version } to { version } createdBy { email } } } } }`, 5, 100},
	{"Installation.entry, user and version", `entries(first: $n) { nodes { installations(first: 5) { nodes { entry { name } user { email } version { version } } } } }`, 5, 100},
	{"installed", `installed(first: $n) { nodes { entry { name currentVersion { version } } version { version } } }`, 4, 100},
	{"syncCheck", `suites(first: $n) { nodes { id } } syncCheck { name hasUpdate downloadUrl }`, 2, 100},
	{"public entries", `publicEntries(first: $n) { nodes { organizationName currentVersion { version } } }`, 3, 100},
	{"public entries by words", `publicEntries(first: $n, query: "entry") { totalCount nodes { organizationName } }`, 3, 100},
	{"Skill.registryEntry", `skills(first: $n) { nodes { registryEntry { name } } }`, 2, 100},
	{"around an entry", `entries(first: $n) { nodes { currentVersion { version quality { sessions } } versions(first: 3) { nodes { quality { sessions } entry { name } } } installationCount releases(first: 2) { nodes { to { version } } } } }`, 8, 50},
	{"events of the registry", `events(first: $n, filter: {kinds: ["version.published"]}) { nodes { object { ... on RegistryVersion { entry { name } } } } }`, 3, 100},
	{"RepoLink.entry", `repoLinks(first: $n) { totalCount nodes { statusContext entry { name } } }`, 3, 100},
	{"RepoLink.installation and RepoLink.createdBy", `repoLinks(first: $n) { nodes { installation { accountLogin } createdBy { email } } }`, 3, 100},
	{"RepoLink.lastAttempt", `repoLinks(first: $n) { nodes { lastAttempt { status message } } }`, 2, 100},
	{"RepoLink.attempts", `repoLinks(first: $n) { nodes { attempts(first: 2) { nodes { status } } } }`, 2, 100},
	{"with the total of attempts", `repoLinks(first: $n) { nodes { attempts(first: 2) { totalCount nodes { status } } } }`, 3, 100},
	{"PublishAttempt.version and PublishAttempt.link", `repoLinks(first: $n) { nodes { attempts(first: 2) { nodes { version { version } link { repoFullName } } } } }`, 4, 100},
	{"RegistryEntry.repoLink", `entries(first: $n) { nodes { repoLink { repoFullName lastAttempt { status } } } }`, 3, 100},
	{"RepoDelivery", `repoDeliveries(first: $n) { totalCount nodes { deliveryKey event ref state outcome } }`, 2, 100},
	{"events of attempts", `events(first: $n, filter: {kinds: ["connection.attempted"]}) { nodes { object { ... on PublishAttempt { link { entry { name } } version { version } } } } }`, 5, 100},
	{"events of connections", `events(first: $n, filter: {kinds: ["connection.created"]}) { nodes { object { ... on RepoLink { entry { name } lastAttempt { version { version } } } } } }`, 5, 100},
	{"Skill.suites", `skills(first: $n) { nodes { suites(first: 2, filter: {runnable: true}, orderBy: NAME) { totalCount nodes { name } } } }`, 3, 100},
	{"Skill.runs", `skills(first: $n) { nodes { runs(first: 2, filter: {status: PASSED}) { nodes { runKey } } } }`, 2, 100},
	{"Skill.submissions and their skill", `skills(first: $n) { nodes { submissions(first: 2) { nodes { skillName skill { name } } } } }`, 3, 100},
	{"filters of a skill", `skills(first: $n) { nodes { alerts(first: 1, filter: {state: FIRING}) { nodes { id } } incidents(first: 1, filter: {open: true}) { nodes { id } } proposals(first: 1, filter: {status: APPROVED}) { nodes { id } } sources(first: 1, filter: {type: UPLOAD}) { nodes { id } } } }`, 5, 100},
	{"equal filters share a batch", `skills(first: $n) { nodes { a: alerts(first: 1, filter: {state: FIRING, type: NO_DATA}) { nodes { id } } b: alerts(first: 1, filter: {type: NO_DATA, state: FIRING}) { nodes { id } } } }`, 2, 100},
	{"CloudSource.runs and ValidationReport.source", `sources(first: $n) { nodes { runs(first: 1) { nodes { id } } validationReports(first: 1) { nodes { source { label } } } } }`, 4, 100},
	{"EvalSuite.skill and reviews", `suites(first: $n) { nodes { skill { name } reviews(first: 1) { nodes { query } } } }`, 3, 100},
	{"SuiteRevision.runs", `suites(first: $n) { nodes { revisions(first: 1) { nodes { runs(first: 1) { nodes { id } } } } } }`, 3, 100},
	{"RegistryEntry.runs and incidents", `entries(first: $n) { nodes { runs(first: 1) { nodes { id } } incidents(first: 1) { nodes { id } } } }`, 3, 100},
	{"what hangs on a version", `entries(first: $n) { nodes { versions(first: 2) { nodes { previous { version } installations(first: 1) { nodes { deviceId } } runs(first: 1) { nodes { id } } publishAttempt { message } proposals(first: 1) { nodes { id } } } } } }`, 7, 100},
	{"Release.entry", `entries(first: $n) { nodes { releases(first: 2) { nodes { entry { name } } } } }`, 3, 100},
	{"Incident.notifications and Notification.alert", `incidents(first: $n, filter: {open: true}) { nodes { notifications(first: 1) { nodes { alert { type } } } } }`, 3, 100},
	{"Proposal.version", `proposals(first: $n) { nodes { version { version } } }`, 1, 100},
	{"skills of signals", `suites(first: $n) { nodes { id } } signalOverview { skills { skillName skill { name } } }`, 3, 100},
	{"SignalDetail.skill", `skills(first: $n) { nodes { signals { skill { name } } } }`, 3, 60},
	{"skills of aggregates", `suites(first: $n) { nodes { id } } signalAggregates { aggregates { skillName skill { name } } }`, 3, 100},
	{"skills of summaries", `suites(first: $n) { nodes { id } } communityOverview { skills { skillName skill { name } } }`, 4, 100},
	{"what members made", `organization { members(first: $n) { nodes { suites(first: 1, orderBy: NAME) { nodes { name } } sources(first: 1) { nodes { label } } runs(first: 1) { nodes { id } } reviews(first: 1) { nodes { id } } entries(first: 1) { nodes { name } } pushedVersions(first: 1) { nodes { version } } alerts(first: 1) { nodes { id } } decidedProposals(first: 1) { nodes { id } } } } }`, 10, 100},
	{"what members have", `organization { members(first: $n) { nodes { installations(first: 1) { nodes { deviceId } } repoLinks(first: 1) { nodes { id } } apiKeys(first: 1) { nodes { name } } events(first: 1, filter: {kinds: ["suite.created"]}) { nodes { kind } } } } }`, 6, 100},
	{"what hangs on an installation of the code host", `repoInstallations(first: $n) { nodes { repoLinks(first: 1) { nodes { id } } sources(first: 1, filter: {type: REPOHOST}) { nodes { label } } } }`, 3, 100},
	{"Organization", `organization { skills(first: $n) { nodes { name } } sources(first: $n) { nodes { label } } suites(first: $n) { nodes { name } } entries(first: $n) { nodes { name } } runs(first: $n) { nodes { id } } alerts(first: $n) { nodes { id } } incidents(first: $n) { nodes { id } } proposals(first: $n) { nodes { id } } repoLinks(first: $n) { nodes { id } } repoInstallations(first: $n) { nodes { id } } events(first: $n) { nodes { kind } } }`, 12, 100},
	{"Organization.counts", `organization { counts { skills sources suites entries repoLinks firingAlerts openIncidents pendingProposals members skillsByStatus { status count } } skills(first: $n) { nodes { name } } }`, 3, 100},
	{"counts of what may be many", `organization { counts { versions installations pendingSuggestions } skills(first: $n) { nodes { name } } }`, 6, 100},
	{"search", `search(query: "skill", types: [SKILL], first: $n) { score text highlight { text matched } node { ... on Skill { name } } }`, 2, 100},
	{"RegistryVersion.previous", `entries(first: $n) { nodes { versions(first: 3) { nodes { previous { version } } } } }`, 3, 100},
	{"EvalRun.snapshot and Snapshot.runs", `runs(first: $n) { nodes { snapshot { runs(first: 2) { nodes { runKey } } } } }`, 3, 100},
	{"DryRunDay.skill", `suites(first: $n) { nodes { id } } alertDryRun(input: {type: PASS_RATE_BELOW, threshold: 0.6}) { date skill { name } }`, 4, 100},
	{"Viewer", `suites(first: $n) { nodes { id } } viewer { plan user { email } organization { members(first: 1) { nodes { id } } } apiKey { user { email } } }`, 6, 100},
}

func TestStatements(t *testing.T) {
	t.Parallel()
	s := crowd(t, 100)
	for _, row := range costs {
		for _, n := range []int{1, 10, row.most} {
			requireStatements(t, s, row.want, strings.ReplaceAll(row.query, "$n", fmt.Sprint(n)), fmt.Sprintf("%s of %d parents", row.name, n))
		}
	}
}

// requireStatements runs a query and counts.
func requireStatements(t *testing.T, s *apitest.Server, want int64, query, name string) {
	t.Helper()
	before := s.Store.Statements()
	s.Query(t, "owner", "{ "+query+" }", nil)
	require.Equal(t, want, s.Store.Statements()-before, name)
}

// A list with objects of several kinds costs one statement for each kind.
func TestStatementsOfNodes(t *testing.T) {
	t.Parallel()
	s := crowd(t, 3)
	found := []string{}
	page, err := s.Org().Suites(t.Context(), models.SuiteFilter{}, models.SuiteOrderName, models.Window{Limit: 3})
	require.NoError(t, err)
	for _, suite := range page.Nodes {
		found = append(found, suite.ID.String(), suite.CreatedByID.String())
	}
	found = append(found, s.Orgs["acme"].String())
	query := func(list []string) string { return `nodes(ids: ["` + strings.Join(list, `", "`) + `"]) { id }` }
	requireStatements(t, s, 3, query(found), "three kinds")
	requireStatements(t, s, 3, query(append(found, found...)), "the same again costs nothing")
	foreign := []string{s.Orgs["other"].String(), s.Viewers["stranger"].UserID.String(), s.Viewers["owner"].KeyID.String(), ids.ID{1}.String()}
	data := s.Query(t, "owner", "{ "+query(append(foreign, found...))+" }", nil)
	got := []any{}
	for range foreign {
		got = append(got, nil)
	}
	for _, id := range found {
		got = append(got, map[string]any{"id": id})
	}
	require.Equal(t, got, data["nodes"], "in the order of the ids, null where there is none to be seen")
}

// Every edge of the schema is a line of the table, and every line is an edge of the schema.
func TestTable(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	lines := map[string]bool{}
	for _, line := range loader.Table() {
		require.False(t, lines[line.Name], "%s is there twice", line.Name)
		lines[line.Name] = true
		parent, name, _ := strings.Cut(line.Name, ".")
		def := schema.Types[parent]
		require.NotNil(t, def, line.Name)
		field := def.Fields.ForName(name)
		require.NotNil(t, field, line.Name)
		require.True(t, strings.EqualFold(field.Type.Name(), goName(line.To.String())), "%s is %s, not %s", line.Name, field.Type.Name(), line.To)
		if def != schema.Query {
			require.True(t, strings.EqualFold(parent, goName(line.From.String())), "%s starts at %s, not %s", line.Name, parent, line.From)
		}
	}
	edges := 0
	for _, def := range schema.Types {
		if !isSource(schema, def) {
			continue
		}
		for _, field := range def.Fields {
			if strings.HasSuffix(def.Name, "Update") && field.Name == "event" { // which the subscription has at hand
				continue
			}
			if isStored(schema.Types[field.Type.Name()]) {
				require.True(t, hasLine(lines, def, field.Name), "%s.%s has no line in edges.go", def.Name, field.Name)
				edges++
			}
		}
	}
	require.Positive(t, edges)
}

// hasLine: a line for a type, or for an interface of it.
func hasLine(lines map[string]bool, def *ast.Definition, field string) bool {
	return lines[def.Name+"."+field] || slices.ContainsFunc(def.Interfaces, func(name string) bool { return lines[name+"."+field] })
}

// goName is the name in the schema of a Go type of ours: a *models.Connection[skillgraph/models.User] is a UserConnection.
func goName(s string) string {
	s = strings.TrimPrefix(s, "*")
	if inner, ok := strings.CutPrefix(s, "models.Connection["); ok {
		s = strings.TrimSuffix(inner, "]") + "Connection"
	}
	return s[strings.LastIndex(s, ".")+1:]
}

// isSource reports whether the fields of a type are edges: not those of the root, of answers to mutations, or of pages.
func isSource(schema *ast.Schema, def *ast.Definition) bool {
	if def.Kind != ast.Object || def.BuiltIn || def == schema.Query || def == schema.Mutation || def == schema.Subscription {
		return false
	}
	for _, suffix := range []string{"Payload", "Connection", "Edge"} {
		if strings.HasSuffix(def.Name, suffix) {
			return false
		}
	}
	return true
}

// isStored reports whether a type is an object with an id of ours, or a page of them.
func isStored(def *ast.Definition) bool {
	id := def.Fields.ForName("id")
	return id != nil && id.Type.Name() == "ID" || strings.HasSuffix(def.Name, "Connection")
}

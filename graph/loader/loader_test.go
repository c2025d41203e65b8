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

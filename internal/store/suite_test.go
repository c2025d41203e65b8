package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func cases(t *testing.T, org store.Org, id ids.ID) string {
	t.Helper()
	found, err := org.CasesOfSuites(t.Context(), []ids.ID{id})
	require.NoError(t, err)
	return string(found[id])
}

func revisions(t *testing.T, org store.Org, id ids.ID) []*models.SuiteRevision {
	t.Helper()
	pages, err := org.RevisionsOf(t.Context(), []ids.ID{id}, everything)
	require.NoError(t, err)
	return pages[id].Nodes
}

func TestCreateSuite(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 456_789_000, time.UTC)
	w := newWorldAt(t, func() time.Time { return now })
	source := w.source(t, w.acme)
	in := newSuite("It's “quoted” \\ ?")
	in.SourceID, in.SupportsNoSkill, in.ResourceLimitsJSON = set(&source), set(new(true)), set(models.JSON(`{"cpu": 1.50, "note": "it's ? \\ é \u0000"}`))
	in.CasesJSON = models.JSON(`[{"case_kind":"trigger_query","query":"it's ?1 \\ $1 é \u0000","expectation":"should_trigger","weight":1.50},
		{"id":"mine","case_kind":"llm_rubric","prompt":"p","rubric":"r"}]`)
	made, err := w.acme.CreateSuite(t.Context(), in)
	require.NoError(t, err)
	at := now.Truncate(time.Millisecond)
	require.Equal(t, ids.Suite, made.ID.Kind())
	require.Equal(t, &models.EvalSuite{
		OrgID: w.acme.ID(), ID: made.ID, SourceID: &source, SourceKind: models.SuiteSourceKindManual, Revision: 1,
		SuiteSettings: models.SuiteSettings{
			Name: in.Name, VerifierKind: models.VerifierKindLLMJudge, SupportsNoSkill: true, ResourceLimitsJSON: in.ResourceLimitsJSON.Value(),
			CaseCount: 2, SuiteKind: models.SuiteKindMixed,
		},
		CreatedByID: &w.owner.UserID, CreatedAt: at, UpdatedAt: at,
	}, made)
	read, err := w.acme.Suite(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, made, read, "what is read is what was made, to the byte")

	var saved []struct{ ID string }
	raw := cases(t, w.acme, made.ID)
	require.NoError(t, json.Unmarshal([]byte(raw), &saved))
	given, err := ids.Parse(saved[0].ID)
	require.NoError(t, err)
	require.Equal(t, ids.Case, given.Kind())
	require.Equal(t, `[{"id":"`+saved[0].ID+`","case_kind":"trigger_query","query":"it's ?1 \\ $1 é \u0000","expectation":"should_trigger","weight":1.50},`+
		`{"id":"mine","case_kind":"llm_rubric","prompt":"p","rubric":"r"}]`, raw)

	history := revisions(t, w.acme, made.ID)
	require.Len(t, history, 1)
	require.Equal(t, &models.SuiteRevision{
		OrgID: w.acme.ID(), ID: history[0].ID, SuiteID: made.ID, Number: 1, SuiteSettings: made.SuiteSettings,
		Changed: models.AllSuiteField, CreatedByID: &w.owner.UserID, CreatedAt: at,
	}, history[0])
	require.Equal(t, ids.SuiteRevision, history[0].ID.Kind())

	all := events(t, w.acme)
	e := all[len(all)-1]
	require.Equal(t, "suite.created", e.Kind)
	require.Equal(t, made.ID, e.ObjectID)
	require.Equal(t, &w.owner.UserID, e.ActorID)
	require.JSONEq(t, `{"name":"It's “quoted” \\ ?","case_count":2}`, string(e.Data))
	require.Equal(t, at, e.CreatedAt)
}

// What the server does itself has no actor.
func TestServerMakesSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := suite(t, w.Org(w.acme.ID(), ids.ID{}), "n")
	require.Nil(t, s.CreatedByID)
	require.Nil(t, revisions(t, w.acme, s.ID)[0].CreatedByID)
	all := events(t, w.acme)
	require.Nil(t, all[len(all)-1].ActorID)
}

func TestUpdateSuite(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	w := newWorldAt(t, func() time.Time { now = now.Add(time.Second); return now })
	made := suite(t, w.acme, "before")
	colleague, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	org := w.Org(w.acme.ID(), colleague.ID)
	in := rename("after")
	in.CasesJSON = set(models.JSON(`[{"id":"2","case_kind":"llm_rubric","prompt":"p","rubric":"r"}]`))
	changed, err := org.UpdateSuite(t.Context(), made.ID, in, nil)
	require.NoError(t, err)
	require.Equal(t, 2, changed.Revision)
	require.Equal(t, "after", changed.Name)
	require.Equal(t, models.SuiteKindLLMRubric, changed.SuiteKind)
	require.Equal(t, made.CreatedAt, changed.CreatedAt)
	require.Greater(t, changed.UpdatedAt, made.UpdatedAt)
	require.Equal(t, made.CreatedByID, changed.CreatedByID, "who made it stays")
	read, err := w.acme.Suite(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, changed, read)

	history := revisions(t, w.acme, made.ID)
	require.Len(t, history, 2)
	require.Equal(t, 2, history[0].Number)
	require.Equal(t, []models.SuiteField{models.SuiteFieldName, models.SuiteFieldCasesJSON}, history[0].Changed)
	require.Equal(t, &colleague.ID, history[0].CreatedByID)
	require.Equal(t, "before", history[1].Name)
	former, err := w.acme.CasesOfRevisions(t.Context(), []ids.ID{history[0].ID, history[1].ID})
	require.NoError(t, err)
	require.Contains(t, string(former[history[1].ID]), "trigger_query", "the former cases are in the history")
	require.Equal(t, cases(t, w.acme, made.ID), string(former[history[0].ID]))

	all := events(t, w.acme)
	require.Equal(t, "suite.updated", all[len(all)-1].Kind)
	require.JSONEq(t, `{"revision":2,"changed":["name","cases_json"]}`, string(all[len(all)-1].Data))
}

func TestUpdateThatChangesNothingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "same")
	before := w.dump(t, w.acme)
	for _, in := range []models.UpdateSuiteInput{
		{},
		rename("same"),
		{VerifierKind: set(new(models.VerifierKindLLMJudge))},
		{ResourceLimitsJSON: set[models.JSON](nil)},
		{CasesJSON: set(models.JSON(" " + cases(t, w.acme, made.ID) + "\n"))},
	} {
		s, err := w.acme.UpdateSuite(t.Context(), made.ID, in, nil)
		require.NoError(t, err)
		require.Equal(t, 1, s.Revision)
	}
	require.Equal(t, before, w.dump(t, w.acme))
}

func TestUpdateIfRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "0")
	update := func(name string, ifRevision ...int) error {
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename(name), ifRevision)
		return err
	}
	require.NoError(t, update("1", 1))
	before := w.dump(t, w.acme)
	for _, stale := range [][]int{{1}, {3}, {0}, {1, 3}, {}} {
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename("2"), stale)
		requireCode(t, errs.Stale, err)
		require.EqualError(t, err, "The suite has changed: it is at revision 2 now. Read it again, then repeat the change")
	}
	requireCode(t, errs.Stale, func() error {
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, models.UpdateSuiteInput{}, []int{1})
		return err
	}()) // even where nothing would change
	require.Equal(t, before, w.dump(t, w.acme))
	require.NoError(t, update("2", 1, 2), "one of them is enough")
	require.NoError(t, update("3"), "without one the last writer wins")
}

// A refused change leaves neither a revision nor an event.
func TestRefusedUpdateLeavesNoTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made, source := suite(t, w.acme, "n"), w.source(t, w.acme)
	before := w.dump(t, w.acme)
	for _, in := range []models.UpdateSuiteInput{
		rename(""),
		{SourceKind: set(new(models.SuiteSourceKindImported))},
		{VerifierKind: set(new(models.VerifierKindDeterministic))},
		{CasesJSON: set(models.JSON("[]"))},
		{SourceID: set(&source)},
		{ResourceLimitsJSON: set(models.JSON("7"))},
	} {
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, in, nil)
		requireCode(t, errs.Invalid, err)
	}
	bad := newSuite("other")
	bad.CasesJSON = models.JSON("[]")
	_, err := w.acme.CreateSuite(t.Context(), bad)
	requireCode(t, errs.Invalid, err)
	require.Equal(t, before, w.dump(t, w.acme))
}

// A verb is one transaction: where its event cannot be written, nothing is.
func TestVerbsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	archived := suite(t, w.acme, "archived")
	_, err := w.acme.ArchiveSuite(t.Context(), archived.ID, true)
	require.NoError(t, err)
	colleague, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	dbtest.Exec(t, w.url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no events today'; END $$;
		CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
	before, users := w.dump(t, w.acme), w.count(t, "SELECT count(*) FROM users")
	for name, verb := range map[string]func(context.Context) error{
		"create suite": func(ctx context.Context) error { _, err := w.acme.CreateSuite(ctx, newSuite("x")); return err },
		"update suite": func(ctx context.Context) error {
			_, err := w.acme.UpdateSuite(ctx, made.ID, rename("x"), nil)
			return err
		},
		"archive suite": func(ctx context.Context) error { _, err := w.acme.ArchiveSuite(ctx, made.ID, true); return err },
		"restore suite": func(ctx context.Context) error { _, err := w.acme.ArchiveSuite(ctx, archived.ID, false); return err },
		"delete suite":  func(ctx context.Context) error { return w.acme.DeleteSuite(ctx, made.ID) },
		"create key": func(ctx context.Context) error {
			_, key, err := w.acme.CreateKey(ctx, models.APIKey{Name: "x", UserID: w.owner.UserID})
			require.Empty(t, key, "a key that does not exist is not handed out")
			return err
		},
		"update key": func(ctx context.Context) error {
			_, err := w.acme.UpdateKey(ctx, w.owner.KeyID, models.UpdateAPIKeyInput{Name: set(new("x"))})
			return err
		},
		"revoke key": func(ctx context.Context) error { _, err := w.acme.RevokeKey(ctx, w.owner.KeyID); return err },
		"add member": func(ctx context.Context) error {
			_, err := w.acme.AddMember(ctx, "x@example.com", models.RoleMember)
			return err
		},
		"change member": func(ctx context.Context) error {
			_, err := w.acme.ChangeMemberRole(ctx, colleague.ID, models.RoleAdmin)
			return err
		},
		"remove member": func(ctx context.Context) error { _, err := w.acme.RemoveMember(ctx, colleague.ID); return err },
		"grant": func(ctx context.Context) error {
			key, changed, err := w.Grant(ctx, store.Grant{Org: "acme", Email: "x@example.com", KeyName: "x", Plan: new(models.PlanFree)})
			require.Empty(t, key)
			require.Empty(t, changed)
			return err
		},
	} {
		require.ErrorContains(t, verb(t.Context()), "no events today", name)
		require.Equal(t, before, w.dump(t, w.acme), name)
	}
	require.Equal(t, users, w.count(t, "SELECT count(*) FROM users"))
	require.Zero(t, w.count(t, "SELECT count(*) FROM organizations WHERE plan = 'FREE'"))
}

func TestArchiveSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	archive := func(on bool) *models.EvalSuite {
		s, err := w.acme.ArchiveSuite(t.Context(), made.ID, on)
		require.NoError(t, err)
		read, err := w.acme.Suite(t.Context(), made.ID)
		require.NoError(t, err)
		require.Equal(t, s, read)
		return s
	}
	require.Nil(t, archive(false).ArchivedAt)
	first := archive(true)
	require.NotNil(t, first.ArchivedAt)
	require.Equal(t, first, archive(true), "twice is as good as once")
	_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename("x"), nil)
	requireCode(t, errs.Conflict, err)
	require.EqualError(t, err, "The suite is archived: restore it before changing it")
	require.NotEmpty(t, cases(t, w.acme, made.ID), "it can still be read")
	require.Nil(t, archive(false).ArchivedAt)
	require.Equal(t, 1, archive(false).Revision, "archiving is no revision")
	_, err = w.acme.UpdateSuite(t.Context(), made.ID, rename("x"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{"key.created", "suite.created", "suite.archived", "suite.restored", "suite.updated"}, happened(t, w.acme))
}

func TestDeleteSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone, stays := suite(t, w.acme, "gone"), suite(t, w.acme, "stays")
	require.NoError(t, w.acme.DeleteSuite(t.Context(), gone.ID))
	_, err := w.acme.Suite(t.Context(), gone.ID)
	requireCode(t, errs.NotFound, err)
	requireCode(t, errs.NotFound, w.acme.DeleteSuite(t.Context(), gone.ID))
	require.Empty(t, revisions(t, w.acme, gone.ID))
	require.Len(t, revisions(t, w.acme, stays.ID), 1)
	all := events(t, w.acme)
	require.Equal(t, "suite.deleted", all[len(all)-1].Kind)
	require.Equal(t, gone.ID, all[len(all)-1].ObjectID)
	require.JSONEq(t, `{"name":"gone"}`, string(all[len(all)-1].Data))
}

// race runs a function many times at once and collects the errors, nil ones included.
func race(n int, f func(i int) error) []error {
	out := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			out[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// sorted counts outcomes by code; success is "".
func sorted(list []error) map[errs.Code]int {
	out := map[errs.Code]int{}
	for _, err := range list {
		if err == nil {
			out[""]++
		} else {
			out[errs.CodeOf(err)]++
		}
	}
	return out
}

func TestFiftyWritersAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "start")
	var mu sync.Mutex
	seen := map[int]string{}
	all := race(50, func(i int) error {
		s, err := w.acme.UpdateSuite(t.Context(), made.ID, rename(fmt.Sprint("writer ", i)), nil)
		if err == nil {
			mu.Lock()
			seen[s.Revision] = s.Name
			mu.Unlock()
		}
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 50}, sorted(all))
	history := revisions(t, w.acme, made.ID)
	require.Len(t, history, 51)
	names := map[string]bool{}
	for i, r := range history {
		require.Equal(t, 51-i, r.Number, "without gaps")
		if r.Number > 1 {
			require.Equal(t, seen[r.Number], r.Name, "each writer was told its own revision")
		}
		names[r.Name] = true
	}
	require.Len(t, names, 51, "nobody's change was lost")
	last, err := w.acme.Suite(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, 51, last.Revision)
	require.Equal(t, history[0].Name, last.Name)
	require.Len(t, slices.DeleteFunc(happened(t, w.acme), func(kind string) bool { return kind != "suite.updated" }), 50)
}

func TestOneOfFiftyWritersWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "start")
	all := race(50, func(i int) error {
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename(fmt.Sprint("writer ", i)), []int{1})
		return err
	})
	require.Equal(t, map[errs.Code]int{"": 1, errs.Stale: 49}, sorted(all))
	require.Len(t, revisions(t, w.acme, made.ID), 2)
	winner := slices.Index(all, nil)
	last, err := w.acme.Suite(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint("writer ", winner), last.Name)
}

func TestDeletersAndWriters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "start")
	all := race(20, func(i int) error {
		if i%2 == 0 {
			return w.acme.DeleteSuite(t.Context(), made.ID)
		}
		_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename(fmt.Sprint("writer ", i)), nil)
		return err
	})
	codes := sorted(all)
	require.Equal(t, 20, codes[""]+codes[errs.NotFound], "%v", codes)
	require.GreaterOrEqual(t, codes[errs.NotFound], 9, "one of ten deletes it")
	require.Zero(t, w.count(t, "SELECT count(*) FROM suite_revisions"))
}

// A suite of the largest size is written and read back.
func TestLargestSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := make([]string, 500)
	for i := range list {
		list[i] = fmt.Sprintf(`{"id":"%d","case_kind":"trigger_query","query":"%s","expectation":"should_trigger"}`, i, strings.Repeat("é'", 1000))
	}
	in := newSuite("large")
	in.CasesJSON = models.JSON("[" + strings.Join(list, ",") + "]")
	made, err := w.acme.CreateSuite(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, 500, made.CaseCount)
	require.Equal(t, string(in.CasesJSON), cases(t, w.acme, made.ID))
}

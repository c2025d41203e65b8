package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// foreign is an organization's objects, and every one of them is nobody else's business.
type foreign struct {
	org, user, key, suite, revision, event, source ids.ID
	skill, push, alert, incident, notification     ids.ID // see watched
	snapshot, report, repoInstallation             ids.ID // see hosted
	bundle, proposal                               ids.ID // see contributed
	suggestion, review, run, result                ids.ID // see reviewed
	shelf                                                 // see shelved
	linked                                                // see linked
}

func (w world) objects(t *testing.T, org store.Org, owner *models.Viewer) foreign {
	t.Helper()
	s := suite(t, org, "secret")
	revisions, err := org.RevisionsOf(t.Context(), []ids.ID{s.ID}, everything)
	require.NoError(t, err)
	f := foreign{
		org: org.ID(), user: owner.UserID, key: owner.KeyID, suite: s.ID, source: w.source(t, org),
		revision: revisions[s.ID].Nodes[0].ID, event: events(t, org)[0].ID,
	}
	return f
}

// tenancy has a line for every verb: what acme gets for the objects of the other organization.
var tenancy = map[string]func(t *testing.T, o store.Org, f foreign){
	"ID": func(t *testing.T, o store.Org, f foreign) { require.NotEqual(t, f.org, o.ID()) },
	"Only": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.Only(&store.Columns{Model: "EvalSuite", Names: map[string]bool{"name": true}}).SuitesByID, f.suite)
	},

	"OrganizationsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.OrganizationsByID, f.org) },
	"UsersByID":         func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.UsersByID, f.user) },
	"KeysByID":          func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.KeysByID, f.key) },
	"EventsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.EventsByID, f.event) },
	"SuitesByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SuitesByID, f.suite) },
	"RevisionsByID":     func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RevisionsByID, f.revision) },
	"CasesOfSuites":     func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.CasesOfSuites, f.suite) },
	"CasesOfRevisions":  func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.CasesOfRevisions, f.revision) },

	"MembersOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.MembersOf(t.Context(), []ids.ID{f.org}, everything)
		requireEmptyPage(t, pages[f.org], err)
	},
	"KeysOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.KeysOf(t.Context(), []ids.ID{f.org}, everything)
		requireEmptyPage(t, pages[f.org], err)
	},
	"RevisionsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.RevisionsOf(t.Context(), []ids.ID{f.suite}, everything)
		requireEmptyPage(t, pages[f.suite], err)
	},
	"Suites": func(t *testing.T, o store.Org, f foreign) {
		page, err := o.Suites(t.Context(), models.SuiteFilter{}, models.SuiteOrderCreatedAt, everything)
		requireEmptyPage(t, page, err)
		page, err = o.Suites(t.Context(), models.SuiteFilter{SourceID: set(&f.source)}, models.SuiteOrderCreatedAt, everything)
		requireEmptyPage(t, page, err)
	},
	"Events": func(t *testing.T, o store.Org, f foreign) {
		for _, filter := range []models.EventFilter{{ObjectID: set(&f.suite)}, {ActorID: set(&f.user)}, {ObjectID: set(&f.key)}} {
			page, err := o.Events(t.Context(), filter, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"LastEvent": func(t *testing.T, o store.Org, f foreign) {
		own, err := o.LastEvent(t.Context())
		require.NoError(t, err)
		page, err := o.Events(t.Context(), models.EventFilter{}, everything)
		require.NoError(t, err)
		place, err := o.EventPlace(t.Context(), page.Nodes[0].ID)
		require.NoError(t, err)
		require.Equal(t, place, own, "not that of "+f.org.String())
	},
	"EventPlace": func(t *testing.T, o store.Org, f foreign) {
		for _, id := range []ids.ID{f.event, f.suite} {
			_, err := o.EventPlace(t.Context(), id)
			requireCode(t, errs.NotFound, err)
		}
	},

	"Suite": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Suite(t.Context(), f.suite)
		requireCode(t, errs.NotFound, err)
	},
	"UpdateSuite": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateSuite(t.Context(), f.suite, rename("mine"), nil)
		requireCode(t, errs.NotFound, err)
		_, err = o.UpdateSuite(t.Context(), f.suite, rename("mine"), []int{7})
		requireCode(t, errs.NotFound, err)
	},
	"ArchiveSuite": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.ArchiveSuite(t.Context(), f.suite, true)
		requireCode(t, errs.NotFound, err)
		_, err = o.ArchiveSuite(t.Context(), f.suite, false)
		requireCode(t, errs.NotFound, err)
	},
	"DeleteSuite": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.NotFound, o.DeleteSuite(t.Context(), f.suite))
	},
	"CreateSuite": func(t *testing.T, o store.Org, f foreign) {
		in := newSuite("mine")
		in.SourceID = set(&f.source)
		_, err := o.CreateSuite(t.Context(), in)
		requireCode(t, errs.Forbidden, err) // the interface says so for sources
		in.SourceID = set(new(ids.New(ids.Source, time.Now())))
		_, err = o.CreateSuite(t.Context(), in)
		requireCode(t, errs.NotFound, err)
	},

	"CreateKey": func(t *testing.T, o store.Org, f foreign) {
		_, _, err := o.CreateKey(t.Context(), models.APIKey{Name: "mine", UserID: f.user})
		requireCode(t, errs.NotFound, err)
	},
	"UpdateKey": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateKey(t.Context(), f.key, models.UpdateAPIKeyInput{Name: set(new("mine"))})
		requireCode(t, errs.NotFound, err)
	},
	"RevokeKey": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.RevokeKey(t.Context(), f.key)
		requireCode(t, errs.NotFound, err)
	},
	"Key": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Key(t.Context(), f.key)
		requireCode(t, errs.NotFound, err)
	},
	"MemberByEmail": func(t *testing.T, o store.Org, _ foreign) {
		u, err := o.MemberByEmail(t.Context(), "stranger@example.com")
		require.NoError(t, err)
		require.Nil(t, u)
	},
	"Member": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Member(t.Context(), f.user)
		requireCode(t, errs.NotFound, err)
	},
	"ChangeMemberRole": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.ChangeMemberRole(t.Context(), f.user, models.RoleViewer)
		requireCode(t, errs.NotFound, err)
	},
	"RemoveMember": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.RemoveMember(t.Context(), f.user)
		requireCode(t, errs.NotFound, err)
	},
	"AddMember": func(t *testing.T, o store.Org, f foreign) { // takes no id: somebody may be in two organizations, with a role in each
		u, err := o.AddMember(t.Context(), "stranger@example.com", models.RoleViewer)
		require.NoError(t, err)
		require.Equal(t, f.user, u.ID)
		_, err = o.RemoveMember(t.Context(), u.ID)
		require.NoError(t, err)
	},
}

func requireNone[T any](t *testing.T, batch func(context.Context, []ids.ID) (map[ids.ID]T, error), id ids.ID) {
	t.Helper()
	found, err := batch(t.Context(), []ids.ID{id})
	require.NoError(t, err)
	require.Empty(t, found)
}

func requireEmptyPage[T any](t *testing.T, page *models.Connection[T], err error) {
	t.Helper()
	require.NoError(t, err)
	require.Empty(t, page.Nodes)
	require.False(t, page.PageInfo.HasNextPage)
	total, err := page.TotalCount(t.Context())
	require.NoError(t, err)
	require.Zero(t, total)
}

func TestTenancy(t *testing.T) {
	t.Parallel()
	for m := range reflect.TypeFor[store.Org]().Methods() {
		verb, ok := tenancy[m.Name]
		require.True(t, ok, "store.Org.%s has no line in the table", m.Name)
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			f := w.objects(t, w.other, w.stranger)
			if reaching[m.Name].find != nil {
				f = w.furnished(t, w.other, w.stranger)
			}
			if watching[m.Name] != nil {
				w.watched(t, w.other, &f)
			}
			if hosting[m.Name] != nil {
				w.hosted(t, w.other, &f)
			}
			if contributing[m.Name] != nil {
				w.contributed(t, w.other, &f)
			}
			if reviewing[m.Name] != nil {
				w.reviewed(t, w.other, &f)
			}
			if shelving[m.Name] != nil || shut[m.Name] != nil {
				f.shelf = w.shelved(t, w.other, "secret", models.VisibilityOrg)
			}
			if exporting[m.Name] != nil {
				w.reviewed(t, w.other, &f)
				f.shelf = w.shelved(t, w.other, "public", models.VisibilityPublic)
			}
			if linking[m.Name] != nil {
				f.shelf = w.shelved(t, w.other, "secret", models.VisibilityOrg)
				f.linked = w.linked(t, w.other, f.entry)
			}
			before := w.dump(t, w.other)
			verb(t, w.acme, f)
			require.Equal(t, before, w.dump(t, w.other), "nothing of theirs has changed")
		})
	}
}

// dump is everything that an organization has.
func (w world) dump(t *testing.T, org store.Org) (all string) {
	t.Helper()
	require.NoError(t, w.conn(t).QueryRow(t.Context(), `SELECT json_build_array(
		(SELECT json_agg(t ORDER BY t.user_id) FROM members t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM api_keys t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM events t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM eval_suites t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM suite_revisions t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM skills t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.session_id) FROM session_skills t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.session_id) FROM sessions t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM alerts t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM incidents t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM notifications t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.number) FROM notification_attempts t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM cloud_sources t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM snapshots t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.path) FROM snapshot_files t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM validation_reports t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM repo_installations t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM community_bundles t JOIN members m ON m.user_id = t.creator_id WHERE m.org_id = $1),
		(SELECT json_agg(t ORDER BY t.source_key) FROM raw_signals t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t::text) FROM raw_signal_cells t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM proposals t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.name) FROM call_counts t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.session_id) FROM suggestion_queue t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM eval_suggestions t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM suggestion_evidence t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM suggestion_reviews t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM eval_runs t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM eval_results t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM repo_links t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM publish_attempts t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM repo_deliveries t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM registry_entries t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM registry_versions t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.number) FROM registry_releases t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.id) FROM registry_installations t WHERE org_id = $1),
		(SELECT json_agg(t ORDER BY t.object_id, t.field) FROM search_texts t WHERE org_id = $1))::text`, org.ID()).Scan(&all))
	return all
}

// The same verbs find the organization's own objects: the table above is not empty for another reason.
func TestOwnObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.objects(t, w.acme, w.owner)
	ctx, o := t.Context(), w.acme
	requireOne(t, o.OrganizationsByID, f.org)
	requireOne(t, o.UsersByID, f.user)
	requireOne(t, o.KeysByID, f.key)
	requireOne(t, o.EventsByID, f.event)
	requireOne(t, o.SuitesByID, f.suite)
	requireOne(t, o.RevisionsByID, f.revision)
	requireOne(t, o.CasesOfSuites, f.suite)
	requireOne(t, o.CasesOfRevisions, f.revision)
	in := newSuite("with a source")
	in.SourceID = set(&f.source)
	s, err := o.CreateSuite(ctx, in)
	require.NoError(t, err)
	page, err := o.Suites(ctx, models.SuiteFilter{SourceID: set(&f.source)}, models.SuiteOrderCreatedAt, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
	require.Equal(t, s.ID, page.Nodes[0].ID)
}

func requireOne[T any](t *testing.T, batch func(context.Context, []ids.ID) (map[ids.ID]T, error), id ids.ID) {
	t.Helper()
	found, err := batch(t.Context(), []ids.ID{id, ids.New(ids.Unknown, time.Now())})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Contains(t, found, id)
}

// An id of another kind is not found either, and the words say what it is.
func TestIDsOfAnotherKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.acme.Suite(t.Context(), w.owner.KeyID)
	require.EqualError(t, err, w.owner.KeyID.String()+" is the id of an API key, not of an eval suite")
	requireCode(t, errs.NotFound, err)
	unknown := ids.New(ids.Suite, time.Now())
	_, err = w.acme.Suite(t.Context(), unknown)
	require.EqualError(t, err, "There is no eval suite with the id "+unknown.String())
	_, err = w.acme.RevokeKey(t.Context(), w.owner.UserID)
	require.EqualError(t, err, w.owner.UserID.String()+" is the id of a member, not of an API key")
}

// The database itself refuses a link across organizations, whatever the code above it does.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, theirs := w.objects(t, w.acme, w.owner), w.objects(t, w.other, w.stranger)
	conn := w.conn(t)
	const (
		newSuite = `INSERT INTO eval_suites (org_id, id, source_id, source_kind, name, verifier_kind, supports_no_skill, case_count, suite_kind, revision, created_by, created_at, updated_at)
			VALUES ($1, gen_random_uuid(), $2, 'MANUAL', 'n', 'LLM_JUDGE', false, 1, 'MIXED', 1, $3, now(), now())`
		newRevision = `INSERT INTO suite_revisions (org_id, id, suite_id, number, name, verifier_kind, supports_no_skill, case_count, suite_kind, cases, changed, created_by, created_at)
			VALUES ($1, gen_random_uuid(), $2, 2, 'n', 'LLM_JUDGE', false, 1, 'MIXED', '[]', '{}', $3, now())`
		newKey   = `INSERT INTO api_keys (org_id, id, user_id, name, prefix, hash, created_at) VALUES ($1, gen_random_uuid(), $2, 'n', 'p', gen_random_uuid()::text::bytea, now())`
		newEvent = `INSERT INTO events (org_id, id, kind, object_id, actor_id, data, created_at) VALUES ($1, gen_random_uuid(), 'k', $2, $3, '{}', now())`
	)
	for name, row := range map[string]struct {
		sql      string
		own, bad []any
	}{
		"suite to source":     {newSuite, []any{mine.org, mine.source, mine.user}, []any{mine.org, theirs.source, mine.user}},
		"suite to maker":      {newSuite, []any{mine.org, nil, mine.user}, []any{mine.org, nil, theirs.user}},
		"revision to suite":   {newRevision, []any{mine.org, mine.suite, mine.user}, []any{mine.org, theirs.suite, mine.user}},
		"revision to maker":   {newRevision, []any{theirs.org, theirs.suite, theirs.user}, []any{theirs.org, theirs.suite, mine.user}},
		"key to member":       {newKey, []any{mine.org, mine.user}, []any{mine.org, theirs.user}},
		"event to actor":      {newEvent, []any{mine.org, theirs.suite, mine.user}, []any{mine.org, mine.suite, theirs.user}},
		"member to stranger":  {`INSERT INTO members (org_id, user_id, role, joined_at) VALUES ($1, $2, 'OWNER', now())`, []any{mine.org, theirs.user}, []any{mine.org, mine.suite}},
		"moved suite":         {`UPDATE eval_suites SET source_id = $2 WHERE org_id = $1`, []any{mine.org, mine.source}, []any{mine.org, theirs.source}},
		"moved revision":      {`UPDATE suite_revisions SET suite_id = $2, number = 9 WHERE id = $1`, []any{mine.revision, mine.suite}, []any{mine.revision, theirs.suite}},
		"source of nobody":    {`INSERT INTO cloud_sources (org_id, id, label, source_type, created_at) VALUES ($1, gen_random_uuid(), 'l', 'UPLOAD', now())`, []any{mine.org}, []any{mine.user}},
		"suite changes owner": {`UPDATE eval_suites SET org_id = $1 WHERE id = $2`, []any{mine.org, mine.suite}, []any{theirs.org, mine.suite}},
	} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), row.sql, row.own...)
		require.NoError(t, err, "%s: the statement is fine inside one organization", name)
		require.NoError(t, tx.Rollback(t.Context()))
		_, err = conn.Exec(t.Context(), row.sql, row.bad...)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, name)
		require.Equal(t, "23503", pg.Code, "%s: %s", name, pg.Message)
	}
}

func TestNoOrganizationNoStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.PanicsWithValue(t, "store: no organization", func() { w.Org(ids.ID{}, w.owner.UserID) })
}

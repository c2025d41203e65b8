package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// listener hears what is announced.
type listener struct{ *pgx.Conn }

func (w world) listen(t *testing.T) listener {
	t.Helper()
	c := w.conn(t)
	_, err := c.Exec(t.Context(), "LISTEN "+store.EventChannel)
	require.NoError(t, err)
	return listener{c}
}

func (l listener) next(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	n, err := l.WaitForNotification(ctx)
	require.NoError(t, err)
	require.Equal(t, store.EventChannel, n.Channel)
	return n.Payload
}

func TestEventsAreAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.listen(t)
	made := suite(t, w.acme, "n")
	_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename(""), nil)
	requireCode(t, errs.Invalid, err)
	_, err = w.acme.UpdateSuite(t.Context(), made.ID, rename("other"), []int{7})
	requireCode(t, errs.Stale, err)
	_, err = w.acme.UpdateSuite(t.Context(), made.ID, models.UpdateSuiteInput{}, nil)
	require.NoError(t, err)
	require.NoError(t, w.acme.DeleteSuite(t.Context(), made.ID))
	theirs := suite(t, w.other, "n")

	all := events(t, w.acme)[1:]
	require.Len(t, all, 2)
	for _, e := range all {
		require.Equal(t, made.ID, e.ObjectID)
		require.Equal(t, w.acme.ID().String()+" "+e.ID.String(), l.next(t), "one for each event, none for what was refused")
	}
	last := events(t, w.other)[1]
	require.Equal(t, theirs.ID, last.ObjectID)
	require.Equal(t, w.other.ID().String()+" "+last.ID.String(), l.next(t))
}

// Nothing is announced before it can be read.
func TestEventsAreAnnouncedAfterCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l := w.listen(t)
	// Whoever inserts an event waits here, after the verb is done and before it commits.
	tx, err := w.conn(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(42)`)
	require.NoError(t, err)
	_, err = w.conn(t).Exec(t.Context(), `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := w.acme.CreateSuite(context.WithoutCancel(t.Context()), newSuite("n"))
		done <- err
	}()
	w.waitForBlocked(t)
	require.Len(t, events(t, w.acme), 1, "only the first key's")
	_, err = w.conn(t).Exec(t.Context(), "SELECT pg_notify($1, 'earlier')", store.EventChannel)
	require.NoError(t, err)
	require.Equal(t, "earlier", l.next(t), "the event was not announced yet")
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, <-done)
	announced := l.next(t)
	all := events(t, w.acme)
	require.Len(t, all, 2)
	require.Equal(t, w.acme.ID().String()+" "+all[1].ID.String(), announced)
}

func TestEventFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	colleague, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	first := suite(t, w.acme, "first")
	org := w.Org(w.acme.ID(), colleague.ID)
	second := suite(t, org, "second")
	_, err = org.UpdateSuite(t.Context(), first.ID, rename("other"), nil)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		filter models.EventFilter
		want   []string // newest first
	}{
		"all":                {models.EventFilter{}, []string{"suite.updated", "suite.created", "suite.created", "member.added", "key.created"}},
		"nulls":              {models.EventFilter{Kinds: set[[]string](nil), ObjectID: set[*ids.ID](nil), ActorID: set[*ids.ID](nil)}, []string{"suite.updated", "suite.created", "suite.created", "member.added", "key.created"}},
		"no kinds":           {models.EventFilter{Kinds: set([]string{})}, []string{"suite.updated", "suite.created", "suite.created", "member.added", "key.created"}},
		"one kind":           {models.EventFilter{Kinds: set([]string{"suite.created"})}, []string{"suite.created", "suite.created"}},
		"two kinds":          {models.EventFilter{Kinds: set([]string{"suite.updated", "key.created"})}, []string{"suite.updated", "key.created"}},
		"object":             {models.EventFilter{ObjectID: set(&first.ID)}, []string{"suite.updated", "suite.created"}},
		"actor":              {models.EventFilter{ActorID: set(&colleague.ID)}, []string{"suite.updated", "suite.created"}},
		"object and actor":   {models.EventFilter{ObjectID: set(&first.ID), ActorID: set(&colleague.ID)}, []string{"suite.updated"}},
		"everything at once": {models.EventFilter{Kinds: set([]string{"suite.created"}), ObjectID: set(&second.ID), ActorID: set(&colleague.ID)}, []string{"suite.created"}},
		"nothing":            {models.EventFilter{Kinds: set([]string{"suite.updated"}), ObjectID: set(&second.ID)}, []string{}},
	} {
		page, err := w.acme.Events(t.Context(), row.filter, everything)
		require.NoError(t, err)
		got := []string{}
		for _, e := range page.Nodes {
			got = append(got, e.Kind)
		}
		require.Equal(t, row.want, got, name)
		total, err := page.TotalCount(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(row.want), total, name)
	}
}

// A device that asks every few minutes is an event only when it has something else than before.
func TestSyncEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.entry(t, w.acme, "pdf", models.VisibilityOrg), w.entry(t, w.acme, "docx", models.VisibilityOrg)
	pdf := install(t, w.acme, a.Entry.ID, "laptop")
	install(t, w.acme, b.Entry.ID, "laptop")
	newer := w.version(t, w.acme, a.Entry, "1.1.0")
	before := len(events(t, w.acme))
	for range 3 {
		synced(t, w.acme, "laptop", reported(a.Entry.ID, a.Version.ContentHash), reported(b.Entry.ID, b.Version.ContentHash))
		synced(t, w.acme, "", reported(a.Entry.ID, "none"))
	}
	require.Len(t, events(t, w.acme), before)
	for range 3 {
		synced(t, w.acme, "laptop", reported(a.Entry.ID, newer.ContentHash), reported(b.Entry.ID, b.Version.ContentHash))
	}
	all := events(t, w.acme)
	require.Len(t, all, before+1)
	last := all[before]
	require.Equal(t, "entry.synced", last.Kind)
	require.Equal(t, pdf.ID, last.ObjectID)
	require.JSONEq(t, `{"entry_id": "`+a.Entry.ID.String()+`", "name": "pdf", "version_id": "`+newer.ID.String()+`", "device_id": "laptop"}`, string(last.Data))
}

// New suggestions are one event for each source and batch, however many they are.
func TestSuggestionEvents(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	told := func() (out []string) {
		for _, e := range events(t, s.Org) {
			if e.Kind == "source.suggestions_changed" {
				require.Equal(t, source, e.ObjectID)
				out = append(out, string(e.Data))
			}
		}
		return out
	}
	s.push(t, models.Canonical{
		Sessions: []models.SessionRecord{session("1"), session("2")},
		Prompts:  []models.PromptRecord{prompt("1", "1", "Fill in the form"), prompt("2", "2", "Merge the invoices"), prompt("3", "2", "It went well")},
		Invocations: []models.InvocationRecord{
			matched("1", "1", "1", false), matched("2", "2", "2", false), matched("3", "2", "3", true),
		},
	})
	s.suggest(t)
	require.Equal(t, []string{`{"changed":0,"new":2}`}, told())
	s.push(t, models.Canonical{
		Sessions: []models.SessionRecord{session("3")}, Prompts: []models.PromptRecord{prompt("4", "3", "Fill in the form!"), prompt("5", "3", "Rotate")},
		Invocations: []models.InvocationRecord{matched("4", "3", "4", false), matched("5", "3", "5", false)},
	})
	s.suggest(t)
	require.Equal(t, []string{`{"changed":0,"new":2}`, `{"changed":1,"new":1}`}, told())
	_, err := s.EraseSession(t.Context(), "2")
	require.NoError(t, err)
	require.Equal(t, `{"changed":1,"new":0}`, told()[2])
	s.suggest(t)
	require.Len(t, told(), 3, "nothing changed")
}

package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// What a device has, and what it is told, for everything it may report.
func TestSync(t *testing.T) {
	t.Parallel()
	w, pass := newWorldWithClock(t)
	ctx := t.Context()
	in := newVersion("1.0.0")
	in.ContentHash = new("my tag")
	made, err := w.create(ctx, w.acme, newEntry("pdf"), in, "pdf 1.0.0")
	require.NoError(t, err)
	e, first := made.Entry, made.Version
	second, third := w.version(t, w.acme, e, "1.1.0"), w.version(t, w.acme, e, "1.2.0")
	_, err = w.acme.RevokeVersion(ctx, second.ID, new("it leaks"))
	require.NoError(t, err)
	i := install(t, w.acme, e.ID, "laptop")
	require.Nil(t, i.LastSyncedAt)
	other := w.entry(t, w.acme, "docx", models.VisibilityOrg)

	for name, c := range map[string]struct {
		hash    string
		held    *models.RegistryVersion
		kept    *string
		status  models.SyncStatus
		revoked bool
	}{
		"current":         {third.ContentHash, third, &third.ContentHash, models.SyncStatusUpToDate, false},
		"with a prefix":   {"sha256:" + third.ContentHash, third, &third.ContentHash, models.SyncStatusUpToDate, false},
		"in capitals":     {strings.ToUpper(third.ContentHash), third, &third.ContentHash, models.SyncStatusUpToDate, false},
		"older":           {first.ContentHash, first, &first.ContentHash, models.SyncStatusOutdated, false},
		"a tag":           {"my tag", first, new("my tag"), models.SyncStatusOutdated, false},
		"another tag":     {"My tag", nil, new("My tag"), models.SyncStatusUnknown, false},
		"nothing yet":     {"none", nil, nil, models.SyncStatusUnknown, false},
		"empty":           {"", nil, nil, models.SyncStatusUnknown, false},
		"unknown":         {hash("unknown"), nil, new(hash("unknown")), models.SyncStatusUnknown, false},
		"of its SKILL.md": {*third.SkillHash, nil, third.SkillHash, models.SyncStatusUnknown, false}, // it names no archive
		"of another":      {other.Version.ContentHash, nil, &other.Version.ContentHash, models.SyncStatusUnknown, false},
		"revoked":         {second.ContentHash, second, &second.ContentHash, models.SyncStatusOutdated, true},
	} {
		pass(time.Minute)
		got := synced(t, w.acme, "laptop", reported(e.ID, c.hash))
		require.Len(t, got, 1, name)
		s := got[0]
		require.Equal(t, e.ID, s.EntryID)
		require.Equal(t, "pdf", s.Name)
		require.Equal(t, &third.ID, s.CurrentID)
		require.Equal(t, new("1.2.0"), s.LatestVersion)
		require.Equal(t, &third.ContentHash, s.LatestContentHash)
		require.Equal(t, c.status != models.SyncStatusUpToDate, s.HasUpdate(), name)
		rec := installation(t, w.acme, i.ID)
		require.Equal(t, c.status, rec.SyncStatus, name)
		require.Equal(t, c.kept, rec.ContentHash, name)
		require.NotNil(t, rec.LastSyncedAt, name)
		if c.held == nil {
			require.Nil(t, s.CurrentVersion, name)
			require.Nil(t, rec.VersionID, name)
		} else {
			require.Equal(t, &c.held.Version, s.CurrentVersion, name)
			require.Equal(t, &c.held.ID, rec.VersionID, name)
		}
		if c.revoked {
			require.Equal(t, new(true), s.Revoked(), name)
			require.Equal(t, new("it leaks"), s.Reason)
		} else {
			require.Nil(t, s.Revoked(), name)
			require.Nil(t, s.Reason)
		}
		checked, err := w.acme.SyncCheck(ctx, new("laptop"))
		require.NoError(t, err)
		require.Len(t, checked, 1)
		s.HeldHash, checked[0].HeldHash = "", ""
		require.Equal(t, s, checked[0], "%s: asking for what is recorded gives the same answer", name)
	}
}

// Where nothing is current, a device has nothing to fetch, and learns whether what it has was taken back.
func TestSyncWithNothingCurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	i := install(t, w.acme, e.Entry.ID, "laptop")
	second := w.version(t, w.acme, e.Entry, "1.1.0")
	_, err := w.acme.Rollback(t.Context(), e.Entry.ID, nil, nil)
	require.NoError(t, err)
	_, err = w.acme.RevokeVersion(t.Context(), e.Version.ID, nil)
	require.NoError(t, err)
	require.Nil(t, w.one(t, w.acme, e.Entry.ID).CurrentVersionID)
	for hash, c := range map[string]struct {
		status  models.SyncStatus
		revoked *bool
	}{
		e.Version.ContentHash: {models.SyncStatusOutdated, new(true)},
		second.ContentHash:    {models.SyncStatusUnknown, nil}, // rolled back from, and nobody knows better
		"none":                {models.SyncStatusUnknown, nil},
	} {
		got := synced(t, w.acme, "laptop", reported(e.Entry.ID, hash))[0]
		require.False(t, got.HasUpdate())
		require.Nil(t, got.LatestVersion)
		require.Nil(t, got.LatestContentHash)
		require.Equal(t, c.revoked, got.Revoked())
		require.Nil(t, got.Reason)
		require.Equal(t, c.status, installation(t, w.acme, i.ID).SyncStatus, hash)
	}
}

// Bytes that were published twice are the version that is current, else the newer one.
func TestSyncTwins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	for _, version := range []string{"1.0.1", "1.0.2"} {
		_, err := w.push(t.Context(), w.acme, e.Entry.ID, newVersion(version), "pdf 1.0.0")
		require.NoError(t, err)
	}
	ask := func() string {
		return *synced(t, w.acme, "", reported(e.Entry.ID, e.Version.ContentHash))[0].CurrentVersion
	}
	require.Equal(t, "1.0.2", ask())
	_, err := w.acme.Rollback(t.Context(), e.Entry.ID, new("1.0.0"), nil)
	require.NoError(t, err)
	require.Equal(t, "1.0.0", ask())
	w.version(t, w.acme, e.Entry, "2.0.0")
	require.Equal(t, "1.0.2", ask())
}

// A content hash of "none" is no tag: a device that has nothing does not have that version.
func TestSyncOfATagThatIsNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := newVersion("1.0.0")
	in.ContentHash = new("none")
	made, err := w.create(t.Context(), w.acme, newEntry("pdf"), in, "bytes")
	require.NoError(t, err)
	require.True(t, synced(t, w.acme, "", reported(made.Entry.ID, "none"))[0].HasUpdate())
}

// Entries that the caller does not see are left out; the others come in the order asked for, each as often as asked for.
func TestSyncMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.entry(t, w.acme, "a", models.VisibilityOrg), w.entry(t, w.acme, "b", models.VisibilityOrg)
	open, hidden := w.entry(t, w.other, "open", models.VisibilityUnlisted), w.entry(t, w.other, "hidden", models.VisibilityOrg)
	gone := w.entry(t, w.acme, "gone", models.VisibilityOrg)
	require.NoError(t, w.acme.DeleteEntry(t.Context(), gone.Entry.ID))
	i, j := install(t, w.acme, a.Entry.ID, "laptop"), install(t, w.acme, a.Entry.ID, "desk")
	second := w.version(t, w.acme, a.Entry, "1.1.0")
	got := synced(t, w.acme, "laptop",
		reported(b.Entry.ID, "none"), reported(gone.Entry.ID, "none"), reported(hidden.Entry.ID, "none"), reported(ids.New(ids.Entry, noon), "none"), reported(w.owner.UserID, "none"),
		reported(a.Entry.ID, a.Version.ContentHash), reported(open.Entry.ID, open.Version.ContentHash), reported(a.Entry.ID, second.ContentHash), reported(a.Entry.ID, "none"))
	names := []string{}
	for _, s := range got {
		names = append(names, fmt.Sprint(s.Name, " ", s.HasUpdate()))
	}
	require.Equal(t, []string{"b true", "a true", "open false", "a false", "a true"}, names)
	require.Equal(t, &a.Version.ID, installation(t, w.acme, i.ID).VersionID, "the first one counts")
	require.Nil(t, installation(t, w.acme, j.ID).LastSyncedAt, "the other device has said nothing")
	require.Equal(t, 2, w.count(t, "SELECT count(*) FROM registry_installations"), "nothing new is recorded")
	require.Empty(t, synced(t, w.acme, "laptop"))

	before := w.dump(t, w.acme)
	synced(t, w.acme, "", reported(a.Entry.ID, second.ContentHash))
	synced(t, w.acme, "unknown device", reported(a.Entry.ID, second.ContentHash))
	_, err := w.acme.Sync(t.Context(), slices.Repeat([]*models.SyncInput{reported(a.Entry.ID, "none")}, 1001), new("laptop"))
	requireCode(t, errs.Invalid, err)
	require.Equal(t, []string{"installations"}, pathOf(err))
	require.Equal(t, before, w.dump(t, w.acme))
	require.Len(t, synced(t, w.acme, "laptop", slices.Repeat([]*models.SyncInput{reported(a.Entry.ID, "none")}, 1000)...), 1000)
}

// The check is about what is recorded, on one device or on all, by name.
func TestSyncCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, a := w.entry(t, w.acme, "b", models.VisibilityOrg), w.entry(t, w.other, "a", models.VisibilityPublic)
	for _, e := range []models.Published{a, b} {
		install(t, w.acme, e.Entry.ID, "laptop")
	}
	install(t, w.other, a.Entry.ID, "laptop")
	w.version(t, w.acme, b.Entry, "1.1.0")
	install(t, w.acme, b.Entry.ID, "desk")
	ask := func(device *string) (out []string) {
		got, err := w.acme.SyncCheck(t.Context(), device)
		require.NoError(t, err)
		for _, s := range got {
			out = append(out, fmt.Sprint(s.Name, " ", *s.CurrentVersion, " ", s.HasUpdate()))
		}
		return out
	}
	require.Equal(t, []string{"a 1.0.0 false", "b 1.0.0 true", "b 1.1.0 false"}, ask(nil))
	require.Equal(t, []string{"a 1.0.0 false", "b 1.0.0 true"}, ask(new("laptop")))
	require.Equal(t, []string{"b 1.1.0 false"}, ask(new("desk")))
	require.Empty(t, ask(new("unknown")))
}

// However much is asked for, it costs the same.
func TestSyncStatements(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var in []*models.SyncInput
	for n := range 100 {
		e := w.entry(t, w.acme, fmt.Sprint("entry-", n), models.VisibilityOrg)
		install(t, w.acme, e.Entry.ID, "laptop")
		in = append(in, reported(e.Entry.ID, e.Version.ContentHash))
	}
	cost := func(n int, device string) int64 {
		before := w.Statements()
		require.Len(t, synced(t, w.acme, device, in[:n]...), n)
		_, err := w.acme.SyncCheck(t.Context(), nil)
		require.NoError(t, err)
		return w.Statements() - before
	}
	for _, device := range []string{"", "laptop"} {
		cost(1, device) // prepares
		one := cost(1, device)
		require.Equal(t, one, cost(100, device))
		require.LessOrEqual(t, one, int64(6))
	}
}

// Somebody may publish the same bytes under any number of names, and ask for them any number of times: a report reads a few rows
// for each, not all of them.
func TestSyncReadsFewRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	const many = 2000
	dbtest.Exec(t, w.url, `INSERT INTO registry_versions (org_id, id, entry_id, number, version, precedence, prerelease, content_hash, client_tag, hashes, size, file_count, files, source, pushed_at)
		SELECT v.org_id, gen_random_uuid(), v.entry_id, n, 'n' || n, '', false, v.content_hash, 'tag', '{}', 1, 1, '[]', 'CLI', now() FROM registry_versions v, generate_series(2, $1::int) n`, many)
	dbtest.Exec(t, w.url, "ANALYZE registry_versions")
	s, err := store.Open(t.Context(), w.url, store.Options{MaxConns: 1})
	require.NoError(t, err)
	var in []*models.SyncInput
	for n := range 100 {
		in = append(in, reported(e.Entry.ID, e.Version.ContentHash), reported(e.Entry.ID, "tag"), reported(e.Entry.ID, hash(fmt.Sprint(n))))
	}
	got := synced(t, s.Org(w.acme.ID(), w.owner.UserID), "", in...)
	require.Equal(t, "1.0.0", *got[0].CurrentVersion)
	require.Equal(t, fmt.Sprint("n", many), *got[1].CurrentVersion)
	require.Nil(t, got[2].CurrentVersion)
	s.Close() // a connection tells what it has read when it ends
	conn, scans, read := w.conn(t), 0, 0
	require.Eventually(t, func() bool {
		err := conn.QueryRow(t.Context(), `SELECT (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'registry_versions_by_tag'),
			(SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'registry_versions')`).Scan(&scans, &read)
		return err == nil && scans > 0
	}, 20*time.Second, 10*time.Millisecond)
	require.Less(t, read, 5*many, "all of them for each would be %d", len(in)*many)
}

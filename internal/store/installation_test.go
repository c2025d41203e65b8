package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func install(t *testing.T, org store.Org, entry ids.ID, device string) *models.Installation {
	t.Helper()
	i, _, err := org.Install(t.Context(), entry, models.InstallEntryInput{DeviceID: device})
	require.NoError(t, err)
	return i
}

// installation reads what is recorded.
func installation(t *testing.T, org store.Org, id ids.ID) *models.Installation {
	t.Helper()
	found, err := org.InstallationsByID(t.Context(), []ids.ID{id})
	require.NoError(t, err)
	return found[id]
}

func reported(entry ids.ID, hash string) *models.SyncInput {
	return &models.SyncInput{EntryID: entry, CurrentVersionHash: hash}
}

// synced is what a device is told that reports what it has; a device without a name leaves no record.
func synced(t *testing.T, org store.Org, device string, in ...*models.SyncInput) []*models.SyncEntry {
	t.Helper()
	var name *string
	if device != "" {
		name = &device
	}
	out, err := org.Sync(t.Context(), in, name)
	require.NoError(t, err)
	return out
}

// newWorldWithClock has a clock that stands still until a test moves it.
func newWorldWithClock(t *testing.T) (world, func(time.Duration)) {
	t.Helper()
	var passed atomic.Int64
	w := newWorldAt(t, func() time.Time { return noon.Add(time.Duration(passed.Load())) })
	return w, func(d time.Duration) { passed.Add(int64(d)) }
}

func TestInstall(t *testing.T) {
	t.Parallel()
	w, pass := newWorldWithClock(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	in := models.InstallEntryInput{DeviceID: "laptop", InstallPath: set(new("/a"))}
	first, created, err := w.acme.Install(t.Context(), e.Entry.ID, in)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, &models.Installation{
		OrgID: w.acme.ID(), ID: first.ID, EntryID: e.Entry.ID, UserID: w.owner.UserID, DeviceID: "laptop", InstallPath: new("/a"),
		VersionID: &e.Version.ID, ContentHash: &e.Version.ContentHash, SyncStatus: models.SyncStatusUpToDate, InstalledAt: noon,
	}, first)
	require.Equal(t, ids.Installation, first.ID.Kind())
	require.Equal(t, first, installation(t, w.acme, first.ID))

	// The same device again: its record has the version that is current now, and keeps what is not said anew.
	pass(time.Hour)
	second := w.version(t, w.acme, e.Entry, "1.1.0")
	require.Equal(t, models.SyncStatusOutdated, installation(t, w.acme, first.ID).SyncStatus)
	again, created, err := w.acme.Install(t.Context(), e.Entry.ID, models.InstallEntryInput{DeviceID: "laptop"})
	require.NoError(t, err)
	require.False(t, created)
	want := *first
	want.VersionID, want.ContentHash = &second.ID, &second.ContentHash
	require.Equal(t, &want, again)
	again, _, err = w.acme.Install(t.Context(), e.Entry.ID, models.InstallEntryInput{DeviceID: "laptop", InstallPath: set(new("/b"))})
	require.NoError(t, err)
	require.Equal(t, new("/b"), again.InstallPath)

	// Other devices, other users and other organizations are others; so is the same name in other letters.
	u, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	colleague := w.Org(w.acme.ID(), u.ID)
	seen := map[ids.ID]bool{first.ID: true}
	for _, i := range []*models.Installation{install(t, w.acme, e.Entry.ID, "Laptop"), install(t, w.acme, e.Entry.ID, "desk"), install(t, colleague, e.Entry.ID, "laptop"), install(t, colleague, e.Entry.ID, "desk")} {
		require.False(t, seen[i.ID])
		seen[i.ID] = true
	}
	pages, err := w.acme.InstallationsOf(t.Context(), []ids.ID{e.Entry.ID}, everything)
	require.NoError(t, err)
	require.Len(t, pages[e.Entry.ID].Nodes, 5, "the whole team's")
	for org, n := range map[store.Org]int{w.acme: 3, colleague: 2} {
		mine, err := org.Installed(t.Context(), everything)
		require.NoError(t, err)
		require.Len(t, mine.Nodes, n)
		check, err := org.SyncCheck(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, check, 1, "the same version on every device is one answer")
	}
	counts, err := w.acme.VersionInstallationCounts(t.Context(), []ids.ID{e.Version.ID, second.ID})
	require.NoError(t, err)
	require.Equal(t, map[ids.ID]int{second.ID: 5}, counts, "who has none is left out")
}

func TestInstallNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	_, err := w.acme.RevokeVersion(t.Context(), e.Version.ID, nil)
	require.NoError(t, err)
	before := w.dump(t, w.acme)
	_, _, err = w.acme.Install(t.Context(), e.Entry.ID, models.InstallEntryInput{DeviceID: "laptop"})
	requireCode(t, errs.Conflict, err)
	_, _, err = w.acme.Install(t.Context(), ids.New(ids.Entry, noon), models.InstallEntryInput{DeviceID: "laptop"})
	requireCode(t, errs.NotFound, err)
	for _, device := range []string{"", " ", "a\x00b", "a\nb", "\xff", strings.Repeat("x", 201)} {
		_, _, err = w.acme.Install(t.Context(), e.Entry.ID, models.InstallEntryInput{DeviceID: device})
		requireCode(t, errs.Invalid, err)
		require.Equal(t, []string{"deviceId"}, pathOf(err))
		_, err = w.acme.SyncCheck(t.Context(), &device)
		require.Equal(t, []string{"deviceId"}, pathOf(err))
		_, err = w.acme.Sync(t.Context(), nil, &device)
		require.Equal(t, []string{"deviceId"}, pathOf(err))
	}
	require.Equal(t, before, w.dump(t, w.acme))
}

// A member who has left is no longer part of the team; the record stays.
func TestInstallationOfAFormerMember(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg)
	u, err := w.acme.AddMember(t.Context(), "colleague@example.com", models.RoleMember)
	require.NoError(t, err)
	install(t, w.Org(w.acme.ID(), u.ID), e.Entry.ID, "laptop")
	_, err = w.acme.RemoveMember(t.Context(), u.ID)
	require.NoError(t, err)
	pages, err := w.acme.InstallationsOf(t.Context(), []ids.ID{e.Entry.ID}, everything)
	require.NoError(t, err)
	requireEmptyPage(t, pages[e.Entry.ID], err)
	counts, err := w.acme.InstallationCounts(t.Context(), []ids.ID{e.Entry.ID})
	require.NoError(t, err)
	require.Equal(t, 1, counts[e.Entry.ID], "a device is a device")
}

// ofParent is the list of one parent.
func ofParent[T any](pages func(context.Context, []ids.ID, models.Window) (map[ids.ID]*models.Connection[T], error), parent ids.ID) func(context.Context, models.Window) (*models.Connection[T], error) {
	return func(ctx context.Context, w models.Window) (*models.Connection[T], error) {
		all, err := pages(ctx, []ids.ID{parent}, w)
		return all[parent], err
	}
}

func TestInstallationPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityPublic)
	var want []ids.ID
	for n := range 12 {
		want = append(want, install(t, w.acme, e.Entry.ID, fmt.Sprint("device ", n)).ID)
		install(t, w.other, e.Entry.ID, fmt.Sprint("device ", n))
	}
	slices.SortFunc(want, func(a, b ids.ID) int { return slices.Compare(b[:], a[:]) })
	id := func(i *models.Installation) ids.ID { return i.ID }
	list[models.Installation]{w.acme.Installed, id}.check(t, want)
	list[models.Installation]{ofParent(w.acme.InstallationsOf, e.Entry.ID), id}.check(t, want)
	counts, err := w.other.InstallationCounts(t.Context(), []ids.ID{e.Entry.ID})
	require.NoError(t, err)
	require.Equal(t, 24, counts[e.Entry.ID], "of all organizations")
}

package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

const clients = 50

// atOnce lets fifty clients do the same, and returns what each of them got.
func atOnce(verb func(client int) (models.Published, error)) ([]models.Published, []error) {
	out, failed := make([]models.Published, clients), make([]error, clients)
	var ready, done sync.WaitGroup
	ready.Add(clients)
	for i := range clients {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			out[i], failed[i] = verb(i)
		})
	}
	done.Wait()
	return out, failed
}

// requireOneForAll is for clients that publish the same: they all get the one that one of them has made.
func requireOneForAll(t *testing.T, out []models.Published, failed []error) {
	t.Helper()
	made := 0
	for i, p := range out {
		require.NoError(t, failed[i])
		require.Equal(t, out[0].Entry.ID, p.Entry.ID)
		require.Equal(t, out[0].Version, p.Version)
		if p.Created {
			made++
		}
	}
	require.Equal(t, 1, made)
}

// requireOneWinner is for clients that publish something else each.
func requireOneWinner(t *testing.T, out []models.Published, failed []error) *models.RegistryVersion {
	t.Helper()
	var winner *models.RegistryVersion
	for i, err := range failed {
		if err != nil {
			requireCode(t, errs.Conflict, err)
			require.Equal(t, models.Published{}, out[i])
			continue
		}
		require.Nil(t, winner, "there is one winner")
		require.True(t, out[i].Created)
		winner = out[i].Version
	}
	require.NotNil(t, winner)
	return winner
}

func (w world) requireRows(t *testing.T, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for table := range want {
		got[table] = w.count(t, "SELECT count(*) FROM "+table)
	}
	require.Equal(t, want, got)
	require.Zero(t, w.deadlocks(t))
	w.requireSound(t)
}

func (w world) deadlocks(t *testing.T) int {
	t.Helper()
	return w.count(t, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
}

func TestCreateEntryAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, failed := atOnce(func(int) (models.Published, error) {
		return w.create(t.Context(), w.acme, newEntry("pdf"), newVersion("1.0.0"), "the same")
	})
	requireOneForAll(t, out, failed)
	w.requireRows(t, map[string]int{"registry_entries": 1, "registry_versions": 1, "registry_releases": 1, "skills": 1, "blobs": 1, "events WHERE kind = 'version.published'": 1})
}

func TestCreateOtherEntriesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, failed := atOnce(func(i int) (models.Published, error) {
		return w.create(t.Context(), w.acme, newEntry("pdf"), newVersion("1.0.0"), fmt.Sprint("other ", i))
	})
	winner := requireOneWinner(t, out, failed)
	w.requireRows(t, map[string]int{"registry_entries": 1, "registry_versions": 1, "registry_releases": 1, "skills": 1, "blobs": clients, "events WHERE kind = 'version.published'": 1})
	require.Equal(t, []*models.RegistryVersion{winner}, versions(t, w.acme, winner.EntryID))
}

func TestPushVersionAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	out, failed := atOnce(func(int) (models.Published, error) {
		return w.push(t.Context(), w.acme, e.ID, newVersion("1.1.0"), "the same")
	})
	requireOneForAll(t, out, failed)
	w.requireRows(t, map[string]int{"registry_versions": 2, "registry_releases": 2, "events WHERE kind = 'version.published'": 2})

	out, failed = atOnce(func(i int) (models.Published, error) {
		return w.push(t.Context(), w.acme, e.ID, newVersion("1.2.0"), fmt.Sprint("other ", i))
	})
	winner := requireOneWinner(t, out, failed)
	w.requireRows(t, map[string]int{"registry_versions": 3, "registry_releases": 3, "events WHERE kind = 'version.published'": 3})
	require.Equal(t, &winner.ID, w.one(t, w.acme, e.ID).CurrentVersionID)
	require.Equal(t, winner, versions(t, w.acme, e.ID)[2])
}

// Versions of other names never get in each other's way: each has a number of its own, and the last one is current.
func TestPushVersionsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	_, failed := atOnce(func(i int) (models.Published, error) {
		return w.push(t.Context(), w.acme, e.ID, newVersion(fmt.Sprint("2.0.", i)), fmt.Sprint(i))
	})
	require.Equal(t, make([]error, clients), failed)
	all := versions(t, w.acme, e.ID)
	for i, v := range all {
		require.Equal(t, i+1, v.Number)
	}
	require.Len(t, all, clients+1)
	require.Equal(t, &all[clients].ID, w.one(t, w.acme, e.ID).CurrentVersionID)
	w.requireRows(t, map[string]int{"registry_releases": clients + 1})
}

// A device is recorded once, however often it says so at once.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry
	var mu sync.Mutex
	made, seen := 0, map[ids.ID]bool{}
	_, failed := atOnce(func(int) (out models.Published, err error) {
		i, created, err := w.acme.Install(t.Context(), e.ID, models.InstallEntryInput{DeviceID: "laptop"})
		mu.Lock()
		defer mu.Unlock()
		if err == nil && created {
			made++
		}
		if err == nil {
			seen[i.ID] = true
		}
		return out, err
	})
	require.Equal(t, make([]error, clients), failed)
	require.Equal(t, 1, made)
	require.Len(t, seen, 1)
	w.requireRows(t, map[string]int{"registry_installations": 1})
}

// Everything at once, in random order: after every step the database is sound, and nobody is told of a deadlock.
func TestRegistryAtRandom(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	w := newWorld(t)
	crowd := &crowd{world: w, names: []string{"docx", "pdf", "xlsx"}, done: map[string]int{}}
	var wg sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		conn := w.conn(t)
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for range 150 {
				if failed[i] = crowd.step(t.Context(), rnd); failed[i] != nil {
					return
				}
				var got [4]int
				failed[i] = conn.QueryRow(t.Context(), unsound).Scan(&got[0], &got[1], &got[2], &got[3])
				if failed[i] == nil && got != [4]int{} {
					failed[i] = fmt.Errorf("not sound: %v", got)
				}
				if failed[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%v", crowd.done)
	require.Equal(t, make([]error, len(failed)), failed)
	for _, verb := range []string{"push", "rollback", "revoke", "delete", "install", "sync", "telemetry", "update"} {
		require.Positive(t, crowd.done[verb], "%s has never worked", verb)
	}
	require.Zero(t, w.deadlocks(t))
	w.requireSound(t)
}

// crowd are clients of two organizations that know a few names between them.
type crowd struct {
	world
	names []string
	mu    sync.Mutex
	done  map[string]int
	n     int
}

// verbs are how often each is done.
var verbs = []string{
	"push", "push", "push", "push", "push", "push", "rollback", "rollback", "rollback", "revoke", "revoke", "delete",
	"install", "install", "sync", "sync", "sync", "telemetry", "telemetry", "update",
}

func (c *crowd) step(ctx context.Context, rnd *rand.Rand) error {
	verb := verbs[rnd.IntN(len(verbs))]
	entries, err := c.acme.Entries(ctx, models.EntryFilter{}, models.EntryOrderName, everything)
	if err != nil {
		return err
	}
	if len(entries.Nodes) > 0 || verb == "push" || verb == "telemetry" {
		err = c.do(ctx, rnd, verb, entries.Nodes)
	} else {
		verb = "nothing"
	}
	switch errs.CodeOf(err) {
	case errs.Conflict, errs.NotFound: // somebody else was first
		verb += " in vain"
	default:
		if err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[verb]++
	return nil
}

func (c *crowd) do(ctx context.Context, rnd *rand.Rand, verb string, entries []*models.RegistryEntry) (err error) {
	var e *models.RegistryEntry
	var list []*models.RegistryVersion
	if len(entries) > 0 {
		e = entries[rnd.IntN(len(entries))]
		pages, err := c.acme.VersionsOf(ctx, []ids.ID{e.ID}, models.VersionList{Window: everything, OrderBy: models.VersionOrderPushedAt})
		if err != nil {
			return err
		}
		list = pages[e.ID].Nodes
	}
	in := newVersion(fmt.Sprintf("1.%d.0%s", rnd.IntN(15), []string{"", "", "-rc"}[rnd.IntN(3)]))
	text := fmt.Sprint(in.Version, " ", rnd.IntN(6) == 0)
	switch verb {
	case "push":
		if e == nil || rnd.IntN(4) == 0 {
			made := newEntry(c.names[rnd.IntN(len(c.names))])
			made.Visibility = models.VisibilityPublic
			_, err = c.create(ctx, c.acme, made, in, text)
			return err
		}
		_, err = c.push(ctx, c.acme, e.ID, in, text)
	case "rollback":
		var target *string
		if rnd.IntN(2) == 0 && len(list) > 0 {
			target = &list[rnd.IntN(len(list))].Version
		}
		_, err = c.acme.Rollback(ctx, e.ID, target, nil)
	case "revoke":
		if len(list) == 0 {
			return errs.New(errs.NotFound, "gone")
		}
		_, err = c.acme.RevokeVersion(ctx, list[rnd.IntN(len(list))].ID, nil)
	case "delete":
		err = c.acme.DeleteEntry(ctx, e.ID)
	case "update":
		_, err = c.acme.UpdateEntry(ctx, e.ID, models.UpdateEntryInput{Description: set(&text)})
	case "install":
		_, _, err = c.somebody(rnd).Install(ctx, e.ID, models.InstallEntryInput{DeviceID: "laptop"})
	case "sync":
		err = c.sync(ctx, rnd, entries, list)
	case "telemetry":
		err = c.telemetry(ctx, rnd)
	}
	return err
}

func (c *crowd) somebody(rnd *rand.Rand) interface {
	Install(context.Context, ids.ID, models.InstallEntryInput) (*models.Installation, bool, error)
	Sync(context.Context, []*models.SyncInput, *string) ([]*models.SyncEntry, error)
} {
	if rnd.IntN(2) == 0 {
		return c.acme
	}
	return c.other
}

// sync reports all entries, in any order.
func (c *crowd) sync(ctx context.Context, rnd *rand.Rand, entries []*models.RegistryEntry, list []*models.RegistryVersion) error {
	in := []*models.SyncInput{}
	for _, e := range entries {
		hash := "none"
		if len(list) > 0 && rnd.IntN(3) > 0 {
			hash = list[rnd.IntN(len(list))].ContentHash
		}
		in = append(in, &models.SyncInput{EntryID: e.ID, CurrentVersionHash: hash})
	}
	rnd.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
	_, err := c.somebody(rnd).Sync(ctx, in, new("laptop"))
	return err
}

// telemetry is about all names at once, in any order.
func (c *crowd) telemetry(ctx context.Context, rnd *rand.Rand) error {
	at := time.Now().Add(-time.Hour)
	names := slices.Clone(c.names)
	rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var r models.Canonical
	for _, name := range names {
		c.mu.Lock()
		c.n++
		id := fmt.Sprint(c.n)
		c.mu.Unlock()
		r.Sessions = append(r.Sessions, models.SessionRecord{SessionID: id})
		r.Invocations = append(r.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: name, OccurredAt: &at, Triggered: new(true)})
		r.Gradings = append(r.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: name, GradedAt: &at, PassRate: new(rnd.Float64())})
	}
	_, err := c.acme.Push(ctx, &models.Push{ID: ids.New(ids.Push, at), Canonical: r})
	return err
}

// A device reports two entries while one of them is deleted: neither waits for the other in a circle. Somebody holds up the
// report half way, so that it would be one.
func TestSyncWhileDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	var in []*models.SyncInput
	entries := []*models.RegistryEntry{w.entry(t, w.acme, "pdf", models.VisibilityOrg).Entry, w.entry(t, w.acme, "docx", models.VisibilityOrg).Entry}
	for _, e := range entries {
		_, _, err := w.acme.Install(ctx, e.ID, models.InstallEntryInput{DeviceID: "laptop"})
		require.NoError(t, err)
		in = append(in, &models.SyncInput{EntryID: e.ID, CurrentVersionHash: w.version(t, w.acme, e, "1.1.0").ContentHash})
	}
	holder, err := w.conn(t).Begin(ctx)
	require.NoError(t, err)
	_, err = holder.Exec(ctx, "SELECT FROM registry_installations WHERE entry_id = $1 FOR UPDATE", entries[1].ID)
	require.NoError(t, err)
	var wg sync.WaitGroup
	var synced, deleted error
	wg.Go(func() { _, synced = w.acme.Sync(ctx, in, new("laptop")) })
	w.requireWaiting(t, 1)
	wg.Go(func() { deleted = w.acme.DeleteEntry(ctx, entries[0].ID) })
	w.requireWaiting(t, 2)
	require.NoError(t, holder.Rollback(ctx))
	wg.Wait()
	require.NoError(t, synced)
	require.NoError(t, deleted)
	require.Zero(t, w.deadlocks(t))
	w.requireRows(t, map[string]int{"registry_entries": 1, "registry_installations": 1})
}

// requireWaiting returns when so many connections wait for a lock.
func (w world) requireWaiting(t *testing.T, n int) {
	t.Helper()
	requireWaiting(t, w.conn(t), n)
}

func requireWaiting(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	waiting := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for waiting != n {
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting))
	}
}

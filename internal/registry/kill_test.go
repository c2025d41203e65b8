package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// These hold what a child of the test has to know: the database's URL, by which it also knows its part, the folder of blobs, and
// who pushes what to where.
const (
	asPusher  = "TEST_AS_PUSHER"
	asWeigher = "TEST_AS_WEIGHER"
	blobsAt   = "TEST_BLOBS"
	onBehalf  = "TEST_ORG_USER_ENTRY"
	archiveAt = "TEST_ARCHIVE"
)

// child is the registry of a process of its own.
func child(url string) (*registry.Registry, store.Org, ids.ID) {
	ctx := context.Background()
	db, err := store.Open(ctx, url, store.Options{MaxConns: 10})
	must(err)
	blobs, err := blob.Open(ctx, "file://"+filepath.ToSlash(os.Getenv(blobsAt)), db)
	must(err)
	var who [3]ids.ID
	for i, text := range strings.Fields(os.Getenv(onBehalf)) {
		who[i], err = ids.Parse(text)
		must(err)
	}
	return &registry.Registry{Blobs: blobs, Links: registry.Links{Store: db, Clock: time.Now}}, db.Org(who[0], who[1]), who[2]
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start starts this test as something else.
func (s *shop) start(t *testing.T, as string, entry ids.ID, more ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(append(os.Environ(), as+"="+s.url, blobsAt+"="+s.folder, onBehalf+"="+s.acme.ID().String()+" "+s.user(t).String()+" "+entry.String()), more...)
	c.Stderr = os.Stderr
	return c
}

func (s *shop) user(t *testing.T) (id ids.ID) {
	t.Helper()
	u, err := s.acme.MemberByEmail(t.Context(), "acme@example.com")
	require.NoError(t, err)
	return u.ID
}

// random is an archive that no other has the bytes of.
func random(t testing.TB, seed uint64, size int) []byte {
	t.Helper()
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte(fmt.Appendf(nil, "%032d", seed))).Read(text)
	return packed(t, file{"SKILL.md", string(text)}, file{"notes.md", fmt.Sprint(seed)})
}

// pushUntilKilled publishes as fast as it can: several at a time, each new, and some at once under the same name.
func pushUntilKilled(url string) {
	r, org, entry := child(url)
	for worker := range 4 {
		go func() {
			for n := 0; ; n++ {
				seed := uint64(os.Getpid())<<32 | uint64(worker/2)<<16 | uint64(n)
				in := models.NewVersion{Version: fmt.Sprintf("%d.%d.%d", os.Getpid(), worker/2, n), Source: models.VersionSourceCli}
				_, err := r.PushVersion(context.Background(), org, entry, in, bytes.NewReader(random(noTest{}, seed, 100*kib)))
				must(err)
			}
		}()
	}
	select {}
}

// noTest is for what runs in a process without one.
type noTest struct{ testing.TB }

func (noTest) Helper() {}

func (noTest) Errorf(format string, args ...any) { must(fmt.Errorf(format, args...)) }

func (noTest) FailNow() { os.Exit(1) }

// A server that is killed in the middle of pushes leaves no version whose bytes are not all there, and nothing that is not
// collected.
func TestKill(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	s := newShop(t)
	e := s.entry(t, s.acme, skill(t, "first")).Entry
	conn, err := pgx.Connect(t.Context(), s.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	pushed := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM registry_versions").Scan(&n))
		return n
	}
	const kills = 6
	for range kills {
		before, more := pushed(), 1+rnd.IntN(20)
		c := s.start(t, asPusher, e.ID)
		require.NoError(t, c.Start())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for pushed() < before+more {
			require.NoError(t, ctx.Err(), "it pushes")
		}
		cancel()
		time.Sleep(time.Duration(rnd.IntN(5000)) * time.Microsecond) // at any moment of a push
		require.NoError(t, c.Process.Kill())
		require.Error(t, c.Wait())
		s.settled(t) // what the killed had sent may still be committed
		s.requireWhole(t, conn, e.ID)
	}
	s.settled(t)
	versions, left := pushed(), len(s.blobs(t))-pushed()
	unfinished, err := os.ReadDir(filepath.Join(s.folder, "tmp"))
	require.NoError(t, err)
	t.Logf("%d versions; %d blobs that nobody refers to, %d half written", versions, left, len(unfinished))
	s.passed.Store(int64(time.Since(noon))) // the children have lived by the wall clock
	s.collect(t)
	require.NoError(t, s.Blobs.Sweep(t.Context(), time.Now().Add(time.Hour)))
	require.Len(t, s.blobs(t), versions)
	require.Equal(t, versions, s.count(t, "SELECT count(*) FROM blobs"))
	unfinished, err = os.ReadDir(filepath.Join(s.folder, "tmp"))
	require.NoError(t, err)
	require.Empty(t, unfinished)
	s.requireWhole(t, conn, e.ID)
}

// requireWhole finds for every version that can be seen the bytes it was published with, and the files that it lists.
func (s *shop) requireWhole(t *testing.T, conn *pgx.Conn, entry ids.ID) {
	t.Helper()
	list, err := s.acme.VersionsOf(t.Context(), []ids.ID{entry}, models.VersionList{Window: models.Window{Limit: 100_000}, OrderBy: models.VersionOrderPushedAt})
	require.NoError(t, err)
	keys := []ids.ID{}
	for _, v := range list[entry].Nodes {
		keys = append(keys, v.ID)
	}
	files, err := s.acme.VersionFilesOf(t.Context(), keys)
	require.NoError(t, err)
	_, other := s.open(t) // which has verified nothing yet
	for i, v := range list[entry].Nodes {
		require.Equal(t, len(keys)-i, v.Number, "pushes have numbers without gaps")
		content, err := other.Blobs.Open(t.Context(), v.ContentHash)
		require.NoError(t, err, v.Version)
		a, err := registry.Inspect(content)
		require.NoError(t, err)
		require.NoError(t, content.Close())
		require.Equal(t, v.ContentHash, a.Hash)
		require.Equal(t, v.Size, a.Size)
		require.Len(t, files[v.ID], len(a.Files))
		for n := range a.Files {
			require.Equal(t, a.Files[n], *files[v.ID][n])
		}
	}
	var current ids.ID
	var pushes, releases, told int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_version_id, pushes, (SELECT count(*) FROM registry_releases), (SELECT count(*) FROM events WHERE kind = 'version.published')
		FROM registry_entries WHERE id = $1`, entry).Scan(&current, &pushes, &releases, &told))
	require.Equal(t, list[entry].Nodes[0].ID, current, "the last one is current")
	require.Equal(t, [3]int{len(keys), len(keys), len(keys)}, [3]int{pushes, releases, told}, "each was released, and told of")
}

// settled waits until the connections of the killed have ended, which they do when PostgreSQL notices: what they had begun is done or
// undone by then.
func (s *shop) settled(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return s.count(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'skillgraph' AND state <> 'idle'") == 0
	}, time.Minute, 10*time.Millisecond)
}

// weigh publishes a small archive, then a large one, and says by how many bytes the process has grown in between at most.
func weigh(url string) {
	r, org, _ := child(url)
	create := func(name string, content io.ReadSeeker) {
		e := &models.RegistryEntry{Name: name, EntryType: models.EntryTypeSkill, Visibility: models.VisibilityOrg}
		_, err := r.CreateEntry(context.Background(), org, e, models.NewVersion{Version: "1.0.0", Source: models.VersionSourceCli}, content)
		must(err)
	}
	create("small", bytes.NewReader(random(noTest{}, 1, 100*kib)))
	debug.FreeOSMemory()
	must(os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak begins anew
	before := peak()
	archive, err := os.Open(os.Getenv(archiveAt))
	must(err)
	create("large", archive)
	fmt.Print(peak() - before)
	os.Exit(0)
}

// peak is the most memory that the process has ever had, in bytes.
func peak() int {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(kb)[0])
			must(err)
			return n << 10
		}
	}
	must(errors.New("there is no VmHWM"))
	return 0
}

// An archive passes through, from the disk to the disk: the largest one takes a fraction of its size in memory.
func TestLargeArchiveInLittleMemory(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("only Linux says how much memory a process had")
	}
	s := newShop(t)
	path := filepath.Join(t.TempDir(), "large.tar.gz")
	archive := random(t, 2, 50<<20-100*kib)
	require.Greater(t, len(archive), 50<<20-100*kib, "noise cannot be packed")
	require.LessOrEqual(t, len(archive), 50<<20)
	require.NoError(t, os.WriteFile(path, archive, 0o600))
	c := s.start(t, asWeigher, ids.ID{}, archiveAt+"="+path)
	out, err := c.Output()
	require.NoError(t, err)
	grown, err := strconv.Atoi(string(out))
	require.NoError(t, err, "%s", out)
	t.Logf("%d bytes of archive, %d bytes of memory", len(archive), grown)
	require.Less(t, grown, 30<<20)
	content, err := s.Blobs.Open(t.Context(), hash(archive))
	require.NoError(t, err)
	require.Equal(t, int64(len(archive)), content.Size())
	require.NoError(t, content.Close())
}

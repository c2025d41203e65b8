package registry_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(asPusher); url != "" {
		pushUntilKilled(url)
		return
	}
	if url := os.Getenv(asWeigher); url != "" {
		weigh(url)
		return
	}
	dbtest.Main(m)
}

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// shop is a registry on a database and in a folder of its own, under a clock that a test moves.
type shop struct {
	*registry.Registry
	store       *store.Store
	url, folder string
	acme, other store.Org
	passed      *atomic.Int64
	shelf       *ids.ID // an entry, once it is made
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{url: dbtest.Database(t), folder: t.TempDir(), passed: &atomic.Int64{}}
	s.store, s.Registry = s.open(t)
	for name, org := range map[string]*store.Org{"acme": &s.acme, "other": &s.other} {
		_, v := dbtest.Key(t, s.store, name, name+"@example.com", models.PlanTeam, models.RoleOwner)
		*org = s.store.Org(v.OrgID, v.UserID)
	}
	return s
}

// open opens one more server's view of the same.
func (s *shop) open(t *testing.T) (*store.Store, *registry.Registry) {
	t.Helper()
	db := dbtest.Open(t, s.url, store.Options{MaxConns: 10, Clock: s.now})
	blobs, err := blob.Open(t.Context(), "file://"+filepath.ToSlash(s.folder), db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	return db, &registry.Registry{Blobs: blobs, Links: registry.Links{Store: db, Clock: s.now}}
}

func (s *shop) now() time.Time { return noon.Add(time.Duration(s.passed.Load())) }

func (s *shop) pass(d time.Duration) { s.passed.Add(int64(d)) }

func (s *shop) count(t *testing.T, sql string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// blobs lists the files in the folder.
func (s *shop) blobs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(s.folder)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		if !e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// collect removes what nobody refers to, as the job does, a while after everything so far.
func (s *shop) collect(t *testing.T) int {
	t.Helper()
	s.pass(2 * time.Hour)
	n, err := s.store.CollectBlobs(t.Context(), time.Hour, s.Blobs.Delete)
	require.NoError(t, err)
	return n
}

// file is a file to pack.
type file struct{ path, text string }

// packed is a tar.gz of files, in their order.
func packed(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	gz, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	require.NoError(t, err)
	w := tar.NewWriter(gz)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.text)), Mode: 0o644}))
		_, err := w.Write([]byte(f.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, gz.Close())
	return out.Bytes()
}

// skill is a tar.gz of a skill that says something.
func skill(t testing.TB, text string) []byte {
	t.Helper()
	return packed(t, file{"SKILL.md", text})
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func newEntry(name string) *models.RegistryEntry {
	return &models.RegistryEntry{Name: name, EntryType: models.EntryTypeSkill, Visibility: models.VisibilityOrg}
}

func newVersion(version string) models.NewVersion {
	return models.NewVersion{Version: version, Source: models.VersionSourceCli}
}

// entry publishes the entry pdf with the version 1.0.0.
func (s *shop) entry(t *testing.T, org store.Org, archive []byte) models.Published {
	t.Helper()
	out, err := s.CreateEntry(t.Context(), org, newEntry("pdf"), newVersion("1.0.0"), bytes.NewReader(archive))
	require.NoError(t, err)
	require.True(t, out.Created)
	return out
}

// push publishes a version.
func (s *shop) push(t *testing.T, org store.Org, entry ids.ID, version string, archive []byte) *models.RegistryVersion {
	t.Helper()
	out, err := s.PushVersion(t.Context(), org, entry, newVersion(version), bytes.NewReader(archive))
	require.NoError(t, err)
	require.True(t, out.Created)
	return out.Version
}

// refusal is an error made for the caller.
func refusal(t *testing.T, want errs.Code, err error) *errs.Error {
	t.Helper()
	var e *errs.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want, e.Code, e.Message)
	return e
}

var errBroken = errors.New("the line is cut")

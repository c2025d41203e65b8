package jobs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/jobs"
)

// An archive that nobody refers to goes after an hour, and so does what a crash has left.
func TestCollect(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	blobs, err := blob.Open(t.Context(), "file://"+dir, w.Store)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	put := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		hash := hex.EncodeToString(sum[:])
		require.NoError(t, blobs.Put(t.Context(), hash, int64(len(content)), strings.NewReader(content)))
		return hash
	}
	old := put("old")
	w.pass(2 * time.Hour)
	young := put("young")
	half, fresh := filepath.Join(dir, "tmp", "half"), filepath.Join(dir, "tmp", "fresh")
	require.NoError(t, os.WriteFile(half, nil, 0o600))
	require.NoError(t, os.WriteFile(fresh, nil, 0o600))
	require.NoError(t, os.Chtimes(half, time.Now(), time.Now().Add(-2*time.Hour)))

	j, err := jobs.Start(t.Context(), jobs.Config{Store: w.Store, Alerts: w.alerts, AlertInterval: time.Second, Blobs: blobs})
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, j) })
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT count(*) FROM river_job WHERE kind = 'collect_blobs' AND state = 'completed'") == 1
	}, limit, poll)

	_, err = blobs.Open(t.Context(), old)
	require.ErrorIs(t, err, blob.ErrMissing)
	r, err := blobs.Open(t.Context(), young)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.NoFileExists(t, half)
	require.FileExists(t, fresh)
}

package jobs_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/hosting"
	"skillgraph/internal/ids"
	"skillgraph/internal/jobs"
	"skillgraph/internal/skillmd"
	"skillgraph/models"
)

// A server with newer rules holds every snapshot against them, soon after it starts.
func TestRevalidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	blobs := dbtest.Blobs(t, w.Store)
	h := hosting.New(blobs, nil)
	content := []byte("no front matter")
	saved, err := h.Upload(t.Context(), w.org, models.UploadSourceInput{
		Label: omittable("folder"),
		Files: graphql.OmittableOf([]*models.SourceFileInput{{Path: "SKILL.md", Content: graphql.Upload{File: bytes.NewReader(content), Size: int64(len(content))}}}),
	})
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(), "UPDATE snapshots SET rules_version = 0")
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(), "UPDATE validation_reports SET rules_version = 0, status = 'PASSED', issues = '[]'")
	require.NoError(t, err)

	j, err := jobs.Start(t.Context(), jobs.Config{Store: w.Store, Alerts: w.alerts, AlertInterval: time.Second, Blobs: blobs, Hosting: h})
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, j) })
	var report *models.ValidationReport
	require.Eventually(t, func() bool {
		found, err := w.org.ReportsOfSnapshots(t.Context(), []ids.ID{saved.Snapshot.ID})
		require.NoError(t, err)
		report = found[saved.Snapshot.ID]
		return report.RulesVersion == skillmd.Version
	}, limit, poll)
	require.Equal(t, models.ValidationStatusFailed, report.Status)
	require.Equal(t, saved.Report.Issues, report.Issues)
}

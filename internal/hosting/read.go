package hosting

import (
	"context"
	"log/slog"
	"path"
	"sync"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/internal/textdiff"
	"skillgraph/models"
)

// Text is the text of a file; null where it is none, or a long one.
func (h *Hosting) Text(ctx context.Context, f *models.SnapshotFile) (*string, error) {
	if f.Size > models.MaxText {
		return nil, nil // there is nothing to show
	}
	found, err := h.contents(ctx, f.BlobHash, models.MaxText, func(path string) bool { return path == f.Path })
	if err != nil || !textdiff.IsText(found[f.Path]) {
		return nil, err
	}
	text := string(found[f.Path])
	return &text, nil
}

// What of a diff is shown as text.
const (
	maxDiffed      = 100 // files
	maxDiffedBytes = 4 << 20
)

// Diff tells what changed between two snapshots.
func (h *Hosting) Diff(ctx context.Context, org store.Org, from, to ids.ID) (*models.SnapshotDiff, error) {
	before, err := org.Snapshot(ctx, from)
	if err != nil {
		return nil, err
	}
	after, err := org.Snapshot(ctx, to)
	if err != nil {
		return nil, err
	}
	changes, err := org.FileChanges(ctx, from, to)
	if err != nil {
		return nil, err
	}
	d := models.NewSnapshotDiff(changes)
	t := &texts{hosting: h, before: before.BlobHash, after: after.BlobHash, wanted: map[string]bool{}}
	left := int64(maxDiffedBytes)
	for _, c := range d.Files[:min(len(d.Files), maxDiffed)] {
		if size := c.Bytes(); c.MayBeText() && size <= left {
			t.wanted[c.Path] = true
			left -= size
		}
	}
	for _, c := range d.Files {
		c.Text = t.unified
	}
	return d, nil
}

// texts are both sides of a diff, read once, if anybody asks.
type texts struct {
	hosting       *Hosting
	before, after string // blobs
	wanted        map[string]bool

	once     sync.Once
	old, now map[string][]byte
	err      error
}

func (t *texts) unified(ctx context.Context, c *models.FileChange) (*string, error) {
	if !t.wanted[c.Path] {
		return nil, nil // there is nothing to show
	}
	t.once.Do(func() {
		want := func(path string) bool { return t.wanted[path] }
		if t.old, t.err = t.hosting.contents(ctx, t.before, models.MaxText, want); t.err == nil {
			t.now, t.err = t.hosting.contents(ctx, t.after, models.MaxText, want)
		}
	})
	if t.err != nil || !textdiff.IsText(t.old[c.Path]) || !textdiff.IsText(t.now[c.Path]) {
		return nil, t.err
	}
	names := [2]string{"a/" + c.Path, "b/" + c.Path}
	switch c.Status {
	case models.FileStatusAdded:
		names[0] = "/dev/null"
	case models.FileStatusRemoved:
		names[1] = "/dev/null"
	case models.FileStatusChanged:
	}
	text := textdiff.Unified(names[0], names[1], string(t.old[c.Path]), string(t.now[c.Path]))
	return &text, nil
}

// ImportSuite makes a suite of the trigger cases that the present snapshot of a source brings along.
func (h *Hosting) ImportSuite(ctx context.Context, org store.Org, id ids.ID, name *string) (*models.ImportSuitePayload, error) {
	s, err := org.Source(ctx, id)
	if err != nil {
		return nil, err
	}
	current, err := org.CurrentSnapshots(ctx, []ids.ID{id})
	if err != nil {
		return nil, err
	}
	if current[id] == nil {
		return nil, errs.At("sourceId").Because("has no snapshot yet")
	}
	// One byte more than is allowed is enough to see that a file is too large.
	found, err := h.contents(ctx, current[id].BlobHash, models.MaxEvals+1, func(p string) bool {
		is, _ := path.Match("evals/*.json", p)
		return is
	})
	if err != nil {
		return nil, err
	}
	in, files, err := models.ImportEvals(s, found, name)
	if err != nil {
		return nil, err
	}
	suite, err := org.CreateSuite(ctx, in)
	return &models.ImportSuitePayload{Suite: suite, Files: files}, err
}

// revalidateBatch is how many snapshots are looked up at once.
const revalidateBatch = 100

// Revalidate holds every snapshot against the present rules that was not yet, and returns how many. One that cannot be read does not
// keep the others waiting.
func (h *Hosting) Revalidate(ctx context.Context, s *store.Store) (done int, err error) {
	for after := (ids.ID{}); ; {
		stale, err := s.StaleSnapshots(ctx, skillmd.Version, after, revalidateBatch)
		if err != nil || len(stale) == 0 {
			return done, err
		}
		for _, snapshot := range stale {
			after = snapshot.ID
			err := h.revalidate(ctx, s, snapshot)
			if ctx.Err() != nil {
				return done, ctx.Err()
			}
			if err != nil {
				slog.WarnContext(ctx, "a snapshot cannot be validated again", "snapshot", snapshot.ID, "error", err)
				continue
			}
			done++
		}
	}
}

func (h *Hosting) revalidate(ctx context.Context, s *store.Store, snapshot *models.Snapshot) error {
	in := skillmd.Folder{Skipped: snapshot.Skipped}
	found, err := h.contents(ctx, snapshot.BlobHash, skillmd.MaxFile+1, func(p string) bool {
		in.Paths = append(in.Paths, p)
		return p == skillmd.File
	})
	if err != nil {
		return err
	}
	in.SkillMD = found[skillmd.File]
	return s.Org(snapshot.OrgID, ids.ID{}).Revalidate(ctx, snapshot, findings(in))
}

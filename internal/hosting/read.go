package hosting

import (
	"context"
	"log/slog"
	"path"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Text is the text of a file; null where it is none, or a long one.
func (h *Hosting) Text(ctx context.Context, f *models.SnapshotFile) (*string, error) {
	return h.folders().Text(ctx, f.BlobHash, f.Path, f.Size)
}

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
	return h.folders().Diff(before.BlobHash, after.BlobHash, changes, true), nil
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
	found, err := h.folders().Contents(ctx, current[id].BlobHash, models.MaxEvals+1, func(p string) bool {
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
	found, err := h.folders().Contents(ctx, snapshot.BlobHash, skillmd.MaxFile+1, func(p string) bool {
		in.Paths = append(in.Paths, p)
		return p == skillmd.File
	})
	if err != nil {
		return err
	}
	in.SkillMD = found[skillmd.File]
	return s.Org(snapshot.OrgID, ids.ID{}).Revalidate(ctx, snapshot, findings(in))
}

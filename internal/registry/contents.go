package registry

import (
	"context"
	"slices"
	"strings"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// File is one file of a version with its text; nil when there is none.
func (r *Registry) File(ctx context.Context, o store.Org, v *models.RegistryVersion, path string) (*models.FileContent, error) {
	files, err := o.VersionFilesOf(ctx, []ids.ID{v.ID})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files[v.ID], func(f *models.FileInfo) bool { return f.Path == path })
	if i < 0 {
		return nil, nil // the graph shows it as null
	}
	f := files[v.ID][i]
	out := &models.FileContent{Path: f.Path, Size: f.Size, Sha256: f.SHA256}
	if v.RevokedAt == nil { // the texts of a revoked version are as closed as its download
		out.Text, err = r.folders().Text(ctx, v.ContentHash, path, int64(f.Size))
	}
	return out, err
}

// Diff is what changed from one version to another; before is nil when there is none.
func (r *Registry) Diff(ctx context.Context, o store.Org, before, after *models.RegistryVersion) (*models.SnapshotDiff, error) {
	keys, hash := []ids.ID{after.ID}, ""
	if before != nil {
		keys, hash = append(keys, before.ID), before.ContentHash
	}
	files, err := o.VersionFilesOf(ctx, keys)
	if err != nil {
		return nil, err
	}
	var old []*models.FileInfo
	if before != nil {
		old = files[before.ID]
	}
	open := after.RevokedAt == nil && (before == nil || before.RevokedAt == nil)
	return r.folders().Diff(hash, after.ContentHash, changes(old, files[after.ID]), open), nil
}

// changes lists the files that differ, by path.
func changes(before, after []*models.FileInfo) []*models.FileChange {
	was := make(map[string]*models.FileInfo, len(before))
	for _, f := range before {
		was[f.Path] = f
	}
	var out []*models.FileChange
	for _, f := range after {
		old := was[f.Path]
		delete(was, f.Path)
		c := &models.FileChange{Path: f.Path, Status: models.FileStatusAdded, NewSize: new(int64(f.Size)), NewSHA256: &f.SHA256}
		if old != nil {
			c.Status, c.OldSize, c.OldSHA256 = models.FileStatusChanged, new(int64(old.Size)), &old.SHA256
		}
		if old == nil || old.SHA256 != f.SHA256 {
			out = append(out, c)
		}
	}
	for _, f := range was {
		out = append(out, &models.FileChange{Path: f.Path, Status: models.FileStatusRemoved, OldSize: new(int64(f.Size)), OldSHA256: &f.SHA256})
	}
	slices.SortFunc(out, func(a, b *models.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

package registry

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"skillgraph/internal/archive"
	"skillgraph/internal/textdiff"
	"skillgraph/models"
)

const (
	maxText = 200 << 10 // of a file that is shown or compared
	maxDiff = 1 << 20   // of all differences shown at once
)

// Tree is a folder that was packed into an archive.
type Tree struct {
	Hash  string // of the archive; empty: its texts are not to be shown
	Files []*models.FileInfo
}

// File is one file of a tree with its text; nil when there is none.
func (r *Registry) File(ctx context.Context, t Tree, path string) (*models.FileContent, error) {
	i := slices.IndexFunc(t.Files, func(f *models.FileInfo) bool { return f.Path == path })
	if i < 0 {
		return nil, nil //nolint:nilnil // the graph shows it as null
	}
	f := t.Files[i]
	texts, err := r.texts(ctx, t.Hash, map[string]bool{path: f.Size <= maxText})
	if err != nil {
		return nil, err
	}
	return &models.FileContent{Path: f.Path, Size: f.Size, Sha256: f.SHA256, Text: texts[path]}, nil
}

// texts reads files of an archive, as many as wanted in one go. What is no text is left out.
func (r *Registry) texts(ctx context.Context, hash string, wanted map[string]bool) (map[string]*string, error) {
	left := 0
	for _, want := range wanted {
		if want {
			left++
		}
	}
	out := make(map[string]*string, left)
	if left == 0 || hash == "" {
		return out, nil
	}
	content, err := r.Blobs.Open(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	err = archive.TarGz(content, func(path string, _ int64, file io.Reader) error {
		if !wanted[path] {
			return ctx.Err()
		}
		b, err := io.ReadAll(io.LimitReader(file, maxText))
		if err != nil {
			return err
		}
		if textdiff.IsText(b) {
			out[path] = new(string(b))
		}
		if left--; left == 0 {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return out, err
}

// Diff is what changed from one tree to another.
func (r *Registry) Diff(ctx context.Context, before, after Tree) (*models.FileChanges, error) {
	out := &models.FileChanges{Files: changes(before.Files, after.Files)}
	olds, news := map[string]bool{}, map[string]bool{}
	for _, c := range out.Files {
		switch c.Kind {
		case models.FileChangeKindAdded:
			out.Added++
		case models.FileChangeKindRemoved:
			out.Removed++
		case models.FileChangeKindChanged:
			out.Changed++
		}
		if shown(c.OldSize) && shown(c.NewSize) {
			olds[c.Path], news[c.Path] = c.OldSize != nil, c.NewSize != nil
		}
	}
	was, err := r.texts(ctx, before.Hash, olds)
	if err != nil {
		return nil, err
	}
	is, err := r.texts(ctx, after.Hash, news)
	if err != nil {
		return nil, err
	}
	room := maxDiff
	for _, c := range out.Files {
		if text, ok := unified(c, was, is); ok && len(text) <= room && shown(c.OldSize) && shown(c.NewSize) {
			c.Unified, room = &text, room-len(text)
		}
	}
	return out, nil
}

// shown reports whether a file is small enough to be compared; one that is not there is.
func shown(size *int) bool { return size == nil || *size <= maxText }

// unified is the difference of a file whose texts were read.
func unified(c *models.FileChange, was, is map[string]*string) (string, bool) {
	before, after := was[c.Path], is[c.Path]
	if (before == nil) != (c.OldSize == nil) || (after == nil) != (c.NewSize == nil) {
		return "", false // one of them is no text
	}
	oldName, newName, oldText, newText := "/dev/null", "/dev/null", "", ""
	if before != nil {
		oldName, oldText = "a/"+c.Path, *before
	}
	if after != nil {
		newName, newText = "b/"+c.Path, *after
	}
	return textdiff.Unified(oldName, newName, oldText, newText), true
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
		switch {
		case old == nil:
			out = append(out, &models.FileChange{Path: f.Path, Kind: models.FileChangeKindAdded, NewSize: &f.Size})
		case old.SHA256 != f.SHA256:
			out = append(out, &models.FileChange{Path: f.Path, Kind: models.FileChangeKindChanged, OldSize: &old.Size, NewSize: &f.Size})
		}
	}
	for _, f := range was {
		out = append(out, &models.FileChange{Path: f.Path, Kind: models.FileChangeKindRemoved, OldSize: &f.Size})
	}
	slices.SortFunc(out, func(a, b *models.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

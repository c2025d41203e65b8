package folder

import (
	"context"
	"io"
	"sync"

	"skillgraph/internal/archive"
	"skillgraph/internal/blob"
	"skillgraph/internal/textdiff"
	"skillgraph/models"
)

// Reader reads folders that are kept as blobs.
type Reader struct{ Blobs *blob.Store }

// Contents reads the wanted files of a blob, as far as their first bytes.
func (r Reader) Contents(ctx context.Context, hash string, most int64, wanted func(path string) bool) (map[string][]byte, error) {
	packed, err := r.Blobs.Open(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	out := map[string][]byte{}
	err = archive.TarGz(packed, func(path string, _ int64, content io.Reader) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wanted(path) {
			out[path], err = io.ReadAll(io.LimitReader(content, most))
		}
		return err
	})
	return out, err
}

// Text is the text of a file of a blob; null where it is none, or a long one.
func (r Reader) Text(ctx context.Context, hash, path string, size int64) (*string, error) {
	if size > models.MaxText {
		return nil, nil // there is nothing to show
	}
	found, err := r.Contents(ctx, hash, models.MaxText, func(p string) bool { return p == path })
	if err != nil || !textdiff.IsText(found[path]) {
		return nil, err
	}
	return new(string(found[path])), nil
}

// What of a diff is shown as text.
const (
	maxDiffed      = 100 // files
	maxDiffedBytes = 4 << 20
)

// Diff shows the changes from one blob to another, with their texts where these are open. A blob that there is none of has no files.
func (r Reader) Diff(before, after string, changes []*models.FileChange, open bool) *models.SnapshotDiff {
	d := models.NewSnapshotDiff(changes)
	t := &texts{reader: r, before: before, after: after, wanted: map[string]bool{}}
	left := int64(maxDiffedBytes)
	for _, c := range d.Files[:min(len(d.Files), maxDiffed)] {
		if size := c.Bytes(); open && c.MayBeText() && size <= left {
			t.wanted[c.Path] = true
			left -= size
		}
	}
	for _, c := range d.Files {
		c.Text = t.unified
	}
	return d
}

// texts are both sides of a diff, read once, if anybody asks.
type texts struct {
	reader        Reader
	before, after string // blobs
	wanted        map[string]bool

	once     sync.Once
	old, now map[string][]byte
	err      error
}

func (t *texts) read(ctx context.Context) {
	want := func(path string) bool { return t.wanted[path] }
	if t.before != "" {
		t.old, t.err = t.reader.Contents(ctx, t.before, models.MaxText, want)
	}
	if t.after != "" && t.err == nil {
		t.now, t.err = t.reader.Contents(ctx, t.after, models.MaxText, want)
	}
}

func (t *texts) unified(ctx context.Context, c *models.FileChange) (*string, error) {
	if !t.wanted[c.Path] {
		return nil, nil // there is nothing to show
	}
	t.once.Do(func() { t.read(ctx) })
	if t.err != nil || !textdiff.IsText(t.old[c.Path]) || !textdiff.IsText(t.now[c.Path]) {
		return nil, t.err
	}
	before, after := "a/"+c.Path, "b/"+c.Path
	switch c.Status {
	case models.FileStatusAdded:
		before = "/dev/null"
	case models.FileStatusRemoved:
		after = "/dev/null"
	case models.FileStatusChanged:
	}
	return new(textdiff.Unified(before, after, string(t.old[c.Path]), string(t.now[c.Path]))), nil
}

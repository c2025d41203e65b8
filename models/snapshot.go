package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/ids"
)

// Snapshot is what a source held from one change to the next.
type Snapshot struct {
	bun.BaseModel `bun:"table:snapshots,alias:t"`

	OrgID        ids.ID         `bun:"org_id,pk"`
	ID           ids.ID         `bun:"id,pk"`
	SourceID     ids.ID         `bun:"source_id"`
	Number       int            `bun:"number"`
	ContentHash  string         `bun:"content_hash"`
	FileCount    int            `bun:"file_count"`
	TotalBytes   int64          `bun:"total_bytes"`
	SourceRef    *string        `bun:"source_ref"`
	BlobHash     string         `bun:"blob_hash"` // of the archive with its files
	Skipped      []SkippedEntry `bun:"skipped,type:json"`
	RulesVersion int            `bun:"rules_version"` // of its newest report
	CreatedByID  *ids.ID        `bun:"created_by"`
	CreatedAt    time.Time      `bun:"created_at"`
}

// SkippedEntry is something in a repository that is no file, and so is not in the snapshot.
type SkippedEntry struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // symlink or submodule
}

// MaxSkipped is how many of them are remembered.
const MaxSkipped = 100

// SnapshotFile is a file of a snapshot.
type SnapshotFile struct {
	SnapshotID ids.ID `bun:"snapshot_id"`
	Path       string `bun:"path"`
	Size       int64  `bun:"size"`
	SHA256     string `bun:"sha256"`
	BlobHash   string `bun:"blob_hash"` // of the archive that it is in
}

// MaxText is the size of the largest file whose text is shown.
const MaxText = 200 << 10

// ContentHash is the hash of a list of files that is sorted by path, byte by byte.
func ContentHash(files []*SnapshotFile) string {
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%s\t%d\t%s\n", f.Path, f.Size, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ValidationReport is what is wrong with a snapshot, by one version of the rules.
type ValidationReport struct {
	bun.BaseModel `bun:"table:validation_reports,alias:t"`

	OrgID        ids.ID             `bun:"org_id,pk"`
	ID           ids.ID             `bun:"id,pk"`
	SourceID     ids.ID             `bun:"source_id"`
	SnapshotID   ids.ID             `bun:"snapshot_id"`
	Status       ValidationStatus   `bun:"status"`
	Issues       []*ValidationIssue `bun:"issues,type:json"`
	RulesVersion int                `bun:"rules_version"`
	CreatedAt    time.Time          `bun:"created_at"`
}

// Outcome is that of a validation which found these issues.
func Outcome(issues []*ValidationIssue) ValidationStatus {
	status := ValidationStatusPassed
	for _, i := range issues {
		if i.Level == IssueLevelError {
			return ValidationStatusFailed
		}
		status = ValidationStatusWarning
	}
	return status
}

// SnapshotDiff is what changed between two snapshots.
type SnapshotDiff struct {
	Added, Removed, Changed int
	Files                   []*FileChange
}

const maxChanges = 1000

// NewSnapshotDiff counts all changes and lists the first of them.
func NewSnapshotDiff(all []*FileChange) *SnapshotDiff {
	d := &SnapshotDiff{Files: all[:min(len(all), maxChanges)]}
	for _, c := range all {
		switch c.Status {
		case FileStatusAdded:
			d.Added++
		case FileStatusRemoved:
			d.Removed++
		case FileStatusChanged:
			d.Changed++
		}
	}
	return d
}

// FileChange is a file that differs between two snapshots.
type FileChange struct {
	Path      string     `bun:"path"`
	Status    FileStatus `bun:"status"`
	OldSize   *int64     `bun:"old_size"`
	NewSize   *int64     `bun:"new_size"`
	OldSHA256 *string    `bun:"old_sha256"`
	NewSHA256 *string    `bun:"new_sha256"`

	// Text is the unified diff, or null. It is asked for only where somebody wants to see it.
	Text func(context.Context, *FileChange) (*string, error) `bun:"-"`
}

// UnifiedDiff reads both sides.
func (c *FileChange) UnifiedDiff(ctx context.Context) (*string, error) { return c.Text(ctx, c) }

// MayBeText reports whether neither side is too large to be shown.
func (c *FileChange) MayBeText() bool {
	return or(c.OldSize, 0) <= MaxText && or(c.NewSize, 0) <= MaxText
}

// Bytes is the size of both sides.
func (c *FileChange) Bytes() int64 { return or(c.OldSize, 0) + or(c.NewSize, 0) }

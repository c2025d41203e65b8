// Package repohost reads repositories of a code host. A driver knows one sort of host; what it says to a caller (errs) is
// written for whoever asked for the repository.
package repohost

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"skillgraph/internal/archive"
	"skillgraph/models"
)

// Account is who reads: an account of the host, through an installation that it has given us.
type Account struct {
	InstallationID int64
	Login          string
}

// Repository is a repository that an account has.
type Repository struct {
	ID            int64
	Owner, Name   string
	DefaultBranch string
	Visibility    string
	HTMLURL       string
	PushedAt      *time.Time // nil: nothing was ever pushed
}

// FullName is owner/repo.
func (r Repository) FullName() string { return r.Owner + "/" + r.Name }

// Driver is a code host. Repositories are named owner/repo.
type Driver interface {
	// Repositories lists what the account has, by name.
	Repositories(ctx context.Context, a Account) ([]Repository, error)
	// Resolve is the commit at the head of a branch. It fails with CONFLICT when the repository or the branch is not there.
	Resolve(ctx context.Context, a Account, repo, branch string) (commit string, err error)
	// Read visits the files below a folder as they were at a commit, and tells what there was besides files. It fails with
	// CONFLICT when the repository or the folder is not there.
	Read(ctx context.Context, a Account, repo, commit, folder string, visit archive.Visit) ([]models.SkippedEntry, error)
}

// stableID is a number of 53 bits, which JavaScript can hold, that a repository keeps as long as its name.
func stableID(fullName string) int64 {
	sum := sha256.Sum256([]byte(fullName))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 11)
}

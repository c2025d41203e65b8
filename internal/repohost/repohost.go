// Package repohost reads repositories of a code host. A driver knows one sort of host; what it says to a caller (errs) is
// written for whoever asked for the repository.
package repohost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
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

// Tag is a tag that leads to a commit.
type Tag struct {
	Name, Commit string
	At           time.Time // when the tag was made; of a lightweight one, when its commit was
}

// Status is a commit status: one line about a commit. A later one of the same context takes its place.
type Status struct{ Context, State, Description, TargetURL string } // State: success, failure, error, pending

// CheckRun is a finished check of a commit, with room for a report. There is one for each ExternalID.
type CheckRun struct{ ExternalID, Name, Conclusion, Title, Summary, DetailsURL string } // Conclusion: success, failure, neutral

// ErrUnsupported is what a host answers, or an installation, which cannot do something at all.
var ErrUnsupported = errors.New("the code host or the installation does not support this")

// Driver is a code host. Repositories are named owner/repo. What may work later fails with UNAVAILABLE, and says when if known.
type Driver interface {
	// Repositories lists what the account has, by name.
	Repositories(ctx context.Context, a Account) ([]Repository, error)
	// Resolve is the commit at the head of a branch. It fails with CONFLICT when the repository or the branch is not there.
	Resolve(ctx context.Context, a Account, repo, branch string) (commit string, err error)
	// ResolveTag is the commit that a tag leads to. It fails with CONFLICT when the repository or the tag is not there.
	ResolveTag(ctx context.Context, a Account, repo, tag string) (commit string, err error)
	// Tags lists the tags that lead to a commit, oldest first.
	Tags(ctx context.Context, a Account, repo string) ([]Tag, error)
	// Read visits the files below a folder as they were at a commit, and tells what there was besides files. It fails with
	// CONFLICT when the repository or the folder is not there.
	Read(ctx context.Context, a Account, repo, commit, folder string, visit archive.Visit) ([]models.SkippedEntry, error)
	// Check fails with CONFLICT unless the host knows the installation as one of the account.
	Check(ctx context.Context, a Account) error
	// PostStatus tells of a commit in one line, or fails with ErrUnsupported.
	PostStatus(ctx context.Context, a Account, repo, commit string, s Status) error
	// PostCheckRun tells of a commit at length, or fails with ErrUnsupported. Posting it again changes the one that is there.
	PostCheckRun(ctx context.Context, a Account, repo, commit string, c CheckRun) (id string, err error)
}

func noRepository(a Account, repo string) error {
	return errs.New(errs.Conflict, "There is no repository %s that the installation of %s may read", repo, a.Login)
}

func noBranch(repo, branch string) error {
	return errs.New(errs.Conflict, "The repository %s has no branch %q", repo, branch)
}

func noTag(repo, tag string) error {
	return errs.New(errs.Conflict, "The repository %s has no tag %q that leads to a commit", repo, tag)
}

func noCommit(repo, commit string) error {
	return errs.New(errs.Conflict, "The repository %s has no commit %.40q", repo, commit)
}

func noFolder(repo, commit, folder string) error {
	return errs.New(errs.Conflict, "The repository %s has no folder %q at commit %.7s", repo, folder, commit)
}

// oldest sorts tags by time; those of one moment by name.
func oldest(a, b Tag) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Name, b.Name)) }

// stableID is a number of 53 bits, which JavaScript can hold, that a repository keeps as long as its name.
func stableID(fullName string) int64 {
	sum := sha256.Sum256([]byte(fullName))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 11)
}

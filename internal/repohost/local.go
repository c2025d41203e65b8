package repohost

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"skillgraph/internal/archive"
	"skillgraph/models"
)

// Local is a folder with bare repositories: <root>/<owner>/<name>.git. An account is its folder, and sees no further: links
// are not followed, neither to the folder of an account or a repository nor out of a repository.
type Local struct{ root string }

// NewLocal has its repositories below root, which need not exist.
func NewLocal(root string) *Local { return &Local{root} }

var _ Driver = (*Local)(nil)

const suffix = ".git"

// Repositories lists the repositories in the account's folder.
func (l *Local) Repositories(ctx context.Context, a Account) ([]Repository, error) {
	entries, err := l.folder(a.Login)
	if err != nil {
		return nil, err
	}
	out := []Repository{}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), suffix)
		if !is || name == "" || !e.IsDir() {
			continue
		}
		r, err := l.open(a.Login, name)
		if err != nil {
			slog.WarnContext(ctx, "a folder is no repository", "account", a.Login, "name", e.Name(), "error", err)
			continue
		}
		repo := Repository{Owner: a.Login, Name: name, Visibility: "private", DefaultBranch: "main", PushedAt: newest(r.git)}
		repo.ID = stableID(repo.FullName())
		if head, err := r.git.Reference(plumbing.HEAD, false); err == nil && head.Target().IsBranch() {
			repo.DefaultBranch = head.Target().Short()
		}
		out = append(out, repo)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b Repository) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// newest is when the newest of all branches and tags was committed.
func newest(r *git.Repository) (at *time.Time) {
	refs, err := r.References()
	if err != nil {
		return nil
	}
	defer refs.Close()
	_ = refs.ForEach(func(ref *plumbing.Reference) error {
		hash, err := r.ResolveRevision(plumbing.Revision(ref.Name()))
		if err != nil {
			return nil //nolint:nilerr // a branch without commits, or a tag of something else
		}
		if c, err := r.CommitObject(*hash); err == nil && (at == nil || c.Committer.When.After(*at)) {
			when := c.Committer.When.UTC()
			at = &when
		}
		return nil
	})
	return at
}

// Resolve finds the head of a branch.
func (l *Local) Resolve(_ context.Context, a Account, repo, branch string) (string, error) {
	r, err := l.repository(a, repo)
	if err != nil {
		return "", err
	}
	name := plumbing.NewBranchReferenceName(branch)
	if name.Validate() != nil {
		return "", noBranch(repo, branch)
	}
	ref, err := r.git.Reference(name, true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", noBranch(repo, branch)
	}
	if err != nil {
		return "", err
	}
	return ref.Hash().String(), nil
}

// ResolveTag finds the commit of a tag.
func (l *Local) ResolveTag(_ context.Context, a Account, repo, tag string) (string, error) {
	r, err := l.repository(a, repo)
	if err != nil {
		return "", err
	}
	name := plumbing.NewTagReferenceName(tag)
	if name.Validate() != nil {
		return "", noTag(repo, tag)
	}
	ref, err := r.git.Reference(name, true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", noTag(repo, tag)
	}
	if err != nil {
		return "", err
	}
	found, err := r.tag(ref)
	if errors.Is(err, errNoCommit) {
		return "", noTag(repo, tag)
	}
	return found.Commit, err
}

// Tags lists the tags.
func (l *Local) Tags(ctx context.Context, a Account, repo string) ([]Tag, error) {
	r, err := l.repository(a, repo)
	if err != nil {
		return nil, err
	}
	refs, err := r.git.Tags()
	if err != nil {
		return nil, err
	}
	defer refs.Close()
	out := []Tag{}
	err = refs.ForEach(func(ref *plumbing.Reference) error {
		t, err := r.tag(ref)
		if errors.Is(err, errNoCommit) {
			return nil
		}
		if err != nil {
			return err
		}
		out = append(out, t)
		return ctx.Err()
	})
	slices.SortFunc(out, oldest)
	return out, err
}

// Check has nobody to ask.
func (l *Local) Check(context.Context, Account) error { return nil }

// PostStatus has nowhere to post.
func (l *Local) PostStatus(context.Context, Account, string, string, Status) error {
	return ErrUnsupported
}

// PostCheckRun has nowhere to post.
func (l *Local) PostCheckRun(context.Context, Account, string, string, CheckRun) (string, error) {
	return "", ErrUnsupported
}

// Read walks the tree of a commit below a folder.
func (l *Local) Read(ctx context.Context, a Account, repo, commit, folder string, visit archive.Visit) ([]models.SkippedEntry, error) {
	r, err := l.repository(a, repo)
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, repo: r, visit: visit}
	err = w.folder(plumbing.NewHash(commit), strings.TrimPrefix(folder, "./"))
	switch {
	case errors.Is(err, errNoFolder):
		return nil, noFolder(repo, commit, folder)
	case errors.Is(err, errNoCommit):
		return nil, noCommit(repo, commit)
	}
	return w.skipped, err
}

// repository opens a repository of the account.
func (l *Local) repository(a Account, repo string) (*bare, error) {
	owner, name, _ := strings.Cut(repo, "/")
	if owner != a.Login {
		return nil, noRepository(a, repo)
	}
	entries, err := l.folder(owner)
	if err != nil {
		return nil, err
	}
	if !contains(entries, name+suffix) {
		return nil, noRepository(a, repo)
	}
	r, err := l.open(owner, name)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, noRepository(a, repo)
	}
	return r, err
}

func (l *Local) open(owner, name string) (*bare, error) {
	return openBare(filepath.Join(l.root, owner, name+suffix))
}

// folder lists the folder of an account; an account without one has nothing.
func (l *Local) folder(login string) ([]fs.DirEntry, error) {
	accounts, err := os.ReadDir(l.root)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !contains(accounts, login) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadDir(filepath.Join(l.root, login))
}

// contains reports whether a folder is there, spelled exactly so. A link to one is none, and so is every step in a path.
func contains(entries []fs.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && e.IsDir() })
}

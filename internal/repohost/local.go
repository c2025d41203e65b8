package repohost

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/models"
)

// Local is a folder with bare repositories: <root>/<owner>/<name>.git. An account is its folder, and sees no further: links
// are not followed, neither to the folder of an account or a repository nor out of a repository.
type Local struct{ root string }

// NewLocal has its repositories below root, which need not exist.
func NewLocal(root string) *Local { return &Local{root} }

var _ Driver = (*Local)(nil)

const (
	suffix       = ".git"
	inMemory     = 8 << 20 // larger objects are streamed
	objectsCache = 16 << 20
)

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
		repo := Repository{Owner: a.Login, Name: name, Visibility: "private", DefaultBranch: "main", PushedAt: newest(r)}
		repo.ID = stableID(repo.FullName())
		if head, err := r.Reference(plumbing.HEAD, false); err == nil && head.Target().IsBranch() {
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
			return nil // a branch without commits, or a tag of something else
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
	ref, err := r.Reference(name, true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", noBranch(repo, branch)
	}
	if err != nil {
		return "", err
	}
	return ref.Hash().String(), nil
}

func noBranch(repo, branch string) error {
	return errs.New(errs.Conflict, "The repository %s has no branch %q", repo, branch)
}

// Read walks the tree of a commit.
func (l *Local) Read(ctx context.Context, a Account, repo, commit, folder string, visit archive.Visit) ([]models.SkippedEntry, error) {
	r, err := l.repository(a, repo)
	if err != nil {
		return nil, err
	}
	c, err := r.CommitObject(plumbing.NewHash(commit))
	if err != nil {
		return nil, err
	}
	tree, err := c.Tree()
	if err == nil && folder != "." {
		tree, err = tree.Tree(strings.TrimPrefix(folder, "./"))
	}
	if errors.Is(err, object.ErrDirectoryNotFound) || errors.Is(err, object.ErrEntryNotFound) {
		return nil, errs.New(errs.Conflict, "The repository %s has no folder %q at commit %.7s", repo, folder, commit)
	}
	if err != nil {
		return nil, err
	}
	w := &walk{ctx: ctx, repo: r, visit: visit}
	err = w.tree(tree, "")
	return w.skipped, err
}

// walk is a walk through a tree. A tree may have the same folder a thousand times, and that one another a thousand times, in a
// few bytes: what is counted is what is walked.
type walk struct {
	ctx     context.Context // of the one call that it serves
	repo    *git.Repository
	visit   archive.Visit
	entries int
	skipped []models.SkippedEntry
}

func (w *walk) tree(t *object.Tree, at string) error {
	for _, e := range t.Entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.entries++; w.entries > archive.MaxEntries {
			return errs.New(errs.TooLarge, "The folder has more than %d entries", archive.MaxEntries)
		}
		if err := w.entry(e, path.Join(at, e.Name), t); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(e object.TreeEntry, at string, in *object.Tree) error {
	switch e.Mode {
	case filemode.Dir:
		t, err := in.Tree(e.Name)
		if err != nil {
			return err
		}
		return w.tree(t, at)
	case filemode.Symlink:
		w.skip(at, "symlink")
	case filemode.Submodule:
		w.skip(at, "submodule")
	default:
		return w.file(e.Hash, at)
	}
	return nil
}

func (w *walk) skip(at, kind string) {
	if len(w.skipped) < models.MaxSkipped {
		w.skipped = append(w.skipped, models.SkippedEntry{Path: at, Kind: kind})
	}
}

func (w *walk) file(hash plumbing.Hash, at string) error {
	size, err := w.repo.Storer.EncodedObjectSize(hash)
	if err != nil {
		return err
	}
	if size > archive.MaxUnpacked { // before anything of it is read
		return errs.New(errs.TooLarge, "%q is larger than %d MiB", at, archive.MaxUnpacked>>20)
	}
	blob, err := w.repo.BlobObject(hash)
	if err != nil {
		return err
	}
	content, err := blob.Reader()
	if err != nil {
		return err
	}
	defer content.Close()
	return w.visit(at, size, content)
}

// repository opens a repository of the account.
func (l *Local) repository(a Account, repo string) (*git.Repository, error) {
	gone := errs.New(errs.Conflict, "There is no repository %s that the installation of %s may read", repo, a.Login)
	owner, name, _ := strings.Cut(repo, "/")
	if owner != a.Login {
		return nil, gone
	}
	entries, err := l.folder(owner)
	if err != nil {
		return nil, err
	}
	if !contains(entries, name+suffix) {
		return nil, gone
	}
	r, err := l.open(owner, name)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		return nil, gone
	}
	return r, err
}

func (l *Local) open(owner, name string) (*git.Repository, error) {
	dir := osfs.New(filepath.Join(l.root, owner, name+suffix), osfs.WithBoundOS())
	return git.Open(filesystem.NewStorageWithOptions(dir, cache.NewObjectLRU(objectsCache), filesystem.Options{LargeObjectThreshold: inMemory}), nil)
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

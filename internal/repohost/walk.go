package repohost

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/models"
)

var (
	errNoCommit = errors.New("there is no such commit")
	errNoFolder = errors.New("there is no such folder")
)

// tag follows a tag, and the tags that it may lead to, to a commit.
func (b *bare) tag(ref *plumbing.Reference) (Tag, error) {
	out := Tag{Name: ref.Name().Short()}
	hash := ref.Hash()
	for range tries {
		var found object.Object
		err := b.try(func(r *git.Repository) (err error) {
			found, err = r.Object(plumbing.AnyObject, hash)
			return err
		})
		if err != nil {
			return out, err
		}
		switch o := found.(type) {
		case *object.Tag:
			if out.At.IsZero() {
				out.At = o.Tagger.When.UTC()
			}
			hash = o.Target
		case *object.Commit:
			if out.At.Unix() <= 0 { // a tag without a tagger
				out.At = o.Committer.When.UTC()
			}
			out.Commit = hash.String()
			return out, nil
		default:
			return out, errNoCommit
		}
	}
	return out, errNoCommit
}

// walk is a walk through a tree. A tree may have the same folder a thousand times, and that one another a thousand times, in a
// few bytes: what is counted is what is walked.
type walk struct {
	ctx     context.Context //nolint:containedctx // of the one call that it serves
	repo    *bare
	visit   archive.Visit
	entries int
	skipped []models.SkippedEntry
}

// folder walks through a folder of a commit.
func (w *walk) folder(commit plumbing.Hash, folder string) error {
	var c *object.Commit
	err := w.repo.try(func(r *git.Repository) (err error) {
		c, err = r.CommitObject(commit)
		return err
	})
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return errNoCommit
	}
	if err != nil {
		return err
	}
	hash := c.TreeHash
	if folder == "." {
		return w.tree(hash, "")
	}
	for name := range strings.SplitSeq(folder, "/") {
		t, err := w.open(hash)
		if err != nil {
			return err
		}
		e, err := t.FindEntry(name)
		if err != nil || e.Mode != filemode.Dir {
			return errNoFolder
		}
		hash = e.Hash
	}
	return w.tree(hash, "")
}

func (w *walk) open(tree plumbing.Hash) (t *object.Tree, err error) {
	err = w.repo.try(func(r *git.Repository) (err error) {
		t, err = r.TreeObject(tree)
		return err
	})
	return t, err
}

func (w *walk) tree(hash plumbing.Hash, at string) error {
	t, err := w.open(hash)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.entries++; w.entries > archive.MaxEntries {
			return errs.New(errs.TooLarge, "The folder has more than %d entries", archive.MaxEntries)
		}
		if err := w.entry(e, path.Join(at, e.Name)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(e object.TreeEntry, at string) error {
	switch e.Mode {
	case filemode.Dir:
		return w.tree(e.Hash, at)
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
	var size int64
	var content io.ReadCloser
	err := w.repo.try(func(r *git.Repository) (err error) {
		if size, err = r.Storer.EncodedObjectSize(hash); err != nil {
			return err
		}
		if size > archive.MaxUnpacked { // before anything of it is read
			return errs.New(errs.TooLarge, "%q is larger than %d MiB", at, archive.MaxUnpacked>>20)
		}
		blob, err := r.BlobObject(hash)
		if err != nil {
			return err
		}
		content, err = blob.Reader() // from now on it is open, or in memory
		return err
	})
	if err != nil {
		return err
	}
	defer content.Close()
	return w.visit(at, size, content)
}

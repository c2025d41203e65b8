// Package gitrepo makes bare repositories with something in them, for the demo and for tests.
package gitrepo

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Tree is what a commit holds, by path.
type Tree map[string]Entry

// Entry is a file or, with another mode, a link to its content or a submodule at that commit.
type Entry struct {
	Content string
	Mode    filemode.FileMode // zero: a file
}

// Files is a tree of nothing but files.
func Files(contents map[string]string) Tree {
	out := Tree{}
	for p, c := range contents {
		out[p] = Entry{Content: c}
	}
	return out
}

// Commit makes the tree the head of a branch, after what was there, in the bare repository at dir, which is made where it is
// missing. It returns the commit.
func Commit(dir, branch string, tree Tree, at time.Time) (string, error) {
	r, err := open(dir, branch)
	if err != nil {
		return "", err
	}
	name := plumbing.NewBranchReferenceName(branch)
	root, err := writeTree(r, tree)
	if err != nil {
		return "", err
	}
	who := object.Signature{Name: "Ada", Email: "ada@example.com", When: at}
	c := &object.Commit{Author: who, Committer: who, Message: "Change the skill\n", TreeHash: root}
	if head, err := r.Reference(name, true); err == nil {
		c.ParentHashes = []plumbing.Hash{head.Hash()}
	}
	hash, err := write(r, c)
	if err != nil {
		return "", err
	}
	return hash.String(), r.Storer.SetReference(plumbing.NewHashReference(name, hash))
}

// Branch moves a branch to a commit, wherever it was.
func Branch(dir, name, commit string) error {
	return set(dir, plumbing.NewBranchReferenceName(name), commit)
}

// Tag makes a tag of a commit, a lightweight one.
func Tag(dir, name, commit string) error {
	return set(dir, plumbing.NewTagReferenceName(name), commit)
}

func set(dir string, name plumbing.ReferenceName, commit string) error {
	r, err := git.PlainOpen(dir)
	if err != nil {
		return err
	}
	return r.Storer.SetReference(plumbing.NewHashReference(name, plumbing.NewHash(commit)))
}

// AnnotatedTag makes a tag of a commit that says when it was made.
func AnnotatedTag(dir, name, commit string, at time.Time) error {
	r, err := git.PlainOpen(dir)
	if err != nil {
		return err
	}
	who := &object.Signature{Name: "Ada", Email: "ada@example.com", When: at}
	_, err = r.CreateTag(name, plumbing.NewHash(commit), &git.CreateTagOptions{Tagger: who, Message: name})
	return err
}

func open(dir, branch string) (*git.Repository, error) {
	r, err := git.PlainOpen(dir)
	if !errors.Is(err, git.ErrRepositoryNotExists) {
		return r, err
	}
	return git.PlainInitWithOptions(dir, &git.PlainInitOptions{Bare: true, InitOptions: git.InitOptions{DefaultBranch: plumbing.NewBranchReferenceName(branch)}})
}

func write(r *git.Repository, o object.Object) (plumbing.Hash, error) {
	raw := r.Storer.NewEncodedObject()
	if err := o.Encode(raw); err != nil {
		return plumbing.ZeroHash, err
	}
	return r.Storer.SetEncodedObject(raw)
}

func writeTree(r *git.Repository, tree Tree) (plumbing.Hash, error) {
	t := &object.Tree{}
	folders := map[string]Tree{}
	for p, e := range tree {
		if dir, rest, inside := strings.Cut(path.Clean(p), "/"); inside {
			if folders[dir] == nil {
				folders[dir] = Tree{}
			}
			folders[dir][rest] = e
			continue
		}
		entry, err := writeEntry(r, p, e)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, entry)
	}
	for name, inside := range folders {
		hash, err := writeTree(r, inside)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		t.Entries = append(t.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash})
	}
	slices.SortFunc(t.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	return write(r, t)
}

// sortName is what git sorts a folder by.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func writeEntry(r *git.Repository, name string, e Entry) (object.TreeEntry, error) {
	out := object.TreeEntry{Name: name, Mode: e.Mode}
	if e.Mode == 0 {
		out.Mode = filemode.Regular
	}
	if e.Mode == filemode.Submodule {
		out.Hash = plumbing.NewHash(e.Content)
		return out, nil
	}
	raw := r.Storer.NewEncodedObject()
	raw.SetType(plumbing.BlobObject)
	w, err := raw.Writer()
	if err != nil {
		return out, err
	}
	if _, err := w.Write([]byte(e.Content)); err != nil {
		return out, err
	}
	if err := w.Close(); err != nil {
		return out, err
	}
	out.Hash, err = r.Storer.SetEncodedObject(raw)
	return out, err
}

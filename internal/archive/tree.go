package archive

import (
	"archive/tar"
	"io"
	"path"
	"strings"
)

// Tree visits the files below a folder ("." is all) of a tar.gz that a code host made of a commit, as git archive does:
// everything is in one top folder, whose name does not matter. What is no file is skipped, not refused: a link, and a submodule,
// which shows as a folder with nothing in it. Entries and bytes are counted in the folder; what is beside it is bounded by what
// it packs and unpacks to. Found says whether there is such a folder.
func Tree(r io.Reader, folder string, visit Visit, skip func(path, kind string)) (found bool, err error) {
	t := &tree{visit: visit, skip: skip, filled: map[string]bool{}}
	if folder = strings.TrimPrefix(folder, "./"); folder == "." {
		t.found = true
	} else {
		t.below = folder + "/"
	}
	if err := tarGz(r, &t.gate, t.entry); err != nil {
		return false, err
	}
	for _, dir := range t.dirs {
		if !t.filled[dir] {
			skip(dir, "submodule")
		}
	}
	return t.found, nil
}

type tree struct {
	gate   gate
	visit  Visit
	skip   func(path, kind string)
	top    string // the folder around everything
	below  string // what the names of the rest must begin with
	found  bool
	dirs   []string
	filled map[string]bool // folders with something in them
}

func (t *tree) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag != tar.TypeSymlink {
		if err := allowed(h); err != nil {
			return err
		}
	}
	top, name, inside := strings.Cut(h.Name, "/")
	if t.top == "" {
		t.top = top
	}
	if !inside || top != t.top || check(top) != "" {
		return refuse(h.Name, "it is outside of the archive's one folder")
	}
	name, inside = strings.CutPrefix(name, t.below)
	if !inside {
		return pass(ignore, name, h.Name, h.Size, content)
	}
	if name == "" && h.Typeflag == tar.TypeDir {
		return nil // the folder itself; were it one of git's, there would be something in it
	}
	t.found = true
	clean, err := t.gate.enter(name, h.Typeflag == tar.TypeDir, h.Size)
	if err != nil {
		return err
	}
	t.filled[path.Dir(clean)] = true
	switch h.Typeflag {
	case tar.TypeDir:
		t.dirs = append(t.dirs, clean)
	case tar.TypeSymlink:
		t.skip(clean, "symlink")
	default:
		return pass(t.visit, clean, h.Name, h.Size, content)
	}
	return nil
}

func ignore(string, int64, io.Reader) error { return nil }

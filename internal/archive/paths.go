package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// What a path may be.
const (
	maxPath      = 512 // bytes
	maxComponent = 255 // bytes, which is what file systems take
	maxDepth     = 32  // components
)

// Paths is the names seen so far. The zero value has seen none.
type Paths struct {
	seen map[string]place // by the folded path, the folders on the way included
}

type place struct {
	path string // as it was spelled
	dir  bool
}

// Add takes the path of a file and returns it without a leading "./". It refuses a path that could lead elsewhere, or that some
// file system takes for one seen before: names must differ by more than case, and none is both a file and a folder.
func (p *Paths) Add(path string) (clean string, err error) { return p.add(path, false) }

func (p *Paths) add(path string, dir bool) (string, error) {
	if dir && (path == "./" || path == ".") {
		return ".", nil // the root, as tar writes it
	}
	clean := strings.TrimPrefix(path, "./")
	if dir {
		clean = strings.TrimSuffix(clean, "/")
	}
	if rule := check(clean); rule != "" {
		return "", refuse(path, "%s", rule)
	}
	if p.seen == nil {
		p.seen = map[string]place{}
	}
	folded := fold(clean)
	for c, f := 0, 0; c <= len(clean); c, f = c+1, f+1 { // every folder on the way, then the path itself
		c, f = component(clean, c), component(folded, f)
		if err := p.take(path, folded[:f], place{clean[:c], dir || c < len(clean)}, c == len(clean)); err != nil {
			return "", err
		}
	}
	return clean, nil
}

// component is where the component that begins at i ends.
func component(path string, i int) int {
	if n := strings.IndexByte(path[i:], '/'); n >= 0 {
		return i + n
	}
	return len(path)
}

// take notes a place on the way of a path, or the path's own.
func (p *Paths) take(path, key string, at place, own bool) error {
	old, there := p.seen[key]
	switch {
	case !there:
		p.seen[key] = at
	case old.path != at.path:
		return refuse(path, "it differs from %s by case alone", quote(old.path))
	case old.dir != at.dir:
		return refuse(path, "%s is a file and a folder", quote(at.path))
	case own && !at.dir:
		return refuse(path, "it is there twice")
	}
	return nil
}

// check returns the rule that a path breaks, or "".
func check(path string) string {
	switch {
	case path == "":
		return "a path must not be empty"
	case len(path) > maxPath:
		return fmt.Sprintf("a path has at most %d bytes", maxPath)
	case !utf8.ValidString(path):
		return "a path must be UTF-8"
	case path[0] == '/':
		return "a path must be relative"
	case strings.ContainsRune(path, '\\'):
		return "a path must not have a backslash"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "a path must not have a control character"
	case strings.Count(path, "/") >= maxDepth:
		return fmt.Sprintf("a path has at most %d components", maxDepth)
	}
	for c := range strings.SplitSeq(path, "/") {
		switch {
		case c == "":
			return "a path must not have an empty component"
		case c == "." || c == "..":
			return fmt.Sprintf("a path must not have the component %q", c)
		case len(c) > maxComponent:
			return fmt.Sprintf("a component of a path has at most %d bytes", maxComponent)
		}
	}
	return ""
}

// fold gives two paths the same key where a file system may: Mac OS sees no difference of case, nor of how an accent is written.
func fold(path string) string {
	return norm.NFD.String(strings.Map(lowest, norm.NFD.String(path)))
}

// lowest of the runes that differ by case alone.
func lowest(r rune) rune {
	low := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		low = min(low, next)
	}
	return low
}

// quote shows a name of somebody's making.
func quote(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}

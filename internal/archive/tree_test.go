package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
)

// member is an entry of a tar.
type member struct {
	name string
	kind byte // 0: a file, or a folder where the name ends in a slash
	data string
}

func tarball(t *testing.T, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := gzip.NewWriter(&out)
	w := tar.NewWriter(gz)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Mode: 0o644}
		switch {
		case m.kind == tar.TypeXGlobalHeader:
			h = &tar.Header{Typeflag: m.kind, PAXRecords: map[string]string{"comment": m.data}}
		case m.kind == tar.TypeSymlink || m.kind == tar.TypeLink:
			h.Linkname = m.data
		case m.kind == 0 && strings.HasSuffix(m.name, "/"):
			h.Typeflag = tar.TypeDir
		default:
			h.Size = int64(len(m.data))
		}
		require.NoError(t, w.WriteHeader(h))
		if h.Size > 0 {
			_, err := io.WriteString(w, m.data)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	require.NoError(t, gz.Close())
	return out.Bytes()
}

// look is what Tree shows of an archive.
func look(b []byte, folder string) (seen []string, found bool, err error) {
	found, err = archive.Tree(bytes.NewReader(b), folder, func(path string, size int64, content io.Reader) error {
		text, err := io.ReadAll(content)
		seen = append(seen, fmt.Sprintf("%s=%s/%d", path, text, size))
		return err
	}, func(path, kind string) { seen = append(seen, path+" is a "+kind) })
	return seen, found, err
}

func TestTree(t *testing.T) {
	t.Parallel()
	b := tarball(
		t,
		member{name: "pax_global_header", kind: tar.TypeXGlobalHeader, data: strings.Repeat("a", 40)},
		member{name: "acme-skills-1234567/"},
		member{name: "acme-skills-1234567/.gitattributes", data: "*"},
		member{name: "acme-skills-1234567/back\\slash and a\x07bell", data: "beside the folder anything goes"},
		member{name: "acme-skills-1234567/README", data: "r"},
		member{name: "acme-skills-1234567/readme", data: "r"},
		member{name: "acme-skills-1234567/link", kind: tar.TypeSymlink, data: "pdf"},
		member{name: "acme-skills-1234567/pdf/"},
		member{name: "acme-skills-1234567/pdf/SKILL.md", data: "skill"},
		member{name: "acme-skills-1234567/pdf/lib/"},
		member{name: "acme-skills-1234567/pdf/passwd", kind: tar.TypeSymlink, data: "/etc/passwd"},
		member{name: "acme-skills-1234567/pdf/scripts/"},
		member{name: "acme-skills-1234567/pdf/scripts/only/"},
		member{name: "acme-skills-1234567/pdf/scripts/only/link", kind: tar.TypeSymlink, data: "x"},
		member{name: "acme-skills-1234567/pdf2", data: "not in pdf"},
	)
	for folder, want := range map[string][]string{
		"pdf":         {"SKILL.md=skill/5", "passwd is a symlink", "scripts/only/link is a symlink", "lib is a submodule"},
		"./pdf":       {"SKILL.md=skill/5", "passwd is a symlink", "scripts/only/link is a symlink", "lib is a submodule"},
		"pdf/scripts": {"only/link is a symlink"},
	} {
		seen, found, err := look(b, folder)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, seen, folder)
	}
	for _, folder := range []string{"pd", "pdf2", "link", "pdf/SKILL.md", "pdf/lib", "pdf/passwd", "", "/", "/pdf", "pdf/", "..", "../acme-skills-1234567", "pdf/../pdf", "acme-skills-1234567", "PDF"} {
		seen, found, err := look(b, folder)
		require.NoError(t, err)
		require.False(t, found, folder)
		require.Empty(t, seen, folder)
	}
	_, _, err := look(b, ".")
	require.EqualError(t, err, `"back\\slash and a\abell" is refused: a path must not have a backslash`, "in the folder it does not")
	seen, found, err := look(tarball(t, member{name: "top/"}), ".")
	require.NoError(t, err)
	require.True(t, found, "a commit may be empty")
	require.Empty(t, seen)
	stop := errors.New("enough")
	_, err = archive.Tree(bytes.NewReader(b), "pdf", func(string, int64, io.Reader) error { return stop }, func(string, string) {})
	require.ErrorIs(t, err, stop)
}

func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	one := func(name string) []byte {
		return tarball(t, member{name: "top/"}, member{name: "top/pdf/"}, member{name: name, data: "x"})
	}
	whole := one("top/pdf/a")
	for name, c := range map[string]struct {
		made []byte
		want string
	}{
		"nothing":               {nil, "is not a gzip file"},
		"two top folders":       {one("other/pdf/a"), `"other/pdf/a" is refused: it is outside of the archive's one folder`},
		"beside the top":        {one("a"), `"a" is refused: it is outside`},
		"the top as a file":     {one("top"), `"top" is refused: it is outside`},
		"absolute":              {one("/pdf/a"), `"/pdf/a" is refused: it is outside`},
		"absolute throughout":   {tarball(t, member{name: "/pdf/a"}), `"/pdf/a" is refused: it is outside`},
		"up throughout":         {tarball(t, member{name: "../pdf/a"}), `"../pdf/a" is refused: it is outside`},
		"here throughout":       {tarball(t, member{name: "./pdf/a"}), `"./pdf/a" is refused: it is outside`},
		"up":                    {one("top/pdf/../../a"), `"../../a" is refused: a path must not have the component ".."`},
		"empty component":       {one("top/pdf//a"), `"/a" is refused: a path must be relative`},
		"twice":                 {tarball(t, member{name: "top/pdf/a"}, member{name: "top/pdf/a"}), `"a" is refused: it is there twice`},
		"by case alone":         {tarball(t, member{name: "top/pdf/a"}, member{name: "top/pdf/A"}), `"A" is refused: it differs from "a" by case alone`},
		"a link and a file":     {tarball(t, member{name: "top/pdf/a", kind: tar.TypeSymlink, data: "/"}, member{name: "top/pdf/a/b"}), `"a/b" is refused: "a" is a file and a folder`},
		"a hard link":           {tarball(t, member{name: "top/a", kind: tar.TypeLink, data: "b"}), `"top/a" is refused: a link is not allowed`},
		"a device":              {tarball(t, member{name: "top/a", kind: tar.TypeBlock}), `"top/a" is refused: only files and folders are allowed`},
		"a pipe in the folder":  {tarball(t, member{name: "top/pdf/a", kind: tar.TypeFifo}), `only files and folders are allowed`},
		"cut off":               {whole[:len(whole)-12], "cut off"},
		"something after it":    {append(slices.Clone(whole), 'x'), "has something after its end"},
		"another archive after": {append(slices.Clone(whole), whole...), "has something after its end"},
	} {
		_, _, err := look(c.made, "pdf")
		require.ErrorContains(t, err, c.want, name)
		require.Equal(t, errs.Invalid, errs.CodeOf(err), name)
	}
}

func TestTreeBounds(t *testing.T) {
	t.Parallel()
	many := func(folder string, n int) (out []member) {
		for i := range n {
			out = append(out, member{name: fmt.Sprintf("top/%s/%d", folder, i)})
		}
		return out
	}
	beside := append(many("beside", 2*archive.MaxEntries), member{name: "top/pdf/a", data: "x"})
	seen, _, err := look(tarball(t, beside...), "pdf")
	require.NoError(t, err, "a large repository may have a small skill")
	require.Equal(t, []string{"a=x/1"}, seen)
	_, _, err = look(tarball(t, many("pdf", archive.MaxEntries+1)...), "pdf")
	require.EqualError(t, err, "The archive has more than 10000 entries")
	require.Equal(t, errs.TooLarge, errs.CodeOf(err))

	zeros := strings.Repeat("\x00", 64<<20)
	_, _, err = look(tarball(t, member{name: "top/bomb", data: zeros}, member{name: "top/pdf/a"}), "pdf")
	require.EqualError(t, err, "The archive unpacks to more than 200 times its size")
	require.Equal(t, errs.TooLarge, errs.CodeOf(err))
}

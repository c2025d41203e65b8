package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// shell runs commands against a server, as somebody, in a folder of their own.
type shell struct {
	t   *testing.T
	s   *apitest.Server
	url string
	dir string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	s := apitest.New(t)
	return &shell{t, s, s.URL, t.TempDir()}
}

func (s *shell) run(who string, args ...string) result { return s.with("", who, args...) }

func (s *shell) with(stdin, who string, args ...string) result {
	s.t.Helper()
	c := program(s.t.Context(), []string{"SKILLGRAPH_URL=" + s.url, "SKILLGRAPH_KEY=" + s.s.Keys[who], "SKILLGRAPH_DEVICE=laptop"}, args...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = s.dir, strings.NewReader(stdin), &stdout, &stderr
	_ = c.Run() // the exit code tells
	return result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// must is for a command that succeeds.
func (s *shell) must(who string, args ...string) string {
	s.t.Helper()
	r := s.run(who, args...)
	require.Zero(s.t, r.code, r.stderr)
	return r.stdout
}

// ends is for one that does not.
func (s *shell) ends(code int, because, who string, args ...string) {
	s.t.Helper()
	r := s.run(who, args...)
	require.Equal(s.t, code, r.code, r.stderr)
	require.Empty(s.t, r.stdout)
	require.Contains(s.t, r.stderr, because)
}

func (s *shell) write(path, content string) {
	s.t.Helper()
	path = filepath.Join(s.dir, path)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(s.t, os.WriteFile(path, []byte(content), 0o600))
}

func (s *shell) read(path string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, path))
	require.NoError(s.t, err)
	return string(b)
}

// skill makes a folder with a skill.
func (s *shell) skill(version, body string) {
	s.t.Helper()
	front := "---\nname: pdf-forms\ndescription: Fills in forms.\n"
	if version != "" {
		front += "metadata:\n  version: \"" + version + "\"\n"
	}
	s.write("work/SKILL.md", front+"---\n"+body+"\n")
	s.write("work/scripts/fill.py", "print('filled')\n")
	s.write("work/.git/HEAD", "not part of it")
}

var changing = regexp.MustCompile(`[0-9a-f]{64}|\b[0-9a-f]{12}\b|\d{4}-\d\d-\d\d \d\d:\d\d`)

// golden compares what a person sees; UPDATE=1 writes it down.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = changing.ReplaceAllStringFunc(got, func(s string) string { return strings.Repeat("#", len(s)) })
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// The way of a skill from one folder to another, and back to the version before.
func TestPublishAndInstall(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.skill("", "Ask for what is missing.")
	s.ends(2, "which version is it? Give --version", "member", "publish", "work")
	seen := s.must("member", "publish", "work", "--version", "1.0.0", "--summary", "The first one")
	s.skill("1.1.0", "Ask for what is missing, all at once.")
	seen += s.must("member", "publish", "work")
	seen += s.must("member", "publish", "work")
	s.skill("1.1.0", "Something else.")
	s.ends(5, "was published with other content", "member", "publish", "work")

	seen += s.must("viewer", "list") + s.must("viewer", "versions", "pdf-forms")
	require.Contains(t, s.must("member", "install", "pdf-forms", "--to", "skills/forms"), "installed pdf-forms 1.1.0 in "+s.dir+"/skills/forms: 2 files\n")
	require.Contains(t, s.read("skills/forms/SKILL.md"), "all at once")
	require.Equal(t, "print('filled')\n", s.read("skills/forms/scripts/fill.py"))
	require.NoDirExists(t, filepath.Join(s.dir, "skills/forms/.git"))
	seen += s.must("member", "status")

	s.ends(3, "ask an owner of your organization for a key that may", "member", "rollback", "pdf-forms")
	seen += s.must("admin", "rollback", "pdf-forms", "1.0.0", "--reason", "It asks too much")
	seen += s.must("member", "status", "pdf-forms") + s.must("viewer", "versions", "pdf-forms")
	s.write("skills/forms/left-over.txt", "of the old version")
	require.Contains(t, s.must("member", "install", "pdf-forms", "--to", "skills/forms"), "replaced pdf-forms 1.0.0 in ")
	require.NoFileExists(t, filepath.Join(s.dir, "skills/forms/left-over.txt"))
	seen += s.must("member", "status", "pdf-forms")
	require.Contains(t, s.must("member", "install", "pdf-forms@1.1.0", "--to", "skills/forms"), "replaced pdf-forms 1.1.0 in ")
	seen += s.must("member", "status", "pdf-forms")
	list, err := os.ReadDir(filepath.Join(s.dir, "skills"))
	require.NoError(t, err)
	require.Len(t, list, 1, "nothing is left beside it")
	golden(t, "publish", seen)
}

// A folder that breaks the rules is told about, line by line, and published only when somebody insists.
func TestPublishInvalid(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.write("work/SKILL.md", "---\nname: PDF Forms\ndescription: Fills in forms.\ncolour: red\n---\n")
	r := s.run("member", "publish", "work", "--version", "1")
	require.Equal(t, 1, r.code)
	require.Equal(t, `work/SKILL.md:2: error: name "PDF Forms" must be lower-case letters a to z and digits, with single hyphens between them
work/SKILL.md:4: warning: the key "colour" is not part of the format: keys of your own belong into metadata
skillgraph: the folder is not a valid skill, and nothing was published: mend it, or publish it as it is with --force
`, r.stderr)
	s.ends(1, "what is its name?", "member", "publish", "work", "--version", "1", "--force")
	require.Contains(t, s.must("member", "publish", "work", "--version", "1", "--force", "--name", "forms"), "published forms 1: 1 file")

	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "work/link")))
	s.write("work/SKILL.md", "---\nname: forms\ndescription: Fills in forms.\n---\n")
	r = s.run("member", "publish", "work", "--version", "2")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "work/link: warning: a symlink is left out of the snapshot")
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "empty"), 0o700))
	s.ends(1, "empty: error: there is no SKILL.md at the root of the folder", "member", "publish", "empty", "--version", "1")
}

// What scripts rely on.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.skill("1.0.0", "Ask.")
	s.must("member", "publish", "work")
	s.s.Keys["nobody"] = "sg_live_" + strings.Repeat("x", 32)
	for _, row := range []struct {
		code    int
		because string
		who     string
		args    string
	}{
		{2, "an API key is needed", "", "list"},
		{2, "usage: skillgraph publish DIR [flags]", "owner", "publish"},
		{2, "usage: skillgraph status [NAME] [flags]", "owner", "status a b"},
		{2, "there is no folder nowhere", "owner", "publish nowhere"},
		{2, "flag provided but not defined: -colour", "owner", "list --colour"},
		{2, "--url must be the address of a server", "owner", "list --url localhost"},
		{2, "name the entry, and the version after an @", "owner", "install pdf-forms@"},
		{2, "--fail-on must be critical or warning", "owner", "status --fail-on unknown"},
		{2, "works with --public", "owner", "list forms"},
		{3, "check --key or SKILLGRAPH_KEY", "nobody", "list"},
		{3, "check --key or SKILLGRAPH_KEY", "nobody", "status"},
		{3, "registry:push", "viewer", "publish work --name mine"},
		{3, "pro plan", "free", "publish work"},
		{4, `there is no entry "unheard-of" in your organization`, "owner", "install unheard-of"},
		{4, `pdf-forms has no version "9": skillgraph versions pdf-forms lists them`, "owner", "install pdf-forms@9"},
		{4, `There is no skill "unheard-of"`, "owner", "status unheard-of"},
		{4, "", "owner", "versions 0198a5f0-0000-8000-8000-000000000000"},
		{4, `acme has no public entry "pdf-forms"`, "stranger", "install acme/pdf-forms"},
		{5, "has no earlier version to go back to", "owner", "rollback pdf-forms"},
		{1, "visibility", "owner", "publish work --name other --visibility nobody"},
	} {
		s.ends(row.code, row.because, row.who, strings.Fields(row.args)...)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	s.ends(6, "is it running? Its address is --url or SKILLGRAPH_URL", "owner", "list", "--url", "http://"+l.Addr().String())
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	s.ends(4, "which skillgraph does not: is the address right?", "owner", "list", "--url", other.URL)
	s.s.DropDatabase(t)
	s.ends(6, "The database is not reachable", "owner", "list")
}

// What was altered on its way is not installed, and what is there stays as it is.
func TestInstallGuards(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.skill("1.0.0", "Ask.")
	s.must("member", "publish", "work")
	s.must("member", "install", "pdf-forms")
	before := s.read("pdf-forms/SKILL.md")

	to, err := url.Parse(s.s.URL)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(res *http.Response) error {
			if strings.HasPrefix(res.Request.URL.Path, "/downloads/") {
				require.Empty(t, res.Request.Header.Get("Authorization"), "the link needs no key")
				b, err := io.ReadAll(res.Body)
				b[len(b)/2] ^= 1
				res.Body = io.NopCloser(bytes.NewReader(b))
				return err
			}
			return nil
		},
	}
	liar := httptest.NewServer(proxy)
	t.Cleanup(liar.Close)
	s.skill("1.1.0", "Ask twice.")
	s.must("member", "publish", "work")
	s.ends(1, "what was downloaded is not what was published", "member", "install", "pdf-forms", "--url", liar.URL)
	require.Equal(t, before, s.read("pdf-forms/SKILL.md"))

	s.write("thesis/chapter.md", "years of work")
	s.ends(1, "is not a skill: choose another place with --to, or replace it with --force", "member", "install", "pdf-forms", "--to", "thesis")
	require.Equal(t, "years of work", s.read("thesis/chapter.md"))
	s.ends(1, "is there and is not a folder", "member", "install", "pdf-forms", "--to", "work/SKILL.md")
	s.must("member", "install", "pdf-forms", "--to", "thesis", "--force")
	require.NoFileExists(t, filepath.Join(s.dir, "thesis/chapter.md"))

	// A viewer reads everything, and records nothing.
	s.ends(3, "but that could not be recorded (--no-record does without)", "viewer", "install", "pdf-forms", "--to", "mine")
	require.Contains(t, s.read("mine/SKILL.md"), "Ask twice.")
	s.must("viewer", "install", "pdf-forms", "--to", "mine", "--no-record")
	list, err := filepath.Glob(filepath.Join(s.dir, ".skillgraph-*"))
	require.NoError(t, err)
	require.Empty(t, list)
}

// Others find what is public, and install it by the name of its organization.
func TestPublic(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.skill("1.0.0", "Ask.")
	s.must("member", "publish", "work", "--visibility", "public")
	golden(t, "public", s.must("stranger", "list", "--public", "forms"))
	require.Contains(t, s.must("stranger", "install", "acme/pdf-forms", "--json"), `"recorded": true`)
	require.Contains(t, s.read("pdf-forms/SKILL.md"), "Ask.")
	r := s.run("stranger", "list")
	require.Zero(t, r.code)
	require.Equal(t, "nothing is published yet; next: skillgraph publish DIR\n", r.stderr)
	require.Equal(t, "[]\n", s.must("stranger", "list", "--json"))
}

// A build can be made to fail by how a skill is doing.
func TestStatusFails(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	c := models.Canonical{}
	for _, id := range []string{"a", "b", "c"} {
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "pdf-forms", OccurredAt: &apitest.Noon, Triggered: new(true)})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: "pdf-forms", GradedAt: &apitest.Noon, PassRate: new(0.5)})
	}
	_, err := s.s.Org().Push(t.Context(), &models.Push{ID: ids.New(ids.Push, apitest.Noon), Canonical: c})
	require.NoError(t, err)
	golden(t, "status", s.must("viewer", "status", "--fail-on", "critical"))
	r := s.run("viewer", "status", "pdf-forms", "--fail-on", "warning", "--json")
	require.Equal(t, 1, r.code)
	require.Equal(t, "skillgraph: pdf-forms is warning\n", r.stderr)
	require.Contains(t, r.stdout, `"pass_rate": 0.5`)
}

// What others have written does not break the table, nor the terminal.
func TestClean(t *testing.T) {
	t.Parallel()
	require.Equal(t, "two lines", clean("two\nlines"))
	require.Equal(t, "[31mred", clean("\x1b[31mred"))
	require.Equal(t, "evil", clean("\u202eevil"))
	require.Equal(t, "-", clean(""))
	require.Equal(t, strings.Repeat("é", 59)+"…", clean(strings.Repeat("é", 61)))
}

func TestQuery(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.skill("1.0.0", "Ask.")
	s.must("member", "publish", "work")
	s.write("entries.graphql", `query Named($name: String, $n: Int) { entries(first: $n, filter: {name: $name}) { nodes { name } } } query Me { viewer { organization { name } } }`)
	s.write("name.txt", "pdf-forms\n")
	want := "{\n  \"data\": {\n    \"entries\": {\n      \"nodes\": [\n        {\n          \"name\": \"pdf-forms\"\n        }\n      ]\n    }\n  }\n}\n"
	require.Equal(t, want, s.must("viewer", "query", "entries.graphql", "--operation", "Named", "--var", "name=pdf-forms", "--var", "n=5"))
	require.Equal(t, want, s.must("viewer", "query", "entries.graphql", "--operation", "Named", "--var", "name=@name.txt"))
	require.Equal(t, want, s.must("viewer", "query", "entries.graphql", "--operation", "Named", "--var", `name="pdf-forms"`, "--var", "n=null"))
	r := s.with("{ viewer { organization { name } } }", "viewer", "query", "-")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, `"name": "acme"`)

	r = s.run("viewer", "query", "entries.graphql", "--operation", "Named", "--var", "n=many")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stdout, `"errors": [`)
	r = s.with(`{ entry(id: "0198a5f0-0000-8000-8000-000000000000") { name } }`, "viewer", "query", "-")
	require.Equal(t, 1, r.code, "for whatever is wrong with the operation")
	require.Contains(t, r.stdout, `"NOT_FOUND"`)
	s.ends(2, "must be name=value", "viewer", "query", "entries.graphql", "--var", "name")
	s.ends(2, "no such file", "viewer", "query", "nothing.graphql")
}

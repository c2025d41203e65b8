package rest_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/repohost/gitrepo"
)

const (
	sources = "/api/v1/cloud-sources"
	upload  = sources + "/upload"
	skillMD = "---\nname: pdf-forms\ndescription: Fills in forms\n---\n# Forms\n"
)

func label(text string) apitest.Part { return apitest.Part{Name: "label", Content: []byte(text)} }

func part(path, content string) apitest.Part {
	return apitest.Part{Name: path, File: filepath.Base(path), Content: []byte(content)}
}

// zipped is a zip archive, as the part of the form where it belongs; a name that ends with a slash is a folder.
func zipped(t testing.TB, files ...string) apitest.Part {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		require.NoError(t, err)
		_, err = f.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return apitest.Part{Name: "file", File: "skill.zip", Content: b.Bytes()}
}

// paths are those of the present snapshot's files.
func paths(t testing.TB, srv *apitest.Server, id string) []string {
	t.Helper()
	res := srv.REST(t, "viewer", http.MethodGet, sources+"/"+id, "")
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	out := []string{}
	for _, f := range res.JSON(t)["currentSnapshot"].(map[string]any)["files"].([]any) {
		out = append(out, f.(map[string]any)["path"].(string))
	}
	return out
}

func uploaded(t testing.TB, res apitest.Response) (id string) {
	t.Helper()
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	return res.JSON(t)["source"].(map[string]any)["id"].(string)
}

func message(t testing.TB, res apitest.Response, status int) string {
	t.Helper()
	require.Equal(t, status, res.Status, string(res.Body))
	if e, ok := res.JSON(t)["error"].(map[string]any); ok {
		return e["message"].(string)
	}
	details := res.JSON(t)["details"].(map[string]any)
	return fmt.Sprint(details["path"], " ", details["message"])
}

// An archive and the same files one by one are the same content.
func TestUploadArchive(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	flat := srv.Form(t, "owner", upload, label("flat"), zipped(t, "SKILL.md", skillMD, "scripts/", "", "scripts/fill.sh", "echo"))
	require.Equal(t, []string{"SKILL.md", "scripts/fill.sh"}, paths(t, srv, uploaded(t, flat)))
	same := func(res apitest.Response) {
		t.Helper()
		require.Equal(t, []string{"SKILL.md", "scripts/fill.sh"}, paths(t, srv, uploaded(t, res)))
		require.Equal(t, flat.JSON(t)["snapshot"].(map[string]any)["contentHash"], res.JSON(t)["snapshot"].(map[string]any)["contentHash"])
	}
	same(srv.Form(t, "owner", upload, label("in a folder"), zipped(t, "pdf/", "", "pdf/scripts/fill.sh", "echo", "pdf/SKILL.md", skillMD, "__MACOSX/pdf/._SKILL.md", "x", "pdf/.DS_Store", "x")))
	same(srv.Form(t, "owner", upload, label("files"), part("scripts/fill.sh", "echo"), part("SKILL.md", skillMD)))
	same(srv.Form(t, "owner", upload, label("files in a folder"), part("./a/SKILL.md", skillMD), part("a/scripts/fill.sh", "echo")))

	for name, tt := range map[string]struct {
		file apitest.Part
		want []string
	}{
		"two folders":      {zipped(t, "a/SKILL.md", skillMD, "b/x", ""), []string{"a/SKILL.md", "b/x"}},
		"beside a file":    {zipped(t, "a/SKILL.md", skillMD, "README.md", ""), []string{"README.md", "a/SKILL.md"}},
		"deeper":           {zipped(t, "a/b/SKILL.md", skillMD), []string{"a/b/SKILL.md"}},
		"no skill in it":   {zipped(t, "a/README.md", ""), []string{"a/README.md"}},
		"a skill, twice":   {zipped(t, "SKILL.md/SKILL.md", skillMD), []string{"SKILL.md"}},
		"folder like file": {zipped(t, "a/SKILL.md", skillMD, "ab/x", ""), []string{"a/SKILL.md", "ab/x"}},
	} {
		require.Equal(t, tt.want, paths(t, srv, uploaded(t, srv.Form(t, "owner", upload, label(name), tt.file))), name)
	}
	// Without a SKILL.md it is kept all the same, and the answer says what is wrong.
	res := srv.Form(t, "owner", upload, label("no skill"), zipped(t, "README.md", "hello"))
	uploaded(t, res)
	require.Equal(t, "failed", res.JSON(t)["validation"].(map[string]any)["status"])
}

// Two who upload the same into one source at once: one makes the snapshot, the other is told that there is one.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	id := uploaded(t, srv.Form(t, "owner", upload, label("x"), part("SKILL.md", "first")))
	answers := make([]apitest.Response, 6)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			answers[i] = srv.Form(t, "member", upload, apitest.Part{Name: "source_id", Content: []byte(id)}, part("SKILL.md", skillMD))
		})
	}
	wait.Wait()
	made := 0
	for _, res := range answers {
		body := res.JSON(t)
		require.Equal(t, answers[0].JSON(t)["snapshot"], body["snapshot"])
		require.Equal(t, answers[0].JSON(t)["validation"], body["validation"])
		if res.Status == http.StatusCreated {
			made++
			require.NotContains(t, body, "unchanged")
		} else {
			require.Equal(t, http.StatusOK, res.Status)
			require.Equal(t, true, body["unchanged"])
		}
	}
	require.Equal(t, 1, made)
	require.Len(t, srv.REST(t, "owner", http.MethodGet, sources+"/"+id, "").JSON(t)["validationReports"], 2)
}

func TestSourceLabel(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	long := strings.Repeat("ü", 201)
	const refusal = "[label] must be at most 200 characters long"
	require.Equal(t, refusal, message(t, srv.REST(t, "owner", http.MethodPost, sources, `{"type": "upload", "label": "`+long+`"}`), 400))
	require.Equal(t, refusal, message(t, srv.Form(t, "owner", upload, label(long), part("SKILL.md", skillMD)), 400))
	id := uploaded(t, srv.Form(t, "owner", upload, label(long[2:]), part("SKILL.md", skillMD)))
	require.Equal(t, refusal, message(t, srv.REST(t, "owner", http.MethodPatch, sources+"/"+id, `{"label": "`+long+`"}`), 400))
	require.Len(t, listed(t, srv), 1)
}

func listed(t testing.TB, srv *apitest.Server) []any {
	t.Helper()
	res := srv.REST(t, "owner", http.MethodGet, sources, "")
	require.Equal(t, http.StatusOK, res.Status)
	return apitest.Response{Body: []byte(`{"list": ` + string(res.Body) + `}`)}.JSON(t)["list"].([]any)
}

// What is too large is refused whole, and nothing of it stays.
func TestUploadTooLarge(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	require.Equal(t, "The archive unpacks to more than 200 times its size", message(t, srv.Form(t, "owner", upload, label("x"), bomb(t)), 413))
	require.Equal(t, "The body is too large: the limit is 51200 KiB", message(t, srv.Form(t, "owner", upload, label("x"), part("a", strings.Repeat("x", 50<<20))), 413))
	// A bomb that is sent as it is would be one only when we pack it.
	zeros := strings.Repeat("\x00", 40<<20)
	require.Equal(t, "The archive unpacks to more than 200 times its size", message(t, srv.Form(t, "owner", upload, label("x"), part("a", zeros)), 413))
	require.Empty(t, listed(t, srv))
}

// bomb is a zip of 60 KiB with 60 MiB in it.
func bomb(t testing.TB) apitest.Part {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	to, err := w.Create("SKILL.md")
	require.NoError(t, err)
	zeros := make([]byte, 1<<20)
	for range 60 {
		_, err = to.Write(zeros)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return apitest.Part{Name: "file", File: "bomb.zip", Content: b.Bytes()}
}

// Ten thousand files are fine; the detail shows a thousand and says so, and the graph has them all.
func TestUploadManyFiles(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	parts := []apitest.Part{label("many"), part("SKILL.md", skillMD)}
	for i := range 9999 {
		parts = append(parts, part(fmt.Sprintf("data/%04d.txt", i), fmt.Sprint(i)))
	}
	res := srv.Form(t, "owner", upload, parts...)
	id := uploaded(t, res)
	require.EqualValues(t, 10_000, res.JSON(t)["snapshot"].(map[string]any)["fileCount"])
	require.Len(t, paths(t, srv, id), 1000)
	require.Equal(t, "true", srv.REST(t, "owner", http.MethodGet, sources+"/"+id, "").Header.Get("X-Truncated"))
	data := srv.Query(t, "viewer", `query($id: ID!) { source(id: $id) { currentSnapshot { file(path: "data/9998.txt") { text } files(page: 100, perPage: 100) { totalCount nodes { path } } } } }`, map[string]any{"id": id})
	snapshot := data["source"].(map[string]any)["currentSnapshot"].(map[string]any)
	require.Equal(t, map[string]any{"text": "9998"}, snapshot["file"])
	files := snapshot["files"].(map[string]any)
	require.EqualValues(t, 10_000, files["totalCount"])
	require.Equal(t, map[string]any{"path": "data/9998.txt"}, files["nodes"].([]any)[99])

	require.Equal(t, "A form may have 10000 files", message(t, srv.Form(t, "owner", upload, append(parts, part("one/more", ""))...), 413))
	require.Len(t, listed(t, srv), 1)
}

// Names that some file system takes for the same are refused, whichever way they come.
func TestUploadCollisions(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	for name, pair := range map[string][2]string{
		"twice":           {"a.txt", "a.txt"},
		"by case":         {"a.txt", "A.txt"},
		"folders by case": {"a/b", "A/c"},
		"file and folder": {"a", "a/b"},
		"by a leading ./": {"a.txt", "./a.txt"},
	} {
		files := srv.Form(t, "owner", upload, label("x"), part(pair[0], "1"), part(pair[1], "2"))
		require.Contains(t, message(t, files, 400), "[files] ", name)
		require.Contains(t, message(t, files, 400), "is refused", name)
		archive := srv.Form(t, "owner", upload, label("x"), zipped(t, pair[0], "1", pair[1], "2"))
		require.Contains(t, message(t, archive, 400), "[file] ", name)
	}
	for _, bad := range []string{"/etc/passwd", "a/../b", "a//b", `a\b`, "a/./b", "..", "a\x01b"} {
		require.Contains(t, message(t, srv.Form(t, "owner", upload, label("x"), zipped(t, "x/"+bad, "1", bad, "1")), 400), "[file] ", bad)
	}
	require.Empty(t, listed(t, srv))
}

// repohostSource binds acme and makes a source of its repository.
func repohostSource(t testing.TB, srv *apitest.Server, more string) string {
	t.Helper()
	require.Contains(t, []int{200, 201}, srv.REST(t, "owner", http.MethodPost, "/api/v1/repohost/installations", `{"installation_id": 7, "account_login": "acme", "account_type": "Organization"}`).Status)
	res := srv.REST(t, "owner", http.MethodPost, sources, `{"type": "repohost", "label": "x", "installation_id": 7, "repo_full_name": "acme/skills"`+more+`}`)
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	return res.JSON(t)["id"].(string)
}

// A repository may vanish, or lose what is read of it; what was read stays.
func TestRepositoryVanishes(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	srv.Commit(t, "acme/skills", gitrepo.Files(map[string]string{"SKILL.md": skillMD}))
	id, elsewhere := repohostSource(t, srv, ""), repohostSource(t, srv, `, "default_branch": "trunk"`)
	sync := func(id string) apitest.Response {
		return srv.REST(t, "member", http.MethodPost, sources+"/"+id+"/repohost-sync", "")
	}
	require.Equal(t, http.StatusOK, sync(id).Status)
	require.Equal(t, `The repository acme/skills has no branch "trunk"`, message(t, sync(elsewhere), 409))
	repo := filepath.Join(srv.Repos, "acme", "skills.git")
	require.NoError(t, os.RemoveAll(filepath.Join(repo, "objects")))
	require.Contains(t, message(t, sync(id), 409), "The repository acme/skills has no commit")
	require.NoError(t, os.RemoveAll(repo))
	require.Equal(t, "There is no repository acme/skills that the installation of acme may read", message(t, sync(id), 409))
	require.Equal(t, []string{"SKILL.md"}, paths(t, srv, id))

	// An upload has no business there.
	require.Equal(t, "[source_id] is a repohost source: its content comes from its repository",
		message(t, srv.Form(t, "owner", upload, apitest.Part{Name: "source_id", Content: []byte(id)}, part("SKILL.md", skillMD)), 400))
}

// What a repository has besides files is left out with a warning; what no folder may have fails.
func TestRepositoryContent(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	tree := gitrepo.Files(map[string]string{"SKILL.md": skillMD})
	tree["link"] = gitrepo.Entry{Content: "SKILL.md", Mode: filemode.Symlink}
	tree["lib/mod"] = gitrepo.Entry{Content: strings.Repeat("1", 40), Mode: filemode.Submodule}
	srv.Commit(t, "acme/skills", tree)
	id := repohostSource(t, srv, "")
	sync := func() apitest.Response {
		return srv.REST(t, "owner", http.MethodPost, sources+"/"+id+"/repohost-sync", "")
	}
	res := sync()
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	require.Equal(t, []string{"SKILL.md"}, paths(t, srv, id))
	report := res.JSON(t)["validation"].(map[string]any)
	require.Equal(t, "warning", report["status"])
	require.Equal(t, []any{
		map[string]any{"level": "warning", "code": "submodule_skipped", "message": "a submodule is left out of the snapshot", "path": "lib/mod", "line": nil},
		map[string]any{"level": "warning", "code": "symlink_skipped", "message": "a symlink is left out of the snapshot", "path": "link", "line": nil},
	}, report["issues"])

	delete(tree, "SKILL.md")
	srv.Commit(t, "acme/skills", tree)
	require.Equal(t, `The folder "." of the repository acme/skills has no files in it`, message(t, sync(), 409))
	srv.Commit(t, "acme/skills", gitrepo.Files(map[string]string{"skill.md": "", "SKILL.md": skillMD}))
	require.Equal(t, `"skill.md" is refused: it differs from "SKILL.md" by case alone`, message(t, sync(), 409))
	srv.Commit(t, "acme/skills", gitrepo.Files(map[string]string{`a\b`: ""}))
	require.Equal(t, `"a\\b" is refused: a path must not have a backslash`, message(t, sync(), 409))
}

// A list that shows no pages shows a thousand; it costs one statement, and a detail few, however much there is.
func TestSourceStatements(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	id := uploaded(t, srv.Form(t, "owner", upload, label("x"), part("SKILL.md", skillMD)))
	count := func(path string) int64 {
		before := srv.Store.Statements()
		require.Equal(t, http.StatusOK, srv.REST(t, "owner", http.MethodGet, path, "").Status)
		return srv.Store.Statements() - before
	}
	require.EqualValues(t, 1, count(sources))
	few := count(sources + "/" + id)
	for n := range 5 {
		srv.Form(t, "owner", upload, apitest.Part{Name: "source_id", Content: []byte(id)}, part("SKILL.md", skillMD), part("a", fmt.Sprint(n)))
	}
	require.Equal(t, few, count(sources+"/"+id))
	dbtest.Exec(t, srv.Database, `INSERT INTO cloud_sources (org_id, id, label, source_type, created_at)
		SELECT $1, ('01a1dd16-1347-8070-8000-' || lpad(n::text, 12, '0'))::uuid, 'l', 'UPLOAD', now() FROM generate_series(1, 1000) n`, srv.Orgs["acme"])
	require.EqualValues(t, 1, count(sources))
	require.Len(t, listed(t, srv), 1000)
	require.Equal(t, "true", srv.REST(t, "owner", http.MethodGet, sources, "").Header.Get("X-Truncated"))
}

// A key without the permission reads every route and changes nothing by any.
func TestReadersMayNotChangeSources(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	id := uploaded(t, srv.Form(t, "owner", upload, label("x"), part("SKILL.md", skillMD)))
	for _, who := range []string{"viewer", "installer"} {
		for field, res := range map[string]apitest.Response{
			"createSource": srv.REST(t, who, http.MethodPost, sources, `{"type": "upload", "label": "x"}`),
			"updateSource": srv.REST(t, who, http.MethodPatch, sources+"/"+id, `{"label": "x"}`),
			"deleteSource": srv.REST(t, who, http.MethodDelete, sources+"/"+id, ""),
			"uploadSource": srv.Form(t, who, upload, label("x"), part("SKILL.md", skillMD)),
			"syncSource":   srv.REST(t, who, http.MethodPost, sources+"/"+id+"/repohost-sync", ""),
		} {
			require.Equal(t, field+" needs the permission sources:write, which this API key does not have", message(t, res, 403))
		}
		require.Equal(t, http.StatusOK, srv.REST(t, who, http.MethodGet, sources+"/"+id, "").Status)
	}
	require.Len(t, listed(t, srv), 1)
}

package rest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
)

const registry = "/api/v1/registry"

// parts of a form that makes an entry.
func parts(t testing.TB, metadata string) []apitest.Part {
	t.Helper()
	return []apitest.Part{
		{Name: "metadata", Content: []byte(metadata)},
		{Name: "archive", File: "skill.tar.gz", Type: "application/gzip", Content: apitest.Archive(t, map[string]string{"SKILL.md": "Ask first."})},
	}
}

// create sends a form that should make an entry.
func create(t testing.TB, srv *apitest.Server, parts ...apitest.Part) apitest.Response {
	t.Helper()
	header, body := apitest.Form(t, parts...)
	return srv.Do(t, "owner", http.MethodPost, registry, header, body)
}

// TestRegistryClients: what clients make of "multipart/form-data with a JSON string and a file".
func TestRegistryClients(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	change := func(f func(metadata, archive *apitest.Part)) func([]apitest.Part) []apitest.Part {
		return func(p []apitest.Part) []apitest.Part {
			f(&p[0], &p[1])
			return p
		}
	}
	n := 0
	for name, as := range map[string]func([]apitest.Part) []apitest.Part{
		"a field and a file":                change(func(_, _ *apitest.Part) {}),
		"metadata with a type":              change(func(m, _ *apitest.Part) { m.Type = "application/json" }),
		"metadata from a file, as curl has": change(func(m, _ *apitest.Part) { m.File, m.Type = "meta.json", "application/json" }),
		"metadata as octets":                change(func(m, _ *apitest.Part) { m.File, m.Type = "blob", "application/octet-stream" }),
		"an archive without a name":         change(func(_, a *apitest.Part) { a.File, a.Type = "", "" }),
		"an archive from standard input":    change(func(_, a *apitest.Part) { a.File, a.Type = "-", "application/octet-stream" }),
		"a name with folders":               change(func(_, a *apitest.Part) { a.File = "../../etc/passwd" }),
		"the archive first":                 func(p []apitest.Part) []apitest.Part { slices.Reverse(p); return p },
		"fields that nobody knows": func(p []apitest.Part) []apitest.Part {
			return append(p, apitest.Part{Name: "token", Content: []byte("x")}, apitest.Part{Name: "readme", File: "README.md", Content: []byte("x")})
		},
	} {
		n++
		metadata := fmt.Sprintf(`{"name": "skill-%d", "entry_type": "skill", "description": null, "version": "1", "change_summary": null, "file_manifest": null, "content_hash": null, "visibility": null, "source_repo": null, "cli_version": "3"}`, n)
		res := create(t, srv, as(parts(t, metadata))...)
		require.Equal(t, http.StatusCreated, res.Status, "%s: %s", name, res.Body)
		require.Equal(t, http.StatusOK, create(t, srv, as(parts(t, metadata))...).Status, "%s, again", name)
	}

	// Without a length: the body comes in chunks.
	header, body := apitest.Form(t, parts(t, `{"name": "chunked", "version": "1"}`)...)
	require.Equal(t, http.StatusCreated, chunked(t, srv, header, bytes.NewReader(body)).StatusCode)
	require.Equal(t, http.StatusRequestEntityTooLarge, chunked(t, srv, header, io.MultiReader(bytes.NewReader(body[:len(body)-80]), io.LimitReader(zeros{}, 56<<20))).StatusCode)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func chunked(t *testing.T, srv *apitest.Server, header http.Header, body io.Reader) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+registry, io.MultiReader(body))
	require.NoError(t, err)
	require.Zero(t, req.ContentLength)
	req.Header = header.Clone()
	req.Header.Set("Authorization", "Bearer "+srv.Keys["owner"])
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res
}

// tarball packs entries as they are, with no questions asked. Of what is larger than it may be, it has the beginning.
func tarball(t testing.TB, level int, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, level)
	require.NoError(t, err)
	w := tar.NewWriter(gz)
	for _, h := range entries {
		h.Mode = 0o644
		require.NoError(t, w.WriteHeader(&h))
		_, err := io.CopyN(w, zeros{}, min(h.Size, 60<<20))
		require.NoError(t, err)
	}
	_ = w.Close() // it misses the rest
	require.NoError(t, gz.Close())
	return b.Bytes()
}

// TestRegistryHostile: whatever is wrong with a form is said, and nothing of it stays: no row, no bytes, no file on its way to the
// disk. It watches the folder that files are spooled to, so it cannot run beside others.
func TestRegistryHostile(t *testing.T) {
	srv := apitest.New(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	good := parts(t, `{"name": "pdf", "version": "1"}`)
	with := func(archive []byte) []apitest.Part {
		return []apitest.Part{good[0], {Name: "archive", File: "a.tar.gz", Content: archive}}
	}
	entry := func(name string) tar.Header { return tar.Header{Name: name, Size: 10} }
	fine := good[1].Content
	many := make([]tar.Header, 10_001)
	for i := range many {
		many[i] = entry(fmt.Sprint(i))
	}
	noise := make([]byte, 51<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for name, tt := range map[string]struct {
		parts  []apitest.Part
		status int
		says   string
	}{
		"two archives":           {append(slices.Clone(good), good[1]), 400, "was sent twice"},
		"huge metadata":          {[]apitest.Part{{Name: "metadata", Content: []byte(`{"name": "pdf", "version": "1", "x": "` + strings.Repeat("x", 5<<20) + `"}`)}, good[1]}, 413, "The part metadata is too large"},
		"deep metadata":          {[]apitest.Part{{Name: "metadata", Content: []byte(`{"name": "pdf", "version": "1", "file_manifest": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`)}, good[1]}, 400, "metadata"},
		"10,000 unknown parts":   {append(slices.Repeat([]apitest.Part{{Name: "x"}}, 10_000), good...), 413, "more than 100 parts"},
		"10,000 unknown files":   {append(slices.Repeat([]apitest.Part{{Name: "x", File: "x", Content: []byte("x")}}, 10_000), good...), 413, "more than 100 parts"},
		"51 MiB":                 {with(noise), 400, "is not a gzip file"},
		"51 MiB packed":          {with(tarball(t, gzip.NoCompression, tar.Header{Name: "a", Size: 51 << 20})), 413, "larger than 50 MiB"},
		"56 MiB":                 {with(append(noise, noise[:5<<20]...)), 413, "the limit is 56320 KiB"},
		"a bomb":                 {with(tarball(t, gzip.DefaultCompression, tar.Header{Name: "a", Size: 40 << 20})), 413, "unpacks to more than 200 times its size"},
		"a larger bomb":          {with(tarball(t, gzip.DefaultCompression, tar.Header{Name: "a", Size: 201 << 20})), 413, "unpacks to more than 200 MiB"},
		"10,001 files":           {with(tarball(t, gzip.DefaultCompression, many...)), 413, "more than 10000 entries"},
		"a path that leads out":  {with(tarball(t, gzip.DefaultCompression, entry("../x"))), 400, `must not have the component \"..\"`},
		"an absolute path":       {with(tarball(t, gzip.DefaultCompression, entry("/etc/x"))), 400, "a path must be relative"},
		"a link":                 {with(tarball(t, gzip.DefaultCompression, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})), 400, "a link is not allowed"},
		"two spellings":          {with(tarball(t, gzip.DefaultCompression, entry("a"), entry("A"))), 400, "by case alone"},
		"nothing in it":          {with(tarball(t, gzip.DefaultCompression)), 400, "has no files in it"},
		"folders alone":          {with(tarball(t, gzip.DefaultCompression, tar.Header{Name: "a/", Typeflag: tar.TypeDir})), 400, "has no files in it"},
		"cut off":                {with(fine[:len(fine)-5]), 400, "cut off"},
		"more after its end":     {with(append(slices.Clone(fine), "more"...)), 400, "has something after its end"},
		"a name in other script": {parts(t, `{"name": "формы", "version": "1"}`), 400, "must be 1 to 128 letters"},
		"a version with a NUL":   {parts(t, `{"name": "pdf", "version": "1\u0000"}`), 400, "must be 1 to 128 letters"},
		"a version too long":     {parts(t, `{"name": "pdf", "version": "`+strings.Repeat("1", 129)+`"}`), 400, "must be 1 to 128 letters"},
	} {
		t.Run(name, func(t *testing.T) {
			res := create(t, srv, tt.parts...)
			require.Equal(t, tt.status, res.Status, "%.300s", res.Body)
			require.Contains(t, string(res.Body), tt.says)
			requireNothing(t, srv, dir)
		})
	}
	header, body := apitest.Form(t, good...)
	t.Run("a boundary that is not there", func(t *testing.T) {
		for _, typ := range []string{"multipart/form-data", "multipart/form-data; boundary=other", `multipart/form-data; boundary="`} {
			res := srv.Do(t, "owner", http.MethodPost, registry, http.Header{"Content-Type": {typ}}, body)
			require.Contains(t, []int{400, 415}, res.Status, "%s: %s", typ, res.Body)
			requireNothing(t, srv, dir)
		}
	})
	t.Run("a body that ends too early", func(t *testing.T) {
		for _, n := range []int{len(body) / 4, len(body) / 2, len(body) - 10} {
			answer := hangUp(t, srv, header, body[:n], len(body))
			require.Contains(t, answer, "400 Bad Request", "%d of %d", n, len(body))
			requireNothing(t, srv, dir)
		}
	})
	require.Equal(t, http.StatusCreated, create(t, srv, good...).Status, "it still works")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// requireNothing looks for what a refused form may have left behind.
func requireNothing(t *testing.T, srv *apitest.Server, spool string) {
	t.Helper()
	for _, table := range []string{"registry_entries", "registry_versions", "skills", "blobs"} {
		require.Zero(t, dbtest.Count(t, srv.Database, table), table)
	}
	files, err := os.ReadDir(spool)
	require.NoError(t, err)
	require.Empty(t, files)
}

// hangUp promises more than it sends, and returns what the server says to that.
func hangUp(t *testing.T, srv *apitest.Server, header http.Header, body []byte, promised int) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(srv.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		registry, srv.Keys["owner"], header.Get("Content-Type"), promised, body)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	return string(answer)
}

// TestRegistryOfManyFiles: as many files as an archive may have, all of them listed.
func TestRegistryOfManyFiles(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	files, list := map[string]string{}, []map[string]any{}
	for i := range 10_000 {
		path := fmt.Sprintf("a-folder-with-a-long-name/another-one-below-it/file-number-%d.md", i)
		files[path] = fmt.Sprint(i)
		list = append(list, map[string]any{"path": path, "hash": fmt.Sprintf("%x", sha256.Sum256([]byte(files[path]))), "size": len(files[path])})
	}
	metadata, err := json.Marshal(map[string]any{"name": "large", "version": "1", "file_manifest": list})
	require.NoError(t, err)
	require.Greater(t, len(metadata), 1<<20)
	res := srv.Publish(t, "owner", registry, string(metadata), apitest.Archive(t, files))
	require.Equal(t, http.StatusCreated, res.Status, "%.300s", res.Body)
	id := res.JSON(t)["entry"].(map[string]any)["id"].(string)
	versions := srv.REST(t, "owner", http.MethodGet, registry+"/"+id+"/versions", "").JSON(t)["versions"].([]any)
	require.Len(t, versions[0].(map[string]any)["file_manifest"], 10_000)
}

// TestRegistryRaces: who comes second hears of it, whichever way.
func TestRegistryRaces(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	race := func(path, metadata string, archives ...[]byte) (statuses []int) {
		var wg sync.WaitGroup
		statuses = make([]int, len(archives))
		for i, archive := range archives {
			header, body := apitest.Form(t, apitest.Part{Name: "metadata", Content: []byte(metadata)}, apitest.Part{Name: "archive", File: "a", Content: archive})
			wg.Go(func() { statuses[i] = srv.Do(t, "owner", http.MethodPost, path, header, body).Status })
		}
		wg.Wait()
		slices.Sort(statuses)
		return statuses
	}
	a, b := apitest.Archive(t, map[string]string{"SKILL.md": "a"}), apitest.Archive(t, map[string]string{"SKILL.md": "b"})
	for i := range 10 {
		metadata := fmt.Sprintf(`{"name": "skill-%d", "version": "1"}`, i)
		require.Equal(t, []int{200, 200, 201}, race(registry, metadata, a, a, a))
		id := srv.REST(t, "owner", http.MethodGet, fmt.Sprintf("%s?name=skill-%d", registry, i), "").JSON(t)["entries"].([]any)[0].(map[string]any)["id"].(string)
		require.Equal(t, []int{201, 409}, race(registry+"/"+id+"/versions", `{"version": "2"}`, a, b))
		require.Equal(t, []int{200, 201}, race(registry+"/"+id+"/versions", `{"version": "3"}`, b, b))
		require.Equal(t, []int{201, 409}, race(registry, fmt.Sprintf(`{"name": "other-%d", "version": "1"}`, i), a, b))
	}
	require.Equal(t, 20, dbtest.Count(t, srv.Database, "registry_entries"))
	require.Equal(t, 40, dbtest.Count(t, srv.Database, "registry_versions"))
}

// TestRegistryStatements: neither the list nor an entry costs more for having more in it.
func TestRegistryStatements(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	var id string
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			made := srv.Publish(t, "owner", registry, fmt.Sprintf(`{"name": "skill-%d", "version": "1", "visibility": "public"}`, i), apitest.Archive(t, map[string]string{"SKILL.md": fmt.Sprint(i)})).JSON(t)
			if id == "" {
				id = made["entry"].(map[string]any)["id"].(string)
			}
			require.Equal(t, http.StatusCreated, srv.Publish(t, "owner", registry+"/"+id+"/versions", fmt.Sprintf(`{"version": "2.%d"}`, i), apitest.Archive(t, map[string]string{"SKILL.md": fmt.Sprint("2.", i)})).Status)
			require.Equal(t, http.StatusCreated, srv.REST(t, "member", http.MethodPost, registry+"/"+id+"/install", fmt.Sprintf(`{"device_id": "%d"}`, i)).Status)
		}
	}
	counting := srv.Counting(t)
	cost := func(path string) int64 {
		before := srv.Store.Statements()
		require.Equal(t, http.StatusOK, counting.REST(t, "member", http.MethodGet, path, "").Status)
		return srv.Store.Statements() - before
	}
	costs := func() map[string]int64 {
		out := map[string]int64{}
		for name, path := range map[string]string{
			"list": "", "public": "/public", "search": "/public?q=skill", "detail": "/" + id, "versions": "/" + id + "/versions",
			"installations": "/" + id + "/installations", "installed": "/installed", "sync check": "/sync/check",
		} {
			out[name] = cost(registry + path)
		}
		return out
	}
	want := map[string]int64{
		"list": 4, "public": 5, "search": 5, "detail": 8, "versions": 5, "installations": 4, "installed": 4, "sync check": 1,
	}
	fill(0, 1)
	require.Equal(t, want, costs())
	fill(1, 30)
	require.Equal(t, want, costs())
}

// TestRegistryTruncated: what shows no pages shows a thousand, and says when there are more.
func TestRegistryTruncated(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	res := create(t, srv, parts(t, `{"name": "pdf", "version": "1"}`)...).JSON(t)
	id := res["entry"].(map[string]any)["id"].(string)
	more := func(from, to int) {
		dbtest.Exec(t, srv.Database, `INSERT INTO registry_versions (org_id, id, entry_id, number, version, precedence, prerelease, content_hash, hashes, size, file_count, files, source, pushed_at)
			SELECT org_id, gen_random_uuid(), entry_id, n, 'v' || n, '', false, content_hash, hashes, size, file_count, files, source, pushed_at
			FROM registry_versions, generate_series($1::int, $2::int) n WHERE number = 1`, from, to)
	}
	list := func(path string) (string, []any) {
		res := srv.REST(t, "viewer", http.MethodGet, registry+path, "")
		require.Equal(t, http.StatusOK, res.Status, "%.300s", res.Body)
		return res.Header.Get("X-Truncated"), res.JSON(t)["versions"].([]any)
	}
	more(2, 1000)
	for _, path := range []string{"/" + id, "/" + id + "/versions"} {
		truncated, all := list(path)
		require.Empty(t, truncated)
		require.Len(t, all, 1000)
	}
	more(1001, 1001)
	for _, path := range []string{"/" + id, "/" + id + "/versions"} {
		truncated, all := list(path)
		require.Equal(t, "true", truncated)
		require.Len(t, all, 1000)
		require.Equal(t, "v1001", all[0].(map[string]any)["version"], "newest push first")
	}
}

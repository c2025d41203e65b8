package rest

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
)

const uploads = `mutation Upload($label: String!, $metadata: Metadata, $archive: Upload, $files: [FileInput!]) @rest(method: "POST", path: "/things", maxBody: 6144) {
	upload(label: $label, metadata: $metadata, archive: $archive, files: $files) { id }
}`

// part of a form; a file name makes it a file.
type part struct{ name, file, content string }

func sent(t testing.TB, parts ...part) *http.Request {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file != "" {
			h["Content-Disposition"] = []string{`form-data; name="` + p.name + `"; filename="` + p.file + `"`}
			h["Content-Type"] = []string{"application/gzip"}
		}
		to, err := w.CreatePart(h)
		require.NoError(t, err)
		_, err = io.WriteString(to, p.content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/things", &b)
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

// received binds a form and reads its files while they are there.
func received(t testing.TB, r *Route, req *http.Request) (vars map[string]any, contents map[string]string, err error) {
	t.Helper()
	vars, done, err := binder{schema: small, route: r}.bind(httptest.NewRecorder(), req)
	defer done()
	if err != nil {
		return nil, nil, err
	}
	contents = map[string]string{}
	read := func(name string, v any) {
		up, ok := v.(graphql.Upload)
		require.True(t, ok, name)
		b, err := io.ReadAll(up.File)
		require.NoError(t, err)
		require.Equal(t, up.Size, int64(len(b)))
		contents[name] = string(b)
	}
	if v, ok := vars["archive"]; ok {
		read("archive", v)
	}
	if list, ok := vars["files"].([]any); ok {
		for _, item := range list {
			file := item.(map[string]any)
			read(file["path"].(string), file["content"])
		}
	}
	return vars, contents, nil
}

func TestForm(t *testing.T) {
	t.Parallel()
	r := route(t, uploads)
	vars, contents, err := received(t, r, sent(t,
		part{name: "metadata", content: `{"entry_name": "x", "file_manifest": [{"camelCase": 1.50}], "unknown": 1}`},
		part{name: "label", content: "7"},
		part{name: "archive", file: "some/folder/x.tar.gz", content: "archive"},
		part{name: "nonsense", content: "ignored"},
		part{name: "skills/a/SKILL.md", file: "SKILL.md", content: "first"},
		part{name: "b.txt", file: "ignored.txt", content: ""},
	))
	require.NoError(t, err)
	require.Equal(t, "7", vars["label"], "what a form says is text")
	meta := vars["metadata"].(map[string]any)
	require.Equal(t, "x", meta["entryName"])
	require.Equal(t, `[{"camelCase": 1.50}]`, string(meta["fileManifest"].(jsonRaw)))
	require.Equal(t, map[string]string{"archive": "archive", "skills/a/SKILL.md": "first", "b.txt": ""}, contents)
	up := vars["archive"].(graphql.Upload)
	require.Equal(t, "x.tar.gz", up.Filename, "a file name loses its folders")
	require.Equal(t, "application/gzip", up.ContentType)

	// The part named after a file variable is that file, whether or not the client gave it a file name.
	_, contents, err = received(t, r, sent(t, part{name: "label", content: "x"}, part{name: "archive", content: "no name"}))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"archive": "no name"}, contents)

	// Clients that read a text from a file send that file's name, too. It is a text all the same, unless it may be one of the files.
	vars, contents, err = received(t, r, sent(t, part{name: "label", content: "x"}, part{name: "metadata", file: "meta.json", content: `{"entry_name": "x"}`}))
	require.NoError(t, err)
	require.Nil(t, vars["metadata"])
	require.Equal(t, map[string]string{"metadata": `{"entry_name": "x"}`}, contents)
	alone := route(t, strings.NewReplacer(", $files: [FileInput!]", "", ", files: $files", "").Replace(uploads))
	vars, _, err = received(t, alone, sent(t, part{name: "label", content: "x"}, part{name: "metadata", file: "meta.json", content: `{"entry_name": "x"}`}))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"entryName": "x"}, vars["metadata"])

	// Which paths may stand beside each other is for the noun to say.
	vars, _, err = received(t, r, sent(t, part{name: "label", content: "x"}, part{name: "a", file: "a", content: "1"}, part{name: "a", file: "a", content: "2"}))
	require.NoError(t, err)
	require.Len(t, vars["files"], 2)

	// JSON is still fine where no file is needed.
	vars, _, err = received(t, r, post(t, `{"label": "x"}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"label": "x"}, vars)
}

func TestFormRefuses(t *testing.T) {
	t.Parallel()
	label, archive := part{name: "label", content: "x"}, part{name: "archive", file: "a", content: "a"}
	tests := map[string]struct {
		parts []part
		code  errs.Code
		path  string
		words string
	}{
		"a missing text":       {[]part{archive}, errs.Invalid, "label", "is required"},
		"no metadata in JSON":  {[]part{label, {name: "metadata", content: "x"}}, errs.Invalid, "metadata", "must be JSON"},
		"wrong metadata":       {[]part{label, {name: "metadata", content: `{"entry_name": 7}`}}, errs.Invalid, "metadata.entry_name", "must be a string"},
		"missing metadata":     {[]part{label, {name: "metadata", content: `{}`}}, errs.Invalid, "metadata.entry_name", "is required"},
		"a list for metadata":  {[]part{label, {name: "metadata", content: `[]`}}, errs.Invalid, "metadata", "must be an object"},
		"one file twice":       {[]part{label, archive, archive}, errs.Invalid, "archive", "was sent twice"},
		"one text twice":       {[]part{label, label}, errs.Invalid, "label", "was sent twice"},
		"metadata twice":       {[]part{label, {name: "metadata", content: `{"entry_name": "x"}`}, {name: "metadata", content: `{"entry_name": "y"}`}}, errs.Invalid, "metadata", "was sent twice"},
		"a text too large":     {[]part{label, {name: "metadata", content: strings.Repeat(" ", 4<<20) + "{}"}}, errs.TooLarge, "", "The part metadata is too large: the limit is 4096 KiB"},
		"an unknown text, too": {[]part{label, {name: "nonsense", content: strings.Repeat(" ", 4<<20+1)}}, errs.TooLarge, "", "The part nonsense is too large"},
		"too many parts":       {slices.Repeat([]part{{name: "nonsense"}}, 101), errs.TooLarge, "", "The form has more than 100 parts"},
		"a file too large":     {[]part{label, {name: "archive", file: "a", content: strings.Repeat("a", 6<<20)}}, errs.TooLarge, "", "The body is too large: the limit is 6144 KiB"},
		"files too large, sum": {[]part{label, {name: "a", file: "a", content: strings.Repeat("a", 4<<20)}, {name: "b", file: "b", content: strings.Repeat("a", 4<<20)}}, errs.TooLarge, "", "the limit is 6144 KiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := received(t, route(t, uploads), sent(t, tt.parts...))
			var e *errs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.code, e.Code)
			require.Equal(t, tt.path, strings.Join(e.Path, "."))
			require.Contains(t, e.Message, tt.words)
		})
	}
	t.Run("a missing file", func(t *testing.T) {
		t.Parallel()
		r := route(t, strings.Replace(uploads, "$archive: Upload", "$archive: Upload!", 1))
		_, _, err := received(t, r, sent(t, label))
		require.ErrorContains(t, err, "is required, as a file")
		_, _, err = received(t, r, post(t, `{"label": "x", "archive": "not a file"}`))
		require.Equal(t, errs.BadMediaType, errs.CodeOf(err))
		require.ErrorContains(t, err, "Send the body as multipart/form-data")
	})
	t.Run("missing files", func(t *testing.T) {
		t.Parallel()
		r := route(t, strings.Replace(uploads, "$files: [FileInput!]", "$files: [FileInput!]!", 1))
		_, _, err := received(t, r, sent(t, label))
		require.ErrorContains(t, err, "is required, as a file")
	})
	whole, err := io.ReadAll(sent(t, label, archive).Body)
	require.NoError(t, err)
	t.Run("cut off anywhere", func(t *testing.T) {
		t.Parallel()
		r := route(t, strings.Replace(uploads, "$archive: Upload", "$archive: Upload!", 1))
		req := sent(t, label, archive)
		for n := range len(whole) - 4 { // without its very end a form is still whole
			cut := req.Clone(t.Context())
			cut.Body = io.NopCloser(bytes.NewReader(whole[:n]))
			_, _, err := received(t, r, cut)
			require.Error(t, err, "%d of %d bytes", n, len(whole))
			require.Equal(t, errs.Invalid, errs.CodeOf(err))
		}
	})
	for name, mediaType := range map[string]string{"no boundary": "multipart/form-data", "another boundary": "multipart/form-data; boundary=x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := sent(t, label)
			req.Header.Set("Content-Type", mediaType)
			_, _, err := received(t, route(t, uploads), req)
			require.Equal(t, errs.Invalid, errs.CodeOf(err))
		})
	}
}

// TestFormLeavesNothingBehind watches the folder that files are spooled to, so it cannot run beside others.
func TestFormLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	spooled := func() int {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(files)
	}
	r := route(t, uploads)
	label, archive := part{name: "label", content: "x"}, part{name: "archive", file: "a", content: "a"}
	_, done, err := binder{schema: small, route: r}.bind(httptest.NewRecorder(), sent(t, label, archive, part{name: "f", file: "f", content: "f"}))
	require.NoError(t, err)
	require.Equal(t, 1, spooled(), "all files of a form are in one")
	done()
	require.Zero(t, spooled())
	for name, parts := range map[string][]part{
		"a rule":    {archive},
		"twice":     {label, archive, archive},
		"too large": {label, archive, {name: "f", file: "f", content: strings.Repeat("x", 6<<20)}},
	} {
		_, done, err := binder{schema: small, route: r}.bind(httptest.NewRecorder(), sent(t, parts...))
		require.Error(t, err, name)
		done()
		require.Zero(t, spooled(), name)
	}
}

// Ten thousand files are fine, and take one descriptor; one more is too many.
func TestFormWithManyFiles(t *testing.T) {
	t.Parallel()
	many := make([]part, 0, maxFileParts+2)
	many = append(many, part{name: "label", content: "x"})
	for i := range maxFileParts {
		name := "f/" + strconv.Itoa(i)
		many = append(many, part{name: name, file: "f", content: name})
	}
	before := descriptors(t)
	vars, done, err := binder{schema: small, route: route(t, uploads)}.bind(httptest.NewRecorder(), sent(t, many...))
	defer done()
	require.NoError(t, err)
	require.Less(t, descriptors(t), before+1000, "others are at work, too")
	list := vars["files"].([]any)
	require.Len(t, list, maxFileParts)
	for _, item := range list { // each has its own place in what they share
		file := item.(map[string]any)
		b, err := io.ReadAll(file["content"].(graphql.Upload).File)
		require.NoError(t, err)
		require.Equal(t, file["path"], string(b))
	}
	_, _, err = received(t, route(t, uploads), sent(t, append(many, part{name: "g", file: "g"})...))
	require.Equal(t, errs.TooLarge, errs.CodeOf(err))
	require.EqualError(t, err, "A form may have 10000 files")
}

// descriptors is how many files the process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this system does not tell which files are open")
	}
	return len(open)
}

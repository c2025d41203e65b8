package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

type jsonRaw = json.RawMessage

// shaped is the shape of a selection; it need not fit any schema.
func shaped(t testing.TB, selection, unwrap string) *shape {
	t.Helper()
	doc, err := parser.ParseQuery(&ast.Source{Input: selection})
	require.NoError(t, err)
	s, err := newShape(doc, doc.Operations[0].SelectionSet, unwrap)
	require.NoError(t, err)
	return s
}

func TestShape(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		selection, unwrap, data, want string
		meta                          meta
	}{
		"as it is":             {"{ a { b } }", "", `{"a":{"b":1}}`, `{"a":{"b":1}}`, meta{}},
		"unwrapped":            {"{ a { b } }", "a", `{"a":{"b":1}}`, `{"b":1}`, meta{}},
		"unwrapped twice":      {"{ a { b { c d } } }", "a.b", `{"a":{"b":{"c":1,"d":2}}}`, `{"c":1,"d":2}`, meta{}},
		"an alias unwrapped":   {"{ x: a { b } }", "x", `{"x":{"b":1}}`, `{"b":1}`, meta{}},
		"a list unwrapped":     {"{ a { b { c } } }", "a.b", `{"a":{"b":[{"c":1},{"c":2}]}}`, `[{"c":1},{"c":2}]`, meta{}},
		"null unwrapped":       {"{ a { b } }", "a", `{"a":null}`, `null`, meta{}},
		"flat":                 {"{ a @flat { b } }", "", `{"a":{"b":[1,2]}}`, `{"a":[1,2]}`, meta{}},
		"flat null":            {"{ a @flat { b } }", "", `{"a":null}`, `{"a":null}`, meta{}},
		"flat in a list":       {"{ a { b @flat { c } } }", "", `{"a":[{"b":{"c":1}},{"b":null},{"b":{"c":null}}]}`, `{"a":[{"b":1},{"b":null},{"b":null}]}`, meta{}},
		"flat in flat":         {"{ a @flat { b @flat { c } } }", "", `{"a":{"b":{"c":1}}}`, `{"a":1}`, meta{}},
		"a flat list":          {"{ a @flat { b } }", "", `{"a":[{"b":1},{"b":2}]}`, `{"a":[1,2]}`, meta{}},
		"an empty list":        {"{ a @flat { b { c } } }", "", `{"a":{"b":[]}}`, `{"a":[]}`, meta{}},
		"an empty object":      {"{ a { b @flat { c } d } }", "", `{"a":{"b":{"c":{}},"d":{}}}`, `{"a":{"b":{},"d":{}}}`, meta{}},
		"a tag":                {"{ a { _etag: b c } }", "", `{"a":{"_etag":7,"c":1}}`, `{"a":{"c":1}}`, meta{etag: "7"}},
		"a tag at the end":     {"{ a { c _etag: b } }", "", `{"a":{"c":1,"_etag":7}}`, `{"a":{"c":1}}`, meta{etag: "7"}},
		"a tag in the middle":  {"{ a { c _etag: b d } }", "", `{"a":{"c":1,"_etag":"x","d":2}}`, `{"a":{"c":1,"d":2}}`, meta{etag: "x"}},
		"a tag unwrapped":      {"{ a { s { _etag: b c } } }", "a", `{"a":{"s":{"_etag":7,"c":1}}}`, `{"s":{"c":1}}`, meta{etag: "7"}},
		"truncated":            {"{ a @flat { i { _truncated: m } n { c } } }", "", `{"a":{"i":{"_truncated":true},"n":[{"c":1}]}}`, `{"a":[{"c":1}]}`, meta{truncated: true}},
		"not truncated":        {"{ a @flat { i { _truncated: m } n { c } } }", "", `{"a":{"i":{"_truncated":false},"n":[]}}`, `{"a":[]}`, meta{}},
		"truncated, last":      {"{ a @flat { n { c } i { _truncated: m } } }", "", `{"a":{"n":[{"c":1}],"i":{"_truncated":true}}}`, `{"a":[{"c":1}]}`, meta{truncated: true}},
		"one of two truncated": {"{ a @flat { i { _truncated: m } n } b @flat { i { _truncated: m } n } }", "", `{"a":{"i":{"_truncated":true},"n":1},"b":{"i":{"_truncated":false},"n":2}}`, `{"a":1,"b":2}`, meta{truncated: true}},
		"hidden in a list":     {"{ a { b { _truncated: m } c } }", "", `{"a":[{"b":{"_truncated":false},"c":1},{"b":{"_truncated":true},"c":2}]}`, `{"a":[{"c":1},{"c":2}]}`, meta{truncated: true}},
		"fragments":            {"{ ...F } fragment F on X { a { ... on Y { b @flat { c } } ... on Z { d } } }", "", `{"a":[{"b":{"c":1}},{"d":2}]}`, `{"a":[{"b":1},{"d":2}]}`, meta{}},
		"raw JSON":             {"{ a @flat { b } }", "", `{"a":{"b":{"_etag": 1, "a" : [ {"b":2} ]}}}`, `{"a":{"_etag": 1, "a" : [ {"b":2} ]}}`, meta{}},
		"awkward strings":      {"{ a @flat { b } c }", "", `{"a":{"b":"}]\"\\,{[\\\""},"c":"\\"}`, `{"a":"}]\"\\,{[\\\"","c":"\\"}`, meta{}},
		"other alphabets":      {"{ a @flat { b } c }", "", `{"a":{"b":"é\u0000😀"},"c":"{é"}`, `{"a":"é\u0000😀","c":"{é"}`, meta{}},
		"all sorts of values":  {"{ a @flat { b } c d e f }", "", `{"a":{"b":-1.5e+3},"c":true,"d":false,"e":null,"f":0}`, `{"a":-1.5e+3,"c":true,"d":false,"e":null,"f":0}`, meta{}},
		"a long whole number":  {"{ a @flat { b } }", "", `{"a":{"b":9223372036854775807}}`, `{"a":9223372036854775807}`, meta{}},
		"the same field twice": {"{ a { b } a { c @flat { d } } }", "", `{"a":{"b":1,"c":{"d":2}}}`, `{"a":{"b":1,"c":2}}`, meta{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, meta := shaped(t, tt.selection, tt.unwrap).apply([]byte(tt.data))
			require.Equal(t, tt.want, string(body))
			require.Equal(t, tt.meta, meta)
		})
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	r := route(t, `query Q @rest(method: "GET", path: "/things") { thing { _etag: id name page @flat { info { _truncated: more } nodes { id } } } }`)
	write := func(method, ifNoneMatch, data string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), method, "/things", nil)
		if ifNoneMatch != "" {
			req.Header.Set("If-None-Match", ifNoneMatch)
		}
		r.write(w, req, []byte(data))
		return w
	}
	const data = `{"thing":{"_etag":3,"name":"x","page":{"info":{"_truncated":true},"nodes":[]}}}`
	w := write(http.MethodGet, "", data)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, `{"thing":{"name":"x","page":[]}}`+"\n", w.Body.String())
	require.Equal(t, `"3"`, w.Header().Get("ETag"))
	require.Equal(t, "true", w.Header().Get("X-Truncated"))
	require.Equal(t, "private, no-cache", w.Header().Get("Cache-Control"))
	require.Equal(t, fmt.Sprint(w.Body.Len()), w.Header().Get("Content-Length"))
	for tag, status := range map[string]int{`"3"`: 304, `W/"3"`: 304, `*`: 304, `"2", "3"`: 304, `"2"`: 200, `3`: 200, `"33"`: 200} {
		w := write(http.MethodGet, tag, data)
		require.Equal(t, status, w.Code, tag)
		require.Equal(t, status == 304, w.Body.Len() == 0, tag)
	}
	require.Equal(t, http.StatusOK, write(http.MethodPost, `"3"`, data).Code, "only a reader may have it already")

	none := route(t, `mutation D @rest(method: "DELETE", path: "/things", status: 204) { make { id } }`)
	rec := httptest.NewRecorder()
	none.write(rec, httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "/things", nil), []byte(`{"make":{"id":"x"}}`))
	require.Equal(t, http.StatusNoContent, rec.Code)
	require.Zero(t, rec.Body.Len())
}

// tree is a random answer with a selection that fits it. Choices are bytes, so that a fuzzer can make them.
type tree struct{ choices []byte }

func (g *tree) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

var words = []string{`""`, `"x"`, `"}{][,:\\"`, `"\"\\\""`, `"é😀"`, `"\u0000\n"`, "0", "-1.5e+3", "true", "false", "null", "9007199254740993", "{}", "[]", `{"_etag":[1,{"a0":"}"}]}`}

// object writes a selection and a value for it, and what a reader of JSON would make of it.
func (g *tree) object(depth int) (selection, data string, want any, special meta) {
	n := 1 + g.choose(3)
	var sel, parts []string
	m := orderedMap{}
	flat := depth < 4 && g.choose(4) == 0
	for i := range n {
		key := fmt.Sprintf("a%d", i)
		if i > 0 && g.choose(4) == 0 { // a value for a header
			switch value := g.choose(2) == 0; g.choose(3) {
			case 0: // with nothing else in its object
				sel, parts = append(sel, fmt.Sprintf("h%d { %s: x }", i, truncatedAlias)), append(parts, fmt.Sprintf(`"h%d":{"%s":%t}`, i, truncatedAlias, value))
				special.truncated = special.truncated || value
			case 1:
				if !strings.Contains(strings.Join(parts, " "), truncatedAlias+`":`) {
					sel, parts = append(sel, truncatedAlias+": x"), append(parts, fmt.Sprintf("%q:%t", truncatedAlias, value))
					special.truncated = special.truncated || value
				}
			default:
				if !strings.Contains(strings.Join(parts, " "), etagAlias+`":7`) {
					sel, parts = append(sel, etagAlias+": x"), append(parts, fmt.Sprintf("%q:7", etagAlias))
					special.etag = "7"
				}
			}
			continue
		}
		if flat && len(m) == 1 {
			break
		}
		s, d, w, inner := g.value(depth)
		sel, parts = append(sel, key+s), append(parts, fmt.Sprintf("%q:%s", key, d))
		m = append(m, pair{key, w})
		if inner.etag != "" {
			special.etag = inner.etag
		}
		special.truncated = special.truncated || inner.truncated
	}
	data = "{" + strings.Join(parts, ",") + "}"
	if flat && len(m) == 1 {
		return " @flat { " + strings.Join(sel, " ") + " }", data, m[0].value, special
	}
	return " { " + strings.Join(sel, " ") + " }", data, m, special
}

func (g *tree) value(depth int) (selection, data string, want any, special meta) {
	if depth == 0 || g.choose(3) == 0 {
		w := words[g.choose(len(words))]
		return "", w, jsonRaw(w), meta{}
	}
	selection, data, want, special = g.object(depth - 1)
	switch g.choose(4) {
	case 0: // the same object twice, in a list, and once null
		return selection, "[" + data + ",null," + data + "]", []any{want, jsonRaw("null"), want}, special
	case 1:
		return selection, "[]", []any{}, meta{}
	case 2:
		return selection, "null", jsonRaw("null"), meta{}
	}
	return selection, data, want, special
}

// orderedMap keeps its keys in order when it is encoded.
type orderedMap []pair

type pair struct {
	key   string
	value any
}

func (m orderedMap) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		v, err := encode(p.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", p.key, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// reshape checks one tree, and reports whether it could: some selections are none that a document may have.
func reshape(t *testing.T, choices []byte) bool {
	g := tree{choices: choices}
	selection, data, want, special := g.object(4)
	doc, err := parser.ParseQuery(&ast.Source{Input: strings.TrimPrefix(selection, " @flat")})
	require.NoError(t, err, selection)
	s, err := newShape(doc, doc.Operations[0].SelectionSet, "")
	if err != nil {
		return false
	}
	body, got := s.apply([]byte(data))
	expected, err := encode(want)
	require.NoError(t, err)
	require.Equal(t, string(expected), string(body), "%s\n%s", selection, data)
	require.Equal(t, special, got, "%s\n%s", selection, data)
	require.True(t, json.Valid(body))
	return true
}

func TestShapeOfAnything(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) // the same trees every time
	checked := 0
	for range 2000 {
		choices := make([]byte, 60)
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		if reshape(t, choices) {
			checked++
		}
	}
	require.Greater(t, checked, 1000)
}

func FuzzShape(f *testing.F) {
	f.Add([]byte("a tree grows from these bytes"))
	f.Add([]byte{2, 0, 2, 1, 3, 0, 1, 2, 3, 0, 0, 0, 1, 1, 2, 2, 3, 3})
	f.Fuzz(func(t *testing.T, choices []byte) { reshape(t, choices) })
}

package rest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/internal/errs"
)

const everything = `mutation Make(
	$string: String, $id: ID, $int: Int, $long: Int64, $float: Float, $bool: Boolean, $colour: Colour, $time: Time, $json: JSON,
	$strings: [String!], $lists: [[Int]], $inner: Inner, $inners: [Inner!], $rev: [Int!] @header(name: "If-Match")
) @rest(method: "POST", path: "/things", maxBody: 64) {
	make(string: $string, id: $id, int: $int, long: $long, float: $float, bool: $bool, colour: $colour, time: $time, json: $json,
		strings: $strings, lists: $lists, inner: $inner, inners: $inners, rev: $rev) { id }
}`

// bound sends a request through a router to the route, and returns what its variables become.
func bound(t testing.TB, r *Route, req *http.Request) (vars map[string]any, err error) {
	t.Helper()
	router, reached := chi.NewRouter(), false
	router.Method(r.Method, r.Path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var done func()
		vars, done, err = binder{schema: small, route: r}.bind(w, req)
		done()
		reached = true
	}))
	router.ServeHTTP(httptest.NewRecorder(), req)
	require.True(t, reached)
	return vars, err
}

func post(t testing.TB, body string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/things", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return req
}

const someID = "01a1dd16-1347-802f-b0ba-5c52843fd1bf"

func TestBindBody(t *testing.T) {
	t.Parallel()
	r := route(t, everything)
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := map[string]struct {
		body string
		want map[string]any
	}{
		"nothing":               {``, map[string]any{}},
		"an empty object":       {`{}`, map[string]any{}},
		"unknown keys":          {`{"nonsense": 1, "String": "x", "rev": [1]}`, map[string]any{}},
		"a string":              {`{"string": "x"}`, map[string]any{"string": "x"}},
		"an empty string":       {`{"string": ""}`, map[string]any{"string": ""}},
		"escapes":               {`{"string": "\u00e9\n\"\\"}`, map[string]any{"string": "é\n\"\\"}},
		"a word like a number":  {`{"string": "7"}`, map[string]any{"string": "7"}},
		"an id":                 {`{"id": "` + someID + `"}`, map[string]any{"id": someID}},
		"an id of a source":     {`{"id": "src_` + someID + `"}`, map[string]any{"id": "src_" + someID}},
		"an id in capitals":     {`{"id": "` + strings.ToUpper(someID) + `"}`, map[string]any{"id": strings.ToUpper(someID)}},
		"an int":                {`{"int": -7}`, map[string]any{"int": int64(-7)}},
		"the largest int":       {`{"int": 2147483647}`, map[string]any{"int": int64(2147483647)}},
		"a long":                {`{"long": 9007199254740993}`, map[string]any{"long": int64(9007199254740993)}},
		"the largest long":      {`{"long": 9223372036854775807}`, map[string]any{"long": int64(9223372036854775807)}},
		"a float":               {`{"float": 0.75}`, map[string]any{"float": 0.75}},
		"a whole float":         {`{"float": 1}`, map[string]any{"float": 1.0}},
		"an exponent":           {`{"float": 1e-3}`, map[string]any{"float": 0.001}},
		"true":                  {`{"bool": true}`, map[string]any{"bool": true}},
		"false":                 {`{"bool": false}`, map[string]any{"bool": false}},
		"an enum":               {`{"colour": "red"}`, map[string]any{"colour": "RED"}},
		"an enum of words":      {`{"colour": "dark_blue"}`, map[string]any{"colour": "DARK_BLUE"}},
		"a spelling of its own": {`{"colour": "neither-of:These"}`, map[string]any{"colour": "OTHER"}},
		"a time":                {`{"time": "2026-11-15T01:02:03+02:00"}`, map[string]any{"time": "2026-11-15T01:02:03+02:00"}},
		"JSON as it came":       {`{"json": {"b": 1.50,"a" :[ 1e3]}}`, map[string]any{"json": raw(`{"b": 1.50,"a" :[ 1e3]}`)}},
		"a JSON string":         {`{"json": "x"}`, map[string]any{"json": raw(`"x"`)}},
		"a JSON null":           {`{"json": null}`, map[string]any{"json": raw(`null`)}},
		"nulls": {
			`{"string": null, "id": null, "int": null, "colour": null, "strings": null, "inner": null}`,
			map[string]any{"string": nil, "id": nil, "int": nil, "colour": nil, "strings": nil, "inner": nil},
		},
		"a list":          {`{"strings": ["a", "b"]}`, map[string]any{"strings": []any{"a", "b"}}},
		"an empty list":   {`{"strings": []}`, map[string]any{"strings": []any{}}},
		"lists of lists":  {`{"lists": [[1, null], null, []]}`, map[string]any{"lists": []any{[]any{int64(1), nil}, nil, []any{}}}},
		"an input":        {`{"inner": {"source_key": "k", "colour": "dark_blue", "count": 5}}`, map[string]any{"inner": map[string]any{"sourceKey": "k", "colour": "DARK_BLUE", "count": int64(5)}}},
		"inner defaults":  {`{"inner": {"source_key": "k"}}`, map[string]any{"inner": map[string]any{"sourceKey": "k"}}},
		"inner nulls":     {`{"inner": {"source_key": "k", "count": null}}`, map[string]any{"inner": map[string]any{"sourceKey": "k", "count": nil}}},
		"unknown, inside": {`{"inner": {"source_key": "k", "sourceKey": "not the spelling", "x": {}}}`, map[string]any{"inner": map[string]any{"sourceKey": "k"}}},
		"inputs in inputs": {
			`{"inners": [{"source_key": "a", "deep": {"source_key": "b", "raw": {"camelCase": 1}}}]}`,
			map[string]any{"inners": []any{map[string]any{"sourceKey": "a", "deep": map[string]any{"sourceKey": "b", "raw": raw(`{"camelCase": 1}`)}}}},
		},
		"the last of two keys": {`{"string": "a", "string": "b"}`, map[string]any{"string": "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vars, err := bound(t, r, post(t, tt.body))
			require.NoError(t, err)
			require.Equal(t, tt.want, vars)
			_, err = validator.VariableValues(small, r.Document.Operations[0], vars)
			require.NoError(t, err)
		})
	}
}

// TestBindRefuses: nothing is guessed, and the answer says where and what.
func TestBindRefuses(t *testing.T) {
	t.Parallel()
	r := route(t, everything)
	tests := map[string]struct{ body, path, message string }{
		"a number for a string":  {`{"string": 7}`, "string", "must be a string"},
		"true for a string":      {`{"string": true}`, "string", "must be a string"},
		"an object for a string": {`{"string": {}}`, "string", "must be a string"},
		"an id that is none":     {`{"id": "x"}`, "id", "must be a UUID"},
		"an empty id":            {`{"id": ""}`, "id", "must be a UUID"},
		"an id without hyphens":  {`{"id": "` + strings.ReplaceAll(someID, "-", "") + `"}`, "id", "must be a UUID"},
		"a number for an id":     {`{"id": 7}`, "id", "must be a string"},
		"a fraction for an int":  {`{"int": 1.5}`, "int", "must be a whole number"},
		"a whole fraction":       {`{"int": 1.0}`, "int", "must be a whole number"},
		"an exponent for an int": {`{"int": 1e2}`, "int", "must be a whole number"},
		"a string for an int":    {`{"int": "7"}`, "int", "must be a whole number"},
		"an int too large":       {`{"int": 2147483648}`, "int", "must be a whole number"},
		"a long too large":       {`{"long": 9223372036854775808}`, "long", "must be a whole number"},
		"a string for a long":    {`{"long": "7"}`, "long", "must be a whole number"},
		"a string for a float":   {`{"float": "0.5"}`, "float", "must be a number"},
		"a float too large":      {`{"float": 1e999}`, "float", "must be a number"},
		"a string for a truth":   {`{"bool": "true"}`, "bool", "must be true or false"},
		"a number for a truth":   {`{"bool": 1}`, "bool", "must be true or false"},
		"an enum's GraphQL name": {`{"colour": "RED"}`, "colour", "must be one of red, dark_blue, neither-of:These"},
		"an enum's plain name":   {`{"colour": "other"}`, "colour", "must be one of red, dark_blue, neither-of:These"},
		"a number for an enum":   {`{"colour": 0}`, "colour", "must be a string"},
		"a number for a time":    {`{"time": 1893456000}`, "time", "must be a string"},
		"a string for a list":    {`{"strings": "a"}`, "strings", "must be a list"},
		"an object for a list":   {`{"strings": {"0": "a"}}`, "strings", "must be a list"},
		"a number in a list":     {`{"strings": ["a", 7]}`, "strings.1", "must be a string"},
		"null in a list":         {`{"strings": [null]}`, "strings.0", "must not be null"},
		"in a list of lists":     {`{"lists": [[1], [2, "x"]]}`, "lists.1.1", "must be a whole number"},
		"a list for an input":    {`{"inner": []}`, "inner", "must be an object"},
		"a string for an input":  {`{"inner": "x"}`, "inner", "must be an object"},
		"a missing key":          {`{"inner": {}}`, "inner.source_key", "is required"},
		"a null key":             {`{"inner": {"source_key": null}}`, "inner.source_key", "must not be null"},
		"the GraphQL spelling":   {`{"inner": {"sourceKey": "k"}}`, "inner.source_key", "is required"},
		"deep down":              {`{"inners": [{"source_key": "a"}, {"source_key": "b", "deep": {"source_key": 7}}]}`, "inners.1.deep.source_key", "must be a string"},
		"a list":                 {`[]`, "", "the body must be a JSON object"},
		"a string":               {`"x"`, "", "the body must be a JSON object"},
		"null":                   {`null`, "", "the body must be a JSON object"},
		"half an object":         {`{"string": "x"`, "", "the body must be a JSON object: unexpected end of JSON input at byte 14"},
		"a word":                 {`{"string": x}`, "", "the body must be a JSON object: invalid character 'x' looking for beginning of value at byte 12"},
		"two objects":            {`{} {}`, "", "the body must be a JSON object: invalid character '{' after top-level value at byte 4"},
		"nothing but space":      {` `, "", "the body must be a JSON object: unexpected end of JSON input at byte 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bound(t, r, post(t, tt.body))
			var e *errs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, errs.Invalid, e.Code)
			require.Equal(t, tt.path, strings.Join(e.Path, "."))
			require.Equal(t, tt.message, e.Message)
		})
	}
}

// TestBindRequired: absent, null and default are three things.
func TestBindRequired(t *testing.T) {
	t.Parallel()
	r := route(t, `mutation Make($string: String!, $int: Int! = 5, $bool: Boolean = true, $json: JSON!) @rest(method: "POST", path: "/things") { make(string: $string, int: $int, bool: $bool, json: $json) { id } }`)
	vars, err := bound(t, r, post(t, `{"string": "x", "json": null}`))
	require.Error(t, err, "a JSON that must not be null")
	require.Nil(t, vars)
	vars, err = bound(t, r, post(t, `{"string": "x", "json": []}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"string": "x", "json": json.RawMessage("[]")}, vars, "defaults are the executor's business")
	for body, path := range map[string]string{`{"json": 1}`: "string", `{"string": null, "json": 1}`: "string", `{"string": "x"}`: "json", `{"string": "x", "int": null, "json": 1}`: "int", ``: "string"} {
		_, err = bound(t, r, post(t, body))
		var e *errs.Error
		require.ErrorAs(t, err, &e, body)
		require.Equal(t, []string{path}, e.Path, body)
	}
}

func TestBindPathAndQuery(t *testing.T) {
	t.Parallel()
	r := route(t, `query Get($id: ID!, $a: String, $b: Int, $c: [Int!]) @rest(method: "GET", path: "/things/{id}") { thing(id: $id, a: $a, b: $b, c: $c) { id } }`)
	get := func(path, query string) (map[string]any, error) {
		return bound(t, r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/things/"+path+"?"+query, nil))
	}
	for query, want := range map[string]map[string]any{
		"":                  {"id": someID},
		"a=7&b=7":           {"id": someID, "a": "7", "b": int64(7)},
		"a=":                {"id": someID, "a": ""},
		"a=x%20y%2Fz%C3%A9": {"id": someID, "a": "x y/zé"},
		"a=first&a=second":  {"id": someID, "a": "first"},
		"c=1&c=2":           {"id": someID, "c": []any{int64(1), int64(2)}},
		"nonsense=1&id=x":   {"id": someID},
		"a=true&a=null":     {"id": someID, "a": "true"},
		"a=null":            {"id": someID, "a": "null"},
	} {
		vars, err := get(someID, query)
		require.NoError(t, err, query)
		require.Equal(t, want, vars, query)
	}
	for query, path := range map[string]string{"b=x": "b", "b=": "b", "b=1.5": "b", "b=%221%22": "b", "b=[1]": "b", "b=1e2": "b", "c=1&c=x": "c.1", "c=1,2": "c.0", "b=99999999999": "b", "b=true": "b"} {
		_, err := get(someID, query)
		var e *errs.Error
		require.ErrorAs(t, err, &e, query)
		require.Equal(t, errs.Invalid, e.Code, query)
		require.Equal(t, path, strings.Join(e.Path, "."), query)
	}
	for _, id := range []string{"x", url.PathEscape("../" + someID), someID + "%00"} {
		_, err := get(id, "")
		require.Equal(t, errs.Invalid, errs.CodeOf(err), id)
	}
	named := route(t, `query Get($a: String!) @rest(method: "GET", path: "/named/{a}") { thing(a: $a) { id } }`)
	for escaped, want := range map[string]string{"plain": "plain", "a%20b": "a b", "a%2Fb": "a/b", "%C3%A9": "é", "a+b": "a+b", "100%25": "100%", "a%2520b": "a%20b", "a%252Fb%2Fc": "a%2Fb/c"} {
		vars, err := bound(t, named, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/named/"+escaped, nil))
		require.NoError(t, err)
		require.Equal(t, map[string]any{"a": want}, vars, escaped)
	}
}

func TestBindIfMatch(t *testing.T) {
	t.Parallel()
	r := route(t, everything)
	tests := map[string]struct {
		lines []string
		want  any // nil: there is no condition
	}{
		"none":            {nil, nil},
		"one":             {[]string{`"3"`}, []any{int64(3)}},
		"without quotes":  {[]string{`3`}, []any{int64(3)}},
		"several":         {[]string{`"3", "4"`}, []any{int64(3), int64(4)}},
		"several lines":   {[]string{`"3"`, `"4"`}, []any{int64(3), int64(4)}},
		"anything":        {[]string{`*`}, nil},
		"anything at all": {[]string{`"3", *`}, nil},
		"a weak one":      {[]string{`W/"3"`}, []any{}},
		"not ours":        {[]string{`"abc"`}, []any{}},
		"ours among them": {[]string{`"abc", "3"`}, []any{int64(3)}},
		"empty":           {[]string{``}, []any{}},
		"empty quotes":    {[]string{`""`}, []any{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := post(t, `{}`)
			req.Header["If-Match"] = tt.lines
			vars, err := bound(t, r, req)
			require.NoError(t, err)
			require.Equal(t, tt.want, vars["rev"])
			_, err = validator.VariableValues(small, r.Document.Operations[0], vars)
			require.NoError(t, err)
		})
	}
}

func TestBindBodyLimits(t *testing.T) {
	t.Parallel()
	r := route(t, everything) // 64 KiB
	of := func(n int) string { return `{"string": "` + strings.Repeat("x", n-14) + `"}` }
	_, err := bound(t, r, post(t, of(64<<10)))
	require.NoError(t, err)
	_, err = bound(t, r, post(t, of(64<<10+1)))
	require.Equal(t, errs.TooLarge, errs.CodeOf(err))
	require.ErrorContains(t, err, "the limit is 64 KiB")

	for _, mediaType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json", "multipart/form-data; boundary=x"} {
		req := post(t, `{}`)
		req.Header.Set("Content-Type", mediaType)
		_, err := bound(t, r, req)
		require.Equal(t, errs.BadMediaType, errs.CodeOf(err), mediaType)
	}
	for _, mediaType := range []string{"application/json; charset=utf-8", "Application/JSON"} {
		req := post(t, `{}`)
		req.Header.Set("Content-Type", mediaType)
		_, err := bound(t, r, req)
		require.NoError(t, err, mediaType)
	}
	req := post(t, ``)
	req.Header.Del("Content-Type")
	_, err = bound(t, r, req)
	require.NoError(t, err, "no body needs no type")
}

// FuzzBind: whatever the body, it is refused in our own words or gives variables that the declared types accept.
func FuzzBind(f *testing.F) {
	for _, body := range []string{
		`{"string": "x", "id": "` + someID + `", "int": 1, "long": 2, "float": 3.5, "bool": true, "colour": "red", "time": "2026-11-15T01:02:03Z", "json": {"a": [1]}}`,
		`{"strings": ["a"], "lists": [[1, null], null], "inner": {"source_key": "k", "deep": {"source_key": "k"}}, "inners": []}`,
		`{"string": null, "inner": null, "json": null}`, `{}`, ``, `null`, `[]`, `{"a"`, "\x00", `{"int": 1e1}`, `{"string": "\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	r := route(f, everything)
	f.Fuzz(func(t *testing.T, body []byte) {
		vars, err := bound(t, r, post(t, string(body)))
		if err == nil {
			_, err := validator.VariableValues(small, r.Document.Operations[0], vars)
			require.NoError(t, err, "%q", body)
			return
		}
		var e *errs.Error
		require.ErrorAs(t, err, &e, "%q", body)
		require.Contains(t, []errs.Code{errs.Invalid, errs.TooLarge, errs.BadMediaType}, e.Code)
	})
}

// A variable with @body is what was sent, to the byte, beside others that come from elsewhere.
func TestBindWholeBody(t *testing.T) {
	t.Parallel()
	r := route(t, `mutation Make($json: JSON! @body, $rev: [Int!] @header(name: "If-Match")) @rest(method: "POST", path: "/things", maxBody: 1) { make(json: $json, rev: $rev) { id } }`)
	for _, body := range []string{`{}`, ` {"b": 1.50, "a": [ ] , "b": 2}`, `{"json": {"deep": true}}`} {
		req := post(t, body)
		req.Header.Set("If-Match", `"3"`)
		vars, err := bound(t, r, req)
		require.NoError(t, err, body)
		require.Equal(t, map[string]any{"json": json.RawMessage(body), "rev": []any{int64(3)}}, vars)
	}
	for body, code := range map[string]errs.Code{
		``: errs.Invalid, `[]`: errs.Invalid, `null`: errs.Invalid, `7`: errs.Invalid, `{`: errs.Invalid, `{"a": "` + strings.Repeat("x", 1024) + `"}`: errs.TooLarge,
	} {
		_, err := bound(t, r, post(t, body))
		require.Equal(t, code, errs.CodeOf(err), body)
	}
}

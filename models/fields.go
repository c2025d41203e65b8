package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"skillgraph/internal/errs"
)

// fields reads a JSON object key by key, exactly as spelled, and remembers the first thing that is wrong.
// encoding/json would match keys whatever their case and could not say which field is missing.
type fields struct {
	at    errs.Path
	raw   map[string]json.RawMessage
	saved bool // checked before: leave out what is costly to check
	err   error
}

func readFields(at errs.Path, raw json.RawMessage) *fields {
	f := &fields{at: at, raw: rawFields(raw)}
	if f.raw == nil {
		f.err = at.Because("must be an object")
	}
	return f
}

func rawFields(raw json.RawMessage) (out map[string]json.RawMessage) {
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// inner reads an object inside the object.
func (f *fields) inner(key string) *fields {
	in := readFields(f.at.At(key), f.raw[key])
	in.saved = f.saved
	return in
}

func (f *fields) refuse(key, format string, args ...any) {
	f.check(f.at.At(key).Because(format, args...))
}

func (f *fields) check(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

// has reports whether the key has a value; null counts as none.
func (f *fields) has(key string) bool {
	return f.raw[key] != nil && !bytes.Equal(f.raw[key], []byte("null"))
}

// missing refuses a required key that has no value.
func (f *fields) missing(key string) bool {
	if !f.has(key) {
		f.refuse(key, "is required")
		return true
	}
	return false
}

// read decodes a key that has a value.
func read[T any](f *fields, key, kind string) (v T) {
	if f.has(key) && json.Unmarshal(f.raw[key], &v) != nil {
		f.refuse(key, "must be %s", kind)
	}
	return v
}

func (f *fields) anyText(key string) string {
	f.missing(key)
	return read[string](f, key, "a string")
}

func (f *fields) text(key string) string {
	s := f.anyText(key)
	if isBlank(s) {
		f.refuse(key, "must not be empty")
	}
	return s
}

func (f *fields) optional(key string) *string {
	if !f.has(key) {
		return nil
	}
	s := read[string](f, key, "a string")
	return &s
}

func (f *fields) label(key string) *string {
	s := f.optional(key)
	if s != nil {
		f.check(checkText(f.at.At(key), *s, 0, 200))
	}
	return s
}

func (f *fields) flag(key string, otherwise bool) bool {
	if !f.has(key) {
		return otherwise
	}
	return read[bool](f, key, "true or false")
}

func (f *fields) fraction(key string) *float64 {
	if !f.has(key) {
		return nil
	}
	n := read[float64](f, key, "a number")
	if n < 0 || n > 1 {
		f.refuse(key, "must be between 0 and 1")
	}
	return &n
}

// id is the case's own id, or "" where the server is to give one.
func (f *fields) id() string {
	if _, ok := f.raw["id"]; !ok {
		return ""
	}
	id := read[string](f, "id", "a string")
	if id == "" || utf8.RuneCountInString(id) > 128 {
		f.refuse("id", "must be a string of 1 to 128 characters")
	}
	f.check(checkText(f.at.At("id"), id, 1, 128))
	return id
}

func (f *fields) textOrList(key string) []string {
	if v, ok := f.raw[key]; ok && bytes.HasPrefix(v, []byte(`"`)) {
		return []string{f.text(key)}
	}
	f.missing(key)
	list := read[[]string](f, key, "a string or a list of strings")
	if len(list) == 0 || slices.ContainsFunc(list, isBlank) {
		f.refuse(key, "must not be empty")
	}
	return list
}

// fieldEnum reads one of the given values, or any where none are given.
func fieldEnum[E ~string](f *fields, key string, wire map[E]string, values ...E) E {
	e, ok := parseWire(f.anyText(key), wire)
	if !ok || values != nil && !slices.Contains(values, e) {
		f.refuse(key, "must be one of %s", wireList(values, wire))
	}
	return e
}

// wireList spells the given values, or all of them, for a message.
func wireList[E ~string](values []E, wire map[E]string) string {
	var out []string
	for v, s := range wire {
		if values == nil || slices.Contains(values, v) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

var objectStores = []string{"s3", "gs", "gcs", "az", "azblob", "abfs", "abfss", "r2", "b2", "oss", "cos", "oci", "swift", "minio"}

// location is an http(s) URL or an object of an object store.
func (f *fields) location(key string) string {
	s := f.text(key)
	u, err := url.Parse(s)
	switch {
	case f.err != nil:
	case err != nil || u.Hostname() == "" || strings.ContainsAny(s, " \t\r\n"):
		f.refuse(key, "must be an http(s) URL or an object-store URI such as s3://bucket/key")
	case u.Scheme == "http" || u.Scheme == "https":
	case !slices.Contains(objectStores, u.Scheme):
		f.refuse(key, "must begin with http, https or an object store's scheme such as s3 or gs")
	case strings.Trim(u.Path, "/") == "":
		f.refuse(key, "must name an object: %s://bucket/key", u.Scheme)
	}
	return s
}

func (f *fields) path(key, otherwise string) string {
	if p := f.optionalPath(key); p != nil {
		return *p
	}
	return otherwise
}

func (f *fields) optionalPath(key string) *string {
	p := f.optional(key)
	if p != nil && !IsLocalPath(*p) {
		f.refuse(key, "must be a relative path inside the archive")
	}
	return p
}

func (f *fields) hints(key string) JSON {
	if !f.has(key) {
		return nil
	}
	in := f.inner(key)
	in.optional("working_dir")
	if ms := read[float64](in, "timeout_ms", "a number of milliseconds"); ms < 0 {
		in.refuse("timeout_ms", "must not be negative")
	}
	f.check(in.err)
	return JSON(f.raw[key])
}

// schema compiles the JSON Schema, so that a broken one is refused when it is saved and not when it is run.
func (f *fields) schema(key string) JSON {
	if f.saved || f.missing(key) {
		return JSON(f.raw[key])
	}
	if _, commas := measureJSON(f.raw[key]); commas >= maxSchemaValues {
		f.refuse(key, "must have at most %d values", maxSchemaValues)
		return nil
	}
	if _, err := compileSchema(f.raw[key], plainRegexp); err != nil {
		f.refuse(key, "is not a usable JSON Schema: %s", schemaFault(err))
	}
	return JSON(f.raw[key])
}

type noRemote struct{}

func (noRemote) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// schemaURL is the name of a case's schema while it is compiled. One without a scheme would become the path of a file
// on the server.
const schemaURL = "case:///schema"

// schemaFault says in one line what is wrong with a schema: the innermost problem, and nothing of our own names.
func schemaFault(err error) string {
	var schema *jsonschema.SchemaValidationError
	if errors.As(err, &schema) {
		err = schema.Err
	}
	var fault *jsonschema.ValidationError
	if errors.As(err, &fault) {
		for len(fault.Causes) > 0 {
			fault = fault.Causes[0]
		}
		err = fault
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.NewReplacer(schemaURL, "", "case:///", "/").Replace(line)
}

package rest

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/wire"
)

type origin int

const (
	fromBody origin = iota
	fromPath
	fromQuery
	fromHeader
	wholeBody
)

// variable is a variable of a stored operation and where a request carries it.
type variable struct {
	name     string
	typ      *ast.Type
	optional bool
	from     origin
	header   string
	file     bool // one uploaded file
	files    bool // all uploaded files that no other variable takes
}

// binder fills the variables of one route.
type binder struct {
	schema *ast.Schema
	route  *Route
}

// bind reads a request. done releases what the request has spooled to disk and is never nil.
func (b binder) bind(w http.ResponseWriter, r *http.Request) (vars map[string]any, done func(), err error) {
	var raw json.RawMessage
	body, done := map[string]json.RawMessage{}, func() {}
	vars = map[string]any{}
	if b.takesBody() {
		switch mt := mediaType(r); {
		case mt == "multipart/form-data" && b.takesFiles():
			r.Body = http.MaxBytesReader(w, r.Body, b.route.maxBody)
			body, done, err = b.readForm(r, vars)
		case b.needsFiles():
			err = errs.New(errs.BadMediaType, "Send the body as multipart/form-data, not %q", mt)
		default:
			body, raw, err = b.readJSON(w, r)
		}
		if err != nil {
			return nil, done, err
		}
	}
	query := r.URL.Query()
	for _, v := range b.route.variables {
		switch v.from {
		case fromPath:
			err = b.text(vars, v, []string{pathParam(r, v.name)})
		case fromQuery:
			err = b.text(vars, v, query[v.name])
		case fromHeader:
			entityTags(vars, v, r.Header.Values(v.header))
		case fromBody:
			err = b.fromBody(vars, v, body)
		case wholeBody:
			if vars[v.name] = raw; len(raw) == 0 {
				err = errs.At().Because("the body must be a JSON object")
			}
		}
		if err != nil {
			return nil, done, err
		}
	}
	return vars, done, nil
}

func (b binder) takesBody() bool {
	for _, v := range b.route.variables {
		if v.from == fromBody || v.from == wholeBody {
			return true
		}
	}
	return false
}

func (b binder) takesFiles() bool {
	return slices.ContainsFunc(b.route.variables, func(v variable) bool { return v.file || v.files })
}

// needsFiles: nothing but a form will do.
func (b binder) needsFiles() bool {
	return slices.ContainsFunc(b.route.variables, func(v variable) bool { return (v.file || v.files) && !v.optional })
}

func mediaType(r *http.Request) string {
	mt, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mt
}

// pathParam undoes the escapes that chi leaves where a path has some that matter.
func pathParam(r *http.Request, name string) string {
	s := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return s
	}
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// readJSON reads a body, by its keys and as it is.
func (b binder) readJSON(w http.ResponseWriter, r *http.Request) (map[string]json.RawMessage, json.RawMessage, error) {
	raw, err := ReadBody(w, r, b.route.maxBody)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) == 0 {
		return map[string]json.RawMessage{}, nil, nil // every variable may be optional
	}
	if mt := mediaType(r); mt != "application/json" {
		return nil, nil, errs.New(errs.BadMediaType, "Send the body as application/json, not %q", mt)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, nil, errs.At().Because("the body must be a JSON object%s", because(err))
	}
	return object, raw, nil
}

// ReadBody reads a body up to the limit, without its gzip, which may make it twice as large and no larger.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	body := http.MaxBytesReader(w, r.Body, limit)
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, errs.At().Because("the body is not gzip, though its header says so")
		}
		body = http.MaxBytesReader(nil, z, 2*limit)
	default:
		return nil, errs.New(errs.BadMediaType, "Send the body plain or packed with gzip, not %q", encoding)
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, tooLarge(err)
	}
	return raw, nil
}

func because(err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return ": " + syntax.Error() + " at byte " + strconv.FormatInt(syntax.Offset, 10)
	}
	return ""
}

func tooLarge(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return errs.New(errs.TooLarge, "The body is too large: the limit is %d KiB", large.Limit>>10)
	}
	return errs.At().Because("the body could not be read")
}

func (b binder) fromBody(vars map[string]any, v variable, body map[string]json.RawMessage) error {
	if v.file || v.files {
		if _, ok := vars[v.name]; !ok && !v.optional {
			return errs.At(v.name).Because("is required, as a file")
		}
		return nil
	}
	raw, ok := body[v.name]
	if !ok {
		if !v.optional {
			return errs.At(v.name).Because("is required")
		}
		return nil
	}
	value, err := b.coerce(errs.At(v.name), v.typ, raw)
	vars[v.name] = value
	return err
}

// entityTags reads entity tags: a list of the integers among them, or nothing for "*". What is no integer of ours
// matches nothing, so it is left out of the list.
func entityTags(vars map[string]any, v variable, lines []string) {
	if len(lines) == 0 {
		return
	}
	tags := []any{}
	for tag := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" {
			return
		}
		if n, err := strconv.Atoi(strings.Trim(tag, `"`)); err == nil {
			tags = append(tags, int64(n))
		}
	}
	vars[v.name] = tags
}

// text reads a variable from a path or query string, where everything is a string.
func (b binder) text(vars map[string]any, v variable, values []string) error {
	if len(values) == 0 {
		if !v.optional {
			return errs.At(v.name).Because("is required")
		}
		return nil
	}
	at := errs.At(v.name)
	if v.typ.Elem == nil {
		value, err := b.coerce(at, v.typ, asJSON(v.typ, values[0]))
		vars[v.name] = value
		return err
	}
	list := make([]any, len(values))
	for i, s := range values {
		value, err := b.coerce(at.At(i), v.typ.Elem, asJSON(v.typ.Elem, s))
		if err != nil {
			return err
		}
		list[i] = value
	}
	vars[v.name] = list
	return nil
}

// asJSON is a word of a URL as JSON would have it; what is not a number or a truth value will be refused as such.
func asJSON(t *ast.Type, s string) json.RawMessage {
	switch t.NamedType {
	case "Int", "Int64", "Float", "Boolean":
		if json.Valid([]byte(s)) && !strings.ContainsAny(s, `"[{`) {
			return json.RawMessage(s)
		}
	}
	quoted, _ := json.Marshal(s)
	return quoted
}

// coerce turns JSON into what a variable of the declared type takes, and refuses what is not of that type.
func (b binder) coerce(at errs.Path, t *ast.Type, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		if t.NonNull {
			return nil, at.Because("must not be null")
		}
		if t.NamedType != "JSON" {
			return nil, nil
		}
	}
	if t.Elem != nil {
		return b.list(at, t.Elem, raw)
	}
	switch def := b.schema.Types[t.NamedType]; def.Kind {
	case ast.Enum:
		return enum(at, def, raw)
	case ast.InputObject:
		return b.object(at, def, raw)
	default:
		return scalar(at, t.NamedType, raw)
	}
}

func (b binder) list(at errs.Path, elem *ast.Type, raw json.RawMessage) (any, error) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, at.Because("must be a list")
	}
	out := make([]any, len(items))
	for i, item := range items {
		v, err := b.coerce(at.At(i), elem, item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (b binder) object(at errs.Path, def *ast.Definition, raw json.RawMessage) (any, error) {
	var in map[string]json.RawMessage
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return nil, at.Because("must be an object")
	}
	out := map[string]any{}
	for _, f := range def.Fields {
		key := wire.Snake(f.Name)
		v, ok := in[key]
		if !ok {
			if f.Type.NonNull && f.DefaultValue == nil {
				return nil, at.At(key).Because("is required")
			}
			continue
		}
		value, err := b.coerce(at.At(key), f.Type, v)
		if err != nil {
			return nil, err
		}
		out[f.Name] = value
	}
	return out, nil
}

func enum(at errs.Path, def *ast.Definition, raw json.RawMessage) (any, error) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil, at.Because("must be a string")
	}
	allowed := make([]string, len(def.EnumValues))
	for i, v := range def.EnumValues {
		if allowed[i] = wire.Spelling(v); allowed[i] == s {
			return v.Name, nil
		}
	}
	return nil, at.Because("must be one of %s", strings.Join(allowed, ", "))
}

func scalar(at errs.Path, name string, raw json.RawMessage) (any, error) {
	switch name {
	case "JSON":
		return raw, nil
	case "Boolean":
		return decode[bool](at, raw, "true or false")
	case "Float":
		return decode[float64](at, raw, "a number")
	case "Int":
		n, err := decode[int32](at, raw, "a whole number")
		return int64(n), err
	case "Int64":
		return decode[int64](at, raw, "a whole number")
	}
	s, err := decode[string](at, raw, "a string")
	if err == nil && name == "ID" {
		if _, bad := ids.Parse(s); bad != nil {
			return nil, at.Because("must be a UUID")
		}
	}
	return s, err
}

func decode[T any](at errs.Path, raw json.RawMessage, kind string) (v T, err error) {
	if json.Unmarshal(raw, &v) != nil {
		return v, at.Because("must be %s", kind)
	}
	return v, nil
}

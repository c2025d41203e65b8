package rest

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/errs"
)

const (
	maxTextPart  = 4 << 20 // the manifest of 10,000 files fits
	maxFileParts = 10_000
	maxParts     = 100 // besides those of a list of files
)

// isUpload: the variable is one file, taken from the part of its name.
func isUpload(t *ast.Type) bool { return t.NamedType == "Upload" }

// isFileList: the variable is a list of {path, content} and takes every file whose part no variable has the name of.
// The part's name is the path: the file name that a part carries loses its folders on the way.
func isFileList(schema *ast.Schema, t *ast.Type) bool {
	if t.Elem == nil || t.Elem.NamedType == "" {
		return false
	}
	def := schema.Types[t.Elem.NamedType]
	if def == nil || def.Kind != ast.InputObject {
		return false
	}
	content := def.Fields.ForName("content")
	return content != nil && isUpload(content.Type) && def.Fields.ForName("path") != nil
}

// readForm reads a form part by part: text parts into the body, files to disk and into the variables.
func (b binder) readForm(r *http.Request, vars map[string]any) (map[string]json.RawMessage, func(), error) {
	form := &form{binder: b, vars: vars, body: map[string]json.RawMessage{}}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, form.done, errs.At().Because("the body is not a usable multipart form")
	}
	for others := 0; ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return form.body, form.done, nil
		}
		if err != nil {
			return nil, form.done, b.formError(err)
		}
		listed, err := form.take(part)
		if err != nil {
			return nil, form.done, err
		}
		if !listed {
			others++
		}
		if others > maxParts {
			return nil, form.done, errs.New(errs.TooLarge, "The form has more than %d parts", maxParts)
		}
	}
}

func (b binder) formError(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(err)
	}
	return errs.At().Because("the form is cut off or broken")
}

// form is a form that is being read. All of its files lie one after the other in one file on disk: ten thousand parts
// must not take ten thousand descriptors.
type form struct {
	binder
	vars  map[string]any
	body  map[string]json.RawMessage
	disk  *os.File // nil until a file comes
	size  int64    // of what is on disk
	files int
}

// done removes what is on disk.
func (f *form) done() {
	if f.disk != nil {
		_ = f.disk.Close()
		_ = os.Remove(f.disk.Name())
	}
}

// take reads a part, and reports whether it is one of a list of files. Some clients name a file for every part that they read from
// one: only where the route takes a list of files does a file name tell a file from a text.
func (f *form) take(part *multipart.Part) (listed bool, err error) {
	name := part.FormName()
	v, rest := f.target(name)
	switch {
	case v != nil && v.file:
		if _, twice := f.vars[name]; twice {
			return false, errs.At(name).Because("was sent twice")
		}
		f.vars[name], err = f.spool(part)
		return false, err
	case rest != nil && part.FileName() != "":
		if f.files++; f.files > maxFileParts {
			return true, errs.New(errs.TooLarge, "A form may have %d files", maxFileParts)
		}
		up, err := f.spool(part)
		list, _ := f.vars[rest.name].([]any)
		f.vars[rest.name] = append(list, map[string]any{"path": name, "content": up})
		return true, err
	case v != nil || part.FileName() == "":
		return false, f.text(name, v, part)
	}
	return false, nil // a file that nobody declared is ignored, as unknown keys are
}

// target is the variable that a part belongs to, and the one that takes all other files.
func (f *form) target(name string) (own, rest *variable) {
	for i := range f.route.variables {
		v := &f.route.variables[i]
		if v.from == fromBody && v.name == name && !v.files {
			own = v
		}
		if v.files {
			rest = v
		}
	}
	return own, rest
}

// text keeps a text part as JSON: as it is where the variable is an object, else as the word it is.
func (f *form) text(name string, v *variable, part io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(part, maxTextPart+1))
	if err != nil {
		return f.formError(err)
	}
	switch {
	case len(raw) > maxTextPart:
		return errs.New(errs.TooLarge, "The part %s is too large: the limit is %d KiB", name, maxTextPart>>10)
	case v == nil:
	case f.body[name] != nil:
		return errs.At(name).Because("was sent twice")
	case v.typ.NamedType == "JSON" || f.schema.Types[v.typ.Name()].Kind == ast.InputObject:
		if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
			return errs.At(name).Because("must be JSON%s", because(err))
		}
		f.body[name] = raw
	default:
		f.body[name] = asJSON(v.typ, string(raw))
	}
	return nil
}

// spool streams a file part to disk: archives are too large for memory, and readers may want to seek.
func (f *form) spool(part *multipart.Part) (_ graphql.Upload, err error) {
	if f.disk == nil {
		if f.disk, err = os.CreateTemp("", "skillgraph-upload-*"); err != nil {
			return graphql.Upload{}, err
		}
	}
	n, err := io.Copy(f.disk, part)
	if err != nil {
		return graphql.Upload{}, f.formError(err)
	}
	content := io.NewSectionReader(f.disk, f.size, n)
	f.size += n
	return graphql.Upload{File: content, Filename: part.FileName(), Size: n, ContentType: part.Header.Get("Content-Type")}, nil
}

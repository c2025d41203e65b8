package graph

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/ids"
	"skillgraph/internal/viewer"
)

// learnedDocuments is how many documents of clients are remembered by their hashes, those of all organizations together.
const learnedDocuments = 2000

// documentID is among a request's extensions, where the client has named a stored document.
const documentID = "documentId"

// Documents knows texts that clients need not send: those that the operator has stored, and those that a client has sent once
// (automatic persisted queries). What an organization has sent is its own: another can neither run it nor find out that it is there.
type Documents struct {
	only    bool
	byHash  map[string]string
	byName  map[string]string // by file name and by the name of the operation
	learned *lru.Cache[learnedKey, string]
}

type learnedKey struct {
	org  ids.ID
	hash string
}

// NewDocuments knows no stored documents, and lets clients send their own.
func NewDocuments() *Documents {
	learned, _ := lru.New[learnedKey, string](learnedDocuments) // fails only for a size below 1
	return &Documents{byHash: map[string]string{}, byName: map[string]string{}, learned: learned}
}

// LoadDocuments reads the *.graphql files of a folder, each of which must be valid. With only, clients may run nothing else.
func LoadDocuments(folder fs.FS, only bool) (*Documents, error) {
	d := NewDocuments()
	d.only = only
	schema := Schema()
	return d, fs.WalkDir(folder, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".graphql" {
			return err
		}
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return err
		}
		if err := d.add(schema, strings.TrimSuffix(path.Base(file), ".graphql"), string(text)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	})
}

func (d *Documents) add(schema *ast.Schema, name, text string) error {
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return err
	}
	if list := validator.ValidateWithRules(schema, doc, nil); len(list) > 0 {
		return list
	}
	names := []string{name}
	for _, op := range doc.Operations {
		if op.Name != "" && op.Name != name {
			names = append(names, op.Name)
		}
	}
	for _, n := range names {
		if d.byName[n] != "" {
			return fmt.Errorf("there is another document %s", n)
		}
		d.byName[n] = text
	}
	d.byHash[hashOf(text)] = text
	d.byHash[hashOf(strings.TrimSpace(text))] = text // an editor adds a line break, a client does not
	return nil
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// ExtensionName and Validate make it an extension.
func (*Documents) ExtensionName() string { return "Documents" }

// Validate has nothing to check.
func (*Documents) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters finds the text that a request means.
func (d *Documents) MutateOperationParameters(ctx context.Context, p *graphql.RawParams) *gqlerror.Error {
	if face.IsREST(ctx) {
		return nil
	}
	if err := d.find(viewer.From(ctx).OrgID, p); err != nil {
		return &gqlerror.Error{Err: err, Message: err.Message}
	}
	return nil
}

func (d *Documents) find(org ids.ID, p *graphql.RawParams) *errs.Error {
	hash, err := persisted(p.Extensions)
	name, _ := p.Extensions[documentID].(string)
	switch {
	case err != nil:
		return err
	case p.Query != "" && hash != "" && hash != hashOf(p.Query):
		return errs.At("extensions", "persistedQuery", "sha256Hash").Because("provided sha does not match query")
	case p.Query != "" && d.only && d.byHash[hashOf(p.Query)] == "":
		return notStored()
	case p.Query != "":
		return nil
	case hash != "":
		p.Query = d.byHash[hash]
		if p.Query == "" && !d.only {
			p.Query, _ = d.learned.Get(learnedKey{org, hash})
		}
		if p.Query == "" && !d.only {
			return errs.New(errs.UnknownQuery, "PersistedQueryNotFound") // the words that clients look for
		}
	case name != "":
		if p.Query = d.byName[name]; p.Query == "" {
			p.Query = d.byHash[strings.TrimPrefix(name, "sha256:")]
		}
	default:
		p.Query = d.byName[p.OperationName]
	}
	switch {
	case p.Query != "":
		return nil
	case d.only || name != "":
		return notStored()
	}
	return errs.At("query").Because("A query is needed")
}

func notStored() *errs.Error {
	return errs.New(errs.NotStored, "This server runs only documents that are stored with it, by their hash, name or operationName, and this is none of them")
}

// persisted is the hash that a client gives in place of a text, or with it for the next time; "" where it gives none.
func persisted(extensions map[string]any) (string, *errs.Error) {
	v, ok := extensions["persistedQuery"]
	if !ok || v == nil {
		return "", nil
	}
	at := errs.At("extensions", "persistedQuery")
	m, _ := v.(map[string]any)
	hash, _ := m["sha256Hash"].(string)
	if version, _ := m["version"].(int64); version != 1 {
		return "", at.At("version").Because("must be 1")
	}
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != sha256.Size {
		return "", at.At("sha256Hash").Because("must be the SHA-256 of the query in hexadecimal")
	}
	return strings.ToLower(hash), nil
}

// MutateOperationContext remembers a text for its organization, now that it is known to be valid.
func (d *Documents) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if hash, _ := persisted(op.Extensions); hash != "" && !d.only && !face.IsREST(ctx) {
		d.learned.Add(learnedKey{viewer.From(ctx).OrgID, hash}, op.RawQuery)
	}
	return nil
}

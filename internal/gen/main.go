// Command gen writes everything that is made from schema.graphqls: a Go type for every enum, which spells itself the
// GraphQL way or, in an operation that a REST route runs, the REST way; what gqlgen makes; and the table of the level
// executor.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"io"
	"log"
	"os"
	"strings"
	"text/template"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"skillgraph/internal/wire"
)

//go:embed enums.gotmpl
var enumsText string

func main() {
	log.SetFlags(0)
	if err := enums("schema.graphqls", "models/enums_gen.go"); err != nil {
		log.Fatal(err)
	}
	if err := gqlgen("gqlgen.yml"); err != nil {
		log.Fatal(err)
	}
}

func gqlgen(settings string) error {
	log.SetOutput(io.Discard) // it tells of every resolver that we have written
	defer log.SetOutput(os.Stderr)
	cfg, err := config.LoadConfig(settings)
	if err != nil {
		return err
	}
	return api.Generate(cfg, api.AddPlugin(levelTable{}))
}

func enums(schema, out string) error {
	src, err := os.ReadFile(schema)
	if err != nil {
		return err
	}
	doc, err := parser.ParseSchema(&ast.Source{Name: schema, Input: string(src)})
	if err != nil {
		return err
	}
	var enums []*ast.Definition
	for _, d := range doc.Definitions {
		if d.Kind == ast.Enum {
			enums = append(enums, d)
		}
	}
	tmpl := template.Must(template.New("").Funcs(template.FuncMap{
		"camel":   camel,
		"wire":    wire.Spelling,
		"comment": func(s string) string { return strings.ReplaceAll(s, "\n", "\n// ") },
	}).Parse(enumsText))
	var b bytes.Buffer
	if err := tmpl.Execute(&b, enums); err != nil {
		return err
	}
	code, err := format.Source(b.Bytes())
	if err != nil {
		return fmt.Errorf("%w in\n%s", err, b.String())
	}
	return os.WriteFile(out, code, 0o644)
}

// camel turns LLM_JUDGE into LLMJudge, keeping the initialisms that Go keeps.
func camel(s string) string {
	var b strings.Builder
	for w := range strings.SplitSeq(s, "_") {
		switch w {
		case "LLM", "JSON", "API":
			b.WriteString(w)
		default:
			b.WriteString(w[:1] + strings.ToLower(w[1:]))
		}
	}
	return b.String()
}

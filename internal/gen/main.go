// Command gen writes models/enums_gen.go: a Go type for every enum of the schema which spells itself
// the GraphQL way or, in an operation that a REST route runs, the REST way.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"log"
	"os"
	"strings"
	"text/template"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"skillgraph/internal/wire"
)

//go:embed enums.gotmpl
var text string

func main() {
	log.SetFlags(0)
	if err := run("schema.graphqls", "models/enums_gen.go"); err != nil {
		log.Fatal(err)
	}
}

func run(schema, out string) error {
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
	}).Parse(text))
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

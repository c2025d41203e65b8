// Package wire knows how the REST face spells what the schema names.
package wire

import (
	"strings"
	"unicode"

	"github.com/vektah/gqlparser/v2/ast"
)

// Spelling is an enum value as REST shows it: its name in lower case, or what @wire says.
func Spelling(v *ast.EnumValueDefinition) string {
	if d := v.Directives.ForName("wire"); d != nil {
		return d.Arguments.ForName("name").Value.Raw
	}
	return strings.ToLower(v.Name)
}

// Snake turns a GraphQL name into a REST key: casesJson into cases_json.
func Snake(name string) string {
	if strings.IndexFunc(name, unicode.IsUpper) < 0 {
		return name
	}
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

package models

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxRegex is how many instructions a regular expression may have: `(((a{9}){9}){9})` is short, and large.
const maxRegex = 5000

// compileRegex compiles an expression of a case, and says how large it is.
func compileRegex(pattern string) (*regexp.Regexp, int, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, 0, err
	}
	size := regexSize(tree)
	if size > maxRegex {
		return nil, size, errors.New("it is too large")
	}
	re, err := regexp.Compile(pattern)
	return re, size, err
}

// regexSize reckons how many instructions an expression will have, without making them.
func regexSize(re *syntax.Regexp) int {
	n := 1
	switch re.Op { //nolint:exhaustive // all others are one instruction, and what is in them
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = 0
	}
	for _, sub := range re.Sub {
		n = min(n+regexSize(sub), 1<<30)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(1, re.Min, re.Max), 1<<30)
	}
	return n
}

// maxSchemaValues is how many values a JSON Schema may have: compiling a list of schemas takes time by the square of its length.
const maxSchemaValues = 2000

// compileSchema compiles a JSON Schema that refers to no other document.
func compileSchema(raw []byte, engine jsonschema.RegexpEngine) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noRemote{})
	c.UseRegexpEngine(engine)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// plainRegexp is for a schema that is only compiled.
func plainRegexp(pattern string) (jsonschema.Regexp, error) {
	re, _, err := compileRegex(pattern)
	return re, err
}

package skillmd

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	maxFront         = 64 << 10
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500

	// frontLine is the line of SKILL.md on which the front matter begins, less one.
	frontLine = 1
)

var (
	keys      = []string{"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
	skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	yamlLine  = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
)

func (c *checker) frontMatter(text string) {
	if len(text) > maxFront {
		c.wrong(1, "front_matter_too_large", "the front matter is larger than %d KiB", maxFront>>10)
		return
	}
	// A document is read into nodes: nothing is expanded, and every node knows its line.
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	err := d.Decode(&doc)
	if err != nil && !errors.Is(err, io.EOF) {
		c.notYAML(err)
		return
	}
	if !errors.Is(d.Decode(&yaml.Node{}), io.EOF) {
		c.wrong(1, "front_matter_invalid", "the front matter has more than one YAML document")
		return
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		c.wrong(1, "front_matter_invalid", "the front matter must have a key and a value on each line, such as name: my-skill")
		return
	}
	before := len(c.Issues)
	c.walk(doc.Content[0])
	if len(c.Issues) > before {
		return // what could be read in two ways is not read at all
	}
	c.fields(doc.Content[0])
}

func (c *checker) notYAML(err error) {
	line, message := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, bad := strconv.Atoi(m[1]); bad == nil {
			line = n + frontLine
		}
	}
	c.wrong(line, "front_matter_invalid", "the front matter is not YAML: %s", message)
}

// walk refuses what readers of YAML disagree about, or can be made to choke on.
func (c *checker) walk(n *yaml.Node) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		c.wrong(n.Line+frontLine, "front_matter_alias", "anchors and aliases are not read by every agent: write the value out")
		return
	}
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind == yaml.ScalarNode && seen[k.Value] {
				c.wrong(k.Line+frontLine, "duplicate_key", "the key %s is there twice", quote(k.Value))
			}
			seen[k.Value] = k.Kind == yaml.ScalarNode
		}
	}
	for _, child := range n.Content {
		c.walk(child)
	}
}

// value is that of a key: nil where the key is missing or has none.
func value(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i < len(mapping.Content); i += 2 {
		if v := mapping.Content[i+1]; mapping.Content[i].Value == key && v.Tag != "!!null" {
			return v
		}
	}
	return nil
}

func (c *checker) fields(front *yaml.Node) {
	c.name(value(front, "name"))
	c.description(value(front, "description"))
	if v := value(front, "compatibility"); v != nil {
		c.text(v, "compatibility", maxCompatibility)
	}
	if v := value(front, "license"); v != nil && v.Kind != yaml.ScalarNode {
		c.odd(v.Line+frontLine, "license_invalid", "license should be text")
	}
	if v := value(front, "allowed-tools"); v != nil && !isWords(v) {
		c.odd(v.Line+frontLine, "allowed_tools_invalid", "allowed-tools should be text or a list of names")
	}
	if v := value(front, "metadata"); v != nil && v.Kind != yaml.MappingNode {
		c.odd(v.Line+frontLine, "metadata_invalid", "metadata should have keys and values")
	} else if v != nil {
		if version := value(v, "version"); version != nil && version.Kind == yaml.ScalarNode {
			c.Version = version.Value
		}
	}
	for i := 0; i < len(front.Content); i += 2 {
		if k := front.Content[i]; !slices.Contains(keys, k.Value) {
			c.odd(k.Line+frontLine, "unknown_key", "the key %s is not part of the format: keys of your own belong into metadata", quote(k.Value))
		}
	}
}

func (c *checker) name(v *yaml.Node) {
	switch {
	case v == nil:
		c.wrong(1, "name_missing", "name is required")
	case v.Kind != yaml.ScalarNode:
		c.wrong(v.Line+frontLine, "name_invalid", "name must be text")
	case strings.TrimSpace(v.Value) == "":
		c.wrong(v.Line+frontLine, "name_missing", "name must not be empty")
	case utf8.RuneCountInString(v.Value) > maxName:
		c.wrong(v.Line+frontLine, "name_too_long", "name has %d characters: %d are allowed", utf8.RuneCountInString(v.Value), maxName)
	case !skillName.MatchString(v.Value):
		c.wrong(v.Line+frontLine, "name_invalid", "name %s must be lower-case letters a to z and digits, with single hyphens between them", quote(v.Value))
	default:
		c.Name = v.Value
	}
}

func (c *checker) description(v *yaml.Node) {
	if v == nil || v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) == "" {
		line := 1
		if v != nil {
			line = v.Line + frontLine
		}
		c.wrong(line, "description_missing", "description is required: say what the skill does, and when to use it")
		return
	}
	if c.text(v, "description", maxDescription) {
		c.Description = v.Value
	}
}

// text is a value of a limited length.
func (c *checker) text(v *yaml.Node, key string, most int) (ok bool) {
	before := len(c.Issues)
	if v.Kind != yaml.ScalarNode {
		c.wrong(v.Line+frontLine, key+"_invalid", "%s must be text", key)
	} else if n := utf8.RuneCountInString(v.Value); n > most {
		c.wrong(v.Line+frontLine, key+"_too_long", "%s has %d characters: %d are allowed", key, n, most)
	}
	return len(c.Issues) == before
}

func isWords(v *yaml.Node) bool {
	if v.Kind == yaml.SequenceNode {
		return !slices.ContainsFunc(v.Content, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode })
	}
	return v.Kind == yaml.ScalarNode
}

package skillmd_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/skillmd"
	"skillgraph/models"
)

// said is an issue in one line: "error SKILL.md:2 name_missing: name is required".
func said(i *models.ValidationIssue) string {
	at := "-"
	if i.Path != nil {
		at = *i.Path
	}
	if i.Line != nil {
		at += fmt.Sprint(":", *i.Line)
	}
	return i.Level.Wire() + " " + at + " " + i.Code + ": " + i.Message
}

func check(text string) (name string, issues []string) {
	r := skillmd.Check(skillmd.Folder{Paths: []string{skillmd.File}, SkillMD: []byte(text)})
	issues = []string{}
	for _, i := range r.Issues {
		issues = append(issues, said(i))
	}
	return r.Name, issues
}

// front is a SKILL.md with this front matter.
func front(lines ...string) string {
	return "---\n" + strings.Join(lines, "\n") + "\n---\n# Body\n"
}

const (
	named     = "name: pdf-forms"
	described = "description: Fills in forms"
)

func TestValid(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"the least":            front(named, described),
		"everything":           front(named, described, "license: MIT", "allowed-tools: Bash(git:*) Read", "compatibility: Needs git", "metadata:", "  author: someone", `  version: "1.0"`),
		"tools in a list":      front(named, described, "allowed-tools:", "  - Read", "  - Bash"),
		"Windows":              "---\r\nname: pdf-forms\r\ndescription: Fills in forms\r\n---\r\nbody\r\n",
		"a byte order mark":    "\ufeff" + front(named, described),
		"blanks after markers": "---  \n" + named + "\n" + described + "\n--- \t\n",
		"no body":              "---\n" + named + "\n" + described + "\n---",
		"quoted":               front(`name: "pdf-forms"`, `description: 'a: b'`),
		"over several lines":   front("name: pdf-forms", "description: >-", "  Fills in", "  forms"),
		"empty where it may":   front(named, described, "license:", "metadata: ~"),
		"comments":             front("# mine", named, described),
		"the longest":          front(named, "description: "+strings.Repeat("ü", 1024), "compatibility: "+strings.Repeat("ü", 500)),
		"500 lines":            front(named, described) + strings.Repeat("line\n", 499),
	} {
		name, issues := check(text)
		require.Empty(t, issues, what)
		require.Equal(t, "pdf-forms", name, what)
	}
	for _, name := range []string{"a", "7", "a1-b2-c3", strings.Repeat("a", 64)} {
		got, issues := check(front("name: "+name, described))
		require.Empty(t, issues, name)
		require.Equal(t, name, got)
	}
}

func TestIssues(t *testing.T) {
	t.Parallel()
	const badName = `error SKILL.md:2 name_invalid: name %q must be lower-case letters a to z and digits, with single hyphens between them`
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":        {"", []string{"error SKILL.md:1 front_matter_missing: SKILL.md must begin with YAML front matter: a line ---, then name and description, then another line ---"}},
		"only a body":    {"# Hello\n---\n", []string{"error SKILL.md:1 front_matter_missing: SKILL.md must begin with YAML front matter: a line ---, then name and description, then another line ---"}},
		"four hyphens":   {"----\n", []string{"error SKILL.md:1 front_matter_missing: SKILL.md must begin with YAML front matter: a line ---, then name and description, then another line ---"}},
		"unclosed":       {"---\n" + named + "\n", []string{"error SKILL.md:1 front_matter_unclosed: the front matter does not end: there is no second line ---"}},
		"empty":          {"---\n---\n", []string{"error SKILL.md:1 front_matter_invalid: the front matter must have a key and a value on each line, such as name: my-skill"}},
		"a list":         {front("- name"), []string{"error SKILL.md:1 front_matter_invalid: the front matter must have a key and a value on each line, such as name: my-skill"}},
		"a word":         {front("name"), []string{"error SKILL.md:1 front_matter_invalid: the front matter must have a key and a value on each line, such as name: my-skill"}},
		"a colon inside": {front(named, "description: Use when: always"), []string{"error SKILL.md:3 front_matter_invalid: the front matter is not YAML: mapping values are not allowed in this context"}},
		"a tab":          {front(named, "metadata:", "\tauthor: x"), []string{"error SKILL.md:4 front_matter_invalid: the front matter is not YAML: found character that cannot start any token"}},
		"two documents":  {front(named, "...", "a: b"), []string{"error SKILL.md:1 front_matter_invalid: the front matter has more than one YAML document"}},
		"too much":       {front(named, described, "# "+strings.Repeat("x", 64<<10)), []string{"error SKILL.md:1 front_matter_too_large: the front matter is larger than 64 KiB"}},
		"not UTF-8":      {front(named, "description: \xff"), []string{"error SKILL.md skill_md_not_text: SKILL.md must be text in UTF-8"}},
		"a NUL":          {front(named, described) + "\x00", []string{"error SKILL.md skill_md_not_text: SKILL.md must be text in UTF-8"}},
		"too large":      {front(named, described) + strings.Repeat("x", 1<<20), []string{"error SKILL.md skill_md_too_large: SKILL.md is larger than 1024 KiB"}},

		"twice":           {front(named, described, "name: other"), []string{`error SKILL.md:4 duplicate_key: the key "name" is there twice`}},
		"twice, deeper":   {front(named, described, "metadata:", "  a: 1", "  b: 2", "  a: 3"), []string{`error SKILL.md:7 duplicate_key: the key "a" is there twice`}},
		"an anchor":       {front("name: &n pdf-forms", described), []string{"error SKILL.md:2 front_matter_alias: anchors and aliases are not read by every agent: write the value out"}},
		"billion laughs":  {front("a: &a [x, x]", "b: &b [*a, *a]", "c: [*b, *b]"), []string{"error SKILL.md:2 front_matter_alias: anchors and aliases are not read by every agent: write the value out", "error SKILL.md:3 front_matter_alias: anchors and aliases are not read by every agent: write the value out", "error SKILL.md:4 front_matter_alias: anchors and aliases are not read by every agent: write the value out", "error SKILL.md:4 front_matter_alias: anchors and aliases are not read by every agent: write the value out"}},
		"into itself":     {front("a: &a [*a]"), []string{"error SKILL.md:2 front_matter_alias: anchors and aliases are not read by every agent: write the value out"}},
		"unknown alias":   {front("name: *n"), []string{"error SKILL.md:1 front_matter_invalid: the front matter is not YAML: unknown anchor 'n' referenced"}},
		"no fields":       {front("license: MIT"), []string{"error SKILL.md:1 name_missing: name is required", "error SKILL.md:1 description_missing: description is required: say what the skill does, and when to use it"}},
		"empty fields":    {front("name:", "description:"), []string{"error SKILL.md:1 name_missing: name is required", "error SKILL.md:1 description_missing: description is required: say what the skill does, and when to use it"}},
		"blank fields":    {front("name: ' '", "description: ' '"), []string{"error SKILL.md:2 name_missing: name must not be empty", "error SKILL.md:3 description_missing: description is required: say what the skill does, and when to use it"}},
		"lists":           {front("name: [a]", "description: {a: b}", "compatibility: []"), []string{"error SKILL.md:2 name_invalid: name must be text", "error SKILL.md:3 description_invalid: description must be text", "error SKILL.md:4 compatibility_invalid: compatibility must be text"}},
		"a long name":     {front("name: "+strings.Repeat("a", 65), described), []string{"error SKILL.md:2 name_too_long: name has 65 characters: 64 are allowed"}},
		"long texts":      {front(named, "description: "+strings.Repeat("a", 1025), "compatibility: "+strings.Repeat("a", 501)), []string{"error SKILL.md:3 description_too_long: description has 1025 characters: 1024 are allowed", "error SKILL.md:4 compatibility_too_long: compatibility has 501 characters: 500 are allowed"}},
		"capitals":        {front("name: PDF", described), []string{fmt.Sprintf(badName, "PDF")}},
		"a hyphen first":  {front(`name: "-a"`, described), []string{fmt.Sprintf(badName, "-a")}},
		"a hyphen last":   {front("name: a-", described), []string{fmt.Sprintf(badName, "a-")}},
		"two hyphens":     {front("name: a--b", described), []string{fmt.Sprintf(badName, "a--b")}},
		"an underscore":   {front("name: a_b", described), []string{fmt.Sprintf(badName, "a_b")}},
		"a blank":         {front("name: a b", described), []string{fmt.Sprintf(badName, "a b")}},
		"another letter":  {front("name: für", described), []string{fmt.Sprintf(badName, "für")}},
		"a line end":      {front(`name: "a\n"`, described), []string{fmt.Sprintf(badName, "a\n")}},
		"keys of its own": {front(named, described, "version: 1.0", "<<: {a: b}"), []string{`warning SKILL.md:4 unknown_key: the key "version" is not part of the format: keys of your own belong into metadata`, `warning SKILL.md:5 unknown_key: the key "<<" is not part of the format: keys of your own belong into metadata`}},
		"odd fields":      {front(named, described, "license: [MIT]", "allowed-tools: {a: b}", "metadata: x"), []string{"warning SKILL.md:4 license_invalid: license should be text", "warning SKILL.md:5 allowed_tools_invalid: allowed-tools should be text or a list of names", "warning SKILL.md:6 metadata_invalid: metadata should have keys and values"}},
		"tools in lists":  {front(named, described, "allowed-tools: [[a]]"), []string{"warning SKILL.md:4 allowed_tools_invalid: allowed-tools should be text or a list of names"}},
		"501 lines":       {front(named, described) + strings.Repeat("line\n", 500), []string{"warning SKILL.md:505 body_too_long: the body has 501 lines: agents read all of it, so move what is beyond 500 into other files"}},
	}
	for what, tt := range tests {
		_, issues := check(tt.text)
		require.Equal(t, tt.want, issues, what)
	}
}

func TestNoSkillMD(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		paths []string
		want  string
	}{
		{nil, "error - skill_md_missing: there is no SKILL.md at the root of the folder"},
		{[]string{"README.md", "b.txt"}, "error - skill_md_missing: there is no SKILL.md at the root of the folder"},
		{[]string{"a.txt", "skill.md"}, `error - skill_md_missing: there is no SKILL.md at the root of the folder, though there is "skill.md"`},
		{[]string{"a.txt", "pdf/SKILL.md"}, `error - skill_md_missing: there is no SKILL.md at the root of the folder, though there is "pdf/SKILL.md"`},
	} {
		r := skillmd.Check(skillmd.Folder{Paths: row.paths})
		require.Len(t, r.Issues, 1)
		require.Equal(t, row.want, said(r.Issues[0]))
		require.Empty(t, r.Name)
	}
}

// What a repository has besides files is told of; not without end.
func TestSkipped(t *testing.T) {
	t.Parallel()
	f := skillmd.Folder{SkillMD: []byte(front(named, described)), Skipped: []models.SkippedEntry{{Path: "lib", Kind: "submodule"}, {Path: "link", Kind: "symlink"}}}
	r := skillmd.Check(f)
	require.Len(t, r.Issues, 2)
	require.Equal(t, "warning lib submodule_skipped: a submodule is left out of the snapshot", said(r.Issues[0]))
	require.Equal(t, "warning link symlink_skipped: a symlink is left out of the snapshot", said(r.Issues[1]))

	f.Skipped = make([]models.SkippedEntry, 150)
	r = skillmd.Check(f)
	require.Len(t, r.Issues, 100)
	require.Equal(t, "warning - more_issues: 51 more issues are not listed", said(r.Issues[99]))
	require.Equal(t, models.ValidationStatusWarning, models.Outcome(r.Issues))
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	oops, hm := &models.ValidationIssue{Level: models.IssueLevelError}, &models.ValidationIssue{Level: models.IssueLevelWarning}
	require.Equal(t, models.ValidationStatusPassed, models.Outcome(nil))
	require.Equal(t, models.ValidationStatusWarning, models.Outcome([]*models.ValidationIssue{hm}))
	require.Equal(t, models.ValidationStatusFailed, models.Outcome([]*models.ValidationIssue{hm, oops, hm}))
}

// Whatever it is given, it says something that can be stored and shown, and names a skill only by a valid name.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		front(named, described), front("a: &a [*a]"), front("? [a]\n: b"), "---\n---", "", front("name: !!binary gIGC"), front("name: !!x {", "}"),
		front(named, "description: |2\n  x"), front("{name: a, description: b}"), "---\n\"\\xd8\\u0000\": \n---", front("- - - - -"), front("%YAML 1.1", "---", "a: b"),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		r := skillmd.Check(skillmd.Folder{SkillMD: content})
		require.LessOrEqual(t, len(r.Issues), 100)
		for _, i := range r.Issues {
			require.True(t, utf8.ValidString(i.Message), "%q", i.Message)
			require.NotContains(t, i.Message, "\x00")
			require.NotEmpty(t, i.Code)
			if i.Line != nil {
				require.GreaterOrEqual(t, *i.Line, 1)
				require.LessOrEqual(t, *i.Line, strings.Count(string(content), "\n")+1)
			}
		}
		if models.Outcome(r.Issues) != models.ValidationStatusFailed {
			require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, r.Name)
			require.LessOrEqual(t, len(r.Name), 64)
		}
	})
}

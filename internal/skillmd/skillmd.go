// Package skillmd holds the rules of the public Agent Skills format: a folder with a SKILL.md, which begins with YAML front
// matter. It looks at a folder and says what is wrong with it; nothing in it can make it fail.
package skillmd

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"skillgraph/models"
)

// Version is that of the rules. Whoever changes them counts it up: every snapshot is then held against the new ones.
const Version = 1

// File is the file that makes a folder a skill.
const File = "SKILL.md"

// MaxFile is the size of the largest SKILL.md that is read.
const MaxFile = 1 << 20

const (
	maxIssues   = 100
	maxLines    = 500 // of the body
	maxQuoted   = 60
	frontMarker = "---"
)

// Folder is what the rules look at.
type Folder struct {
	Paths   []string              // of all files
	SkillMD []byte                // nil where there is none; MaxFile+1 bytes are enough of one that is too large
	Skipped []models.SkippedEntry // what was there and is no file
}

// Report is what they find.
type Report struct {
	Name        string // "" unless the front matter has a valid one
	Description string // likewise
	Version     string // what metadata calls version; "" where it does not
	Issues      []*models.ValidationIssue
}

// Check holds a folder against the rules.
func Check(f Folder) Report {
	c := &checker{}
	if f.SkillMD == nil {
		c.missing(f.Paths)
	} else {
		c.skillMD(f.SkillMD)
	}
	for _, s := range f.Skipped {
		c.add(models.IssueLevelWarning, s.Path, 0, s.Kind+"_skipped", "a %s is left out of the snapshot", s.Kind)
	}
	if more := len(c.Issues) - maxIssues; more > 0 {
		c.Issues = c.Issues[:maxIssues-1]
		c.add(models.IssueLevelWarning, "", 0, "more_issues", "%d more issues are not listed", more+1)
	}
	return c.Report
}

type checker struct{ Report }

func (c *checker) add(level models.IssueLevel, file string, line int, code, format string, args ...any) {
	issue := &models.ValidationIssue{Level: level, Code: code, Message: fmt.Sprintf(format, args...)}
	if file != "" {
		issue.Path = &file
	}
	if line > 0 {
		issue.Line = &line
	}
	c.Issues = append(c.Issues, issue)
}

// wrong and odd are issues of SKILL.md; line 0 is all of it.
func (c *checker) wrong(line int, code, format string, args ...any) {
	c.add(models.IssueLevelError, File, line, code, format, args...)
}

func (c *checker) odd(line int, code, format string, args ...any) {
	c.add(models.IssueLevelWarning, File, line, code, format, args...)
}

// missing says where there is something like a SKILL.md, if anywhere.
func (c *checker) missing(paths []string) {
	for _, p := range paths {
		if strings.EqualFold(path.Base(p), File) {
			c.add(models.IssueLevelError, "", 0, "skill_md_missing", "there is no SKILL.md at the root of the folder, though there is %s", quote(p))
			return
		}
	}
	c.add(models.IssueLevelError, "", 0, "skill_md_missing", "there is no SKILL.md at the root of the folder")
}

func (c *checker) skillMD(content []byte) {
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // as some editors begin a file
	switch {
	case len(content) > MaxFile:
		c.wrong(0, "skill_md_too_large", "SKILL.md is larger than %d KiB", MaxFile>>10)
		return
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		c.wrong(0, "skill_md_not_text", "SKILL.md must be text in UTF-8")
		return
	}
	lines := strings.Split(string(content), "\n")
	if !isMarker(lines[0]) {
		c.wrong(1, "front_matter_missing", "SKILL.md must begin with YAML front matter: a line ---, then name and description, then another line ---")
		return
	}
	for n := 1; n < len(lines); n++ {
		if isMarker(lines[n]) {
			c.frontMatter(strings.Join(lines[1:n], "\n"))
			c.body(lines[n+1:], n+2)
			return
		}
	}
	c.wrong(1, "front_matter_unclosed", "the front matter does not end: there is no second line ---")
}

func isMarker(line string) bool { return strings.TrimRight(line, " \t\r") == frontMarker }

// body counts the lines after the front matter; first is the number of the first of them.
func (c *checker) body(lines []string, first int) {
	if n := len(lines); n > 0 && lines[n-1] == "" {
		lines = lines[:n-1] // the end of the last line
	}
	if len(lines) > maxLines {
		c.odd(first+maxLines, "body_too_long", "the body has %d lines: agents read all of it, so move what is beyond %d into other files", len(lines), maxLines)
	}
}

// quote shows somebody's own words, not too many of them.
func quote(s string) string {
	if utf8.RuneCountInString(s) > maxQuoted {
		s = string([]rune(s)[:maxQuoted]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

package models

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// semantic is a semantic version, with the leading v that many write.
	semantic = regexp.MustCompile(`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
		`(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$`)
	// ofCommit is what a branch's commits are published as. A short SHA may be a number that begins with 0, which no semantic
	// version may have in it.
	ofCommit = regexp.MustCompile(`^(0)\.(0)\.(0)-(repohost\..+)$`)
	number   = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
)

// versionParts are major, minor, patch and prerelease, after the whole; nil for what is no semantic version.
func versionParts(version string) []string {
	if m := semantic.FindStringSubmatch(version); m != nil {
		return m
	}
	return ofCommit.FindStringSubmatch(version)
}

// isPrerelease reports whether a version is a prerelease; what is no semantic version is none.
func isPrerelease(version string) bool {
	m := versionParts(version)
	return m != nil && m[4] != ""
}

// precedence is a text that sorts, byte by byte, as semantic versions do; empty for what is none.
func precedence(version string) string {
	m := versionParts(version)
	if m == nil {
		return ""
	}
	var key strings.Builder
	key.WriteString(sortable(m[1]) + sortable(m[2]) + sortable(m[3]))
	if m[4] == "" {
		return key.String() + "~" // after all its prereleases
	}
	for id := range strings.SplitSeq(m[4], ".") {
		if number.MatchString(id) {
			key.WriteString("!0" + sortable(id)) // numbers come before words
		} else {
			key.WriteString("!1" + id)
		}
	}
	return key.String()
}

// sortable puts the length before a number: the longer one is the greater.
func sortable(number string) string { return fmt.Sprintf("%03d%s", len(number), number) }

// BranchVersion is what a commit of a branch is published as.
func BranchVersion(commit string) string { return "0.0.0-repohost." + commit[:min(7, len(commit))] }

// TagVersion is what a tag is published as: without the leading v where the rest is a semantic version.
func TagVersion(tag string) string {
	if bare, ok := strings.CutPrefix(tag, "v"); ok && semantic.MatchString(bare) && !strings.HasPrefix(bare, "v") {
		return bare
	}
	return tag
}

package models

import (
	"regexp"
	"strings"
)

// semantic is a semantic version, with the leading v that many write.
var semantic = regexp.MustCompile(`^v?(0|[1-9][0-9]{0,19})\.(0|[1-9][0-9]{0,19})\.(0|[1-9][0-9]{0,19})` +
	`(?:-((?:0|[1-9][0-9]{0,19}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]{0,19}|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z.-]+)?$`)

// branchPrefix begins the versions of pushes to a branch. What follows, the head of a commit id, may be no part of a semantic
// version: 0123456 is a number with a leading zero.
const branchPrefix = "0.0.0-repohost."

// isPrerelease reports whether a version is a prerelease; what is no semantic version is none.
func isPrerelease(version string) bool {
	m := semantic.FindStringSubmatch(version)
	return m != nil && m[4] != "" || strings.HasPrefix(version, branchPrefix)
}

// BranchVersion is what a commit of a branch is published as.
func BranchVersion(commit string) string { return branchPrefix + commit[:min(7, len(commit))] }

// TagVersion is what a tag is published as: without the leading v where the rest is a semantic version.
func TagVersion(tag string) string {
	if bare, ok := strings.CutPrefix(tag, "v"); ok && semantic.MatchString(bare) && !strings.HasPrefix(bare, "v") {
		return bare
	}
	return tag
}

// precedence is a text that sorts, byte by byte, as semantic versions do; empty for what is none.
func precedence(version string) string {
	m := semantic.FindStringSubmatch(version)
	if m == nil {
		return ""
	}
	key := padded(m[1]) + "." + padded(m[2]) + "." + padded(m[3])
	if m[4] == "" {
		return key + "~" // after all its prereleases
	}
	for id := range strings.SplitSeq(m[4], ".") {
		if strings.Trim(id, "0123456789") == "" {
			key += "!0" + padded(id) // numbers come before words
		} else {
			key += "!1" + id
		}
	}
	return key
}

func padded(number string) string { return strings.Repeat("0", 20-len(number)) + number }

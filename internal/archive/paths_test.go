package archive

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	var p Paths
	for _, tt := range []struct{ path, clean, why string }{
		{"SKILL.md", "SKILL.md", ""},
		{"./references/a.md", "references/a.md", ""},
		{"references/b.md", "references/b.md", ""},
		{"...", "...", ""},
		{"..a/b..", "..a/b..", ""},
		{".hidden", ".hidden", ""},
		{"a b/ c", "a b/ c", ""},
		{"日本語/ß", "日本語/ß", ""},
		{"日本語/ss", "日本語/ss", ""}, // no case of ß
		{strings.Repeat("x", 255), strings.Repeat("x", 255), ""},
		{strings.Repeat("y/", 31) + "y", strings.Repeat("y/", 31) + "y", ""},
		{"SKILL.md", "", "twice"},
		{"./SKILL.md", "", "twice"},
		{"skill.MD", "", "by case alone"},
		{"References/c.md", "", `it differs from "references" by case alone`},
		{"references", "", "a file and a folder"},
		{"SKILL.md/x", "", "a file and a folder"},
		{"references/", "", "an empty component"},
		{"./", "", "must not be empty"},
		{"", "", "must not be empty"},
		{"./..", "", `the component ".."`},
	} {
		clean, err := p.Add(tt.path)
		if tt.why != "" {
			require.ErrorContains(t, err, tt.why, tt.path)
			continue
		}
		require.NoError(t, err, tt.path)
		require.Equal(t, tt.clean, clean)
	}
}

// A long name is told in part.
func TestPathsQuote(t *testing.T) {
	t.Parallel()
	var p Paths
	_, err := p.Add("../" + strings.Repeat("ü", 400))
	require.EqualError(t, err, `"../`+strings.Repeat("ü", 38)+`…" is refused: a path has at most 512 bytes`)
}

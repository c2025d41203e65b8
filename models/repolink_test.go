package models_test

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func TestConnectionDefaults(t *testing.T) {
	t.Parallel()
	l, err := models.ConnectRepositoryInput{EntryID: ids.ID{1}, RepoFullName: "acme/pdf"}.Link()
	require.NoError(t, err)
	require.Equal(t, models.RepoLink{
		EntryID: ids.ID{1}, RepoFullName: "acme/pdf", DefaultBranch: "main", SkillPath: ".", AutoPublish: true, TagPattern: "v*",
	}, *l)
	require.Equal(t, "acme", l.RepoOwner())
	require.Equal(t, "pdf", l.RepoName())
	l.ID = ids.ID{0xab, 0xcd, 0xef, 0x01, 0x23}
	require.Equal(t, "skillgraph/publish/abcdef01", l.StatusContext())
}

func TestConnectionRefuses(t *testing.T) {
	t.Parallel()
	set := func(s string) graphql.Omittable[*string] { return graphql.OmittableOf(&s) }
	tests := map[string]struct {
		change  func(*models.ConnectRepositoryInput)
		path    string
		because string
	}{
		"no owner":              {func(in *models.ConnectRepositoryInput) { in.RepoFullName = "pdf" }, "repoFullName", "owner/repo"},
		"three parts":           {func(in *models.ConnectRepositoryInput) { in.RepoFullName = "a/b/c" }, "repoFullName", "owner/repo"},
		"a URL":                 {func(in *models.ConnectRepositoryInput) { in.RepoFullName = "https://x/y" }, "repoFullName", "owner/repo"},
		"an empty branch":       {func(in *models.ConnectRepositoryInput) { in.DefaultBranch = set("") }, "defaultBranch", "must not be empty"},
		"a long branch":         {func(in *models.ConnectRepositoryInput) { in.DefaultBranch = set(strings.Repeat("x", 251)) }, "defaultBranch", "at most 250"},
		"out of the folder":     {func(in *models.ConnectRepositoryInput) { in.SkillPath = set("../x") }, "skillPath", "inside the repository"},
		"an absolute folder":    {func(in *models.ConnectRepositoryInput) { in.SkillPath = set("/x") }, "skillPath", "inside the repository"},
		"no folder":             {func(in *models.ConnectRepositoryInput) { in.SkillPath = set("") }, "skillPath", "inside the repository"},
		"a pattern cut off":     {func(in *models.ConnectRepositoryInput) { in.TagPattern = set("v[") }, "tagPattern", "is no pattern"},
		"an empty pattern":      {func(in *models.ConnectRepositoryInput) { in.TagPattern = set("") }, "tagPattern", "must not be empty"},
		"a control character":   {func(in *models.ConnectRepositoryInput) { in.TagPattern = set("v\x00*") }, "tagPattern", "control characters"},
		"a newline in branch":   {func(in *models.ConnectRepositoryInput) { in.DefaultBranch = set("a\nb") }, "defaultBranch", "control characters"},
		"a backslash in folder": {func(in *models.ConnectRepositoryInput) { in.SkillPath = set(`a\b`) }, "skillPath", "inside the repository"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := models.ConnectRepositoryInput{RepoFullName: "acme/pdf"}
			tt.change(&in)
			_, err := in.Link()
			var refused *errs.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, []string{tt.path}, refused.Path)
			require.Contains(t, refused.Message, tt.because)
		})
	}
}

func TestMatchesTag(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, tag string
		want         bool
	}{
		{"v*", "v1.0.0", true},
		{"v*", "1.0.0", false},
		{"v*", "v", true},
		{"*", "anything/at/all", true},
		{"pdf/v*", "pdf/v1", true},
		{"pdf/v*", "csv/v1", false},
		{"pdf-v*", "pdf-v1.2", true},
		{"v[0-9].?", "v1.2", true},
		{"v[0-9].?", "vx.2", false},
		{"v1", "v1", true},
		{"v1", "v10", false},
		{"release-*-final", "release-7-final", true},
		{"release-*-final", "release-7", false},
		{`v\*`, "v*", true},
		{`v\*`, "v1", false},
	}
	for _, tt := range tests {
		l := models.RepoLink{TagPattern: tt.pattern}
		require.Equal(t, tt.want, l.MatchesTag(tt.tag), "%s and %s", tt.pattern, tt.tag)
	}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	l := models.RepoLink{DefaultBranch: "main", TagPattern: "v*", AutoPublish: true}
	quiet := models.RepoLink{DefaultBranch: "main", TagPattern: "v*"}
	tests := map[string]struct {
		link     models.RepoLink
		ref      string
		deleted  bool
		tag, why string
	}{
		"the branch":               {l, "refs/heads/main", false, "", ""},
		"another branch":           {l, "refs/heads/dev", false, "", "the connection follows the branch main"},
		"the branch, deleted":      {l, "refs/heads/main", true, "", "refs/heads/main was deleted: its versions stay"},
		"a tag":                    {l, "refs/tags/v1", false, "v1", ""},
		"a tag, deleted":           {l, "refs/tags/v1", true, "", "refs/tags/v1 was deleted: its versions stay"},
		"a tag of another sort":    {l, "refs/tags/x1", false, "", "the tag does not match v*"},
		"no tags":                  {quiet, "refs/tags/v1", false, "", "the connection does not publish tags"},
		"no tags, but the branch":  {quiet, "refs/heads/main", false, "", ""},
		"notes":                    {l, "refs/notes/commits", false, "", "refs/notes/commits is neither branch nor tag"},
		"a branch called as a tag": {l, "refs/heads/v1", false, "", "the connection follows the branch main"},
	}
	for name, tt := range tests {
		tag, why := tt.link.Follows(tt.ref, tt.deleted)
		require.Equal(t, tt.tag, tag, name)
		require.Equal(t, tt.why, why, name)
	}
}

func TestVersionsOfRefs(t *testing.T) {
	t.Parallel()
	commit := strings.Repeat("0123456789", 4)
	tests := map[string]struct {
		ref             models.Ref
		version, source string
	}{
		"a branch":              {models.Ref{Commit: commit}, "0.0.0-repohost.0123456", commit},
		"a semantic tag":        {models.Ref{Tag: "v1.2.3", Commit: commit}, "1.2.3", "v1.2.3"},
		"with a prerelease":     {models.Ref{Tag: "v1.2.3-rc.1+b5", Commit: commit}, "1.2.3-rc.1+b5", "v1.2.3-rc.1+b5"},
		"without the v":         {models.Ref{Tag: "1.2.3", Commit: commit}, "1.2.3", "1.2.3"},
		"not semantic":          {models.Ref{Tag: "v2026", Commit: commit}, "v2026", "v2026"},
		"two letters":           {models.Ref{Tag: "vv1.2.3", Commit: commit}, "vv1.2.3", "vv1.2.3"},
		"a leading zero":        {models.Ref{Tag: "v1.02.3", Commit: commit}, "v1.02.3", "v1.02.3"},
		"a word that begins so": {models.Ref{Tag: "very", Commit: commit}, "very", "very"},
	}
	for name, tt := range tests {
		require.Equal(t, tt.version, tt.ref.Version(), name)
		require.Equal(t, tt.source, tt.ref.Source(), name)
	}
}

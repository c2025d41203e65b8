package models_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

func TestNormalEmail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"someone@example.com":                        "someone@example.com",
		"Some.One+tag@EXAMPLE.com":                   "some.one+tag@example.com",
		"o'neill@example.com":                        "o'neill@example.com",
		"ÜMLAUT@example.com":                         "ümlaut@example.com",
		strings.Repeat("a", 242) + "@example.com":    strings.Repeat("a", 242) + "@example.com",
		strings.Repeat("a", 64) + "@sub.example.com": strings.Repeat("a", 64) + "@sub.example.com",
	} {
		got, err := models.NormalEmail(errs.At("email"), in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
		again, err := models.NormalEmail(errs.At("email"), got)
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, garbage := range []string{
		"", " ", "someone", "@example.com", "someone@", "a@b@c", "Some One <someone@example.com>", "<someone@example.com>", " someone@example.com", "someone@example.com ",
		"a@example.com, b@example.com", "some one@example.com", "someone@exam ple.com", "a\n@example.com", "a\x00@example.com", "a@example.com\r\nBcc: b@example.com",
		"\xff@example.com", strings.Repeat("a", 243) + "@example.com",
	} {
		_, err := models.NormalEmail(errs.At("email"), garbage)
		require.Error(t, err, garbage)
		requireRefused(t, err, "must be an e-mail address, such as someone@example.com", "email")
	}
}

func TestIsLocalPath(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"a", "a/b", "./a", "a.b/..c/...", "tests/test.sh", ".hidden", "ä ö/ü", "~/a", "-"} {
		require.True(t, models.IsLocalPath(p), p)
	}
	for _, p := range []string{"", ".", "..", "/", "./", "../a", "a/..", "a/../b", "/a", "//a", "a//b", "a/", "a/./b", "././a", ".//a", `a\b`, `..\a`, `C:\a`, "a\x00", "a\nb", "\xff"} {
		require.False(t, models.IsLocalPath(p), p)
	}
}

func FuzzIsLocalPath(f *testing.F) {
	for _, p := range []string{"a/b", "../a", "./a", "/a", "a/../../b"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if !models.IsLocalPath(p) {
			return
		}
		inside := path.Join("/archive", p)
		require.True(t, strings.HasPrefix(inside, "/archive/"), inside)
		require.Equal(t, strings.TrimPrefix(p, "./"), strings.TrimPrefix(inside, "/archive/"), "nothing to clean")
	})
}

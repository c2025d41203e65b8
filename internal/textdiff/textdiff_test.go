package textdiff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUnified(t *testing.T) {
	t.Parallel()
	lines := func(from, to int) (out string) {
		for i := from; i <= to; i++ {
			out += fmt.Sprintln("line", i)
		}
		return out
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"the same", "a\n", "a\n", ""},
		{"nothing", "", "", ""},
		{"new", "", "a\n", "--- old\n+++ new\n@@ -0,0 +1 @@\n+a\n"},
		{"gone", "a\n", "", "--- old\n+++ new\n@@ -1 +0,0 @@\n-a\n"},
		{"no line break at the end", "a\nb", "a\nc", "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"},
		{
			"three lines around", lines(1, 20), lines(1, 9) + "changed\n" + lines(11, 20),
			"--- old\n+++ new\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+changed\n line 11\n line 12\n line 13\n",
		},
		{
			"two places", lines(1, 20), "first\n" + lines(1, 20) + "last\n",
			"--- old\n+++ new\n@@ -1,3 +1,4 @@\n+first\n line 1\n line 2\n line 3\n@@ -18,3 +19,4 @@\n line 18\n line 19\n line 20\n+last\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, Unified("old", "new", tt.old, tt.new))
		})
	}
}

// What is shown is true: patch makes the new text of the old one.
func TestUnifiedPatches(t *testing.T) {
	t.Parallel()
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("patch is not installed")
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func(n int) (out string) {
		for range n {
			out += string(rune('a'+rnd.IntN(6))) + "\n"
		}
		return out
	}
	dir := t.TempDir()
	for i := range 50 {
		before, after := text(rnd.IntN(400)), text(rnd.IntN(400))
		file, diff := filepath.Join(dir, fmt.Sprint(i)), filepath.Join(dir, fmt.Sprint(i, ".diff"))
		require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
		require.NoError(t, os.WriteFile(diff, []byte(Unified("a", "b", before, after)), 0o600))
		out, err := exec.CommandContext(t.Context(), patch, "--silent", "--fuzz=0", file, diff).CombinedOutput()
		require.NoError(t, err, string(out))
		got, err := os.ReadFile(file)
		if after != "" { // patch removes an empty file
			require.NoError(t, err)
		}
		require.Equal(t, after, string(got))
	}
}

// Texts that have nothing in common, or everything a thousand times, take no more time than they must: with one that looks for
// the shortest answer these take minutes and gigabytes.
func TestUnifiedIsBounded(t *testing.T) {
	t.Parallel()
	const size = 200 << 10
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	shuffled := func(seed uint64) string {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var b strings.Builder
		for b.Len() < size {
			b.WriteByte(byte('a' + rnd.IntN(3)))
			b.WriteByte('\n')
		}
		return b.String()
	}
	for _, tt := range []struct{ name, old, new string }{
		{"nothing in common", numbered("old %d\n"), numbered("new %d\n")},
		{"short lines, nothing in common", strings.Repeat("a\n", size/2), strings.Repeat("b\n", size/2)},
		{"empty lines", strings.Repeat("\n", size), strings.Repeat("x\n", size/2)},
		{"few lines, shuffled", shuffled(1), shuffled(2)},
		{"every other line", numbered("%d\n"), numbered("%[1]d\n%[1]d\n")},
		{"one long line", strings.Repeat("a", size), strings.Repeat("b", size)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			require.NotEmpty(t, Unified("old", "new", tt.old, tt.new))
			t.Log(time.Since(begun))
			require.Less(t, time.Since(begun), time.Minute)
		})
	}
}

func TestIsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "a\n": true, "Größe\r\n": true, "\ufeffa": true, "a\x00": false, "\xff\xfe": false, "Gr\xf6\xdfe": false, "\x1b[2J": true} {
		require.Equal(t, want, IsText([]byte(text)), "%q", text)
	}
}

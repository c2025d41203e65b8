package models_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"

	"skillgraph/models"
)

// seed is another one in every run, unless SEED repeats one.
func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	if s := os.Getenv("SEED"); s != "" {
		var err error
		n, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// kept is the version as it would be published.
func kept(t *testing.T, version string) *models.RegistryVersion {
	t.Helper()
	v, err := models.NewVersion{Version: version}.Of(models.Archive{Hash: strings.Repeat("0", 64)})
	require.NoError(t, err)
	return v
}

var (
	someNumbers = []string{"0", "1", "2", "9", "10", "11", "99", "100", "20261115", "18446744073709551615", "18446744073709551616", strings.Repeat("9", 30)}
	someWords   = []string{"alpha", "beta", "rc", "a", "A", "Z", "z", "-", "--", "a-", "0a", "00a", "1-", "x1", "x10", "x2", "abc1234"}
	// Forbidden: an empty identifier, and numbers that begin with 0.
	someWrong = []string{"", "00", "01"}
)

func pick(r *rand.Rand, lists ...[]string) string {
	list := lists[r.IntN(len(lists))]
	return list[r.IntN(len(list))]
}

func someVersion(r *rand.Rand) string {
	numbers := [][]string{someNumbers, someNumbers, someNumbers, someNumbers, someNumbers, someNumbers, someNumbers, someNumbers, someNumbers, someWrong}
	var v strings.Builder
	v.WriteString(pick(r, numbers...) + "." + pick(r, numbers...) + "." + pick(r, numbers...))
	for i := range r.IntN(4) {
		v.WriteString([]string{"-", ".", "."}[i] + pick(r, someNumbers, someWords, someNumbers, someWords, someNumbers, someWords, someNumbers, someWords, someWrong))
	}
	for i := range max(0, r.IntN(5)-2) {
		v.WriteString([]string{"+", "."}[i] + pick(r, someNumbers, someWords, someNumbers, someWords, someWrong))
	}
	return v.String()
}

// Precedence sorts as byte strings do, and so as semantic versions do: here is another opinion of how that is.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	r := seed(t)
	valid, equal := 0, 0
	for range 60_000 {
		a, b := someVersion(r), someVersion(r)
		if r.IntN(2) == 0 { // close ones
			cut := r.IntN(len(a) + 1)
			b = a[:cut] + b[min(cut, len(b)):]
		}
		ka, kb := kept(t, a), kept(t, b)
		require.Equal(t, semver.IsValid("v"+a), ka.Precedence != "", a)
		require.Equal(t, semver.Prerelease("v"+a) != "", ka.Prerelease, a)
		if ka.Precedence == "" || kb.Precedence == "" {
			continue
		}
		valid++
		want := semver.Compare("v"+a, "v"+b)
		if want == 0 {
			equal++
		}
		require.Equal(t, want, strings.Compare(ka.Precedence, kb.Precedence), "%q and %q", a, b)
		require.Equal(t, ka.Precedence, kept(t, "v"+a).Precedence, "a leading v is nothing")
	}
	require.Greater(t, valid, 10_000)
	require.Greater(t, equal, 200)
}

// The example of the specification, and what it leaves out.
func TestPrecedenceOrder(t *testing.T) {
	t.Parallel()
	order := []string{
		"0.0.0-repohost.abc1234", "0.0.0", "1.0.0-0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
		"1.0.1", "1.1.0", "1.2.0", "1.10.0", "2.0.0", "2.1.0", "2.1.1", "10.0.0", "99999999999999999999999.0.0",
	}
	keys := make([]string, len(order))
	for i, v := range order {
		keys[i] = kept(t, v).Precedence
	}
	require.True(t, slices.IsSorted(keys))
	require.Len(t, slices.Compact(keys), len(order))
	require.Equal(t, kept(t, "1.0.0+a").Precedence, kept(t, "1.0.0+b").Precedence)
	for _, none := range []string{"1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-01", "1.0.0-", "1.0.0+", "1.0.0-a..b", "1.0.0+a..b", "september", "V1.0.0", "vv1.0.0", "1.0.0_1", "2026-11-15", "0.0.0-repohost"} {
		v := kept(t, none)
		require.Equal(t, none == "0.0.0-repohost", v.Precedence != "", none)
		require.Equal(t, none == "0.0.0-repohost", v.Prerelease, none)
	}
}

// What a branch publishes is a prerelease, whatever the SHA looks like.
func TestCommitsArePrereleases(t *testing.T) {
	t.Parallel()
	last := kept(t, "0.0.0").Precedence
	for _, sha := range []string{"abc1234", "1234567", "0123456", "0000000", "000000a", "1e10000", "00000001234567890123456789"} {
		v := kept(t, "0.0.0-repohost."+sha)
		require.True(t, v.Prerelease, sha)
		require.NotEmpty(t, v.Precedence)
		require.Less(t, v.Precedence, last, sha)
	}
	seen := map[string]bool{}
	for n := range 2000 {
		seen[kept(t, fmt.Sprintf("0.0.0-repohost.%07d", n)).Precedence] = true
	}
	require.Len(t, seen, 2000, "each has its own place")
}

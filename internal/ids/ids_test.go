package ids

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewCarriesKindAndAge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 1, 2, 3, 0, time.UTC)
	for k := Organization; int(k) < len(kindNames); k++ {
		id := New(k, at)
		require.Equal(t, k, id.Kind())
		require.Equal(t, byte(8), id[6]>>4, "version 8")
		require.Equal(t, byte(2), id[8]>>6, "RFC 9562 variant")
		require.Less(t, id.String(), New(k, at.Add(time.Millisecond)).String(), "later sorts later")
	}
}

func TestNewIsUnique(t *testing.T) {
	t.Parallel()
	at := time.Now()
	made := make([]string, 10_000)
	for i := range made {
		made[i] = New(Suite, at).String()
	}
	slices.Sort(made)
	require.Len(t, slices.Compact(made), 10_000)
}

func TestForeignUUIDsHaveNoKind(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"00000000-0000-0000-0000-000000000000",
		"f47ac10b-58cc-4372-a567-0e02b2c3d479",
		"018f0c6e-7d5a-8ff0-8123-0123456789ab", // version 8, but no kind of ours
	} {
		id, err := Parse(s)
		require.NoError(t, err)
		require.Equal(t, Unknown, id.Kind())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	want := New(Source, time.Now())
	for _, s := range []string{want.String(), strings.ToUpper(want.String()), SourcePrefix + want.String()} {
		got, err := Parse(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, s := range []string{"", "7", "src_", want.String() + "0", strings.ReplaceAll(want.String(), "-", ""), "g" + want.String()[1:], "{" + want.String() + "}"} {
		_, err := Parse(s)
		require.Error(t, err, s)
	}
}

func TestJSONAndGraphQLRefuseNumbers(t *testing.T) {
	t.Parallel()
	var id ID
	require.Error(t, json.Unmarshal([]byte(`7`), &id))
	require.Error(t, id.UnmarshalGQL(int64(7)))
	require.Error(t, id.UnmarshalGQL(json.Number("7")))
}

func TestDerive(t *testing.T) {
	t.Parallel()
	id := Derive(Push, []byte("a"))
	require.Equal(t, id, Derive(Push, []byte("a")))
	require.NotEqual(t, id, Derive(Push, []byte("b")))
	require.Equal(t, Push, id.Kind())
	require.Equal(t, byte(8), id[6]>>4, "version 8")
	require.Equal(t, byte(2), id[8]>>6, "RFC 9562 variant")
}

// A source's id is shown with its prefix, and taken with or without it, as every id.
func TestSourceID(t *testing.T) {
	t.Parallel()
	id := New(Source, time.Now())
	var b strings.Builder
	SourceID(id).MarshalGQL(&b)
	require.Equal(t, `"src_`+id.String()+`"`, b.String())
	for _, text := range []string{id.String(), "src_" + id.String()} {
		var got SourceID
		require.NoError(t, got.UnmarshalGQL(text))
		require.Equal(t, id, ID(got))
	}
	require.Error(t, new(SourceID).UnmarshalGQL("src_"))
	require.Error(t, new(SourceID).UnmarshalGQL(7))
}

package models_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

func written(m graphql.Marshaler) string {
	var b bytes.Buffer
	m.MarshalGQL(&b)
	return b.String()
}

func TestTime(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-15T01:02:03Z":           "2026-11-15T01:02:03.000Z",
		"2026-11-15T01:02:03.456Z":       "2026-11-15T01:02:03.456Z",
		"2026-11-15T01:02:03.456999999Z": "2026-11-15T01:02:03.456Z",
		"2026-11-15T01:02:03.4Z":         "2026-11-15T01:02:03.400Z",
		"2026-11-15T01:02:03+05:30":      "2026-11-14T19:32:03.000Z",
		"2026-11-15T01:02:03-00:00":      "2026-11-15T01:02:03.000Z",
		"2024-02-29T23:59:59-12:00":      "2024-03-01T11:59:59.000Z",
		"0001-01-01T00:00:00Z":           "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":       "9999-12-31T23:59:59.999Z",
	} {
		got, err := models.UnmarshalTime(in)
		require.NoError(t, err, in)
		require.Equal(t, time.UTC, got.Location())
		require.Equal(t, `"`+want+`"`, written(models.MarshalTime(got)))
	}
	for _, garbage := range []any{
		"", "now", "2026-11-15", "2026-11-15T01:02:03", "2026-11-15 01:02:03Z", "2026-02-30T00:00:00Z", "2026-11-15T24:00:00Z", "2026-11-15T1:02:03Z",
		"2026-11-15T01:02:03,456Z", "2026-11-15T01:02:03+25:00", "2026-11-15T01:02:03+0100", "0000-12-31T23:59:59Z", "10000-01-01T00:00:00Z", " 2026-11-15T01:02:03Z",
		"9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", // another year in UTC
		1_700_000_000, json.Number("1700000000"), nil, true, time.Unix(0, 0),
	} {
		_, err := models.UnmarshalTime(garbage)
		require.EqualError(t, err, "must be a time in RFC 3339, such as 2026-11-15T01:02:03Z", "%v", garbage)
		require.Equal(t, errs.Invalid, errs.CodeOf(err))
	}
	for range 1000 {
		at := time.UnixMicro(rand.Int64N(253_402_300_800_000_000)).In(time.FixedZone("", rand.IntN(86_400)-43_200))
		require.Equal(t, at.UTC().Format(`"2006-01-02T15:04:05.000Z"`), string(models.AppendTime(nil, at)))
		require.Equal(t, at.Format(`"2006-01-02"`), string(models.Date(at).AppendGQL(nil)))
	}
	require.Equal(t, `"2026-11-15T01:02:03.456Z"`, written(models.MarshalTime(time.Date(2026, 11, 15, 2, 2, 3, 456_999_999, time.FixedZone("", 3600)))))
}

func TestInt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		in   any
		want int
	}{
		{7, 7},
		{int64(-7), -7},
		{json.Number("7"), 7},
		{json.Number("-2147483648"), math.MinInt32},
		{int64(math.MaxInt32), math.MaxInt32},
	} {
		got, err := models.UnmarshalInt(row.in)
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
	for _, garbage := range []any{"7", "", 7.0, 7.5, json.Number("7.0"), json.Number("1e3"), json.Number("2147483648"), int64(math.MinInt32 - 1), json.Number("9223372036854775808"), true, nil, []any{1}} {
		_, err := models.UnmarshalInt(garbage)
		require.EqualError(t, err, "must be a whole number of at most 32 bits", "%v", garbage)
		require.Equal(t, errs.Invalid, errs.CodeOf(err))
	}
	require.Equal(t, "-7", written(models.MarshalInt(-7)))
}

func TestInt64(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		in   any
		want int64
	}{
		{7, 7},
		{int64(math.MaxInt64), math.MaxInt64},
		{json.Number("9223372036854775807"), math.MaxInt64},
		{json.Number("-9223372036854775808"), math.MinInt64},
	} {
		got, err := models.UnmarshalInt64(row.in)
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
	for _, garbage := range []any{"7", 7.0, json.Number("7.0"), json.Number("9223372036854775808"), json.Number(""), true, nil} {
		_, err := models.UnmarshalInt64(garbage)
		require.EqualError(t, err, "must be a whole number of at most 64 bits", "%v", garbage)
	}
	require.Equal(t, "9223372036854775807", written(models.MarshalInt64(math.MaxInt64)))
}

func TestJSONDepth(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat(`{"a":[`, depth/2) + strings.Repeat(`]}`, depth/2) }
	var j models.JSON
	require.NoError(t, j.UnmarshalGQL(json.RawMessage(nested(64))))
	require.Equal(t, nested(64), string(j))
	require.EqualError(t, j.UnmarshalGQL(json.RawMessage("["+nested(64)+"]")), "must be nested at most 64 levels deep")
	require.Equal(t, nested(64), string(j), "what is refused changes nothing")
	require.NoError(t, j.UnmarshalGQL(json.RawMessage(`"`+strings.Repeat("[", 100)+`\"`+strings.Repeat("{", 100)+`"`)), "brackets in a string are text")
	require.NoError(t, j.UnmarshalGQL(json.RawMessage("["+strings.Repeat("[],", 100)+"0]")), "wide is not deep")

	var decoded any
	require.NoError(t, json.Unmarshal([]byte("["+nested(64)+"]"), &decoded))
	require.EqualError(t, j.UnmarshalGQL(decoded), "must be nested at most 64 levels deep")
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var j models.JSON
	require.NoError(t, j.UnmarshalGQL(json.RawMessage(`{ "b": 1.0, "a": "<é>" }`)))
	require.Equal(t, `{ "b": 1.0, "a": "<é>" }`, written(j), "raw bytes stay as they are")
	require.NoError(t, j.UnmarshalGQL(map[string]any{"b": json.Number("1.0"), "a": "<é & more>"}))
	require.Equal(t, `{"a":"<é & more>","b":1.0}`, written(j), "text is not escaped for HTML, numbers keep their spelling")
	require.EqualError(t, j.UnmarshalGQL(json.RawMessage("\"\xff\"")), "must be UTF-8")
	require.EqualError(t, j.UnmarshalGQL(math.NaN()), "must be a JSON value")
	require.NoError(t, j.UnmarshalGQL(nil))
	require.Equal(t, "null", written(j))
	require.Nil(t, j.OrNil())
	require.Equal(t, "null", written(models.JSON(nil)))
	require.Equal(t, models.JSON(`{}`), models.JSON(`{}`).OrNil())

	v, err := models.JSON(nil).Value()
	require.NoError(t, err)
	require.Nil(t, v)
	v, err = models.JSON(`{"a": 1}`).Value()
	require.NoError(t, err)
	require.Equal(t, `{"a": 1}`, v)

	out, err := json.Marshal(map[string]models.JSON{"none": nil, "some": models.JSON(`{"a":1.0}`)})
	require.NoError(t, err)
	require.JSONEq(t, `{"none":null,"some":{"a":1.0}}`, string(out))
	var in struct{ Some models.JSON }
	require.NoError(t, json.Unmarshal([]byte(`{"Some":{"a": 1.0}}`), &in))
	require.Equal(t, `{"a": 1.0}`, string(in.Some))
}

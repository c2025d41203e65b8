package store_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// everyType has a member of each type that rows have.
type everyType struct {
	Text     string             `bun:"text"`
	TextOr   *string            `bun:"text_or"`
	Enum     models.SyncStatus  `bun:"enum"`
	EnumOr   *models.SyncStatus `bun:"enum_or"`
	ID       ids.ID             `bun:"id"`
	IDOr     *ids.ID            `bun:"id_or"`
	Bool     bool               `bun:"bool"`
	BoolOr   *bool              `bun:"bool_or"`
	Int      int                `bun:"int"`
	IntOr    *int               `bun:"int_or"`
	Small    int                `bun:"small"`
	Float    float64            `bun:"float"`
	FloatOr  *float64           `bun:"float_or"`
	Time     time.Time          `bun:"time"`
	TimeOr   *time.Time         `bun:"time_or"`
	Date     models.Date        `bun:"date"`
	JSON     models.JSON        `bun:"json"`
	Unwanted string             // no column
}

const everyColumn = `SELECT $1::text AS text, $2::text AS text_or, $3::text AS enum, $4::text AS enum_or, $5::uuid AS id, $6::uuid AS id_or, $7::bool AS bool, $8::bool AS bool_or,
	$9::bigint AS int, $10::bigint AS int_or, $11::int AS small, $12::float8 AS float, $13::float8 AS float_or, $14::timestamptz AS time, $15::timestamptz AS time_or,
	'2024-02-29'::date AS date, '{"a": 1}'::json AS json, 'nobody wants it' AS more`

// What is read by hand is what the driver would have read.
func TestScan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conn, err := pgx.Connect(t.Context(), w.url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	moments := []time.Time{time.Unix(0, 0), {}, time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 1000, time.UTC), time.Now()}
	floats := []float64{0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), 0.1}
	ints := []int{0, -1, math.MaxInt64, math.MinInt64, 1 << 40}
	texts := []string{"", "a", "é\n\"", "\U0001F600"}
	for i := range 200 {
		text, number, float, at := texts[i%len(texts)], ints[i%len(ints)], floats[i%len(floats)], moments[i%len(moments)].UTC().Truncate(time.Microsecond)
		id, flag := ids.New(ids.Skill, time.Now()), i%2 == 0
		args := []any{text, &text, "SYNCED", new("SYNCED"), id, &id, flag, &flag, number, &number, int32(rand.Int()), float, &float, at, &at} //nolint:gosec // any will do
		for n := range args {
			if n%2 == 1 && n < 10 || n == 12 || n == 14 {
				if rand.IntN(3) == 0 {
					args[n] = nil
				}
			}
		}
		got, err := store.Query[everyType](t.Context(), w.Store, everyColumn, args...)
		require.NoError(t, err)
		require.Len(t, got, 1)
		var want everyType
		require.NoError(t, conn.QueryRow(t.Context(), everyColumn, args...).Scan(&want.Text, &want.TextOr, &want.Enum, &want.EnumOr, &want.ID, &want.IDOr, &want.Bool, &want.BoolOr,
			&want.Int, &want.IntOr, &want.Small, &want.Float, &want.FloatOr, &want.Time, &want.TimeOr, &want.Date, &want.JSON, nil))
		want.Time = want.Time.UTC()
		if want.TimeOr != nil {
			want.TimeOr = new(want.TimeOr.UTC())
		}
		require.Equal(t, &want, got[0])
		require.Equal(t, math.Signbit(want.Float), math.Signbit(got[0].Float))
	}
}

// A NULL where none is expected is an error that names the column, and so is a time without end.
func TestScanRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for column, sql := range map[string]string{
		"text": "NULL::text", "enum": "NULL::text", "id": "NULL::uuid", "bool": "NULL::bool", "int": "NULL::bigint", "small": "NULL::int", "float": "NULL::float8",
		"time": "'infinity'::timestamptz", "time_or": "'-infinity'::timestamptz",
	} {
		_, err := store.Query[everyType](t.Context(), w.Store, "SELECT "+sql+" AS "+column)
		require.ErrorContains(t, err, "column "+column, sql)
	}
}

// Keys go to the database as they are, however many there are.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	type row struct {
		ID ids.ID `bun:"id"`
	}
	for _, n := range []int{0, 1, 2, 1000} {
		keys := make([]ids.ID, n)
		for i := range keys {
			keys[i] = ids.New(ids.Skill, time.Now())
		}
		for _, sql := range []string{
			"SELECT k.id FROM unnest($1::uuid[]) AS k(id)",
			"SELECT k.id FROM unnest($1::uuid[]) AS k(id) WHERE k.id = ANY($1)", // twice: a list stays a list
		} {
			rows, err := store.Query[row](t.Context(), w.Store, sql, keys)
			require.NoError(t, err)
			got := make([]ids.ID, len(rows))
			for i, r := range rows {
				got[i] = r.ID
			}
			require.Equal(t, keys, got)
		}
	}
	a, b := ids.New(ids.Skill, time.Now()), ids.New(ids.Skill, time.Now())
	rows, err := store.Query[row](t.Context(), w.Store, "SELECT k.id FROM unnest($1::uuid[]) AS k(id) WHERE k.id = ANY($2)", pgx.QueryExecModeCacheDescribe, []ids.ID{a, b}, []ids.ID{b})
	require.NoError(t, err, "a way to run it is no argument")
	require.Equal(t, []*row{{b}}, rows)
	for _, none := range [][]ids.ID{nil, {}} {
		rows, err := store.Query[struct {
			Null bool `bun:"is_null"`
		}](t.Context(), w.Store, "SELECT $1::uuid[] IS NULL AS is_null", none)
		require.NoError(t, err)
		require.Equal(t, none == nil, rows[0].Null)
	}
}

package level_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The settings of the differential test.
const (
	seedVariable  = "SKILLGRAPH_TEST_SEED"       // the first operation; random when it is not set
	countVariable = "SKILLGRAPH_TEST_OPERATIONS" // how many; 1500 when it is not set
)

// brokenTables is how many tables are taken away, one after the other.
const brokenTables = 8

// maxShown is how many errors an answer shows; of more, the executors may show different ones.
const maxShown = 10

// Both executors give the same answer to any operation, whatever state the database is in: the same bytes, and the same
// errors at the same places.
func TestDifferential(t *testing.T) {
	first, count := rand.Uint64N(1_000_000_000), 1500
	if s := os.Getenv(seedVariable); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		first = n
	}
	if s := os.Getenv(countVariable); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		count = n
	}
	t.Logf("%s=%d", seedVariable, first)
	w := newWorld(t)
	d := &differ{world: w, seed: first}
	d.known = crawl(w.schema, func(query string) ([]byte, bool) {
		got := d.compare(t.Context(), t, "the crawl", first, query, nil, false)
		return got.Data, got.Data != nil
	})
	require.NotEmpty(t, d.known.ids["RegistryVersion"], "the crawl did not get far")
	d.report(t, "the crawl")

	d.compareMany(t, "one by one", 1, count/5)
	d.compareMany(t, "whole", 4, count/5)
	w.spoilNumbers(t)
	d.compareMany(t, "numbers that are none", 4, count/10)
	broken.Store(true)
	d.compareMany(t, "a clock that panics", 4, count/10)
	broken.Store(false)
	w.loseRows(t)
	d.compareMany(t, "rows that are gone", 4, count/5)
	tables := w.tables(t)
	for range brokenTables {
		table := tables[rand.IntN(len(tables))]
		w.exec(t, "ALTER TABLE "+table+" RENAME TO gone")
		d.compareMany(t, "no table "+table, 4, count/5/brokenTables)
		w.exec(t, "ALTER TABLE gone RENAME TO "+table)
	}
}

// differ compares the executors.
type differ struct {
	*world
	known                                       *harvest
	seed                                        uint64
	next                                        atomic.Uint64
	run, planned, failed, refused, bytes, wrong atomic.Int64
}

// compareMany compares random operations, several at a time.
func (d *differ) compareMany(t *testing.T, state string, workers int, count int) {
	t.Helper()
	ctx := t.Context()
	var left atomic.Int64
	left.Store(int64(count))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil && left.Add(-1) >= 0 && d.wrong.Load() < 3 {
				seed := d.seed + d.next.Add(1) - 1
				query, vars, other := write(d.schema, d.known, seed)
				d.compare(ctx, t, state, seed, query, vars, workers == 1)
				if !reflect.DeepEqual(vars, other) {
					d.compare(ctx, t, state, seed, query, other, workers == 1)
				}
			}
		})
	}
	wg.Wait()
	d.report(t, state)
}

func (d *differ) report(t *testing.T, state string) {
	t.Helper()
	t.Logf("%s: %d operations, %d planned, %d with errors, %d refused, %d KB", state,
		d.run.Swap(0), d.planned.Swap(0), d.failed.Swap(0), d.refused.Swap(0), d.bytes.Swap(0)>>10)
	if d.wrong.Load() > 0 {
		t.FailNow()
	}
}

// compare runs one operation on both and returns the answer of ours. Alone, it may count statements.
func (d *differ) compare(ctx context.Context, t *testing.T, state string, seed uint64, query string, vars map[string]any, alone bool) (got answer) {
	rest := seed%2 == 0
	want, most := d.ask(ctx, d.gqlgen, query, vars, rest)
	if want.Data == nil {
		d.refused.Add(1)
		return want
	}
	var first int64
	for i := range 2 { // the second time from the cache
		var statements int64
		got, statements = d.ask(ctx, d.level, query, vars, rest)
		how := difference(want, got)
		for try := 0; try < 10 && how != ""; try++ { // a batch that gqlgen closes early may fail, or not, apart from the rest
			want, most = d.ask(ctx, d.gqlgen, query, vars, rest)
			how = difference(want, got)
		}
		if i == 0 {
			first = statements
		}
		if alone && how == "" && (statements != first || statements > 2*most) { // by chance gqlgen reads for two places at once
			how = fmt.Sprintf("%d statements, then %d; on gqlgen's executor %d", first, statements, most)
		}
		if how != "" {
			d.wrong.Add(1)
			t.Errorf("%s=%d (%s)\n%s\n%v\n%s", seedVariable, seed, state, query, vars, how)
			return got
		}
		d.run.Add(1)
		d.bytes.Add(int64(len(got.Data)))
		if got.planned {
			d.planned.Add(1)
		}
		if len(got.Errors) > 0 {
			d.failed.Add(1)
		}
	}
	return got
}

// ask runs an operation and counts its statements; others that run at the same time are counted, too.
func (d *differ) ask(ctx context.Context, e *executor, query string, vars map[string]any, rest bool) (answer, int64) {
	before := e.store.Statements()
	a := e.run(ctx, query, vars, rest)
	return a, e.store.Statements() - before
}

func difference(want, got answer) string {
	if string(want.Data) != string(got.Data) {
		return fmt.Sprintf("want %s\n got %s\nerrors %s\n       %s", want.Data, got.Data, want.Errors, got.Errors)
	}
	if w, g := errorsOf(want), errorsOf(got); len(w) != len(g) || len(w) < maxShown && !slices.Equal(w, g) {
		return fmt.Sprintf("want %s\n got %s", strings.Join(w, "\n     "), strings.Join(g, "\n     "))
	}
	return ""
}

// errorsOf are the errors of an answer, in an order of their own: where gqlgen works side by side, it has none.
func errorsOf(a answer) []string {
	out := make([]string, len(a.Errors))
	for i, e := range a.Errors {
		text, _ := json.Marshal(e)
		out[i] = string(text)
	}
	slices.Sort(out)
	return out
}

// tables are those that have rows.
func (w *world) tables(t *testing.T) (names []string) {
	t.Helper()
	rows, err := w.admin.Query(t.Context(), `SELECT relname FROM pg_stat_user_tables WHERE n_tup_ins > 0 AND relname NOT LIKE 'river%' AND relname NOT LIKE 'bun%' ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(names), 10)
	return names
}

// spoilNumbers writes what JSON has no number for into a third of all numbers with a fraction.
func (w *world) spoilNumbers(t *testing.T) {
	t.Helper()
	w.exec(t, `DO $$ DECLARE c record; BEGIN
		FOR c IN SELECT conrelid::regclass AS tab, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace LOOP
			EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.tab, c.conname);
		END LOOP;
		FOR c IN SELECT table_name AS tab, column_name AS col FROM information_schema.columns
			JOIN information_schema.tables USING (table_schema, table_name)
			WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND data_type = 'double precision' AND is_generated = 'NEVER' LOOP
			EXECUTE format($f$UPDATE %I SET %I = (ARRAY['NaN', 'Infinity', '-Infinity']::float8[])[1 + floor(random() * 3)::int] WHERE random() < 0.3$f$, c.tab, c.col);
		END LOOP;
	END $$`)
}

// loseRows deletes a tenth of what others refer to, though they do.
func (w *world) loseRows(t *testing.T) {
	t.Helper()
	w.exec(t, `DO $$ DECLARE c record; BEGIN
		SET LOCAL session_replication_role = replica;
		FOR c IN SELECT DISTINCT confrelid::regclass AS tab FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace LOOP
			EXECUTE format('DELETE FROM %s WHERE random() < 0.2', c.tab);
		END LOOP;
	END $$`)
}

package level_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The settings of the differential test.
const (
	seedVariable    = "SKILLGRAPH_TEST_SEED"    // the first operation; random when it is not set
	secondsVariable = "SKILLGRAPH_TEST_SECONDS" // how long; 15 when it is not set
)

// maxShown is how many errors an answer shows; of more, the executors may show different ones.
const maxShown = 10

// Both executors give the same answer to any operation, whatever state the database is in: the same bytes, and the same
// errors at the same places.
func TestDifferential(t *testing.T) {
	first, seconds := rand.Uint64N(1_000_000_000), 15.0
	if s := os.Getenv(seedVariable); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		first = n
	}
	if s := os.Getenv(secondsVariable); s != "" {
		n, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		seconds = n
	}
	t.Logf("%s=%d", seedVariable, first)
	w := newWorld(t)
	d := &differ{world: w, seed: first, known: crawl(w.schema, func(query string) []byte {
		return w.level.run(t.Context(), query, nil, true).Data
	})}
	require.NotEmpty(t, d.known.ids["RegistryVersion"], "the crawl did not get far")

	d.compareFor(t, "one by one", 1, seconds*0.2)
	d.compareFor(t, "whole", 4, seconds*0.3)
	w.spoilNumbers(t)
	d.compareFor(t, "numbers that are none", 4, seconds*0.1)
	w.loseRows(t)
	d.compareFor(t, "rows that are gone", 4, seconds*0.2)
	tables := w.tables(t)
	for range 8 {
		table := tables[rand.IntN(len(tables))]
		w.exec(t, "ALTER TABLE "+table+" RENAME TO gone")
		d.compareFor(t, "no table "+table, 4, seconds*0.2/8)
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

// compareFor compares random operations for a while, several at a time.
func (d *differ) compareFor(t *testing.T, state string, workers int, seconds float64) {
	t.Helper()
	ctx := t.Context()
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil && time.Now().Before(end) && d.wrong.Load() < 3 {
				d.compare(ctx, t, state, d.seed+d.next.Add(1)-1, workers == 1)
			}
		})
	}
	wg.Wait()
	t.Logf("%s: %d operations, %d with errors, %d refused, %d KB", state, d.run.Swap(0), d.failed.Swap(0), d.refused.Swap(0), d.bytes.Swap(0)>>10)
	if d.wrong.Load() > 0 {
		t.FailNow()
	}
}

// compare runs one operation on both. Alone, it may count statements.
func (d *differ) compare(ctx context.Context, t *testing.T, state string, seed uint64, alone bool) {
	query, vars := write(d.schema, d.known, seed)
	vars = plain(vars).(map[string]any)
	rest := seed%2 == 0
	want, most := d.ask(ctx, d.gqlgen, query, vars, rest)
	if want.Data == nil {
		d.refused.Add(1)
		return
	}
	for range 2 { // the second time from the cache
		got, statements := d.ask(ctx, d.level, query, vars, rest)
		how := difference(want, got)
		for try := 0; try < 10 && how != ""; try++ { // a batch that gqlgen closes early may fail, or not, apart from the rest
			want, most = d.ask(ctx, d.gqlgen, query, vars, rest)
			how = difference(want, got)
		}
		if alone && how == "" && got.planned && statements > most {
			how = fmt.Sprintf("%d statements, not %d", statements, most)
		}
		if how != "" {
			d.wrong.Add(1)
			t.Errorf("%s=%d (%s)\n%s\n%v\n%s", seedVariable, seed, state, query, vars, how)
			return
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
			WHERE table_schema = 'public' AND data_type = 'double precision' AND is_generated = 'NEVER' LOOP
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

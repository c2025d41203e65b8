package store

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/ids"
)

// blockSize bounds the blocks that rows are allocated in, in bytes: larger ones would be rounded up to more than they need.
const blockSize = 8 << 10

// query reads rows into structs by the names in their bun tags. It keeps one SQL text for all arguments, so that
// the statement is prepared once a connection, unless the first argument is another way to run it.
func query[T any](ctx context.Context, pg querier, sql string, args ...any) ([]*T, error) {
	sql, args = spell(sql, args)
	rows, err := pg.Query(ctx, sql, args...)
	if err != nil {
		return nil, fail(ctx, err)
	}
	defer rows.Close()
	var row T // every column of it is written anew for each row, so that where they are has to be found only once
	at := reflect.ValueOf(&row).Elem()
	scan := newScanner(rows, layoutOf(at.Type()), at)
	out, block, most := []*T{}, []T(nil), max(1, blockSize/max(1, int(at.Type().Size())))
	for rows.Next() {
		if err := scan.scan(rows.RawValues()); err != nil {
			return nil, fail(ctx, err)
		}
		if len(block) == cap(block) {
			block = make([]T, 0, min(2*cap(block)+4, most))
		}
		block = append(block, row)
		out = append(out, &block[len(block)-1])
	}
	return out, fail(ctx, rows.Err())
}

// spell prepares a statement and its arguments for the driver.
func spell(sql string, args []any) (string, []any) {
	out, first := append(make([]any, 0, len(args)+1), pgx.QueryExecModeCacheStatement), 0
	for i, arg := range args {
		switch keys := arg.(type) {
		case pgx.QueryExecMode:
			first = i + 1
		case []ids.ID:
			if len(keys) != 1 {
				break
			}
			if one, ok := alone(sql, "$"+strconv.Itoa(i+1-first)); ok {
				sql, arg = one, keys[0]
			}
		}
		out = append(out, arg)
	}
	return sql, out
}

// alone spells a list of one key as that key: PostgreSQL takes a list to have ten, so it finds that one is better planned for
// itself, and plans it anew each time.
func alone(sql, list string) (string, bool) {
	if strings.Count(sql, list) > 1 {
		return "", false
	}
	if before, after, ok := strings.Cut(sql, "ANY("+list+")"); ok {
		return before + list + after, true
	}
	before, after, ok := strings.Cut(sql, "unnest("+list+"::uuid[])")
	return before + "(VALUES (" + list + "::uuid))" + after, ok
}

// queryOne reads one row, or fails with NOT_FOUND in words that say what kind of object was looked for.
func queryOne[T any](ctx context.Context, pg querier, want ids.Kind, id ids.ID, sql string, args ...any) (*T, error) {
	rows, err := query[T](ctx, pg, sql, args...)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, id.NotFound(want)
	}
	return rows[0], nil
}

func exec(ctx context.Context, pg querier, sql string, args ...any) (int64, error) {
	tag, err := pg.Exec(ctx, sql, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	return tag.RowsAffected(), fail(ctx, err)
}

// layout is where the columns of a struct are.
type layout struct {
	names []string
	paths map[string][]int
	ids   map[string]bool // those that are ids of every row
	keys  map[string]bool // what else edges are followed by: ids that a row may have, and what says so
}

var layouts sync.Map // reflect.Type -> *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{paths: map[string][]int{}, ids: map[string]bool{}, keys: map[string]bool{}}
	l.add(t, nil)
	layouts.Store(t, l)
	return l
}

func (l *layout) add(t reflect.Type, path []int) {
	for i := range t.NumField() {
		f, at := t.Field(i), append(append([]int{}, path...), i)
		name, option, _ := strings.Cut(f.Tag.Get("bun"), ",")
		switch {
		case f.Anonymous && f.Name == "BaseModel":
		case f.Anonymous || option == "inline":
			l.add(f.Type, at)
		case name != "" && name != "-":
			l.names, l.paths[name] = append(l.names, name), at
			l.ids[name] = f.Type == reflect.TypeFor[ids.ID]()
			l.keys[name] = f.Type == reflect.TypeFor[*ids.ID]() || f.Tag.Get("edge") == "key"
		}
	}
}

// columns lists the columns of T under the alias t.
func columns[T any]() string {
	return "t." + strings.Join(layoutOf(reflect.TypeFor[T]()).names, ", t.")
}

// Columns are some columns of the rows that a model stands for.
type Columns struct {
	Model string // the name of its Go type
	Names map[string]bool
	Edges bool // and whatever edges are followed by
	More  bool // and, of a page, whether there is another
}

// Only is the organization for a reader who shows no more than these columns of the rows that a batch reads. Rows have
// in any case the ids that every row has; whatever else they have stays empty, and without More every page passes for
// the last one.
func (o Org) Only(shown *Columns) Org {
	o.only = shown
	return o
}

// selected lists the columns of T that a batch reads, under the alias t: all of them, or those that are shown and those that
// we need ourselves.
func selected[T any](o Org, need ...string) string {
	if o.only == nil || o.only.Model != reflect.TypeFor[T]().Name() {
		return columns[T]()
	}
	l, out := layoutOf(reflect.TypeFor[T]()), make([]string, 0, 16)
	for _, name := range l.names {
		if o.only.Names[name] || l.ids[name] || o.only.Edges && l.keys[name] || slices.Contains(need, name) {
			out = append(out, name)
		}
	}
	return "t." + strings.Join(out, ", t.")
}

// batch reads what an edge leads to: rows of a table, as t, by what each was asked with.
func batch[T any](ctx context.Context, o Org, key func(*T) ids.ID, from string, args ...any) (map[ids.ID]*T, error) {
	rows, err := query[T](ctx, o.pg, "SELECT "+selected[T](o)+" FROM "+from, append([]any{o.id}, args...)...)
	return byID(rows, key), err
}

// byID arranges rows for a batch of keys.
func byID[T any](rows []*T, id func(*T) ids.ID) map[ids.ID]*T {
	out := make(map[ids.ID]*T, len(rows))
	for _, r := range rows {
		out[id(r)] = r
	}
	return out
}

// group arranges rows by what they belong to, in the order in which they come.
func group[T any](rows []*T, key func(*T) ids.ID) map[ids.ID][]*T {
	return groupAt(rows, func(i int) ids.ID { return key(rows[i]) })
}

// groupAt is group where something else knows what a row belongs to. Rows that come together are not copied.
func groupAt[T any](rows []*T, key func(i int) ids.ID) map[ids.ID][]*T {
	out, first := map[ids.ID][]*T{}, 0
	for i := range rows {
		of := key(i)
		if i+1 < len(rows) && key(i+1) == of {
			continue
		}
		if run := rows[first : i+1 : i+1]; out[of] == nil {
			out[of] = run
		} else {
			out[of] = append(out[of], run...)
		}
		first = i + 1
	}
	return out
}

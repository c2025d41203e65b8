package store

import (
	"context"
	"reflect"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/ids"
)

// query reads rows into structs by the names in their bun tags. It keeps one SQL text for all arguments, so that
// the statement is prepared once a connection, unless the first argument is another way to run it.
func query[T any](ctx context.Context, pg querier, sql string, args ...any) ([]*T, error) {
	rows, err := pg.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheStatement}, args...)...)
	if err != nil {
		return nil, fail(ctx, err)
	}
	defer rows.Close()
	var row T // every column of it is written anew for each row, so that where they are has to be found only once
	layout, at := layoutOf(reflect.TypeFor[T]()), reflect.ValueOf(&row).Elem()
	targets := make([]any, 0, len(layout.names))
	for _, f := range rows.FieldDescriptions() {
		if p, ok := layout.paths[f.Name]; ok {
			targets = append(targets, at.FieldByIndex(p).Addr().Interface())
		} else {
			targets = append(targets, nil) // it is skipped
		}
	}
	out, block := []*T{}, []T(nil)
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, fail(ctx, err)
		}
		if len(block) == cap(block) {
			block = make([]T, 0, min(2*cap(block)+4, 128))
		}
		block = append(block, row)
		out = append(out, &block[len(block)-1])
	}
	return out, fail(ctx, rows.Err())
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
}

var layouts sync.Map // reflect.Type -> *layout

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{paths: map[string][]int{}}
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
		}
	}
}

// columns lists the columns of T under the alias t.
func columns[T any]() string {
	return "t." + strings.Join(layoutOf(reflect.TypeFor[T]()).names, ", t.")
}

// byID arranges rows for a batch of keys.
func byID[T any](rows []*T, id func(*T) ids.ID) map[ids.ID]*T {
	out := make(map[ids.ID]*T, len(rows))
	for _, r := range rows {
		out[id(r)] = r
	}
	return out
}

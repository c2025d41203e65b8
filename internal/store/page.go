package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// order is a way to sort a list: by columns, all up or all down, with cursors that carry their values.
type order[T any] struct {
	name    string // in cursors, so that one of another order is refused
	columns []string
	types   []string // of the columns, for the cursor's texts
	unique  bool     // no two rows of a parent have the same values; elsewhere ties are broken by id
	desc    bool
	key     func(*T) []string // the values of the columns
	from    []string          // the columns that key reads, where they are others
	id      func(*T) ids.ID
}

// newest is the order of creation, which ids have in them.
func newest[T any](id func(*T) ids.ID) order[T] {
	return order[T]{name: "newest", desc: true, id: id, key: func(*T) []string { return nil }}
}

// reads are the columns that a cursor is made of.
func (o order[T]) reads() []string {
	out := slices.Clone(o.from)
	for _, c := range o.columns {
		out = append(out, strings.TrimPrefix(c, "t."))
	}
	return out
}

// byNumber is the order of what is numbered under its parent, highest first.
func byNumber[T any](id func(*T) ids.ID, number func(*T) int) order[T] {
	return order[T]{
		name: "number", columns: []string{"t.number"}, types: []string{"int"}, unique: true, desc: true, id: id,
		key: func(row *T) []string { return []string{strconv.Itoa(number(row))} },
	}
}

func (o order[T]) cursor(row *T) models.Cursor {
	return models.Cursor{Order: o.name, Key: models.CursorKey(o.key(row)...), ID: o.id(row)}
}

// listing is a list of T that hangs on a parent: every page in the graph is cut here.
type listing[T any] struct {
	from   string // the table, as t, with its joins
	idCol  string // t.id where empty
	scope  string // whose rows may be seen; those of the organization where empty
	parent string // the column that holds the parent's id; t.org_id for the lists of the organization
	where  []string
	args   []any
	order  order[T]
}

// filter adds a condition; each ? stands for one argument.
func (l *listing[T]) filter(cond string, args ...any) {
	for _, a := range args {
		l.args = append(l.args, a)
		cond = strings.Replace(cond, "?", "$"+strconv.Itoa(len(l.args)+2), 1) // after org and keys
	}
	l.where = append(l.where, cond)
}

// pages cuts one page for each parent with one statement, and counts them all with one more if anybody asks.
func pages[T any](ctx context.Context, o Org, l listing[T], parents []ids.ID, w models.Window) (map[ids.ID]*models.Connection[T], error) {
	if l.idCol == "" {
		l.idCol = "t.id"
	}
	if l.scope == "" {
		l.scope = "t.org_id = $1"
	}
	count := l.counter(o, parents)
	dir, cmp := "ASC", ">"
	if l.order.desc {
		dir, cmp = "DESC", "<"
	}
	columnList := slices.Clone(l.order.columns)
	if !l.order.unique {
		columnList = append(columnList, l.idCol)
	}
	if !w.After.ID.IsZero() {
		if w.After.Order != l.order.name || len(w.After.Keys()) != len(l.order.columns) {
			return nil, errs.At("after").Because("is a cursor of another list or order")
		}
		places, args := make([]string, 0, len(columnList)), make([]any, 0, len(columnList))
		for i, key := range w.After.Keys() {
			places, args = append(places, "?::text::"+l.order.types[i]), append(args, key)
		}
		if !l.order.unique {
			places, args = append(places, "?"), append(args, w.After.ID)
		}
		l.filter(fmt.Sprintf("(%s) %s (%s)", strings.Join(columnList, ", "), cmp, strings.Join(places, ", ")), args...)
	}
	groups, err := l.cut(ctx, o, parents, strings.Join(columnList, " "+dir+", ")+" "+dir, w)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && strings.HasPrefix(pg.Code, "22") { // only the text in a cursor can be no value of its type
		return nil, errs.At("after").Because("is not a cursor of this list")
	}
	if err != nil {
		return nil, err
	}
	out, cursor := make(map[ids.ID]*models.Connection[T], len(parents)), l.order.cursor
	for _, p := range parents {
		out[p] = models.NewConnection(w, groups[p], cursor, func(ctx context.Context) (int, error) {
			totals, err := count(ctx)
			return totals[p], err
		})
	}
	return out, nil
}

// cut reads the rows of a page for each parent, and one beyond where somebody asks whether there is more. Parents are
// joined to their rows by a nested loop, as nothing else can join what depends on each row and has a limit: it keeps the
// order of the rows.
func (l listing[T]) cut(ctx context.Context, o Org, parents []ids.ID, sort string, w models.Window) (map[ids.ID][]*T, error) {
	n := len(l.args) + 2
	sql := func(parent string) string {
		return fmt.Sprintf("SELECT %s FROM %s WHERE %s AND %s = %s%s ORDER BY %s LIMIT $%d OFFSET $%d", selected[T](o, l.order.reads()...), l.from, l.scope, l.parent, parent, and(l.where), sort, n+1, n+2)
	}
	limit := w.Limit
	if o.only == nil || o.only.More {
		limit++
	}
	args := append(append([]any{o.id, nil}, l.args...), limit, w.Offset)
	if len(parents) == 1 { // most lists: PostgreSQL plans this once and for all
		args[1] = parents[0]
		rows, err := query[T](ctx, o.pg, sql("$2"), args...)
		return map[ids.ID][]*T{parents[0]: rows}, err
	}
	args[1] = parents
	rows, err := query[child[T]](ctx, o.pg, "SELECT p.id AS parent_key, r.* FROM unnest($2::uuid[]) AS p(id) CROSS JOIN LATERAL ("+sql("p.id")+") r", args...)
	out := make([]*T, len(rows))
	for i, r := range rows {
		out[i] = &r.Row
	}
	return groupAt(out, func(i int) ids.ID { return rows[i].ParentKey }), err
}

// page is pages for a list of the organization itself.
func page[T any](ctx context.Context, o Org, l listing[T], w models.Window) (*models.Connection[T], error) {
	all, err := pages(ctx, o, l, []ids.ID{o.id}, w)
	if err != nil {
		return nil, err
	}
	return all[o.id], nil
}

// child is a row with the parent it was found for.
type child[T any] struct {
	ParentKey ids.ID `bun:"parent_key"`
	Row       T      `bun:",inline"`
}

// counter counts the children of all parents, once, when the first of them is asked. Its listing is a copy from before a
// cursor is added to the conditions.
func (l listing[T]) counter(o Org, parents []ids.ID) func(context.Context) (map[ids.ID]int, error) {
	type total struct {
		ID ids.ID `bun:"id"`
		N  int    `bun:"n"`
	}
	var once sync.Once
	var totals map[ids.ID]int
	var err error
	return func(ctx context.Context) (map[ids.ID]int, error) {
		once.Do(func() {
			sql := fmt.Sprintf("SELECT %s AS id, count(*) AS n FROM %s WHERE %s AND %s = ANY($2)%s GROUP BY 1", l.parent, l.from, l.scope, l.parent, and(l.where))
			var rows []*total
			rows, err = query[total](ctx, o.pg, sql, append([]any{o.id, parents}, l.args...)...)
			totals = make(map[ids.ID]int, len(rows))
			for _, r := range rows {
				totals[r.ID] = r.N
			}
		})
		return totals, err
	}
}

func and(conds []string) string {
	if len(conds) == 0 {
		return ""
	}
	return " AND " + strings.Join(conds, " AND ")
}

// contains makes a pattern for LIKE that matches the text anywhere, taken literally.
func contains(s string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s) + "%"
}

// timeKey is a time in a cursor.
func timeKey(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// childOf arranges rows by the one parent that each was found for.
func childOf[T any](rows []*child[T], err error) (map[ids.ID]*T, error) {
	out := make(map[ids.ID]*T, len(rows))
	for _, r := range rows {
		out[r.ParentKey] = &r.Row
	}
	return out, err
}

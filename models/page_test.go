package models_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

func cursorOf(key string) models.Cursor {
	return models.Cursor{Order: "name", Key: key, ID: ids.ID{0: 1, 15: 2}}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	c := cursorOf("k")
	after := c.String()
	for _, row := range []struct {
		args models.PageArgs
		want models.Window
	}{
		{models.PageArgs{}, models.Window{Limit: 20}},
		{models.PageArgs{First: new(1)}, models.Window{Limit: 1}},
		{models.PageArgs{First: new(100)}, models.Window{Limit: 100}},
		{models.PageArgs{First: new(1000)}, models.Window{Limit: 1000}}, // a REST document of ours
		{models.PageArgs{First: new(5), After: &after}, models.Window{Limit: 5, After: c}},
		{models.PageArgs{After: &after}, models.Window{Limit: 20, After: c}},
		{models.PageArgs{After: &after, PerPage: new(7)}, models.Window{Limit: 7, After: c}},
		{models.PageArgs{PerPage: new(7)}, models.Window{Limit: 7}},
		{models.PageArgs{Page: new(1)}, models.Window{Limit: 20, Page: 1}},
		{models.PageArgs{Page: new(3)}, models.Window{Limit: 20, Page: 3, Offset: 40}},
		{models.PageArgs{Page: new(3), First: new(5)}, models.Window{Limit: 5, Page: 3, Offset: 10}},
		{models.PageArgs{Page: new(3), PerPage: new(100)}, models.Window{Limit: 100, Page: 3, Offset: 200}},
		{models.PageArgs{Page: new(1_000_000), PerPage: new(100)}, models.Window{Limit: 100, Page: 1_000_000, Offset: 99_999_900}},
	} {
		got, err := row.args.Window()
		require.NoError(t, err)
		require.Equal(t, row.want, got)
	}
}

func TestWindowRefusals(t *testing.T) {
	t.Parallel()
	after := cursorOf("k").String()
	for _, row := range []struct {
		args          models.PageArgs
		path, message string
	}{
		{models.PageArgs{Page: new(1), After: &after}, "page", "page and after do not go together"},
		{models.PageArgs{First: new(1), PerPage: new(1)}, "perPage", "first and perPage do not go together"},
		{models.PageArgs{First: new(0)}, "first", "first must be between 1 and 100"},
		{models.PageArgs{First: new(-1)}, "first", "first must be between 1 and 100"},
		{models.PageArgs{First: new(1001)}, "first", "first must be between 1 and 100"},
		{models.PageArgs{PerPage: new(0)}, "perPage", "must be between 1 and 100"},
		{models.PageArgs{PerPage: new(101)}, "perPage", "must be between 1 and 100"},
		{models.PageArgs{Page: new(0)}, "page", "must be between 1 and 1000000"},
		{models.PageArgs{Page: new(1_000_001)}, "page", "must be between 1 and 1000000"},
	} {
		_, err := row.args.Window()
		requireRefused(t, err, row.message, row.path)
	}
}

func TestCursors(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "k", "two\nlines", "é", strings.Repeat("x", 1000)} {
		c := cursorOf(key)
		got, err := models.PageArgs{After: new(c.String())}.Window()
		require.NoError(t, err)
		require.Equal(t, c, got.After)
	}
	id := ids.ID{0: 1}.String()
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, garbage := range []string{
		"", "x", "=", "!!!!", "name", id, encode(""), encode("name"), encode("name\n" + id), encode("name\nnot-an-id\nk"), encode("name\n" + id + "\nk\x00"), encode("name\n" + id + "\n\xff"),
		encode("\n\n"), base64.StdEncoding.EncodeToString([]byte("name\n" + id + "\nk?>")),
		encode("name\n" + ids.ID{}.String() + "\nk"),
	} {
		_, err := models.PageArgs{After: &garbage}.Window()
		require.Error(t, err, garbage)
		requireRefused(t, err, "is not a cursor of this list", "after")
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursorOf("k").String(), "name", "k")
	f.Add("", "", "")
	f.Add("bmFtZQ", "updated", "2026-11-15T01:02:03.456Z")
	f.Fuzz(func(t *testing.T, text, order, key string) {
		if w, err := (models.PageArgs{After: &text}).Window(); err == nil {
			again, err := models.PageArgs{After: new(w.After.String())}.Window()
			require.NoError(t, err)
			require.Equal(t, w, again)
		}
		if strings.ContainsAny(order, "\n\x00") || strings.Contains(key, "\x00") || !utf8.ValidString(order+key) {
			return // no order is called that, and no text in the database is like that
		}
		c := models.Cursor{Order: order, Key: key, ID: ids.ID{15: 1}}
		w, err := models.PageArgs{After: new(c.String())}.Window()
		require.NoError(t, err)
		require.Equal(t, c, w.After)
	})
}

type item struct{ key string }

func itemCursor(i *item) models.Cursor { return cursorOf(i.key) }

func none(context.Context) (int, error) { return 0, errors.New("nobody asked for a total") }

func TestConnection(t *testing.T) {
	t.Parallel()
	a, b, c := &item{"a"}, &item{"b"}, &item{"c"}
	full := models.NewConnection(models.Window{Limit: 2}, []*item{a, b, c}, itemCursor, func(context.Context) (int, error) { return 9, nil })
	require.Equal(t, []*item{a, b}, full.Nodes, "the row beyond is not shown")
	require.True(t, full.PageInfo.HasNextPage)
	require.False(t, full.PageInfo.HasPreviousPage)
	require.Equal(t, new(cursorOf("a").String()), full.PageInfo.StartCursor())
	require.Equal(t, new(cursorOf("b").String()), full.PageInfo.EndCursor())
	require.Nil(t, full.PageInfo.Page)
	require.Equal(t, 2, full.PageInfo.PerPage)
	require.Equal(t, []*models.Edge[item]{{Cursor: cursorOf("a").String(), Node: a}, {Cursor: cursorOf("b").String(), Node: b}}, full.Edges())
	total, err := full.TotalCount(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9, total)

	last := models.NewConnection(models.Window{Limit: 2, After: cursorOf("b")}, []*item{c}, itemCursor, none)
	require.False(t, last.PageInfo.HasNextPage)
	require.True(t, last.PageInfo.HasPreviousPage)
	_, err = last.TotalCount(t.Context())
	require.EqualError(t, err, "nobody asked for a total")

	numbered := models.NewConnection(models.Window{Limit: 2, Page: 3, Offset: 4}, []*item{a, b}, itemCursor, none)
	require.False(t, numbered.PageInfo.HasNextPage, "exactly full")
	require.True(t, numbered.PageInfo.HasPreviousPage)
	require.Equal(t, new(3), numbered.PageInfo.Page)

	first := models.NewConnection(models.Window{Limit: 2, Page: 1}, nil, itemCursor, none)
	require.False(t, first.PageInfo.HasPreviousPage)
	require.Nil(t, first.PageInfo.StartCursor())
	require.Nil(t, first.PageInfo.EndCursor())
	require.Empty(t, first.Edges())

	mapped := models.MapConnection(full, func(i *item) *string { return &i.key })
	require.Equal(t, []*string{&a.key, &b.key}, mapped.Nodes)
	require.Same(t, full.PageInfo, mapped.PageInfo)
	require.Equal(t, full.Edges()[1].Cursor, mapped.Edges()[1].Cursor)
}

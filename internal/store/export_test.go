package store

import "context"

// BlobReferences lists the columns that refer to blobs, as table.column.
func BlobReferences() []string {
	out := []string{}
	for _, r := range blobReferences {
		out = append(out, r.table+"."+r.column)
	}
	return out
}

// ReferToBlobs lists one more column that refers to blobs, until undo.
func ReferToBlobs(table, column string) (undo func()) {
	before := blobReferences
	blobReferences = append(blobReferences[:len(before):len(before)], struct{ table, column string }{table, column})
	return func() { blobReferences = before }
}

// Query reads rows of any statement.
func Query[T any](ctx context.Context, s *Store, sql string, args ...any) ([]*T, error) {
	return query[T](ctx, s.pool, sql, args...)
}

package store

// ReferToBlobs lists one more column that refers to blobs, until undo.
func ReferToBlobs(table, column string) (undo func()) {
	before := blobReferences
	blobReferences = append(blobReferences[:len(before):len(before)], struct{ table, column string }{table, column})
	return func() { blobReferences = before }
}

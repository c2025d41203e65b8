// Package textdiff shows how two texts differ.
package textdiff

import (
	"bytes"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Unified shows what changed from old to new, with 3 lines of context, as diff -u does; nothing where nothing did. It looks for the
// shortest answer only among texts with few differences, so that the time it takes grows with their length and no faster.
func Unified(oldName, newName, old, new string) string { //nolint:revive // a diff is of an old and a new text
	return udiff.Unified(oldName, newName, old, new)
}

// IsText tells whether bytes can be shown as text: UTF-8 without NUL.
func IsText(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsRune(b, 0) }

package level

import (
	"errors"
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// Write lets a Marshaler write.
func (w *Writer) Write(b []byte) (int, error) {
	w.B = append(w.B, b...)
	return len(b), nil
}

// WriteString spares it a copy.
func (w *Writer) WriteString(s string) (int, error) {
	w.B = append(w.B, s...)
	return len(s), nil
}

const hexDigits = "0123456789ABCDEF"

// String writes a string as gqlgen does: with only those characters escaped that have to be.
func (w *Writer) String(s string) {
	w.B = append(w.B, '"')
	b, start := w.B, 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '\\' && c != '"' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		case '\n':
			b = append(b, `\n`...)
		case '\\', '"':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	w.B = append(append(b, s[start:]...), '"')
}

// Bool writes a boolean.
func (w *Writer) Bool(v bool) { w.B = strconv.AppendBool(w.B, v) }

var errNoNumber = errors.New("cannot marshal infinite no NaN float values") // gqlgen's words

// Float writes a number; what JSON has no number for is null and an error.
func (w *Writer) Float(v float64) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		w.mistaken(errNoNumber)
		return
	}
	w.B = strconv.AppendFloat(w.B, v, 'g', -1, 64)
}

// Marshal writes a leaf whose type knows how, and may fail.
func (w *Writer) Marshal(v graphql.ContextMarshaler) {
	start := len(w.B)
	if err := v.MarshalGQLContext(w.run.ctx, w); err != nil {
		w.takeBack(start)
		w.mistaken(err)
	}
}

// mistaken writes null for a leaf, and remembers why.
func (w *Writer) mistaken(err error) {
	w.late = append(w.late, mistake{at: len(w.B), ctx: w.at(w.leaf), err: err})
	w.null()
}

// Leaves writes a list of leaves. Where it may be null, a list that is nil is.
func Leaves[T any](w *Writer, list []T, nullable bool, put func(*Writer, T)) bool {
	if list == nil && nullable {
		return false
	}
	w.B = append(w.B, '[')
	for i, v := range list {
		if i > 0 {
			w.B = append(w.B, ',')
		}
		put(w, v)
	}
	w.B = append(w.B, ']')
	return true
}

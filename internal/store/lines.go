package store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"skillgraph/models"
)

// PostgreSQL's own text and JSON would cost it twice and five times the time of its binary format; to spell that is little work
// here, and is done while the database reads on.

// kind is what a field holds: the type that the database sends, and how it is written.
type kind struct {
	sql   string
	spell func(to, value []byte) []byte // nil: it is text already
	// How JSON has it: as a string, with quotes, or else as it is.
	quoted bool
}

// Kinds of fields.
var (
	text     = kind{sql: "text", quoted: true}
	document = kind{sql: "json"}
	uuid     = kind{sql: "uuid", quoted: true, spell: appendUUID}
	instant  = kind{sql: "timestamptz", quoted: true, spell: func(to, v []byte) []byte {
		at, _ := moment(number(v))
		return models.AppendInstant(to, at)
	}}
	day   = kind{sql: "date", quoted: true, spell: func(to, v []byte) []byte { return models.AppendDay(to, epoch.AddDate(0, 0, int(number(v)))) }}
	whole = kind{sql: "bigint", spell: func(to, v []byte) []byte { return strconv.AppendInt(to, number(v), 10) }}
	share = kind{sql: "float8", spell: func(to, v []byte) []byte {
		return strconv.AppendFloat(to, math.Float64frombits(uint64(number(v))), 'g', -1, 64)
	}} //nolint:gosec // the same bits
	flag = kind{sql: "boolean", spell: func(to, v []byte) []byte { return strconv.AppendBool(to, v[0] != 0) }}
)

// epoch is when time begins for PostgreSQL.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// number is a number of 4 or 8 bytes.
func number(v []byte) int64 {
	if len(v) == 4 {
		return int64(int32(binary.BigEndian.Uint32(v))) //nolint:gosec // it may be negative
	}
	return int64(binary.BigEndian.Uint64(v)) //nolint:gosec // it may be negative
}

func appendUUID(to, v []byte) []byte {
	for i, end := range []int{4, 6, 8, 10, 16} {
		from := 0
		if i > 0 {
			to = append(to, '-')
			from = []int{4, 6, 8, 10}[i-1]
		}
		to = hex.AppendEncode(to, v[from:end])
	}
	return to
}

// lines takes the binary format of COPY, whole rows at a time as PostgreSQL sends them, and writes a line for each.
type lines struct {
	fields []field
	csv    bool
	header bool // CSV begins with the names
	w      io.Writer

	begun bool
	line  []byte
}

// copySignature is how the binary format begins; flags and the length of an extension follow, 4 bytes each.
const copySignature = "PGCOPY\n\xff\r\n\x00"

var errCopy = errors.New("store: COPY does not send what it should")

func (l *lines) Write(p []byte) (int, error) {
	rest := p
	l.line = l.line[:0]
	if !l.begun {
		if !bytes.HasPrefix(p, []byte(copySignature)) || len(p) < len(copySignature)+8 {
			return 0, errCopy
		}
		l.begun, rest = true, p[len(copySignature)+8:]
		if l.csv && l.header {
			l.names()
		}
	}
	for len(rest) >= 2 {
		n := int16(binary.BigEndian.Uint16(rest)) //nolint:gosec // it may be negative
		rest = rest[2:]
		if n == -1 { // the end
			break
		}
		if int(n) != len(l.fields) {
			return 0, errCopy
		}
		var err error
		if rest, err = l.row(rest); err != nil {
			return 0, err
		}
	}
	if _, err := l.w.Write(l.line); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lines) names() {
	for i, f := range l.fields {
		if i > 0 {
			l.line = append(l.line, ',')
		}
		l.line = append(l.line, f.name...)
	}
	l.line = append(l.line, '\n')
}

// row writes a line and returns what follows in the message.
func (l *lines) row(rest []byte) ([]byte, error) {
	for i, f := range l.fields {
		if len(rest) < 4 {
			return nil, errCopy
		}
		size := int(int32(binary.BigEndian.Uint32(rest))) //nolint:gosec // -1 is null
		rest = rest[4:]
		if size > len(rest) {
			return nil, errCopy
		}
		var value []byte
		if size >= 0 {
			value, rest = rest[:size:size], rest[size:]
		}
		if l.csv {
			l.cell(i, f, value)
		} else {
			l.member(i, f, value)
		}
	}
	if !l.csv {
		l.line = append(l.line, '}')
	}
	l.line = append(l.line, '\n')
	return rest, nil
}

// cell is a field of CSV. Null is nothing at all, an empty text is two quotes.
func (l *lines) cell(i int, f field, v []byte) {
	if i > 0 {
		l.line = append(l.line, ',')
	}
	switch {
	case v == nil:
	case f.kind.spell != nil:
		l.line = f.kind.spell(l.line, v)
	case len(v) > 0 && !bytes.ContainsAny(v, "\",\r\n"):
		l.line = append(l.line, v...)
	default:
		l.line = append(l.line, '"')
		l.line = append(l.line, bytes.ReplaceAll(v, []byte{'"'}, []byte(`""`))...)
		l.line = append(l.line, '"')
	}
}

// member is a field of a JSON object.
func (l *lines) member(i int, f field, v []byte) {
	between := byte(',')
	if i == 0 {
		between = '{'
	}
	l.line = append(l.line, between, '"')
	l.line = append(l.line, f.name...)
	l.line = append(l.line, '"', ':')
	switch {
	case v == nil:
		l.line = append(l.line, "null"...)
	case f.kind.spell == nil && f.kind.quoted:
		l.line = appendString(l.line, v)
	case f.kind.spell == nil:
		l.line = append(l.line, v...)
	case f.kind.quoted:
		l.line = append(f.kind.spell(append(l.line, '"'), v), '"')
	default:
		l.line = f.kind.spell(l.line, v)
	}
}

// appendString is a text, which is UTF-8, as JSON has it.
func appendString(to, v []byte) []byte {
	to = append(to, '"')
	from := 0
	for i, c := range v {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, v[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, `\n`...)
		case '\r':
			to = append(to, `\r`...)
		case '\t':
			to = append(to, `\t`...)
		default:
			to = append(to, `\u00`...)
			to = hex.AppendEncode(to, []byte{c})
		}
	}
	return append(append(to, v[from:]...), '"')
}

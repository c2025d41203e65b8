package models

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"io"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/jackc/pgx/v5/pgtype"

	"skillgraph/internal/errs"
)

// rfc3339 is what time.Parse should insist on: it takes a comma for a point, and hours of one digit.
var rfc3339 = regexp.MustCompile(`^[\d-]{10}T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// MarshalTime writes the scalar Time.
func MarshalTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(AppendTime(nil, t)) })
}

// AppendTime writes it to bytes.
func AppendTime(b []byte, t time.Time) []byte { return append(AppendInstant(append(b, '"'), t), '"') }

// AppendInstant writes a time in RFC 3339, in UTC with milliseconds: by hand, as long answers are full of them.
func AppendInstant(b []byte, t time.Time) []byte {
	t = t.UTC()
	hour, minute, second := t.Clock()
	b = AppendDay(b, t)
	b = appendDigits(append(b, 'T'), hour, 2)
	b = appendDigits(append(b, ':'), minute, 2)
	b = appendDigits(append(b, ':'), second, 2)
	b = appendDigits(append(b, '.'), t.Nanosecond()/int(time.Millisecond), 3)
	return append(b, 'Z')
}

// AppendDay writes the day of a time, where the time is.
func AppendDay(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), int(month), 2)
	return appendDigits(append(b, '-'), day, 2)
}

// appendDigits writes a number with so many digits, the first of them zeros where need be.
func appendDigits(b []byte, n, digits int) []byte {
	for range digits {
		b = append(b, '0')
	}
	for at := len(b) - 1; n > 0 && at >= len(b)-digits; at-- {
		b[at] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// UnmarshalTime reads the scalar Time, with any offset. What we keep has milliseconds, as what we show.
func UnmarshalTime(v any) (time.Time, error) {
	s, _ := v.(string)
	t, err := time.Parse(time.RFC3339, s)
	t = t.UTC().Truncate(time.Millisecond)
	if err != nil || !rfc3339.MatchString(s) || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, errs.New(errs.Invalid, "must be a time in RFC 3339, such as 2026-11-15T01:02:03Z")
	}
	return t, nil
}

// MarshalUpload is there because gqlgen asks for it: a file is never shown.
func MarshalUpload(f graphql.Upload) graphql.Marshaler { return graphql.MarshalUpload(f) }

// UnmarshalUpload reads the scalar Upload. What is no file comes from /graphql, where none can come: the mutation then says where
// to send it.
func UnmarshalUpload(v any) (graphql.Upload, error) {
	file, _ := v.(graphql.Upload)
	return file, nil
}

// Date is the scalar Date: a day in UTC.
type Date time.Time

// Time is the beginning of the day.
func (d Date) Time() time.Time { return time.Time(d) }

// MarshalGQL writes the day.
func (d Date) MarshalGQL(w io.Writer) { _, _ = w.Write(d.AppendGQL(nil)) }

// AppendGQL writes it to bytes.
func (d Date) AppendGQL(b []byte) []byte {
	return append(AppendDay(append(b, '"'), time.Time(d)), '"')
}

// UnmarshalGQL reads a day.
func (d *Date) UnmarshalGQL(v any) error {
	s, _ := v.(string)
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return errs.New(errs.Invalid, "must be a day such as 2026-11-15")
	}
	*d = Date(t)
	return nil
}

// ScanDate lets pgx fill it.
func (d *Date) ScanDate(v pgtype.Date) error {
	*d = Date(v.Time)
	return nil
}

// MarshalInt and UnmarshalInt are the scalar Int: 32 bits, and never a string or a fraction.
func MarshalInt(i int) graphql.Marshaler { return graphql.MarshalInt(i) }

// AppendInt writes it to bytes.
func AppendInt(b []byte, i int) []byte { return strconv.AppendInt(b, int64(i), 10) }

// UnmarshalInt refuses what does not fit.
func UnmarshalInt(v any) (int, error) {
	n, err := UnmarshalInt64(v)
	if err != nil || n != int64(int32(n)) {
		return 0, errs.New(errs.Invalid, "must be a whole number of at most 32 bits")
	}
	return int(n), nil
}

// MarshalInt64 and UnmarshalInt64 are the scalar Int64.
func MarshalInt64(i int64) graphql.Marshaler { return graphql.MarshalInt64(i) }

// AppendInt64 writes it to bytes.
func AppendInt64(b []byte, i int64) []byte { return strconv.AppendInt(b, i, 10) }

// UnmarshalInt64 takes an integer as literals and JSON bring it.
func UnmarshalInt64(v any) (int64, error) {
	switch v := v.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
	}
	return 0, errs.New(errs.Invalid, "must be a whole number of at most 64 bits")
}

// maxJSONDepth bounds what a reader of the JSON has to stack up.
const maxJSONDepth = 64

// JSON is the scalar JSON: the bytes of one valid JSON value. Through REST they are those of the client.
type JSON []byte

// MarshalGQL writes the bytes.
func (j JSON) MarshalGQL(w io.Writer) { _, _ = w.Write(j.AppendGQL(nil)) }

// AppendGQL writes them to others.
func (j JSON) AppendGQL(b []byte) []byte {
	if len(j) == 0 {
		return append(b, "null"...)
	}
	return append(b, j...)
}

// UnmarshalGQL takes raw bytes as they are and encodes what the GraphQL parser has decoded.
func (j *JSON) UnmarshalGQL(v any) error {
	raw, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = plainJSON(v); err != nil {
			return errs.New(errs.Invalid, "must be a JSON value")
		}
	}
	if !utf8.Valid(raw) {
		return errs.New(errs.Invalid, "must be UTF-8")
	}
	if tooDeep(raw) {
		return errs.New(errs.Invalid, "must be nested at most %d levels deep", maxJSONDepth)
	}
	*j = JSON(raw)
	return nil
}

// plainJSON encodes a value without the escapes that only web pages need.
func plainJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// MarshalJSON and UnmarshalJSON make JSON nest in encoding/json like json.RawMessage.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps the bytes.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = append((*j)[:0], b...)
	return nil
}

// Value lets database/sql send the text.
func (j JSON) Value() (driver.Value, error) {
	if j == nil {
		return nil, nil
	}
	return string(j), nil
}

// OrNil makes an explicit null the same as no value.
func (j JSON) OrNil() JSON {
	if bytes.Equal(bytes.TrimSpace(j), []byte("null")) {
		return nil
	}
	return j
}

func tooDeep(raw []byte) bool {
	depth, _ := measureJSON(raw)
	return depth > maxJSONDepth
}

// measureJSON tells how deep and how long a JSON value is, by its brackets and commas, before anybody decodes it.
func measureJSON(raw []byte) (deepest, commas int) {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		case c == ',':
			commas++
		}
	}
	return deepest, commas
}

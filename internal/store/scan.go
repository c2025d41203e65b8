package store

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"skillgraph/internal/ids"
)

// scanner reads the columns of rows into the members of a struct. What most columns are is read right here; the driver,
// which knows everything else, takes ten times as long for it.
type scanner struct {
	fields  []pgconn.FieldDescription
	targets []any             // pointers to the members; nil: nobody wants the column
	plans   []pgtype.ScanPlan // how the driver reads what we do not; nil: we do
}

func newScanner(rows pgx.Rows, layout *layout, at reflect.Value) *scanner {
	s := &scanner{fields: rows.FieldDescriptions()}
	s.targets, s.plans = make([]any, len(s.fields)), make([]pgtype.ScanPlan, len(s.fields))
	for i, f := range s.fields {
		path, ok := layout.paths[f.Name]
		if !ok {
			continue
		}
		p := at.FieldByIndex(path).Addr()
		if p.Elem().Kind() == reflect.String { // enums, too
			p = p.Convert(reflect.TypeFor[*string]())
		}
		s.targets[i] = p.Interface()
		if !known(f, s.targets[i]) {
			s.plans[i] = rows.Conn().TypeMap().PlanScan(f.DataTypeOID, f.Format, s.targets[i])
		}
	}
	return s
}

// scan reads a row.
func (s *scanner) scan(row [][]byte) (err error) {
	for i, src := range row {
		switch target := s.targets[i]; {
		case target == nil:
		case s.plans[i] != nil:
			err = s.plans[i].Scan(src, target)
		case !put(target, src):
			err = fmt.Errorf("cannot read %d bytes into %T", len(src), target) // NULL, where none should be
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", s.fields[i].Name, err)
		}
	}
	return nil
}

// known reports whether put can read a column into what the target points at.
func known(f pgconn.FieldDescription, target any) bool {
	binaryFormat := f.Format == pgtype.BinaryFormatCode
	switch target.(type) {
	case *string, **string:
		return f.DataTypeOID == pgtype.TextOID
	case *ids.ID, **ids.ID:
		return binaryFormat && f.DataTypeOID == pgtype.UUIDOID
	case *bool:
		return binaryFormat && f.DataTypeOID == pgtype.BoolOID
	case *int, **int:
		return binaryFormat && (f.DataTypeOID == pgtype.Int4OID || f.DataTypeOID == pgtype.Int8OID)
	case *float64, **float64:
		return binaryFormat && f.DataTypeOID == pgtype.Float8OID
	case *time.Time, **time.Time:
		return binaryFormat && f.DataTypeOID == pgtype.TimestamptzOID
	}
	return false
}

// put reads a value; false: there is none, or it is no value of that type.
func put(target any, src []byte) (ok bool) {
	switch p := target.(type) {
	case *string:
		*p, ok = string(src), src != nil
	case **string:
		ok = putPointer(p, src)
	case *ids.ID:
		ok = copy(p[:], src) == len(p)
	case **ids.ID:
		ok = putPointer(p, src)
	case *bool:
		ok = len(src) == 1
		*p = ok && src[0] != 0
	case *int:
		if ok = len(src) == 4 || len(src) == 8; ok {
			*p = int(number(src))
		}
	case **int:
		ok = putPointer(p, src)
	case *float64:
		if ok = len(src) == 8; ok {
			*p = math.Float64frombits(uint64(number(src))) //nolint:gosec // the same bits
		}
	case **float64:
		ok = putPointer(p, src)
	case *time.Time:
		if ok = len(src) == 8; ok {
			*p, ok = moment(number(src))
		}
	case **time.Time:
		ok = putPointer(p, src)
	}
	return ok
}

// putPointer reads what may be NULL.
func putPointer[T any](p **T, src []byte) bool {
	if src == nil {
		*p = nil
		return true
	}
	*p = new(T)
	return put(*p, src)
}

// moment reads a time in microseconds; false: it is one of PostgreSQL's infinite ones.
func moment(since int64) (time.Time, bool) {
	return time.UnixMicro(epoch.UnixMicro() + since).UTC(), since != math.MaxInt64 && since != math.MinInt64
}

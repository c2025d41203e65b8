package models

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"skillgraph/internal/face"
)

func marshalEnum[E ~string](ctx context.Context, w io.Writer, e E, wire map[E]string) error {
	_, err := w.Write(appendEnum(nil, e, face.IsREST(ctx), wire))
	return err
}

func appendEnum[E ~string](b []byte, e E, rest bool, wire map[E]string) []byte {
	s := string(e)
	if rest {
		s = wire[e]
	}
	return append(append(append(b, '"'), s...), '"') // there is nothing in it that would have to be escaped
}

func unmarshalEnum[E ~string](v any, e *E, wire map[E]string) error {
	s, _ := v.(string)
	if _, ok := wire[E(s)]; !ok {
		return fmt.Errorf("%v is not a valid %s", v, reflect.TypeFor[E]().Name())
	}
	*e = E(s)
	return nil
}

func parseWire[E ~string](s string, wire map[E]string) (E, bool) {
	for e, w := range wire {
		if w == s {
			return e, true
		}
	}
	return "", false
}

// WireOf spells values the REST way.
func WireOf[E interface{ Wire() string }](values []E) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v.Wire()
	}
	return out
}

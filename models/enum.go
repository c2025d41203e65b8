package models

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"skillgraph/internal/face"
)

func marshalEnum[E ~string](ctx context.Context, w io.Writer, e E, wire map[E]string) error {
	s := string(e)
	if face.IsREST(ctx) {
		s = wire[e]
	}
	_, err := io.WriteString(w, strconv.Quote(s))
	return err
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

package models

import (
	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/errs"
)

// setOnly takes over a field of a change: omitted leaves it, a value sets it, null is refused.
func setOnly[T any](at errs.Path, in graphql.Omittable[*T], dst *T) error {
	v, set := in.ValueOK()
	if !set {
		return nil
	}
	if v == nil {
		return at.Because("must not be null")
	}
	*dst = *v
	return nil
}

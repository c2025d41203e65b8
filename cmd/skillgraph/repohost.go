package main

import (
	"context"
	"errors"
	"fmt"

	"skillgraph/internal/store"
)

// repohostGrant lets an organization bind an account of the code host that is not of its own name.
func repohostGrant(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "repohost grant")
	org := f.String("org", "", "name of the organization (required)")
	account := f.String("account", "", "name of the account on the code host (required)")
	if _, err := f.read(args); err != nil {
		return err
	}
	if *org == "" || *account == "" {
		return errors.New("repohost grant needs --org and --account")
	}
	return f.withStore(ctx, func(s *store.Store) error {
		if err := s.GrantAccount(ctx, *org, *account); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.stdout, "%s may bind the account %s\n", *org, *account)
		return err
	})
}

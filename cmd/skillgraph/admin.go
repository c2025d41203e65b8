package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"skillgraph/internal/postgres"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func migrateUp(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "migrate up")
	if _, err := f.read(args); err != nil {
		return err
	}
	db, err := f.open(ctx, postgres.Join)
	if err != nil {
		return err
	}
	defer db.close()
	taken, err := db.Migrate(ctx)
	for _, name := range taken {
		_, _ = fmt.Fprintln(e.stdout, "applied", name)
	}
	if err == nil && len(taken) == 0 {
		_, _ = fmt.Fprintln(e.stdout, "the database is up to date")
	}
	return err
}

func migrateStatus(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "migrate status")
	if _, err := f.read(args); err != nil {
		return err
	}
	db, err := f.open(ctx, postgres.Join)
	if err != nil {
		return err
	}
	defer db.close()
	steps, err := db.Migrations(ctx)
	for _, s := range steps {
		state := "pending"
		if s.Applied {
			state = "applied"
		}
		_, _ = fmt.Fprintln(e.stdout, state, s.Name)
	}
	return err
}

func keyCreate(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "key create")
	g := store.Grant{}
	var plan, role string
	var expires time.Duration
	var permissions list
	f.StringVar(&g.Org, "org", "", "the organization (required)")
	f.StringVar(&g.Email, "user", "", "the user's e-mail address (required)")
	f.StringVar(&g.KeyName, "name", "command line", "what the key is for")
	f.StringVar(&plan, "plan", "", "plan of the organization: free, pro, team or enterprise (default: what it has, or free)")
	f.StringVar(&role, "role", "", "role of the user: viewer, member, admin or owner (default: what they have, or member)")
	f.DurationVar(&expires, "expires-in", 0, "how long the key works, such as 720h (default: for ever)")
	f.Var(&permissions, "permission", "exactly what the key may do, such as registry:push; repeatable (default: what the role may)")
	if _, err := f.read(args); err != nil {
		return err
	}
	if g.Org == "" || g.Email == "" {
		return errors.New("key create needs --org and --user")
	}
	var err error
	if g.Plan, err = parse("plan", plan, models.ParsePlan, models.AllPlan); err != nil {
		return err
	}
	if g.Role, err = parse("role", role, models.ParseRole, models.AllRole); err != nil {
		return err
	}
	for _, name := range permissions {
		p, err := parse("permission", name, models.ParsePermission, models.AllPermission)
		if err != nil {
			return err
		}
		g.Permissions = append(g.Permissions, *p)
	}
	if expires != 0 {
		at := time.Now().Add(expires)
		g.ExpiresAt = &at
	}
	if err := g.Validate(time.Now()); err != nil {
		return err
	}
	return f.withStore(ctx, func(s *store.Store) error {
		key, changed, err := s.Grant(ctx, g)
		if err != nil {
			return err
		}
		for _, c := range changed {
			_, _ = fmt.Fprintln(e.stderr, "changed", c)
		}
		_, err = fmt.Fprintln(e.stdout, key)
		return err
	})
}

// parse reads the value of a flag; "" is nil.
func parse[E interface{ Wire() string }](flag, s string, read func(string) (E, bool), all []E) (*E, error) {
	if s == "" {
		return nil, nil // not given
	}
	if v, ok := read(s); ok {
		return &v, nil
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Wire()
	}
	return nil, fmt.Errorf("--%s must be one of %s, not %q", flag, strings.Join(names, ", "), s)
}

func keyList(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "key list")
	org := f.String("org", "", "only the keys of this organization")
	if _, err := f.read(args); err != nil {
		return err
	}
	return f.withStore(ctx, func(s *store.Store) error {
		keys, err := s.AllKeys(ctx, *org)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "ORGANIZATION\tUSER\tNAME\tKEY\tID\tSTATE\tLAST USED")
		for _, k := range keys {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s…\t%s\t%s\t%s\n", k.Org, k.Email, k.Name, k.Prefix, k.ID, keyState(k), when(k.LastUsedAt, "never"))
		}
		return w.Flush()
	})
}

func keyState(k *store.KeyInfo) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked " + when(k.RevokedAt, "")
	case k.ExpiresAt != nil && k.ExpiresAt.Before(time.Now()):
		return "expired " + when(k.ExpiresAt, "")
	case k.ExpiresAt != nil:
		return "until " + when(k.ExpiresAt, "")
	}
	return "active"
}

func when(t *time.Time, otherwise string) string {
	if t == nil {
		return otherwise
	}
	return t.UTC().Format("2006-01-02 15:04")
}

func keyRevoke(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "key revoke")
	pos, err := f.read(args, "ID")
	if err != nil {
		return err
	}
	return f.withStore(ctx, func(s *store.Store) error {
		k, err := s.RevokeKey(ctx, pos[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.stdout, "revoked %s… (%s); every server refuses it within 5 seconds\n", k.Prefix, k.Name)
		return err
	})
}

func orgList(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "org list")
	if _, err := f.read(args); err != nil {
		return err
	}
	return f.withStore(ctx, func(s *store.Store) error {
		orgs, err := s.Organizations(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "NAME\tPLAN\tSINCE\tID")
		for _, o := range orgs {
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.Name, o.Plan.Wire(), when(&o.CreatedAt, ""), o.ID)
		}
		return w.Flush()
	})
}

func orgSetPlan(ctx context.Context, e env, args []string) error {
	f := newFlags(e, "org set-plan")
	pos, err := f.read(args, "NAME", "PLAN")
	if err != nil {
		return err
	}
	plan, err := parse("plan", pos[1], models.ParsePlan, models.AllPlan)
	if err != nil {
		return err
	}
	return f.withStore(ctx, func(s *store.Store) error {
		if err := s.SetPlan(ctx, pos[0], *plan); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.stdout, "%s is on the %s plan; every server knows within 5 seconds\n", pos[0], plan.Wire())
		return err
	})
}

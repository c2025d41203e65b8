package store

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// What the operator of a server may do from its command line, across organizations.

// Grant is a key to be made, with what it needs. Nil leaves what is there, or the default where nothing is.
type Grant struct {
	Org, Email, KeyName string
	Plan                *models.Plan // default FREE
	Role                *models.Role // default MEMBER
	Permissions         []models.Permission
	ExpiresAt           *time.Time
}

// Validate is the rule for all that a grant may have to make.
func (g Grant) Validate(now time.Time) error {
	if _, err := models.NormalEmail(errs.At("user"), g.Email); err != nil {
		return err
	}
	if err := (models.Organization{Name: g.Org}).Validate(); err != nil {
		return errs.Within(err, "org")
	}
	return models.APIKey{Name: g.KeyName, ExpiresAt: g.ExpiresAt}.Validate(now)
}

// Grant makes the organization, the user and the membership where they are missing, and a key. changed says, for a
// person, what of the existing ones was changed.
func (s *Store) Grant(ctx context.Context, g Grant) (key string, changed []string, err error) {
	now := s.now()
	if err := g.Validate(now); err != nil {
		return "", nil, err
	}
	email, err := models.NormalEmail(errs.At("user"), g.Email)
	if err != nil {
		return "", nil, err
	}
	key = models.NewKey()
	k := models.APIKey{
		ID: ids.New(ids.APIKey, now), Name: g.KeyName, Permissions: g.Permissions, CreatedAt: now, ExpiresAt: g.ExpiresAt,
		Prefix: models.KeyPrefix(key), Hash: models.HashKey(key),
	}
	err = s.tx(ctx, func(db bun.IDB, pg querier) (err error) {
		o, planChange, err := s.grantOrg(ctx, db, pg, g.Org, g.Plan)
		if err != nil {
			return err
		}
		if k.UserID, err = s.userByEmail(ctx, pg, email); err != nil {
			return err
		}
		roleChange, err := o.grantRole(ctx, k.UserID, email, g.Role)
		changed = slices.Concat(planChange, roleChange)
		if err != nil {
			return err
		}
		k.OrgID = o.id
		return o.insertKey(ctx, &k)
	})
	if err != nil {
		return "", nil, err
	}
	return key, changed, nil
}

func (s *Store) grantOrg(ctx context.Context, db bun.IDB, pg querier, name string, plan *models.Plan) (Org, []string, error) {
	now := s.now()
	org := models.Organization{ID: ids.New(ids.Organization, now), Name: name, Plan: models.PlanFree, CreatedAt: now}
	if plan != nil {
		org.Plan = *plan
	}
	made, err := exec(ctx, pg, "INSERT INTO organizations (id, name, plan, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING", org.ID, org.Name, org.Plan, now)
	if err != nil || made == 1 {
		return Org{store: s, id: org.ID, db: db, pg: pg}, nil, err
	}
	found, err := query[models.Organization](ctx, pg, "SELECT "+columns[models.Organization]()+" FROM organizations t WHERE t.name = $1 FOR NO KEY UPDATE", name)
	if err != nil {
		return Org{}, nil, err
	}
	o := Org{store: s, id: found[0].ID, db: db, pg: pg}
	if plan == nil || found[0].Plan == *plan {
		return o, nil, nil
	}
	return o, []string{"plan of " + name + ": " + found[0].Plan.Wire() + " -> " + plan.Wire()}, o.setPlan(ctx, found[0].Plan, *plan)
}

func (o Org) setPlan(ctx context.Context, from, to models.Plan) error {
	if _, err := exec(ctx, o.pg, "UPDATE organizations SET plan = $2 WHERE id = $1", o.id, to); err != nil {
		return err
	}
	return o.event(ctx, "organization.plan_changed", o.id, map[string]any{"from": from.Wire(), "to": to.Wire()})
}

func (o Org) grantRole(ctx context.Context, user ids.ID, email string, role *models.Role) ([]string, error) {
	wanted := models.RoleMember
	if role != nil {
		wanted = *role
	}
	made, err := exec(ctx, o.pg, "INSERT INTO members (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", o.id, user, wanted, o.now())
	if err != nil || made == 1 {
		return nil, err
	}
	found, err := o.UsersByID(ctx, []ids.ID{user})
	if err != nil {
		return nil, err
	}
	is := found[user].Role()
	if is != nil && (role == nil || *is == *role) {
		return nil, nil
	}
	was := "left"
	if is != nil {
		was = is.Wire()
	}
	_, err = exec(ctx, o.pg, "UPDATE members SET role = $3, joined_at = CASE WHEN removed_at IS NULL THEN joined_at ELSE $4 END, removed_at = NULL WHERE org_id = $1 AND user_id = $2", o.id, user, wanted, o.now())
	if err == nil {
		err = o.event(ctx, "member.role_changed", user, map[string]any{"role": wanted.Wire()})
	}
	return []string{"role of " + email + ": " + was + " -> " + wanted.Wire()}, err
}

// Organizations lists the organizations of the server by name.
func (s *Store) Organizations(ctx context.Context) ([]*models.Organization, error) {
	return query[models.Organization](ctx, s.pool, "SELECT "+columns[models.Organization]()+" FROM organizations t ORDER BY t.name")
}

// SetPlan changes what an organization has subscribed to.
func (s *Store) SetPlan(ctx context.Context, name string, plan models.Plan) error {
	return s.tx(ctx, func(db bun.IDB, pg querier) error {
		found, err := query[models.Organization](ctx, pg, "SELECT "+columns[models.Organization]()+" FROM organizations t WHERE t.name = $1 FOR NO KEY UPDATE", name)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errs.New(errs.NotFound, "there is no organization %q", name)
		case found[0].Plan == plan:
			return nil
		}
		return Org{store: s, id: found[0].ID, db: db, pg: pg}.setPlan(ctx, found[0].Plan, plan)
	})
}

// KeyInfo is a key with the names that a person knows.
type KeyInfo struct {
	models.APIKey
	Org   string `bun:"org"`
	Email string `bun:"email"`
}

// AllKeys lists the keys of an organization, or of all where org is "".
func (s *Store) AllKeys(ctx context.Context, org string) ([]*KeyInfo, error) {
	return query[KeyInfo](ctx, s.pool, "SELECT "+columns[models.APIKey]()+`, o.name AS org, u.email
		FROM api_keys t JOIN organizations o ON o.id = t.org_id JOIN users u ON u.id = t.user_id
		WHERE $1 = '' OR o.name = $1 ORDER BY o.name, t.id`, org)
}

// RevokeKey revokes a key of any organization, named by its id or by its shown prefix where only one has it.
func (s *Store) RevokeKey(ctx context.Context, idOrPrefix string) (*models.APIKey, error) {
	found, err := query[models.APIKey](ctx, s.pool, "SELECT "+columns[models.APIKey]()+" FROM api_keys t WHERE t.id::text = lower($1) OR t.prefix = $1", idOrPrefix)
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, errs.New(errs.NotFound, "there is no key %q; `skillgraph key list` shows them", idOrPrefix)
	case len(found) > 1:
		return nil, errs.New(errs.Conflict, "%d keys begin with %q: name one by its id", len(found), idOrPrefix)
	}
	return s.Org(found[0].OrgID, ids.ID{}).RevokeKey(ctx, found[0].ID)
}

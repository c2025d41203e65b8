package store

import (
	"context"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// OrganizationsByID is the batch for an edge to the organization: the caller's own, or none.
func (o Org) OrganizationsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Organization, error) {
	return batch(ctx, o, func(x *models.Organization) ids.ID { return x.ID }, "organizations t WHERE t.id = $1 AND t.id = ANY($2)", keys)
}

const (
	userColumns = "u.id, u.email, t.role, t.joined_at, t.removed_at"
	userTables  = "members t JOIN users u ON u.id = t.user_id"
)

// UsersByID is the batch for every edge to a user: members of the organization, past ones included.
func (o Org) UsersByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.User, error) {
	rows, err := query[models.User](ctx, o.pg, "SELECT "+userColumns+" FROM "+userTables+" WHERE t.org_id = $1 AND t.user_id = ANY($2)", o.id, keys)
	return byID(rows, func(u *models.User) ids.ID { return u.ID }), err
}

// MembersOf lists the present members of the organization.
func (o Org) MembersOf(ctx context.Context, orgs []ids.ID, w models.Window) (map[ids.ID]*models.UserConnection, error) {
	return pages(ctx, o, listing[models.User]{
		from:   "(SELECT t.org_id, u.id, u.email, t.role, t.joined_at, t.removed_at FROM " + userTables + " WHERE t.removed_at IS NULL) t",
		parent: "t.org_id",
		order: order[models.User]{
			name: "joined", columns: []string{"t.joined_at"}, types: []string{"timestamptz"}, desc: true,
			key: func(u *models.User) []string { return []string{timeKey(u.JoinedAt)} },
			id:  func(u *models.User) ids.ID { return u.ID },
		},
	}, orgs, w)
}

// AddMember lets somebody in, as a new user where the address is new; who is in already gets the role.
func (o Org) AddMember(ctx context.Context, email string, role models.Role) (*models.User, error) {
	return o.memberTx(ctx, func(o Org) (*models.User, error) {
		id, err := o.store.userByEmail(ctx, o.pg, email)
		if err != nil {
			return nil, err
		}
		return o.changeMember(ctx, id, "member.added", map[string]any{"email": email, "role": role.Wire()},
			`INSERT INTO members (org_id, user_id, role, joined_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (org_id, user_id) DO UPDATE SET role = excluded.role, removed_at = NULL,
				joined_at = CASE WHEN members.removed_at IS NULL THEN members.joined_at ELSE excluded.joined_at END`, role, o.now())
	})
}

// userByEmail finds or makes a user; two at once end with the same one.
func (s *Store) userByEmail(ctx context.Context, pg querier, email string) (ids.ID, error) {
	type row struct {
		ID ids.ID `bun:"id"`
	}
	now := s.now()
	rows, err := query[row](ctx, pg, `INSERT INTO users (id, email, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (email) DO UPDATE SET email = excluded.email RETURNING id`, ids.New(ids.User, now), email, now)
	if err != nil {
		return ids.ID{}, err
	}
	return rows[0].ID, nil
}

// Member is a present member of the organization.
func (o Org) Member(ctx context.Context, id ids.ID) (*models.User, error) {
	found, err := o.UsersByID(ctx, []ids.ID{id})
	if err != nil {
		return nil, err
	}
	if u := found[id]; u != nil && u.Role() != nil {
		return u, nil
	}
	return nil, id.NotFound(ids.User)
}

// MemberByEmail is the present member with an address, or nil.
func (o Org) MemberByEmail(ctx context.Context, email string) (*models.User, error) {
	found, err := query[models.User](ctx, o.pg, "SELECT "+userColumns+" FROM "+userTables+" WHERE t.org_id = $1 AND u.email = $2 AND t.removed_at IS NULL", o.id, email)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// ChangeMemberRole changes what a member may do.
func (o Org) ChangeMemberRole(ctx context.Context, id ids.ID, role models.Role) (*models.User, error) {
	return o.memberTx(ctx, func(o Org) (*models.User, error) {
		if _, err := o.Member(ctx, id); err != nil {
			return nil, err
		}
		return o.changeMember(ctx, id, "member.role_changed", map[string]any{"role": role.Wire()},
			`UPDATE members SET role = $3 WHERE org_id = $1 AND user_id = $2`, role)
	})
}

// RemoveMember shows somebody out and revokes their keys.
func (o Org) RemoveMember(ctx context.Context, id ids.ID) (*models.User, error) {
	return o.memberTx(ctx, func(o Org) (*models.User, error) {
		if _, err := o.Member(ctx, id); err != nil {
			return nil, err
		}
		return o.changeMember(ctx, id, "member.removed", nil,
			`WITH k AS (UPDATE api_keys SET revoked_at = $3 WHERE org_id = $1 AND user_id = $2 AND revoked_at IS NULL)
			UPDATE members SET removed_at = $3 WHERE org_id = $1 AND user_id = $2`, o.now())
	})
}

// memberTx is inTx for a change of who is in. Such changes wait for each other, so that two owners cannot both go at
// once; others, which only refer to the organization, do not.
func (o Org) memberTx(ctx context.Context, verb func(o Org) (*models.User, error)) (*models.User, error) {
	return inTx(ctx, o, func(o Org) (*models.User, error) {
		if _, err := exec(ctx, o.pg, "SELECT 1 FROM organizations WHERE id = $1 FOR NO KEY UPDATE", o.id); err != nil {
			return nil, err
		}
		return verb(o)
	})
}

// changeMember runs a change of a member and fails if it leaves the organization without an owner.
func (o Org) changeMember(ctx context.Context, id ids.ID, event string, data map[string]any, sql string, args ...any) (*models.User, error) {
	before, err := o.owners(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := exec(ctx, o.pg, sql, append([]any{o.id, id}, args...)...); err != nil {
		return nil, err
	}
	after, err := o.owners(ctx)
	if err != nil {
		return nil, err
	}
	if before > 0 && after == 0 {
		return nil, errs.New(errs.Conflict, "An organization keeps at least one owner: make somebody else owner first")
	}
	if err := o.event(ctx, event, id, data); err != nil {
		return nil, err
	}
	found, err := o.UsersByID(ctx, []ids.ID{id})
	return found[id], err
}

func (o Org) owners(ctx context.Context) (int64, error) {
	return exec(ctx, o.pg, "SELECT 1 FROM members WHERE org_id = $1 AND role = 'OWNER' AND removed_at IS NULL", o.id)
}

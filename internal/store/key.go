package store

import (
	"context"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Viewer is who a key stands for. A key that is unknown, expired or revoked is UNAUTHENTICATED.
func (s *Store) Viewer(ctx context.Context, key string) (*models.Viewer, error) {
	type row struct {
		OrgID       ids.ID              `bun:"org_id"`
		UserID      ids.ID              `bun:"user_id"`
		KeyID       ids.ID              `bun:"id"`
		Plan        models.Plan         `bun:"plan"`
		Role        models.Role         `bun:"role"`
		Permissions []models.Permission `bun:"permissions"`
	}
	rows, err := query[row](ctx, s.pool, `SELECT k.org_id, k.user_id, k.id, o.plan, m.role, k.permissions
		FROM api_keys k JOIN organizations o ON o.id = k.org_id JOIN members m ON m.org_id = k.org_id AND m.user_id = k.user_id
		WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2) AND m.removed_at IS NULL`,
		models.HashKey(key), s.now())
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errs.New(errs.Unauthenticated, "This API key is not valid: it is unknown, expired or revoked")
	}
	r := rows[0]
	v := &models.Viewer{OrgID: r.OrgID, UserID: r.UserID, KeyID: r.KeyID, Plan: r.Plan, Role: r.Role, Permissions: r.Role.Permissions()}
	if r.Permissions != nil {
		v.Permissions = models.InOrder(r.Permissions)
	}
	return v, nil
}

// Touch notes when keys were last used.
func (s *Store) Touch(ctx context.Context, keys []ids.ID, at time.Time) error {
	_, err := exec(ctx, s.pool, "UPDATE api_keys SET last_used_at = $2 WHERE id = ANY($1) AND (last_used_at IS NULL OR last_used_at < $2)", keys, at)
	return err
}

// CreateKey makes a key for a member. The key itself is returned and not kept.
func (o Org) CreateKey(ctx context.Context, k models.APIKey) (*models.APIKey, string, error) {
	key := models.NewKey()
	now := o.now()
	k.OrgID, k.ID, k.CreatedAt = o.id, ids.New(ids.APIKey, now), now
	k.Prefix, k.Hash = models.KeyPrefix(key), models.HashKey(key)
	if k.Permissions != nil {
		k.Permissions = models.InOrder(k.Permissions)
	}
	if err := k.Validate(now); err != nil {
		return nil, "", err
	}
	err := o.tx(ctx, func(o Org) error {
		if _, err := o.Member(ctx, k.UserID); err != nil {
			return err
		}
		return o.insertKey(ctx, &k)
	})
	if err != nil {
		return nil, "", err
	}
	return &k, key, nil
}

func (o Org) insertKey(ctx context.Context, k *models.APIKey) error {
	if _, err := o.db.NewInsert().Model(k).Exec(ctx); err != nil {
		return err
	}
	return o.event(ctx, "key.created", k.ID, map[string]any{"name": k.Name, "user_id": k.UserID})
}

// UpdateKey changes a key's name or expiry.
func (o Org) UpdateKey(ctx context.Context, id ids.ID, in models.UpdateAPIKeyInput) (*models.APIKey, error) {
	return inTx(ctx, o, func(o Org) (*models.APIKey, error) {
		k, err := o.key(ctx, id, " FOR UPDATE")
		if err != nil {
			return nil, err
		}
		was := *k
		if err := in.Apply(k, o.now()); err != nil {
			return nil, err
		}
		if k.Name == was.Name && k.ExpiresAt == was.ExpiresAt {
			return k, nil
		}
		if _, err := exec(ctx, o.pg, "UPDATE api_keys SET name = $3, expires_at = $4 WHERE org_id = $1 AND id = $2", o.id, id, k.Name, k.ExpiresAt); err != nil {
			return nil, err
		}
		return k, o.event(ctx, "key.updated", id, map[string]any{"name": k.Name})
	})
}

// RevokeKey ends a key for good; once more changes nothing.
func (o Org) RevokeKey(ctx context.Context, id ids.ID) (*models.APIKey, error) {
	return inTx(ctx, o, func(o Org) (*models.APIKey, error) {
		k, err := o.key(ctx, id, " FOR UPDATE")
		if err != nil || k.RevokedAt != nil {
			return k, err
		}
		now := o.now()
		k.RevokedAt = &now
		if _, err := exec(ctx, o.pg, "UPDATE api_keys SET revoked_at = $3 WHERE org_id = $1 AND id = $2", o.id, id, now); err != nil {
			return nil, err
		}
		return k, o.event(ctx, "key.revoked", id, map[string]any{"name": k.Name})
	})
}

// Key is the record of one key.
func (o Org) Key(ctx context.Context, id ids.ID) (*models.APIKey, error) { return o.key(ctx, id, "") }

func (o Org) key(ctx context.Context, id ids.ID, lock string) (*models.APIKey, error) {
	return queryOne[models.APIKey](ctx, o.pg, ids.APIKey, id, "SELECT "+columns[models.APIKey]()+" FROM api_keys t WHERE t.org_id = $1 AND t.id = $2"+lock, o.id, id)
}

// KeysByID is the batch for every edge to a key.
func (o Org) KeysByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.APIKey, error) {
	return batch(ctx, o, func(k *models.APIKey) ids.ID { return k.ID }, "api_keys t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// KeysOf lists the organization's keys, newest first.
func (o Org) KeysOf(ctx context.Context, orgs []ids.ID, w models.Window) (map[ids.ID]*models.APIKeyConnection, error) {
	return pages(ctx, o, keyListing("t.org_id"), orgs, w)
}

// KeysBy lists the keys of members, newest first.
func (o Org) KeysBy(ctx context.Context, users []ids.ID, w models.Window) (map[ids.ID]*models.APIKeyConnection, error) {
	return pages(ctx, o, keyListing("t.user_id"), users, w)
}

func keyListing(parent string) listing[models.APIKey] {
	return listing[models.APIKey]{from: "api_keys t", parent: parent, order: newest(func(k *models.APIKey) ids.ID { return k.ID })}
}

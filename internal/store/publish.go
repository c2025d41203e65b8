package store

import (
	"context"
	"encoding/json"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// CreateEntry publishes an entry with its first version, whose archive is stored already. The very same again gives what is
// there, with created false.
func (o Org) CreateEntry(ctx context.Context, e *models.RegistryEntry, v *models.RegistryVersion, files []models.FileInfo) (out models.Published, err error) {
	now := o.now()
	entry := *e
	entry.OrgID, entry.ID, entry.CreatedByID, entry.CreatedAt, entry.UpdatedAt = o.id, ids.New(ids.Entry, now), o.by(), now, now
	return inTx(ctx, o, func(o Org) (models.Published, error) {
		skills, err := o.skillIDs(ctx, []string{entry.Name})
		if err != nil {
			return out, err
		}
		entry.SkillID = skills[entry.Name]
		res, err := o.db.NewInsert().Model(&entry).On("CONFLICT (org_id, name) DO NOTHING").Exec(ctx)
		if err != nil {
			return out, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return o.sameEntry(ctx, &entry, v)
		}
		return o.addVersion(ctx, &entry, v, files)
	})
}

// sameEntry finds the entry whose name is taken; only the same version with the same bytes is no conflict.
func (o Org) sameEntry(ctx context.Context, e *models.RegistryEntry, v *models.RegistryVersion) (out models.Published, err error) {
	found, err := query[models.RegistryEntry](ctx, o.pg, "SELECT "+columns[models.RegistryEntry]()+" FROM registry_entries t WHERE t.org_id = $1 AND t.name = $2", o.id, e.Name)
	if err != nil {
		return out, err
	}
	if len(found) == 0 {
		return out, errs.New(errs.Conflict, "The entry %s was deleted meanwhile: try again", e.Name)
	}
	same, err := o.versionNamed(ctx, found[0].ID, v.Version)
	if err != nil {
		return out, err
	}
	if same == nil || same.ContentHash != v.ContentHash {
		return out, errs.New(errs.Conflict, "There is an entry %s already: push a version to it, at /api/v1/registry/%s/versions", e.Name, found[0].ID)
	}
	return models.Published{Entry: found[0], Version: same}, nil
}

func (o Org) versionNamed(ctx context.Context, entry ids.ID, version string) (*models.RegistryVersion, error) {
	found, err := o.VersionNamed(ctx, []ids.ID{entry}, version)
	return found[entry], err
}

// MayPush fails as PushVersion would, whatever the archive: nobody has to store one to hear that.
func (o Org) MayPush(ctx context.Context, id ids.ID, in models.NewVersion) error {
	e, err := queryOne[models.RegistryEntry](ctx, o.pg, ids.Entry, id, "SELECT "+columns[models.RegistryEntry]()+" FROM registry_entries t WHERE t.org_id = $1 AND t.id = $2", o.id, id)
	if err != nil {
		return err
	}
	return in.FitsEntry(e)
}

// PushVersion publishes a version of an entry, whose archive is stored already. The very same again gives what is there,
// with created false.
func (o Org) PushVersion(ctx context.Context, id ids.ID, in models.NewVersion, v *models.RegistryVersion, files []models.FileInfo) (out models.Published, err error) {
	return inTx(ctx, o, func(o Org) (models.Published, error) { return o.pushVersion(ctx, id, in, v, files) })
}

func (o Org) pushVersion(ctx context.Context, id ids.ID, in models.NewVersion, v *models.RegistryVersion, files []models.FileInfo) (out models.Published, err error) {
	e, err := o.ownEntry(ctx, id)
	if err != nil {
		return out, err
	}
	if err := in.FitsEntry(e); err != nil {
		return out, err
	}
	same, err := o.versionNamed(ctx, id, v.Version)
	switch {
	case err != nil:
		return out, err
	case same != nil && same.ContentHash != v.ContentHash:
		return out, errs.New(errs.Conflict, "%s %s was published with other content: versions never change, so give this one another name", e.Name, v.Version)
	case same != nil:
		return models.Published{Entry: e, Version: same}, nil
	}
	if in.Description != nil {
		e.Description = *in.Description
	}
	return o.addVersion(ctx, e, v, files)
}

// addVersion adds a version to an entry that the transaction has made or locked. It becomes current, unless it is a prerelease
// and there is a release that nobody has left.
func (o Org) addVersion(ctx context.Context, e *models.RegistryEntry, in *models.RegistryVersion, files []models.FileInfo) (out models.Published, err error) {
	type state struct {
		Number   int  `bun:"number"`
		Released bool `bun:"released"`
	}
	now := o.now()
	before, err := query[state](ctx, o.pg, `UPDATE registry_entries t SET pushes = t.pushes + 1, description = $3, updated_at = $4 WHERE t.org_id = $1 AND t.id = $2
		RETURNING t.pushes AS number, EXISTS (SELECT FROM registry_versions v WHERE v.org_id = $1 AND v.entry_id = $2 AND v.live AND NOT v.rolled_back AND NOT v.prerelease) AS released`,
		o.id, e.ID, e.Description, now)
	if err != nil {
		return out, err
	}
	skill, err := o.Skill(ctx, models.SkillKey{ID: e.SkillID})
	if err != nil {
		return out, err
	}
	v := *in
	v.OrgID, v.ID, v.EntryID, v.Number, v.Baseline = o.id, ids.New(ids.Version, now), e.ID, before[0].Number, skill.CurrentRate()
	v.PushedByID, v.PushedAt, e.UpdatedAt = o.by(), now, now
	if v.SourceRepo == nil {
		v.SourceRepo = e.SourceRepo
	}
	if err := o.insertVersion(ctx, &v, files); err != nil {
		return out, err
	}
	if !v.Prerelease || !before[0].Released {
		if err := o.makeCurrent(ctx, e, &v, models.ReleaseKindPush, nil); err != nil {
			return out, err
		}
	}
	data := map[string]any{"entry_id": e.ID, "name": e.Name, "version": v.Version, "is_current": e.CurrentVersionID != nil && *e.CurrentVersionID == v.ID}
	return models.Published{Entry: e, Version: &v, Created: true}, o.event(ctx, "version.published", v.ID, data)
}

func (o Org) insertVersion(ctx context.Context, v *models.RegistryVersion, files []models.FileInfo) error {
	type row struct {
		models.RegistryVersion
		Hashes []string    `bun:"hashes,array"`
		Files  models.JSON `bun:"files"`
	}
	raw, err := json.Marshal(files)
	if err != nil {
		return err
	}
	_, err = o.db.NewInsert().Model(&row{RegistryVersion: *v, Hashes: v.Hashes(), Files: raw}).ModelTableExpr("registry_versions").Exec(ctx)
	return err
}

// makeCurrent changes what is current in an entry, to nothing where v is nil, and keeps it in the history.
func (o Org) makeCurrent(ctx context.Context, e *models.RegistryEntry, v *models.RegistryVersion, kind models.ReleaseKind, reason *string) error {
	now := o.now()
	r := models.Release{OrgID: o.id, ID: ids.New(ids.Release, now), EntryID: e.ID, Kind: kind, FromID: e.CurrentVersionID, Reason: reason, CreatedByID: o.by(), CreatedAt: now}
	var baseline *float64
	if v != nil {
		r.ToID, baseline = &v.ID, v.Baseline
	}
	if _, err := o.db.NewInsert().Model(&r).ExcludeColumn("number").Exec(ctx); err != nil {
		return err
	}
	// A version is rolled back from when it is left for an older one; whatever is current is not.
	if _, err := exec(ctx, o.pg, `UPDATE registry_versions SET rolled_back = id IS DISTINCT FROM $4::uuid AND $5 WHERE org_id = $1 AND entry_id = $2 AND (id = $3 OR id = $4)
		AND rolled_back IS DISTINCT FROM (id IS DISTINCT FROM $4::uuid AND $5)`, o.id, e.ID, r.FromID, r.ToID, kind == models.ReleaseKindRollback); err != nil {
		return err
	}
	if _, err := exec(ctx, o.pg, "UPDATE registry_entries SET current_version_id = $3, updated_at = $4 WHERE org_id = $1 AND id = $2", o.id, e.ID, r.ToID, now); err != nil {
		return err
	}
	e.CurrentVersionID, e.UpdatedAt = r.ToID, now
	if v != nil {
		v.RolledBack = false
	}
	return o.setBaseline(ctx, e.SkillID, baseline)
}

// Rollback makes another version current: the one named or, without a name, the last one that was current and that nobody
// has left or revoked.
func (o Org) Rollback(ctx context.Context, id ids.ID, target, reason *string) (out models.Published, err error) {
	if err := models.CheckReason(reason); err != nil {
		return out, err
	}
	return inTx(ctx, o, func(o Org) (models.Published, error) {
		e, err := o.ownEntry(ctx, id)
		if err != nil {
			return out, err
		}
		to, err := o.rollbackTarget(ctx, e, target)
		if err != nil {
			return out, err
		}
		if e.CurrentVersionID != nil && *e.CurrentVersionID == to.ID {
			return models.Published{Entry: e, Version: to}, nil
		}
		from := e.CurrentVersionID
		if err := o.makeCurrent(ctx, e, to, models.ReleaseKindRollback, reason); err != nil {
			return out, err
		}
		data := map[string]any{"name": e.Name, "from_version_id": from, "to_version_id": to.ID, "version": to.Version, "reason": reason}
		return models.Published{Entry: e, Version: to}, o.event(ctx, "entry.rolled_back", e.ID, data)
	})
}

func (o Org) rollbackTarget(ctx context.Context, e *models.RegistryEntry, target *string) (*models.RegistryVersion, error) {
	if target == nil {
		to, err := o.lastCurrent(ctx, e)
		if err == nil && to == nil {
			err = errs.New(errs.Conflict, "%s has no earlier version to go back to: name one with target_version", e.Name)
		}
		return to, err
	}
	to, err := o.versionNamed(ctx, e.ID, *target)
	switch {
	case err != nil:
		return nil, err
	case to == nil:
		return nil, errs.New(errs.NotFound, "%s has no version %q", e.Name, *target)
	case to.RevokedAt != nil:
		return nil, errs.New(errs.Conflict, "%s %s was revoked: it can never be current again", e.Name, to.Version)
	}
	return to, nil
}

// lastCurrent goes back along what was current, leaving out what was rolled back or revoked; nil when nothing is left.
func (o Org) lastCurrent(ctx context.Context, e *models.RegistryEntry) (*models.RegistryVersion, error) {
	rows, err := query[models.RegistryVersion](ctx, o.pg, "SELECT "+columns[models.RegistryVersion]()+` FROM registry_releases r
		JOIN registry_versions t ON t.org_id = r.org_id AND t.id = r.to_id
		WHERE r.org_id = $1 AND r.entry_id = $2 AND t.live AND NOT t.rolled_back AND t.id IS DISTINCT FROM $3 ORDER BY r.number DESC LIMIT 1`, o.id, e.ID, e.CurrentVersionID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// RevokeVersion takes a version back for good. Where it was current, the entry falls back to the last one that was, or to nothing.
func (o Org) RevokeVersion(ctx context.Context, id ids.ID, reason *string) (out models.Published, err error) {
	if err := models.CheckReason(reason); err != nil {
		return out, err
	}
	return inTx(ctx, o, func(o Org) (models.Published, error) {
		v, err := queryOne[models.RegistryVersion](ctx, o.pg, ids.Version, id, "SELECT "+columns[models.RegistryVersion]()+" FROM registry_versions t WHERE t.org_id = $1 AND t.id = $2", o.id, id)
		if err != nil {
			return out, err
		}
		e, err := o.ownEntry(ctx, v.EntryID)
		if err != nil {
			return out, err
		}
		now := o.now()
		if e.CurrentVersionID != nil && *e.CurrentVersionID == id {
			back, err := o.lastCurrent(ctx, e)
			if err != nil {
				return out, err
			}
			if err := o.makeCurrent(ctx, e, back, models.ReleaseKindRevocation, reason); err != nil {
				return out, err
			}
		}
		revoked, err := query[models.RegistryVersion](ctx, o.pg, `UPDATE registry_versions t SET revoked_at = $3, revoke_reason = $4 WHERE t.org_id = $1 AND t.id = $2 AND t.revoked_at IS NULL
			RETURNING `+columns[models.RegistryVersion](), o.id, id, now, reason)
		if err != nil {
			return out, err
		}
		if len(revoked) == 0 { // by somebody else, or before
			found, err := o.VersionsByID(ctx, []ids.ID{id})
			return models.Published{Entry: e, Version: found[id]}, err
		}
		return models.Published{Entry: e, Version: revoked[0]}, o.event(ctx, "version.revoked", id, map[string]any{"entry_id": e.ID, "name": e.Name, "version": v.Version, "reason": reason})
	})
}

package store

import (
	"context"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// RepoInstallations lists the installations that are bound to the organization, newest first.
func (o Org) RepoInstallations(ctx context.Context, w models.Window) (*models.RepoInstallationConnection, error) {
	return page(ctx, o, listing[models.RepoInstallation]{from: "repo_installations t", parent: "t.org_id", order: newest(repoInstallationID)}, w)
}

func repoInstallationID(i *models.RepoInstallation) ids.ID { return i.ID }

// RepoInstallationsByID is the batch for every edge to an installation.
func (o Org) RepoInstallationsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.RepoInstallation, error) {
	return batch(ctx, o, repoInstallationID, "repo_installations t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// RepoInstallation is the installation with the id that the code host gave it.
func (o Org) RepoInstallation(ctx context.Context, number int64) (*models.RepoInstallation, error) {
	found, err := query[models.RepoInstallation](ctx, o.pg, "SELECT "+columns[models.RepoInstallation]()+" FROM repo_installations t WHERE t.org_id = $1 AND t.installation_id = $2", o.id, number)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errs.At("installationId").Because("no installation %d is bound to this organization", number)
	}
	return found[0], nil
}

// BindInstallation binds an installation to the organization, or changes one that is bound to it already. One that another
// organization has is refused before anything else; where accounts need a grant, one without it is refused, too.
func (o Org) BindInstallation(ctx context.Context, i *models.RepoInstallation, needsGrant bool) (bound *models.RepoInstallation, isNew bool, err error) {
	type row struct {
		models.RepoInstallation `bun:",inline"`

		IsNew bool `bun:"is_new"`
	}
	now := o.now()
	out, err := inTx(ctx, o, func(o Org) (*row, error) {
		rows, err := query[row](ctx, o.pg, `INSERT INTO repo_installations AS t (org_id, id, installation_id, account_login, account_type, suspended, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (installation_id) DO UPDATE
			SET account_login = excluded.account_login, account_type = excluded.account_type, suspended = excluded.suspended, updated_at = excluded.updated_at
			WHERE t.org_id = excluded.org_id RETURNING `+columns[models.RepoInstallation]()+`, t.id = $2 AS is_new`,
			o.id, ids.New(ids.RepoInstallation, now), i.InstallationID, i.AccountLogin, i.AccountType, i.Suspended, now)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return nil, takenInstallation(i)
		}
		if needsGrant {
			if err := o.mayBind(ctx, i.AccountLogin); err != nil {
				return nil, err
			}
		}
		event := "installation.changed"
		if rows[0].IsNew {
			event = "installation.bound"
		}
		return rows[0], o.event(ctx, event, rows[0].ID, map[string]any{"installation_id": i.InstallationID, "account_login": i.AccountLogin, "suspended": i.Suspended})
	})
	if err != nil {
		return nil, false, err
	}
	return &out.RepoInstallation, out.IsNew, nil
}

func takenInstallation(i *models.RepoInstallation) error {
	return errs.New(errs.Conflict, "Installation %d belongs to another organization", i.InstallationID)
}

// FreeInstallation fails for an installation that another organization has.
func (o Org) FreeInstallation(ctx context.Context, i *models.RepoInstallation) error {
	type row struct {
		Taken bool `bun:"taken"`
	}
	rows, err := query[row](ctx, o.pg, "SELECT EXISTS (SELECT FROM repo_installations t WHERE t.org_id <> $1 AND t.installation_id = $2) AS taken", o.id, i.InstallationID)
	if err == nil && rows[0].Taken {
		err = takenInstallation(i)
	}
	return err
}

// mayBind: an organization has the account of its own name, and those that the operator has granted.
func (o Org) mayBind(ctx context.Context, login string) error {
	type row struct {
		OK bool `bun:"ok"`
	}
	rows, err := query[row](ctx, o.pg, `SELECT EXISTS (SELECT FROM organizations t WHERE t.id = $1 AND t.name = $2)
		OR EXISTS (SELECT FROM repo_grants t WHERE t.org_id = $1 AND t.account_login = $2) AS ok`, o.id, login)
	if err == nil && !rows[0].OK {
		err = errs.New(errs.Forbidden, "The organization may bind the account of its own name; for %s the operator must grant it", login)
	}
	return err
}

// GrantAccount lets an organization bind an account of the code host. Twice is as good as once.
func (s *Store) GrantAccount(ctx context.Context, org, login string) error {
	if err := models.CheckAccount(errs.At("account"), login); err != nil {
		return err
	}
	return s.tx(ctx, func(db bun.IDB, pg querier) error {
		found, err := query[models.Organization](ctx, pg, "SELECT "+columns[models.Organization]()+" FROM organizations t WHERE t.name = $1", org)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errs.New(errs.NotFound, "there is no organization %q", org)
		}
		o := Org{store: s, id: found[0].ID, db: db, pg: pg}
		n, err := exec(ctx, pg, "INSERT INTO repo_grants (org_id, account_login, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", o.id, login, s.now())
		if err != nil || n == 0 {
			return err
		}
		return o.event(ctx, "organization.account_granted", o.id, map[string]any{"account_login": login})
	})
}

package store

import (
	"context"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// WriteBackMode is what the organization writes back to its code host.
func (o Org) WriteBackMode(ctx context.Context) (models.WriteBackMode, error) {
	type row struct {
		Mode models.WriteBackMode `bun:"write_back_mode"`
	}
	found, err := queryOne[row](ctx, o.pg, ids.Organization, o.id, "SELECT t.write_back_mode FROM organizations t WHERE t.id = $1", o.id)
	if err != nil {
		return "", err
	}
	return found.Mode, nil
}

// SetWriteBackMode changes it; to what it is already leaves no trace.
func (o Org) SetWriteBackMode(ctx context.Context, mode models.WriteBackMode) error {
	return o.tx(ctx, func(o Org) error {
		n, err := exec(ctx, o.pg, "UPDATE organizations SET write_back_mode = $2 WHERE id = $1 AND write_back_mode <> $2", o.id, mode)
		if err != nil || n == 0 {
			return err
		}
		return o.event(ctx, "organization.write_back_changed", o.id, map[string]any{"write_back_mode": mode.Wire()})
	})
}

func repoLinkID(l *models.RepoLink) ids.ID { return l.ID }

// RepoLink is one connection.
func (o Org) RepoLink(ctx context.Context, id ids.ID) (*models.RepoLink, error) {
	return o.repoLink(ctx, id, "")
}

func (o Org) repoLink(ctx context.Context, id ids.ID, lock string) (*models.RepoLink, error) {
	return queryOne[models.RepoLink](ctx, o.pg, ids.RepoLink, id, "SELECT "+columns[models.RepoLink]()+" FROM repo_links t WHERE t.org_id = $1 AND t.id = $2"+lock, o.id, id)
}

// RepoLinksByID is the batch for every edge to a connection.
func (o Org) RepoLinksByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.RepoLink, error) {
	return batch(ctx, o, repoLinkID, "repo_links t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// RepoLinksOfEntries is the batch for the connections of entries.
func (o Org) RepoLinksOfEntries(ctx context.Context, entries []ids.ID) (map[ids.ID]*models.RepoLink, error) {
	return batch(ctx, o, func(l *models.RepoLink) ids.ID { return l.EntryID }, "repo_links t WHERE t.org_id = $1 AND t.entry_id = ANY($2)", entries)
}

// RepoLinks lists the organization's connections, newest first.
func (o Org) RepoLinks(ctx context.Context, w models.Window) (*models.RepoLinkConnection, error) {
	return page(ctx, o, listing[models.RepoLink]{from: "repo_links t", parent: "t.org_id", order: newest(repoLinkID)}, w)
}

// RepoLinksBy lists the connections that members made, newest first.
func (o Org) RepoLinksBy(ctx context.Context, users []ids.ID, w models.Window) (map[ids.ID]*models.RepoLinkConnection, error) {
	return pages(ctx, o, listing[models.RepoLink]{from: "repo_links t", parent: "t.created_by", order: newest(repoLinkID)}, users, w)
}

// RepoLinksOfInstallations lists the connections to the repositories of installations, newest first.
func (o Org) RepoLinksOfInstallations(ctx context.Context, installations []ids.ID, w models.Window) (map[ids.ID]*models.RepoLinkConnection, error) {
	return pages(ctx, o, listing[models.RepoLink]{from: "repo_links t", parent: "t.repo_installation_id", order: newest(repoLinkID)}, installations, w)
}

// ConnectedElsewhere are those of the repositories that other organizations have connections to, in lower case.
func (o Org) ConnectedElsewhere(ctx context.Context, fullNames []string) (map[string]bool, error) {
	type row struct {
		Name string `bun:"name"`
	}
	wanted := make([]string, len(fullNames))
	for i, name := range fullNames {
		wanted[i] = strings.ToLower(name)
	}
	rows, err := query[row](ctx, o.pg, "SELECT DISTINCT lower(t.repo_full_name) AS name FROM repo_links t WHERE t.org_id <> $1 AND lower(t.repo_full_name) = ANY($2)", o.id, wanted)
	out := make(map[string]bool, len(rows))
	for _, r := range rows {
		out[r.Name] = true
	}
	return out, err
}

// Connect makes a connection. An entry has at most one: the database decides.
func (o Org) Connect(ctx context.Context, l *models.RepoLink) (*models.RepoLink, error) {
	now := o.now()
	link := *l
	link.OrganizationID, link.CreatedByID, link.CreatedAt, link.UpdatedAt = o.id, o.by(), now, now
	return inTx(ctx, o, func(o Org) (*models.RepoLink, error) {
		e, err := o.ownEntry(ctx, link.EntryID)
		if err != nil {
			return nil, err
		}
		if link.ID, err = o.newLinkID(ctx, &link); err != nil {
			return nil, err
		}
		if _, err := o.db.NewInsert().Model(&link).Exec(ctx); err != nil {
			return nil, err
		}
		return &link, o.event(ctx, "connection.created", link.ID, map[string]any{"entry_id": e.ID, "entry_name": e.Name, "repo_full_name": link.RepoFullName})
	})
}

// newLinkID is an id that begins unlike those of the other connections to the repository. They post statuses under its first
// digits, which for a minute would all be the same: a later id is taken then.
func (o Org) newLinkID(ctx context.Context, l *models.RepoLink) (ids.ID, error) {
	if _, err := exec(ctx, o.pg, "SELECT FROM repo_installations t WHERE t.org_id = $1 AND t.id = $2 FOR UPDATE", o.id, l.RepoInstallationID); err != nil {
		return ids.ID{}, err
	}
	rows, err := query[models.RepoLink](ctx, o.pg, "SELECT "+columns[models.RepoLink]()+" FROM repo_links t WHERE t.org_id = $1 AND lower(t.repo_full_name) = lower($2)", o.id, l.RepoFullName)
	taken := map[string]bool{}
	for _, other := range rows {
		taken[other.StatusContext()] = true
	}
	made := *l
	for at := l.CreatedAt; ; at = at.Add(time.Minute) {
		if made.ID = ids.New(ids.RepoLink, at); !taken[made.StatusContext()] {
			return made.ID, err
		}
	}
}

// UpdateConnection changes a connection; a change that changes nothing leaves no trace.
func (o Org) UpdateConnection(ctx context.Context, id ids.ID, in models.UpdateConnectionInput) (*models.RepoLink, error) {
	return inTx(ctx, o, func(o Org) (*models.RepoLink, error) {
		l, err := o.repoLink(ctx, id, " FOR UPDATE")
		if err != nil {
			return nil, err
		}
		changed, err := in.Apply(l)
		if err != nil || !changed {
			return l, err
		}
		l.UpdatedAt = o.now()
		if _, err := o.db.NewUpdate().Model(l).WherePK().Exec(ctx); err != nil {
			return nil, err
		}
		return l, o.event(ctx, "connection.updated", id, map[string]any{"repo_full_name": l.RepoFullName})
	})
}

// DeleteConnection deletes a connection with its attempts; what it published stays.
func (o Org) DeleteConnection(ctx context.Context, id ids.ID) error {
	return o.tx(ctx, func(o Org) error {
		l, err := o.repoLink(ctx, id, " FOR UPDATE")
		if err != nil {
			return err
		}
		if _, err := exec(ctx, o.pg, "DELETE FROM repo_links WHERE org_id = $1 AND id = $2", o.id, id); err != nil {
			return err
		}
		return o.event(ctx, "connection.deleted", id, map[string]any{"repo_full_name": l.RepoFullName})
	})
}

// LastAttemptsOf is the batch for the last attempts of connections.
func (o Org) LastAttemptsOf(ctx context.Context, links []ids.ID) (map[ids.ID]*models.PublishAttempt, error) {
	rows, err := query[models.PublishAttempt](ctx, o.pg, `SELECT a.* FROM unnest($2::uuid[]) AS l(id) CROSS JOIN LATERAL (
		SELECT `+columns[models.PublishAttempt]()+` FROM publish_attempts t WHERE t.org_id = $1 AND t.link_id = l.id ORDER BY t.number DESC LIMIT 1) a`, o.id, links)
	return byID(rows, func(a *models.PublishAttempt) ids.ID { return a.LinkID }), err
}

// AttemptsOfLinks lists the attempts of connections, newest first.
func (o Org) AttemptsOfLinks(ctx context.Context, links []ids.ID, in models.AttemptList) (map[ids.ID]*models.PublishAttemptConnection, error) {
	l, f := listing[models.PublishAttempt]{
		from: "publish_attempts t", parent: "t.link_id",
		order: order[models.PublishAttempt]{
			name: "number", columns: []string{"t.number"}, types: []string{"bigint"}, desc: true,
			key: func(a *models.PublishAttempt) []string { return []string{itoa(a.Number)} }, id: publishAttemptID,
		},
	}, in.Filter()
	if status := f.Status.Value(); status != nil {
		l.filter("t.status = ?", *status)
	}
	if trigger := f.Trigger.Value(); trigger != nil {
		l.filter("t.trigger = ?", *trigger)
	}
	return pages(ctx, o, l, links, in.Window)
}

// AttemptsOfVersions is the batch for the attempts that published versions.
func (o Org) AttemptsOfVersions(ctx context.Context, versions []ids.ID) (map[ids.ID]*models.PublishAttempt, error) {
	return childOf(query[child[models.PublishAttempt]](ctx, o.pg, "SELECT t.version_id AS parent_key, "+selected[models.PublishAttempt](o)+
		" FROM publish_attempts t WHERE t.org_id = $1 AND t.version_id = ANY($2) AND t.status = 'PUBLISHED'", o.id, versions))
}

func publishAttemptID(a *models.PublishAttempt) ids.ID { return a.ID }

// PublishAttemptsByID is the batch for nodes.
func (o Org) PublishAttemptsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.PublishAttempt, error) {
	return batch(ctx, o, publishAttemptID, "publish_attempts t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// WriteBackJob tells the code host what became of an attempt.
type WriteBackJob struct {
	OrgID     ids.ID `json:"org_id"`
	AttemptID ids.ID `json:"attempt_id"`
}

// Kind is what the queue calls it.
func (WriteBackJob) Kind() string { return "write_back" }

// WriteBackTries is how often it is tried.
const WriteBackTries = 8

// InsertOpts bounds the tries.
func (WriteBackJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{MaxAttempts: WriteBackTries}
}

// Attempt keeps what became of an attempt that made no version.
func (o Org) Attempt(ctx context.Context, l *models.RepoLink, a models.PublishAttempt) (*models.PublishAttempt, error) {
	return inTx(ctx, o, func(o Org) (*models.PublishAttempt, error) { return o.attempt(ctx, l, a) })
}

// PublishFrom publishes a version from a repository, whose archive is stored already, together with the attempt that tells of it.
func (o Org) PublishFrom(ctx context.Context, l *models.RepoLink, a models.PublishAttempt, in models.NewVersion, v *models.RegistryVersion, files []models.FileInfo) (*models.PublishAttempt, error) {
	return inTx(ctx, o, func(o Org) (*models.PublishAttempt, error) {
		out, err := o.pushVersion(ctx, l.EntryID, in, v, files)
		if err != nil {
			return nil, err
		}
		a.VersionID, a.VersionName = &out.Version.ID, &out.Version.Version
		a.Status, a.Message = models.AttemptStatusPublished, "Published "+out.Version.Version
		if !out.Created {
			a.Status, a.Message = models.AttemptStatusUnchanged, out.Version.Version+" is published already, with the same content"
		}
		return o.attempt(ctx, l, a)
	})
}

// attempt writes an attempt, and asks for it to be told to the code host where that is wanted.
func (o Org) attempt(ctx context.Context, l *models.RepoLink, a models.PublishAttempt) (*models.PublishAttempt, error) {
	now := o.now()
	a.OrgID, a.ID, a.LinkID, a.CreatedAt, a.WriteBackStatus = o.id, ids.New(ids.Attempt, now), l.ID, now, models.WriteBackStatusDisabled
	mode, err := o.WriteBackMode(ctx)
	if err != nil {
		return nil, err
	}
	tell := mode != models.WriteBackModeOff && l.WriteBackEnabled && a.Commit != nil
	if tell {
		a.WriteBackStatus = models.WriteBackStatusPending
	}
	if _, err := o.db.NewInsert().Model(&a).ExcludeColumn("number").Exec(ctx); err != nil {
		return nil, err
	}
	if tell {
		if err := o.enqueue(ctx, WriteBackJob{o.id, a.ID}); err != nil {
			return nil, err
		}
	}
	data := map[string]any{"connection_id": l.ID, "status": a.Status.Wire(), "version": a.VersionName, "source_ref": a.SourceRef, "message": a.Message}
	return &a, o.event(ctx, "connection.attempted", a.ID, data)
}

// WroteBack keeps what became of telling the code host.
func (o Org) WroteBack(ctx context.Context, attempt ids.ID, status models.WriteBackStatus, checkRun, message *string) error {
	return o.tx(ctx, func(o Org) error {
		told, err := query[models.PublishAttempt](ctx, o.pg, `UPDATE publish_attempts t SET write_back_status = $3, check_run_id = coalesce($4, check_run_id), write_back_message = $5
			WHERE t.org_id = $1 AND t.id = $2 AND t.write_back_status = 'PENDING' RETURNING `+columns[models.PublishAttempt](), o.id, attempt, status, checkRun, message)
		if err != nil || len(told) == 0 { // told before, or the connection has gone
			return err
		}
		return o.event(ctx, "connection.wrote_back", attempt, map[string]any{"connection_id": told[0].LinkID, "write_back_status": status.Wire(), "check_run_id": checkRun, "message": message})
	})
}

// connectionTaken is what it means that an entry has a connection already.
var connectionTaken = errs.New(errs.Conflict, "The entry has a connection already: change that one, or delete it first")

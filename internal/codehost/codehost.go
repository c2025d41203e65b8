// Package codehost publishes from repositories: it connects them with registry entries, takes what the code host tells, makes
// versions of it, and tells the code host what became of that.
package codehost

import (
	"context"
	"slices"
	"strings"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/registry"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Host is a code host, seen from the registry.
type Host struct {
	Driver   repohost.Driver
	Registry *registry.Registry
	BaseURL  string // of this server, for links in check-runs
	Grants   bool   // whether accounts need a grant of the operator: the host cannot tell whose they are
}

// Bind binds an installation to the organization. What another one has is refused before the code host is asked.
func (h *Host) Bind(ctx context.Context, o store.Org, in models.BindInstallationInput) (bound *models.RepoInstallation, isNew bool, err error) {
	i, err := in.Installation()
	if err != nil {
		return nil, false, err
	}
	if err := o.FreeInstallation(ctx, i); err != nil {
		return nil, false, err
	}
	if err := h.Driver.Check(ctx, account(i)); err != nil {
		return nil, false, err
	}
	return o.BindInstallation(ctx, i, h.Grants)
}

// Repositories lists what an installation may read, and which of it another organization publishes from.
func (h *Host) Repositories(ctx context.Context, o store.Org, installation int64) ([]*models.Repository, error) {
	i, err := usable(ctx, o, installation)
	if err != nil {
		return nil, err
	}
	found, err := h.Driver.Repositories(ctx, account(i))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found))
	for i, r := range found {
		names[i] = r.FullName()
	}
	elsewhere, err := o.ConnectedElsewhere(ctx, names)
	if err != nil {
		return nil, err
	}
	out := make([]*models.Repository, len(found))
	for i, r := range found {
		out[i] = &models.Repository{
			ID: r.ID, FullName: r.FullName(), Owner: r.Owner, Name: r.Name, Visibility: r.Visibility, DefaultBranch: r.DefaultBranch, HTMLURL: r.HTMLURL,
			PushedAt: r.PushedAt, ConnectedElsewhere: elsewhere[strings.ToLower(r.FullName())],
		}
	}
	return out, nil
}

// usable is an installation of the organization that is not suspended.
func usable(ctx context.Context, o store.Org, installation int64) (*models.RepoInstallation, error) {
	i, err := o.RepoInstallation(ctx, installation)
	if err == nil && i.Suspended {
		err = suspended(i)
	}
	return i, err
}

func suspended(i *models.RepoInstallation) error {
	return errs.New(errs.Conflict, "The installation of %s is suspended: unsuspend it at the code host", i.AccountLogin)
}

func account(i *models.RepoInstallation) repohost.Account {
	return repohost.Account{InstallationID: i.InstallationID, Login: i.AccountLogin}
}

// Connect connects a repository, which the installation must be able to read, with an entry.
func (h *Host) Connect(ctx context.Context, o store.Org, in models.ConnectRepositoryInput) (*models.RepoLink, error) {
	l, err := in.Link()
	if err != nil {
		return nil, err
	}
	i, err := usable(ctx, o, in.InstallationID)
	if err != nil {
		return nil, err
	}
	found, err := h.Driver.Repositories(ctx, account(i))
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(found, func(r repohost.Repository) bool { return strings.EqualFold(r.FullName(), l.RepoFullName) })
	if at < 0 {
		return nil, errs.At("repoFullName").Because("there is no repository %s that installation %d may read", l.RepoFullName, i.InstallationID)
	}
	l.RepoInstallationID, l.RepoID, l.RepoFullName = i.ID, found[at].ID, found[at].FullName()
	return o.Connect(ctx, l)
}

// link is a connection with the account that its repository is read as.
type link struct {
	*models.RepoLink
	account   repohost.Account
	suspended bool
}

func withAccount(ctx context.Context, o store.Org, l *models.RepoLink) (link, error) {
	found, err := o.RepoInstallationsByID(ctx, []ids.ID{l.RepoInstallationID})
	if err != nil {
		return link{}, err
	}
	i := found[l.RepoInstallationID] // a foreign key says that it is there
	return link{l, account(i), i.Suspended}, nil
}

// maxTags is how many tags one sync publishes.
const maxTags = 100

// Sync reads a repository again: publishes tags that have no version yet, oldest first, then the head of the branch.
func (h *Host) Sync(ctx context.Context, o store.Org, id ids.ID) (*models.RepoLink, *models.PublishAttempt, error) {
	row, err := o.RepoLink(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	l, err := withAccount(ctx, o, row)
	if err != nil {
		return nil, nil, err
	}
	if l.suspended {
		a, err := h.failed(ctx, o, l, models.Ref{}, models.AttemptTriggerSync, "The installation is suspended at the code host")
		return row, a, err
	}
	more, err := h.syncTags(ctx, o, l)
	if err != nil {
		return nil, nil, err
	}
	commit, err := h.Driver.Resolve(ctx, l.account, l.RepoFullName, l.DefaultBranch)
	if err != nil {
		a, err := h.fail(ctx, o, l, models.Ref{}, models.AttemptTriggerSync, err)
		return row, a, err
	}
	a, err := h.publish(ctx, o, l, models.Ref{Commit: commit}, models.AttemptTriggerSync)
	if err == nil && more {
		a.Message += ". There are more tags to publish: sync again"
	}
	return row, a, err
}

func (h *Host) syncTags(ctx context.Context, o store.Org, l link) (more bool, err error) {
	tags, err := h.Driver.Tags(ctx, l.account, l.RepoFullName)
	if err != nil {
		if errs.CodeOf(err) == errs.Conflict { // the repository has gone: what is said of the head says so, too
			return false, nil
		}
		return false, err
	}
	names := make([]string, 0, len(tags))
	for _, t := range tags {
		names = append(names, models.TagVersion(t.Name))
	}
	there, err := o.VersionNames(ctx, l.EntryID, names)
	if err != nil {
		return false, err
	}
	published := 0
	for _, t := range tags {
		if !l.MatchesTag(t.Name) || there[models.TagVersion(t.Name)] {
			continue
		}
		if published++; published > maxTags {
			return true, nil
		}
		if _, err := h.publish(ctx, o, l, models.Ref{Tag: t.Name, Commit: t.Commit}, models.AttemptTriggerSync); err != nil {
			return false, err
		}
	}
	return false, nil
}

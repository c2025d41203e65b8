package codehost

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// WriteBack tells the code host what became of an attempt. An error means that it should be tried again.
func (h *Host) WriteBack(ctx context.Context, o store.Org, attempt ids.ID, last bool) error {
	found, err := o.PublishAttemptsByID(ctx, []ids.ID{attempt})
	if err != nil {
		return err
	}
	a := found[attempt]
	if a == nil || a.WriteBackStatus != models.WriteBackStatusPending || a.Commit == nil {
		return nil // the connection has gone, or it was told before
	}
	row, err := o.RepoLink(ctx, a.LinkID)
	if err != nil {
		return err
	}
	l, err := withAccount(ctx, o, row)
	if err != nil {
		return err
	}
	id, err := h.tell(ctx, o, l, a)
	switch {
	case errors.Is(err, repohost.ErrUnsupported):
		return o.WroteBack(ctx, a.ID, models.WriteBackStatusUnsupported, nil, new("this code host takes no statuses"))
	case err != nil && last:
		return o.WroteBack(ctx, a.ID, models.WriteBackStatusFailed, nil, new(err.Error()))
	case err != nil:
		return err
	}
	return o.WroteBack(ctx, a.ID, models.WriteBackStatusSuccess, &id, nil)
}

func (h *Host) tell(ctx context.Context, o store.Org, l link, a *models.PublishAttempt) (checkRun string, err error) {
	status := repohost.Status{Context: l.StatusContext(), State: "success", Description: short(a.Message)}
	check := repohost.CheckRun{ExternalID: l.ID.String() + "/" + *a.Commit, Name: l.StatusContext(), Conclusion: "success", Title: short(a.Message)}
	if a.Status == models.AttemptStatusFailed {
		status.State, check.Conclusion = "failure", "failure"
	}
	if check.Summary, err = h.summary(ctx, o, a); err != nil {
		return "", err
	}
	if h.BaseURL != "" && a.VersionID != nil {
		status.TargetURL = h.BaseURL + "/api/v1/registry/" + l.EntryID.String()
		check.DetailsURL = status.TargetURL
	}
	if err := h.Driver.PostStatus(ctx, l.account, l.RepoFullName, *a.Commit, status); err != nil {
		return "", err
	}
	return h.Driver.PostCheckRun(ctx, l.account, l.RepoFullName, *a.Commit, check)
}

// summary says in Markdown what was published, and what changed.
func (h *Host) summary(ctx context.Context, o store.Org, a *models.PublishAttempt) (string, error) {
	text := a.Message + "\n"
	if a.VersionID == nil {
		return text, nil
	}
	found, err := o.VersionsByID(ctx, []ids.ID{*a.VersionID})
	v := found[*a.VersionID]
	if err != nil || v == nil {
		return text, err
	}
	before, err := o.VersionBefore(ctx, v)
	if err != nil {
		return "", err
	}
	changes, err := h.Registry.Diff(ctx, o, before, v)
	if err != nil {
		return "", err
	}
	text += fmt.Sprintf("\n| | |\n|---|---|\n| Version | `%s` |\n| Source | `%s` |\n| Content | `%s` |\n| Files | %d: %d added, %d changed, %d removed |\n",
		v.Version, a.SourceRef, v.ContentHash, v.FileCount, changes.Added, changes.Changed, changes.Removed)
	if warnings := v.Warnings(); len(warnings) > 0 {
		text += "\n> " + strings.Join(warnings, "\n> ") + "\n"
	}
	return text, nil
}

// short is what fits into a status.
func short(s string) string {
	const limit = 140
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

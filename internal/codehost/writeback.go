package codehost

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"skillgraph/internal/errs"
	"skillgraph/internal/folder"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/skillmd"
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
		return o.WroteBack(ctx, a.ID, models.WriteBackStatusUnsupported, nil, new("this code host takes neither statuses nor check-runs, or the installation may not post them"))
	case err != nil && last:
		return o.WroteBack(ctx, a.ID, models.WriteBackStatusFailed, nil, new(words(err)))
	case err != nil:
		return err
	}
	return o.WroteBack(ctx, a.ID, models.WriteBackStatusSuccess, id, nil)
}

// tell posts the check-run first, which a second try finds, and then the status. What takes only one of them is told that.
func (h *Host) tell(ctx context.Context, o store.Org, l link, a *models.PublishAttempt) (checkRun *string, err error) {
	status := repohost.Status{Context: l.StatusContext(), State: "success", Description: short(a.Message)}
	check := repohost.CheckRun{ExternalID: l.ID.String() + "/" + *a.Commit, Name: l.StatusContext(), Conclusion: "success", Title: short(a.Message)}
	if a.Status == models.AttemptStatusFailed {
		status.State, check.Conclusion = "failure", "failure"
	}
	if h.BaseURL != "" {
		status.TargetURL = h.BaseURL + "/api/v1/registry/" + l.EntryID.String()
		check.DetailsURL = status.TargetURL
	}
	if check.Summary, err = h.summary(ctx, o, a, status.TargetURL); err != nil {
		return nil, err
	}
	id, err := h.Driver.PostCheckRun(ctx, l.account, l.RepoFullName, *a.Commit, check)
	if err != nil && !errors.Is(err, repohost.ErrUnsupported) {
		return nil, err
	}
	if err == nil {
		checkRun = &id
	}
	err = h.Driver.PostStatus(ctx, l.account, l.RepoFullName, *a.Commit, status)
	if checkRun != nil && errors.Is(err, repohost.ErrUnsupported) {
		err = nil
	}
	return checkRun, err
}

// summary says in Markdown what was published, what changed, and whether it is a good skill.
func (h *Host) summary(ctx context.Context, o store.Org, a *models.PublishAttempt, link string) (string, error) {
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
	valid, issues, err := h.validation(ctx, v)
	if err != nil {
		return "", err
	}
	text += fmt.Sprintf("\n| | |\n|---|---|\n| Version | `%s` |\n| Source | `%s` |\n| Content | `%s` |\n| Files | %d: %d added, %d changed, %d removed |\n| Validation | %s |\n",
		v.Version, a.SourceRef, v.ContentHash, v.FileCount, changes.Added, changes.Changed, changes.Removed, valid)
	if link != "" {
		text += "| Link | " + link + " |\n"
	}
	return text + issues, nil
}

// maxShown is how many issues a summary lists.
const maxShown = 5

// validation is what the rules for skills say of a version: in a few words, and as a list.
func (h *Host) validation(ctx context.Context, v *models.RegistryVersion) (outcome, list string, err error) {
	var in skillmd.Folder
	found, err := folder.Reader{Blobs: h.Registry.Blobs}.Contents(ctx, v.ContentHash, skillmd.MaxFile+1, func(p string) bool {
		in.Paths = append(in.Paths, p)
		return p == skillmd.File
	})
	if err != nil {
		return "", "", err
	}
	in.SkillMD = found[skillmd.File]
	issues := skillmd.Check(in).Issues
	if len(issues) == 0 {
		return "valid", "", nil
	}
	wrong := 0
	var lines []string
	for i, issue := range issues {
		if issue.Level == models.IssueLevelError {
			wrong++
		}
		if i < maxShown {
			lines = append(lines, "- "+issue.Level.Wire()+at(issue)+": "+issue.Message)
		}
	}
	if more := len(issues) - maxShown; more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return count(wrong, "error") + ", " + count(len(issues)-wrong, "warning"), "\n" + strings.Join(lines, "\n") + "\n", nil
}

// at is where an issue is.
func at(i *models.ValidationIssue) string {
	switch {
	case i.Path == nil:
		return ""
	case i.Line == nil:
		return fmt.Sprintf(" in `%s`", *i.Path)
	}
	return fmt.Sprintf(" in `%s`, line %d", *i.Path, *i.Line)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// words are what of an error is for people.
func words(err error) string {
	if known := (*errs.Error)(nil); errors.As(err, &known) {
		return known.Message
	}
	return "something went wrong on this server"
}

// short is what fits into a status.
func short(s string) string {
	const limit = 140
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

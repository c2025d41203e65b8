package codehost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/repohost"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// maxTries is how often a delivery is worked on before it is given up, when the code host or we are in trouble.
const maxTries = 8

// Deliver acts upon a delivery. An error means that it should be tried again.
func (h *Host) Deliver(ctx context.Context, s *store.Store, d *store.Told) error {
	var told repohost.Delivery
	if err := json.Unmarshal(d.Payload, &told); err != nil {
		return s.DeliveryDone(ctx, d.ID, models.DeliveryStateIgnored, "it cannot be read: "+err.Error())
	}
	if d.OrgID == nil {
		return s.DeliveryDone(ctx, d.ID, models.DeliveryStateIgnored, "nobody has bound the installation")
	}
	o, state := s.Org(*d.OrgID, ids.ID{}), models.DeliveryStateDone
	outcome, followed, err := h.safely(ctx, o, told)
	switch {
	case err != nil && d.Tries < maxTries:
		return err
	case err != nil:
		outcome = fmt.Sprintf("Given up after %d tries: %s", d.Tries, words(err))
		if err := h.giveUp(ctx, o, told, outcome); err != nil {
			return err
		}
	case !followed:
		state = models.DeliveryStateIgnored
	}
	return s.DeliveryDone(ctx, d.ID, state, outcome)
}

// giveUp tells those who wait for a version that there will be none.
func (h *Host) giveUp(ctx context.Context, o store.Org, told repohost.Delivery, why string) error {
	if told.Event != "push" {
		return nil
	}
	links, err := o.LinksOf(ctx, told.InstallationID, told.RepoID, told.RepoFullName)
	if err != nil {
		return err
	}
	for _, l := range links {
		tag, ignored := l.Follows(told.Ref, told.Deleted)
		ref := models.Ref{Tag: tag}
		if tag == "" {
			ref.Commit = told.After
		}
		v, err := o.EntryVersion(ctx, l.EntryID, ref.Version())
		if err != nil {
			return err
		}
		if ignored != "" || v != nil {
			continue
		}
		if _, err := h.failed(ctx, o, link{RepoLink: l}, ref, triggerOf(tag), why); err != nil {
			return err
		}
	}
	return nil
}

func triggerOf(tag string) models.AttemptTrigger {
	if tag != "" {
		return models.AttemptTriggerTag
	}
	return models.AttemptTriggerBranch
}

// safely does what follows from a delivery; one that makes us fall must not keep those behind it waiting for ever.
func (h *Host) safely(ctx context.Context, o store.Org, told repohost.Delivery) (outcome string, followed bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return h.act(ctx, o, told)
}

func (h *Host) act(ctx context.Context, o store.Org, told repohost.Delivery) (outcome string, followed bool, err error) {
	switch {
	case told.Event == "push":
		return h.pushed(ctx, o, told)
	case told.Event == "repository" && told.FormerName != "":
		n, err := o.RenameRepository(ctx, told.InstallationID, told.FormerName, told.RepoFullName)
		return fmt.Sprintf("%s is called %s now, in %d connections and sources", told.FormerName, told.RepoFullName, n), n > 0, err
	case told.Event == "installation" && told.Suspended != nil:
		return "followed", true, o.SuspendInstallation(ctx, told.InstallationID, *told.Suspended)
	case told.Event == "installation" && told.InstallationDeleted:
		return "the installation was removed at the code host, and counts as suspended", true, o.SuspendInstallation(ctx, told.InstallationID, true)
	}
	return "nothing follows from it", false, nil
}

// pushed publishes to every connection that follows what was pushed.
func (h *Host) pushed(ctx context.Context, o store.Org, told repohost.Delivery) (outcome string, followed bool, err error) {
	links, err := o.LinksOf(ctx, told.InstallationID, told.RepoID, told.RepoFullName)
	if err != nil {
		return "", false, err
	}
	if len(links) == 0 {
		return "there is no connection to the repository", false, nil
	}
	var said []string
	var failed error // one that has to be tried again does not keep the others from being published
	for _, row := range links {
		l, err := withAccount(ctx, o, row)
		if err != nil {
			return "", false, err
		}
		words, acted, err := h.pushedTo(ctx, o, l, told)
		said, followed, failed = append(said, words), followed || acted, errors.Join(failed, err)
	}
	return strings.Join(said, "; "), followed, failed
}

func (h *Host) pushedTo(ctx context.Context, o store.Org, l link, told repohost.Delivery) (words string, acted bool, err error) {
	tag, why := l.Follows(told.Ref, told.Deleted)
	if why != "" {
		return why, false, nil
	}
	ref, trigger := models.Ref{Tag: tag, Commit: told.After}, triggerOf(tag)
	if l.suspended {
		a, err := h.failed(ctx, o, l, ref, trigger, "The installation is suspended at the code host")
		return told.Ref + ": " + messageOf(a), true, err
	}
	if tag != "" {
		ref.Commit, err = h.Driver.ResolveTag(ctx, l.account, l.RepoFullName, tag) // an annotated tag is no commit
	} else if late, err := h.late(ctx, o, l, ref.Commit); late || err != nil {
		return fmt.Sprintf("%.7s is late: a newer commit of %s is published already", ref.Commit, l.DefaultBranch), false, err
	}
	var a *models.PublishAttempt
	if err != nil {
		ref.Commit = ""
		a, err = h.fail(ctx, o, l, ref, trigger, err)
	} else {
		a, err = h.publish(ctx, o, l, ref, trigger)
	}
	return told.Ref + ": " + messageOf(a), true, err
}

func messageOf(a *models.PublishAttempt) string {
	if a == nil {
		return ""
	}
	return a.Message
}

// late reports whether a commit of the branch comes after a newer one was published: deliveries may overtake each other, and what is
// published last is current.
func (h *Host) late(ctx context.Context, o store.Org, l link, commit string) (bool, error) {
	head, err := h.Driver.Resolve(ctx, l.account, l.RepoFullName, l.DefaultBranch)
	if errs.CodeOf(err) == errs.Conflict {
		return false, nil // the branch has gone since; the commit may be there
	}
	if err != nil || head == commit {
		return false, err
	}
	v, err := o.EntryVersion(ctx, l.EntryID, models.BranchVersion(head))
	return v != nil, err
}

package codehost

import (
	"context"
	"fmt"

	"skillgraph/internal/errs"
	"skillgraph/internal/folder"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// publish makes a version of a ref, through the registry's one door, and keeps what became of that. It fails only where another
// try may help: whatever else goes wrong is what became of it.
func (h *Host) publish(ctx context.Context, o store.Org, l link, ref models.Ref, trigger models.AttemptTrigger) (*models.PublishAttempt, error) {
	known, err := h.known(ctx, o, l, ref, trigger)
	if known != nil || err != nil {
		return known, err
	}
	a, err := h.make(ctx, o, l, ref, trigger)
	if err != nil {
		return h.fail(ctx, o, l, ref, trigger, err)
	}
	return a, nil
}

// known is the attempt for a ref that has its version already: nothing is read then.
func (h *Host) known(ctx context.Context, o store.Org, l link, ref models.Ref, trigger models.AttemptTrigger) (*models.PublishAttempt, error) {
	v, err := o.EntryVersion(ctx, l.EntryID, ref.Version())
	if err != nil || v == nil || v.SourceCommit == nil {
		return nil, err
	}
	if *v.SourceCommit != ref.Commit {
		return h.failed(ctx, o, l, ref, trigger, fmt.Sprintf("%s was published from commit %.7s and now is at %.7s: versions never change. Make a new tag", ref.Source(), *v.SourceCommit, ref.Commit))
	}
	return o.Attempt(ctx, l.RepoLink, models.PublishAttempt{
		Trigger: trigger, Status: models.AttemptStatusUnchanged, VersionID: &v.ID, VersionName: &v.Version, SourceRef: ref.Source(), Commit: &ref.Commit,
		Message: v.Version + " is published already",
	})
}

// make reads the folder, packs it, and publishes the archive.
func (h *Host) make(ctx context.Context, o store.Org, l link, ref models.Ref, trigger models.AttemptTrigger) (*models.PublishAttempt, error) {
	f, err := folder.New()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := h.Driver.Read(ctx, l.account, l.RepoFullName, ref.Commit, l.SkillPath, f.Take); err != nil {
		return nil, err
	}
	if len(f.Files) == 0 {
		return nil, errs.New(errs.Conflict, "There are no files in %q at commit %.7s", l.SkillPath, ref.Commit)
	}
	packed, err := f.Pack()
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	source := models.VersionSourceRepohost
	if trigger == models.AttemptTriggerSync {
		source = models.VersionSourceRepohostDirect
	}
	in := models.NewVersion{Version: ref.Version(), Source: source, SourceRef: new(ref.Source()), SourceRepo: &l.RepoFullName, SourceCommit: &ref.Commit}
	if err := in.Validate(); err != nil {
		return nil, err
	}
	v, files, err := h.Registry.Keep(ctx, in, packed)
	if err != nil {
		return nil, err
	}
	return o.PublishFrom(ctx, l.RepoLink, models.PublishAttempt{Trigger: trigger, SourceRef: ref.Source(), Commit: &ref.Commit}, in, v, files)
}

// fail keeps what went wrong, where trying again will not help. Everything else is for whoever asked to try again.
func (h *Host) fail(ctx context.Context, o store.Org, l link, ref models.Ref, trigger models.AttemptTrigger, err error) (*models.PublishAttempt, error) {
	switch errs.CodeOf(err) {
	case errs.Invalid, errs.Conflict, errs.TooLarge, errs.NotFound:
		return h.failed(ctx, o, l, ref, trigger, err.Error())
	default:
		return nil, err
	}
}

func (h *Host) failed(ctx context.Context, o store.Org, l link, ref models.Ref, trigger models.AttemptTrigger, why string) (*models.PublishAttempt, error) {
	a := models.PublishAttempt{Trigger: trigger, Status: models.AttemptStatusFailed, SourceRef: ref.Source(), Message: why}
	if ref.Commit != "" {
		a.Commit = &ref.Commit
	}
	if a.SourceRef == "" {
		a.SourceRef = l.DefaultBranch
	}
	return o.Attempt(ctx, l.RepoLink, a)
}

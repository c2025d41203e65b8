package resolvers

import (
	"context"
	"strconv"

	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/internal/request"
	"skillgraph/models"
)

func (query) SignalAggregates(ctx context.Context, skillName *string) (*models.SignalAggregates, error) {
	return org(ctx).SignalAggregates(ctx, or(skillName, ""))
}

func (query) SignalOverview(ctx context.Context) (*models.SignalOverview, error) {
	return org(ctx).SignalOverview(ctx)
}

func (query) SignalSkill(ctx context.Context, name string) (*models.SignalDetail, error) {
	return org(ctx).SignalSkill(ctx, name)
}

func (mutation) SubmitSignals(ctx context.Context, in models.SubmitSignalsInput) (*models.SubmitSignalsPayload, error) {
	signals, err := in.Parse()
	if err != nil {
		return nil, err
	}
	if err := spendCall(ctx, "submitSignals", 300); err != nil {
		return nil, err
	}
	return org(ctx).AddSignals(ctx, signals)
}

// spendCall counts a call of a mutation that an organization may call so often in an hour, and tells what is left, through either face.
func spendCall(ctx context.Context, mutation string, limit int) error {
	q, err := org(ctx).SpendCall(ctx, mutation, limit)
	if err != nil {
		return err
	}
	for name, n := range map[string]int{"RateLimit-Limit": q.Limit, "RateLimit-Remaining": q.Remaining, "RateLimit-Reset": q.Seconds()} {
		request.SetHeader(ctx, name, strconv.Itoa(n))
	}
	if !q.Allowed {
		request.SetHeader(ctx, "Retry-After", strconv.Itoa(q.Seconds()))
	}
	return q.Check()
}

func (query) Proposal(ctx context.Context, id ids.ID) (*models.Proposal, error) {
	return org(ctx).Proposal(ctx, id)
}

func (query) Proposals(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.ProposalFilter) (*models.ProposalConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Proposals(ctx, or(filter, models.ProposalFilter{}), w)
}

func (mutation) ApproveProposal(ctx context.Context, id ids.ID) (*models.ApproveProposalPayload, error) {
	p, err := org(ctx).DecideProposal(ctx, id, true)
	if err != nil {
		return nil, err
	}
	return &models.ApproveProposalPayload{Proposal: p}, nil
}

func (mutation) RejectProposal(ctx context.Context, id ids.ID) (*models.RejectProposalPayload, error) {
	p, err := org(ctx).DecideProposal(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return &models.RejectProposalPayload{Proposal: p}, nil
}

func (mutation) ApplyProposal(ctx context.Context, id, versionID ids.ID) (*models.ApplyProposalPayload, error) {
	p, err := org(ctx).ApplyProposal(ctx, id, versionID)
	if err != nil {
		return nil, err
	}
	return &models.ApplyProposalPayload{Proposal: p}, nil
}

func (proposal) Skill(ctx context.Context, p *models.Proposal) (*models.Skill, error) {
	return loader.One(ctx, loader.ProposalSkill, p)
}

func (proposal) DecidedBy(ctx context.Context, p *models.Proposal) (*models.User, error) {
	return loader.One(ctx, loader.ProposalDecider, p)
}

func (proposal) AppliedBy(ctx context.Context, p *models.Proposal) (*models.User, error) {
	return loader.One(ctx, loader.ProposalApplier, p)
}

func (skill) Signals(ctx context.Context, s *models.Skill) (*models.SignalDetail, error) {
	return loader.One(ctx, loader.SkillSignals, s)
}

func (skill) Proposals(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.ProposalFilter) (*models.ProposalConnection, error) {
	return loader.List(ctx, loader.SkillProposals, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (signalAggregate) Skill(ctx context.Context, a *models.SignalAggregate) (*models.Skill, error) {
	return loader.One(ctx, loader.AggregateSkill, a)
}

func (signalSkill) Skill(ctx context.Context, s *models.SignalSkill) (*models.Skill, error) {
	return loader.One(ctx, loader.SignalledSkill, s)
}

func (signalDetail) Skill(ctx context.Context, d *models.SignalDetail) (*models.Skill, error) {
	return loader.One(ctx, loader.DetailSkill, d)
}

func (proposal) Version(ctx context.Context, p *models.Proposal) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.ProposalVersion, p)
}

func (registryVersion) Proposals(ctx context.Context, v *models.RegistryVersion, first *int, after *string, page, perPage *int, filter *models.ProposalFilter) (*models.ProposalConnection, error) {
	return loader.List(ctx, loader.VersionProposals, v, pageArgs(first, after, page, perPage), filter, noOrder)
}

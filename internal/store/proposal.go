package store

import (
	"context"
	"slices"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Propose draws proposals from what can be shown of the organization's signals. Those that nobody has decided on are brought up
// to date; the others stay as they were.
func (o Org) Propose(ctx context.Context) error {
	return o.tx(ctx, func(o Org) error {
		if _, err := exec(ctx, o.pg, "DELETE FROM proposals_due WHERE org_id = $1", o.id); err != nil {
			return err
		}
		rows, err := query[models.SignalFigure](ctx, o.pg, "SELECT "+figureColumns+" FROM signal_figures t WHERE t.org_id = $1 AND t.level IN ('SKILL', 'WEEK') ORDER BY "+detailOrder, o.id)
		if err != nil {
			return err
		}
		var drawn []*models.Proposal
		for _, d := range models.Details(rows) {
			drawn = append(drawn, d.Propose(o.id)...)
		}
		slices.SortFunc(drawn, func(a, b *models.Proposal) int { return slices.Compare(a.ID[:], b.ID[:]) }) // as everybody locks them
		return o.saveProposals(ctx, drawn)
	})
}

func (o Org) saveProposals(ctx context.Context, drawn []*models.Proposal) error {
	type P = models.Proposal
	type row struct {
		ID   ids.ID `bun:"id"`
		Made bool   `bun:"made"`
	}
	rows, err := query[row](ctx, o.pg, `INSERT INTO proposals AS t (org_id, status, created_at, updated_at, id, skill_name, proposal_type, confidence, reason, evidence)
		SELECT $1, 'PENDING', $2, $2, r.* FROM unnest($3::uuid[], $4::text[], $5::text[], $6::double precision[], $7::text[], $8::json[]) AS r
		ON CONFLICT (org_id, id) DO UPDATE SET confidence = excluded.confidence, reason = excluded.reason, evidence = excluded.evidence, updated_at = excluded.updated_at
			WHERE t.status = 'PENDING' AND t.evidence::text <> excluded.evidence::text
		RETURNING t.id, xmax = 0 AS made`, o.id, o.now(),
		column(drawn, proposalID),
		column(drawn, func(p *P) string { return p.SkillName }),
		column(drawn, func(p *P) string { return string(p.ProposalType) }),
		column(drawn, func(p *P) float64 { return p.Confidence }),
		column(drawn, func(p *P) string { return p.Reason }),
		column(drawn, func(p *P) string { return string(p.EvidenceJSON) }))
	if err != nil {
		return err
	}
	made := map[ids.ID]bool{}
	for _, r := range rows {
		made[r.ID] = r.Made
	}
	var objects []ids.ID
	var data []map[string]any
	for _, p := range drawn {
		if made[p.ID] {
			objects, data = append(objects, p.ID), append(data, map[string]any{"skill_name": p.SkillName, "proposal_type": p.ProposalType.Wire()})
		}
	}
	return o.events(ctx, "proposal.created", objects, data)
}

func proposalID(p *models.Proposal) ids.ID { return p.ID }

// proposalRows are proposals with the skills of their names.
const proposalRows = "(SELECT p.*, s.id AS skill_id FROM proposals p LEFT JOIN skills s ON s.org_id = p.org_id AND s.name = p.skill_name) t"

func proposalListing(parent string, f models.ProposalFilter) listing[models.Proposal] {
	l := listing[models.Proposal]{from: proposalRows, parent: parent, order: order[models.Proposal]{
		name: "created", columns: []string{"t.created_at"}, types: []string{"timestamptz"}, desc: true, id: proposalID,
		key: func(p *models.Proposal) []string { return []string{timeKey(p.CreatedAt)} },
	}}
	if name := f.SkillName.Value(); name != nil {
		l.filter("t.skill_name = ?", *name)
	}
	if status := f.Status.Value(); status != nil {
		l.filter("t.status = ?", *status)
	}
	return l
}

// Proposals lists the organization's proposals, newest first.
func (o Org) Proposals(ctx context.Context, f models.ProposalFilter, w models.Window) (*models.ProposalConnection, error) {
	return page(ctx, o, proposalListing("t.org_id", f), w)
}

// ProposalsOf lists the proposals about skills, newest first.
func (o Org) ProposalsOf(ctx context.Context, skills []ids.ID, in models.ProposalList) (map[ids.ID]*models.ProposalConnection, error) {
	return pages(ctx, o, proposalListing("t.skill_id", in.Filter()), skills, in.Window)
}

// ProposalsOfVersions lists the proposals that versions answer, newest first.
func (o Org) ProposalsOfVersions(ctx context.Context, versions []ids.ID, in models.ProposalList) (map[ids.ID]*models.ProposalConnection, error) {
	return pages(ctx, o, proposalListing("t.version_id", in.Filter()), versions, in.Window)
}

// ProposalsDecidedBy lists the proposals that members decided on last, newest first.
func (o Org) ProposalsDecidedBy(ctx context.Context, users []ids.ID, in models.ProposalList) (map[ids.ID]*models.ProposalConnection, error) {
	return pages(ctx, o, proposalListing("t.decided_by", in.Filter()), users, in.Window)
}

// ProposalsByID is the batch for nodes.
func (o Org) ProposalsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Proposal, error) {
	return batch(ctx, o, proposalID, proposalRows+" WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// Proposal is one proposal.
func (o Org) Proposal(ctx context.Context, id ids.ID) (*models.Proposal, error) {
	found, err := o.ProposalsByID(ctx, []ids.ID{id})
	return orNotFound(found[id], err, ids.Proposal, id)
}

// changeProposal runs a change of a proposal that nobody else can change meanwhile.
func (o Org) changeProposal(ctx context.Context, id ids.ID, change func(o Org, p *models.Proposal) error) (*models.Proposal, error) {
	return inTx(ctx, o, func(o Org) (*models.Proposal, error) {
		if _, err := exec(ctx, o.pg, "SELECT 1 FROM proposals WHERE org_id = $1 AND id = $2 FOR UPDATE", o.id, id); err != nil {
			return nil, err
		}
		p, err := o.Proposal(ctx, id)
		if err != nil {
			return nil, err
		}
		was := p.Status
		if err := change(o, p); err != nil || p.Status == was {
			return p, err
		}
		p.UpdatedAt = o.now()
		if _, err := o.db.NewUpdate().Model(p).WherePK().Exec(ctx); err != nil {
			return nil, err
		}
		return p, o.event(ctx, "proposal."+p.Status.Wire(), id, map[string]any{"skill_name": p.SkillName, "from": was.Wire()})
	})
}

// DecideProposal approves or rejects a proposal. Until it is applied, a decision may be changed; once more changes nothing.
func (o Org) DecideProposal(ctx context.Context, id ids.ID, approve bool) (*models.Proposal, error) {
	return o.changeProposal(ctx, id, func(o Org, p *models.Proposal) error {
		status := models.ProposalStatusRejected
		if approve {
			status = models.ProposalStatusApproved
		}
		if p.Status == status {
			return nil
		}
		if p.Status == models.ProposalStatusApplied {
			return errs.New(errs.Conflict, "The proposal is applied already")
		}
		p.Status, p.DecidedByID, p.DecidedAt = status, o.by(), new(o.now())
		return nil
	})
}

// ApplyProposal marks an approved proposal as applied, for good, by a registry version; once more changes nothing.
func (o Org) ApplyProposal(ctx context.Context, id, version ids.ID) (*models.Proposal, error) {
	return o.changeProposal(ctx, id, func(o Org, p *models.Proposal) error {
		switch {
		case p.Status == models.ProposalStatusApplied && *p.VersionID == version:
			return nil
		case p.Status == models.ProposalStatusApplied:
			return errs.New(errs.Conflict, "The proposal is applied already, by another version")
		case p.Status != models.ProposalStatusApproved:
			return errs.New(errs.Conflict, "The proposal is %s: approve it before applying it", p.Status.Wire())
		}
		if err := o.ownVersion(ctx, version); err != nil {
			return err
		}
		p.Status, p.VersionID, p.AppliedByID, p.AppliedAt = models.ProposalStatusApplied, &version, o.by(), new(o.now())
		return nil
	})
}

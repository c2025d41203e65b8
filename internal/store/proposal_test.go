package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// weekly are signals of a skill in a week so long ago, of which so many tell of triggers; the rest are misses or, where quiet, say that it did not fire.
func weekly(skill string, ago, n, triggered int, quiet bool) (out []*models.Signal) {
	for i := range n {
		s := &models.Signal{
			SourceKey: fmt.Sprint(skill, "/", ago, "/", i), SkillName: &skill, SignalType: "skill_session", UserCohort: new(fmt.Sprint(i % 4)),
			Hour: new(noon.AddDate(0, 0, -7*ago).Truncate(time.Hour)), Triggered: new(i < triggered),
		}
		s.Missed = i >= triggered && !quiet
		out = append(out, s)
	}
	return out
}

func proposals(t *testing.T, org store.Org) []*models.Proposal {
	t.Helper()
	page, err := org.Proposals(t.Context(), models.ProposalFilter{}, everything)
	require.NoError(t, err)
	return page.Nodes
}

func propose(t *testing.T, org store.Org) []*models.Proposal {
	t.Helper()
	require.NoError(t, org.Propose(t.Context()))
	return proposals(t, org)
}

func TestProposals(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	require.Empty(t, propose(t, w.Org))
	addSignals(t, w.Org, weekly("missed", 0, 12, 4, false))
	addSignals(t, w.Org, weekly("fine", 0, 12, 12, false))
	addSignals(t, w.Org, weekly("few", 0, 9, 0, false))
	require.Empty(t, proposals(t, w.Org), "the job draws them, not the ingest")
	got := propose(t, w.Org)
	require.Len(t, got, 1)
	p := got[0]
	require.Equal(t, "missed", p.SkillName)
	require.Nil(t, p.SkillID, "only signals name it")
	require.Equal(t, models.ProposalTypeWordingChange, p.ProposalType)
	require.Equal(t, models.ProposalStatusPending, p.Status)
	e, err := p.Evidence()
	require.NoError(t, err)
	require.Equal(t, []int{12, 4, 8, 1}, []int{e.TotalSignals, e.TriggeredCount, e.MissedCount, len(e.Weeks)})
	require.Equal(t, []string{"proposal.created"}, happened(t, w.Org)[len(happened(t, w.Org))-1:])
	told := len(happened(t, w.Org))

	require.Equal(t, got, propose(t, w.Org), "once more changes nothing")
	require.Len(t, happened(t, w.Org), told)

	// While it is pending the evidence grows, under the same id.
	w.pass(time.Hour)
	addSignals(t, w.Org, weekly("missed", 0, 20, 4, false))
	grown := propose(t, w.Org)
	require.Len(t, grown, 1)
	require.Equal(t, p.ID, grown[0].ID)
	require.Equal(t, p.CreatedAt, grown[0].CreatedAt)
	require.Equal(t, p.CreatedAt.Add(time.Hour), grown[0].UpdatedAt)
	e, err = grown[0].Evidence()
	require.NoError(t, err)
	require.Equal(t, 20, e.TotalSignals)
	require.Len(t, happened(t, w.Org), told)

	// After a decision it stays as it was.
	decided, err := w.DecideProposal(t.Context(), p.ID, false)
	require.NoError(t, err)
	addSignals(t, w.Org, weekly("missed", 0, 30, 4, false))
	require.Equal(t, []*models.Proposal{decided}, propose(t, w.Org))

	// A skill that falls from one week to the next.
	nameSkill(t, w.Org, "fine")
	addSignals(t, w.Org, weekly("fine", 1, 40, 38, true))
	require.Len(t, propose(t, w.Org), 1, "it rises")
	addSignals(t, w.Org, weekly("fine", 0, 40, 12, true))
	got = propose(t, w.Org)
	require.Len(t, got, 2)
	require.Equal(t, models.ProposalTypeInvestigateRegression, got[0].ProposalType, "newest first")
	require.NotNil(t, got[0].SkillID)
	page, err := w.Proposals(t.Context(), models.ProposalFilter{Status: set(new(models.ProposalStatusRejected))}, everything)
	require.NoError(t, err)
	require.Equal(t, p.ID, page.Nodes[0].ID)
	require.Len(t, page.Nodes, 1)
	page, err = w.Proposals(t.Context(), models.ProposalFilter{SkillName: set(new("fine"))}, everything)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
}

func TestDecideProposal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addSignals(t, w.acme, crowdSignals("pdf", 12, 4))
	id := propose(t, w.acme)[0].ID
	member := w.member(t, w.acme, "member@example.com")
	before := len(happened(t, w.acme))
	decide := func(by store.Org, approve bool) *models.Proposal {
		p, err := by.DecideProposal(t.Context(), id, approve)
		require.NoError(t, err)
		again, err := w.acme.Proposal(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, again, p)
		return p
	}
	p := decide(w.acme, true)
	require.Equal(t, models.ProposalStatusApproved, p.Status)
	require.Equal(t, w.owner.UserID, *p.DecidedByID)
	require.NotNil(t, p.DecidedAt)
	require.Equal(t, p, decide(member, true), "twice is as good as once: the first has decided")
	p = decide(member, false)
	require.Equal(t, models.ProposalStatusRejected, p.Status)
	require.NotEqual(t, w.owner.UserID, *p.DecidedByID)
	p = decide(w.acme, true)
	require.Equal(t, models.ProposalStatusApproved, p.Status)
	require.Equal(t, []string{"proposal.approved", "proposal.rejected", "proposal.approved"}, happened(t, w.acme)[before:])
	last := events(t, w.acme)[before+1]
	require.Equal(t, id, last.ObjectID)
	require.JSONEq(t, `{"skill_name": "pdf", "from": "approved"}`, string(last.Data))

	// Several at once: one after the other, and the last one stands.
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			if _, err := w.acme.DecideProposal(t.Context(), id, i%2 == 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()

	_, err := w.acme.DecideProposal(t.Context(), ids.New(ids.Proposal, noon), true)
	requireCode(t, errs.NotFound, err)
	_, err = w.acme.DecideProposal(t.Context(), w.owner.KeyID, true)
	require.ErrorContains(t, err, "is the id of an API key, not of a proposal")
	decide(w.acme, false)
	_, err = w.acme.ApplyProposal(t.Context(), id, ids.New(ids.Version, noon))
	require.EqualError(t, err, "The proposal is rejected: approve it before applying it")
	requireCode(t, errs.Conflict, err)
}

// However many batches come, one job waits; and none is lost that comes while it works.
func TestProposeJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	jobs := func() int { return w.count(t, "SELECT count(*) FROM river_job WHERE kind = 'propose'") }
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if _, err := w.acme.AddSignals(t.Context(), crowdSignals(fmt.Sprint("skill ", i), 12, 3)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, jobs())
	addSignals(t, w.other, crowdSignals("skill 0", 12, 3))
	require.Equal(t, 2, jobs(), "one for each organization")
	addSignals(t, w.acme, crowdSignals("skill 0", 12, 3))
	addSignals(t, w.acme, []*models.Signal{{SourceKey: "nameless", SignalType: "x"}})
	require.Equal(t, 2, jobs(), "nothing new, nothing to do")
	require.Len(t, propose(t, w.acme), 8)
	addSignals(t, w.acme, crowdSignals("skill 0", 13, 3))
	require.Equal(t, 3, jobs(), "the first one has begun")

	// A batch that is not committed holds the job up, which then sees it.
	conn := w.conn(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE proposals_due SET org_id = org_id WHERE org_id = $1", w.acme.ID())
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- w.acme.Propose(t.Context()) }()
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM proposals_due%' AND datname = current_database()") == 1
	}, time.Minute, 10*time.Millisecond)
	require.Empty(t, done)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
}

// The evidence of a proposal has nothing that the gate hides.
func TestEvidenceIsPastTheGate(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	addSignals(t, w.Org, weekly("pdf", 1, 20, 2, false))
	addSignals(t, w.Org, weekly("pdf", 0, 3, 0, false)) // hidden, and the other week with it
	p := propose(t, w.Org)
	require.Len(t, p, 1)
	e, err := p[0].Evidence()
	require.NoError(t, err)
	require.Equal(t, 23, e.TotalSignals)
	require.Empty(t, e.Weeks)
	require.False(t, strings.Contains(string(p[0].EvidenceJSON), ":3,") || strings.Contains(string(p[0].EvidenceJSON), ":20,"))
}

package store_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// newBundle is one for a creator about a skill; n makes it one of its own.
func newBundle(t *testing.T, creator ids.ID, skill string, n int, grading string) *models.Submission {
	t.Helper()
	s, err := models.SubmitBundleInput{CreatorID: creator, SkillName: skill, Bundle: models.JSON(fmt.Sprintf(`{
		"schema_version": "1.0", "contributor_id": "3b241101-e2bb-4255-8caf-4136c566a962", "created_at": "2026-11-14T10:00:00Z", "agent_type": "cli", "sanitization_level": "conservative",
		"positive_queries": [{"query": "secret %d", "invocation_type": "implicit", "source": "log"}], "eval_entries": [], "grading_summary": %s,
		"session_metrics": {"total_sessions": 10, "avg_assistant_turns": 1, "avg_tool_calls": 0, "avg_errors": 0, "top_tools": []}}`, n, grading))}.Submission()
	require.NoError(t, err)
	return s
}

func submit(t *testing.T, by store.Org, s *models.Submission) (ids.ID, bool) {
	t.Helper()
	id, fresh, err := by.SubmitBundle(t.Context(), s)
	require.NoError(t, err)
	return id, fresh
}

func graded(sessions int, rate float64) string {
	return fmt.Sprintf(`{"total_sessions": 10, "graded_sessions": %d, "average_pass_rate": %v, "expectation_count": 1}`, sessions, rate)
}

// member is one more person of an organization.
func (w world) member(t *testing.T, org store.Org, email string) store.Org {
	t.Helper()
	u, err := org.AddMember(t.Context(), email, models.RoleMember)
	require.NoError(t, err)
	return w.Org(org.ID(), u.ID)
}

func TestBundles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	creator, member := w.owner.UserID, w.member(t, w.acme, "member@example.com")
	var sent []ids.ID
	for i, by := range []store.Org{member, w.other, member} {
		id, fresh := submit(t, by, newBundle(t, creator, "pdf", i, graded(10*i, float64(i)/2)))
		require.True(t, fresh)
		require.Equal(t, ids.Bundle, id.Kind())
		sent = append(sent, id)
	}
	last, _ := submit(t, w.other, newBundle(t, creator, "docx", 0, "null"))
	submit(t, w.other, newBundle(t, member.ID(), "pdf", 9, "null")) // of somebody else

	got, err := w.acme.BundleOverview(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{4, 2, 2}, []int{got.TotalSubmissions, got.TotalSkills, got.TotalContributors})
	require.Equal(t, "docx", got.Skills[0].SkillName, "last submission first")
	pdf := got.Skills[1]
	require.Equal(t, []int{3, 2, 30, 30, 3, 0}, []int{pdf.SubmissionCount, pdf.ContributorCount, pdf.TotalSessions, pdf.GradedSessions, pdf.PositiveQueryCount, pdf.EvalEntryCount})
	require.InDelta(t, (10*0.5+20*1.0)/30, pdf.PassRate().Value, 1e-9, "weighed by graded sessions")
	require.Nil(t, got.Skills[0].PassRate())
	require.False(t, got.Truncated)

	one, err := w.acme.BundleSummary(t.Context(), "pdf")
	require.NoError(t, err)
	require.Equal(t, pdf, one)
	one, err = w.acme.BundleSummary(t.Context(), "xlsx")
	require.NoError(t, err)
	require.Nil(t, one)

	recent, err := w.acme.RecentBundlesOf(t.Context(), []ids.ID{creator}, models.RecentArgs{Limit: 3})
	require.NoError(t, err)
	require.Equal(t, []ids.ID{last, sent[2], sent[1]}, []ids.ID{recent[creator][0].ID, recent[creator][1].ID, recent[creator][2].ID})
	recent, err = w.acme.RecentBundlesOf(t.Context(), []ids.ID{creator}, models.RecentArgs{SkillName: "pdf", Limit: 20})
	require.NoError(t, err)
	require.Len(t, recent[creator], 3)
	require.Equal(t, recent[creator][0].ContributorHash, recent[creator][2].ContributorHash, "one contributor's bundles are linked")
	require.NotEqual(t, recent[creator][0].ContributorHash, recent[creator][1].ContributorHash)
	require.Len(t, recent[creator][0].ContributorHash, 64)

	content, err := w.acme.BundleContents(t.Context(), sent)
	require.NoError(t, err)
	require.Len(t, content, 3)
	require.Contains(t, string(content[sent[1]]), "secret 1")
	require.NotContains(t, string(content[sent[1]]), "contributor_id")
}

// The same bundle from the same sender to the same creator is one submission, however many send it at once.
func TestSameBundle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	creator := w.owner.UserID
	got := make([]ids.ID, 20)
	news := make([]bool, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			got[i], news[i], _ = w.other.SubmitBundle(t.Context(), newBundle(t, creator, "pdf", 1, "null"))
		})
	}
	wg.Wait()
	fresh := 0
	for i, id := range got {
		require.Equal(t, got[0], id)
		if news[i] {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	for name, s := range map[string]func() (store.Org, *models.Submission){
		"another sender": func() (store.Org, *models.Submission) { return w.acme, newBundle(t, creator, "pdf", 1, "null") },
		"another creator": func() (store.Org, *models.Submission) {
			return w.other, newBundle(t, w.stranger.UserID, "pdf", 1, "null")
		},
		"another bundle": func() (store.Org, *models.Submission) { return w.other, newBundle(t, creator, "pdf", 2, "null") },
	} {
		by, bundle := s()
		id, fresh := submit(t, by, bundle)
		require.True(t, fresh, name)
		require.NotEqual(t, got[0], id, name)
	}
}

// A bundle may wait for its creator, who sees it from every organization; nobody else sees it, and nothing tells who sent it.
func TestBundlesAreTheirCreators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	creator, sender := w.member(t, w.acme, "creator@example.com"), w.member(t, w.acme, "sender@example.com")
	users, err := w.acme.MemberByEmail(t.Context(), "creator@example.com")
	require.NoError(t, err)
	before := len(events(t, w.acme))
	id, _ := submit(t, sender, newBundle(t, users.ID, "secret", 1, "null"))
	submit(t, w.other, newBundle(t, users.ID, "secret", 2, "null"))
	submit(t, sender, newBundle(t, w.stranger.UserID, "secret", 1, "null"))

	elsewhere := w.Org(w.other.ID(), users.ID)
	for _, o := range []store.Org{creator, elsewhere} {
		got, err := o.BundleOverview(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, got.TotalSubmissions)
		requireOne(t, o.BundlesByID, id)
		requireOne(t, o.BundleContents, id)
	}
	for name, o := range map[string]store.Org{"the sender": sender, "the creator's owner": w.acme, "the server": w.Org(w.acme.ID(), ids.ID{}), "an organization": w.Org(w.acme.ID(), w.acme.ID())} {
		requireNoBundles(t, o, name, users.ID, id)
	}
	// Neither who sent it nor from where is anywhere: not in the row, not in an event.
	for _, secret := range []store.Org{sender, w.other} {
		require.Zero(t, w.count(t, "SELECT count(*) FROM community_bundles b WHERE b::text LIKE '%' || $1 || '%'", secret.ID().String()))
	}
	member, err := w.acme.MemberByEmail(t.Context(), "sender@example.com")
	require.NoError(t, err)
	require.Zero(t, w.count(t, "SELECT count(*) FROM community_bundles b WHERE b::text LIKE '%' || $1 || '%'", member.ID.String()))
	require.Zero(t, w.count(t, "SELECT count(*) FROM community_bundles b WHERE b::text LIKE '%3b241101-e2bb%'"))
	require.Len(t, events(t, w.acme), before)
	// The hash means nothing to another creator, and nothing without the secret of this server.
	require.Equal(t, 3, w.count(t, "SELECT count(DISTINCT contributor_hash) FROM community_bundles"))
	again := newWorld(t)
	submit(t, again.Org(again.acme.ID(), member.ID), newBundle(t, users.ID, "secret", 1, "null"))
	require.Zero(t, w.count(t, "SELECT count(*) FROM community_bundles WHERE contributor_hash = (SELECT $1)", text(t, again.url, "SELECT contributor_hash FROM community_bundles")))
}

func text(t *testing.T, url, sql string) (s string) {
	t.Helper()
	require.NoError(t, connect(t, url).QueryRow(t.Context(), sql).Scan(&s))
	return s
}

// requireNoBundles asks in every way there is.
func requireNoBundles(t *testing.T, o store.Org, name string, creator, id ids.ID) {
	t.Helper()
	got, err := o.BundleOverview(t.Context())
	require.NoError(t, err)
	require.Zero(t, got.TotalSubmissions, name)
	require.Empty(t, got.Skills, name)
	one, err := o.BundleSummary(t.Context(), "secret")
	require.NoError(t, err)
	require.Nil(t, one, name)
	requireNone(t, o.BundlesByID, id)
	requireNone(t, o.BundleContents, id)
	pages, err := o.BundlesOf(t.Context(), []ids.ID{creator}, everything)
	requireEmptyPage(t, pages[creator], err)
	recent, err := o.RecentBundlesOf(t.Context(), []ids.ID{creator}, models.RecentArgs{Limit: 100})
	require.NoError(t, err)
	require.Empty(t, recent, name)
}

// contributing is the part of the table of tenancy that is about contributions: here the other organization's owner has a bundle,
// and the organization signals and a proposal about a skill of the name secret.
var contributing = map[string]func(t *testing.T, o store.Org, f foreign){
	"BundleOverview":  func(t *testing.T, o store.Org, f foreign) { requireNoBundles(t, o, "acme", f.user, f.bundle) },
	"BundleSummary":   func(t *testing.T, o store.Org, f foreign) { requireNoBundles(t, o, "acme", f.user, f.bundle) },
	"BundlesByID":     func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.BundlesByID, f.bundle) },
	"BundleContents":  func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.BundleContents, f.bundle) },
	"BundlesOf":       func(t *testing.T, o store.Org, f foreign) { requireNoBundles(t, o, "acme", f.user, f.bundle) },
	"RecentBundlesOf": func(t *testing.T, o store.Org, f foreign) { requireNoBundles(t, o, "acme", f.user, f.bundle) },
	"BundleSummariesOf": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.BundleSummariesOf, f.skill)
		mine := nameSkill(t, o, "secret") // of the same name, and still there is nothing for acme's owner
		requireNone(t, o.BundleSummariesOf, mine)
	},
	"SubmitBundle": func(t *testing.T, o store.Org, _ foreign) { // to one's own inbox, with the same words
		_, fresh := submit(t, o, newBundle(t, o.ID(), "secret", 1, "null"))
		require.True(t, fresh)
	},
	"AddSignals": func(t *testing.T, o store.Org, _ foreign) { // the same keys are other signals here
		got, err := o.AddSignals(t.Context(), crowdSignals("secret", 12, 4))
		require.NoError(t, err)
		require.Equal(t, 12, got.Accepted)
	},
	"SignalAggregates": func(t *testing.T, o store.Org, _ foreign) {
		for _, name := range []string{"", "secret"} {
			got, err := o.SignalAggregates(t.Context(), name)
			require.NoError(t, err)
			require.Empty(t, got.Aggregates)
		}
	},
	"SignalOverview": func(t *testing.T, o store.Org, _ foreign) {
		got, err := o.SignalOverview(t.Context())
		require.NoError(t, err)
		require.Empty(t, got.Skills)
		require.Nil(t, got.TotalSignals)
	},
	"SignalSkill": func(t *testing.T, o store.Org, _ foreign) {
		_, err := o.SignalSkill(t.Context(), "secret")
		requireCode(t, errs.NotFound, err)
	},
	"SignalsOf": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.SignalsOf, f.skill)
		requireNone(t, o.SignalsOf, nameSkill(t, o, "secret"))
	},
	"Propose": func(t *testing.T, o store.Org, _ foreign) {
		require.NoError(t, o.Propose(t.Context()))
		page, err := o.Proposals(t.Context(), models.ProposalFilter{}, everything)
		requireEmptyPage(t, page, err)
	},
	"Proposals": func(t *testing.T, o store.Org, _ foreign) {
		for _, f := range []models.ProposalFilter{{}, {SkillName: set(new("secret"))}, {Status: set(new(models.ProposalStatusPending))}} {
			page, err := o.Proposals(t.Context(), f, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"ProposalsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.ProposalsOf(t.Context(), []ids.ID{f.skill}, models.ProposalList{Window: everything})
		requireEmptyPage(t, pages[f.skill], err)
		mine := nameSkill(t, o, "secret")
		pages, err = o.ProposalsOf(t.Context(), []ids.ID{mine}, models.ProposalList{Window: everything})
		requireEmptyPage(t, pages[mine], err)
	},
	"ProposalsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ProposalsByID, f.proposal) },
	"Proposal": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Proposal(t.Context(), f.proposal)
		requireCode(t, errs.NotFound, err)
	},
	"DecideProposal": func(t *testing.T, o store.Org, f foreign) {
		for _, approve := range []bool{true, false} {
			_, err := o.DecideProposal(t.Context(), f.proposal, approve)
			requireCode(t, errs.NotFound, err)
		}
	},
	"ApplyProposal": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.ApplyProposal(t.Context(), f.proposal, f.suite)
		requireCode(t, errs.NotFound, err)
	},
	"SpendCall": func(t *testing.T, o store.Org, _ foreign) { // theirs has been spent
		q, err := o.SpendCall(t.Context(), "secret", 1)
		require.NoError(t, err)
		require.True(t, q.Allowed)
	},
}

func init() { maps.Copy(tenancy, contributing) }

// nameSkill makes a skill that nothing but its name is known of.
func nameSkill(t *testing.T, org store.Org, name string) ids.ID {
	t.Helper()
	_, err := org.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, noon), Canonical: models.Canonical{
		Gradings: []models.GradingRecord{{GradingID: name, SessionID: name, SkillName: name, GradedAt: new(noon)}},
	}})
	require.NoError(t, err)
	s, err := org.Skill(t.Context(), models.SkillKey{Name: name})
	require.NoError(t, err)
	return s.ID
}

// contributed adds a bundle, signals and a proposal to an organization's objects.
func (w world) contributed(t *testing.T, org store.Org, f *foreign) {
	t.Helper()
	f.skill = nameSkill(t, org, "secret")
	f.bundle, _ = submit(t, org, newBundle(t, f.user, "secret", 1, "null"))
	_, err := org.AddSignals(t.Context(), crowdSignals("secret", 12, 4))
	require.NoError(t, err)
	require.NoError(t, org.Propose(t.Context()))
	page, err := org.Proposals(t.Context(), models.ProposalFilter{}, everything)
	require.NoError(t, err)
	f.proposal = page.Nodes[0].ID
	_, err = org.SpendCall(t.Context(), "secret", 1)
	require.NoError(t, err)
}

// The same verbs find what is the caller's own.
func TestOwnContributions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.objects(t, w.acme, w.owner)
	w.contributed(t, w.acme, &f)
	o := w.acme
	requireOne(t, o.BundlesByID, f.bundle)
	requireOne(t, o.BundleContents, f.bundle)
	requireOne(t, o.BundleSummariesOf, f.skill)
	requireOne(t, o.SignalsOf, f.skill)
	requireOne(t, o.ProposalsByID, f.proposal)
	bundles, err := o.BundlesOf(t.Context(), []ids.ID{f.user}, everything)
	require.NoError(t, err)
	require.Len(t, bundles[f.user].Nodes, 1)
	proposals, err := o.ProposalsOf(t.Context(), []ids.ID{f.skill}, models.ProposalList{Window: everything})
	require.NoError(t, err)
	require.Len(t, proposals[f.skill].Nodes, 1)
	require.Equal(t, f.skill, *proposals[f.skill].Nodes[0].SkillID)
	q, err := o.SpendCall(t.Context(), "secret", 1)
	require.NoError(t, err)
	require.False(t, q.Allowed)
}

// Contributors' hashes are the same on every server of a database.
func TestContributorHashOnReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replica := dbtest.Open(t, w.url, store.Options{MaxConns: 2})
	one, _ := submit(t, w.other, newBundle(t, w.owner.UserID, "pdf", 1, "null"))
	two, fresh := submit(t, replica.Org(w.other.ID(), w.stranger.UserID), newBundle(t, w.owner.UserID, "pdf", 1, "null"))
	require.False(t, fresh)
	require.Equal(t, one, two)
}

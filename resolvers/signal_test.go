package resolvers_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/models"
)

// signals of a skill in a week so long ago, of which so many tell of triggers and the rest of misses.
func signals(skill string, ago, n, triggered int) (out []*models.Signal) {
	for i := range n {
		out = append(out, &models.Signal{
			SourceKey: fmt.Sprint(skill, "/", ago, "/", i), SkillName: &skill, SignalType: "skill_session", UserCohort: new(fmt.Sprint(i % 4)),
			Hour: new(apitest.Noon.AddDate(0, 0, -7*ago)), Triggered: new(i < triggered), Missed: i >= triggered,
		})
	}
	return out
}

// From signals to proposals, and to what people make of them.
func TestProposals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	ctx := t.Context()
	_, err := s.Org().AddSignals(ctx, append(signals("pdf", 1, 20, 20), signals("pdf", 0, 20, 4)...))
	require.NoError(t, err)
	require.NoError(t, s.Org().Propose(ctx))

	res := s.REST(t, "viewer", http.MethodGet, "/api/v1/creator-signals/proposals", "").JSON(t)
	list := res["proposals"].([]any)
	require.Len(t, list, 2)
	byType := map[string]map[string]any{}
	for _, p := range list {
		p := p.(map[string]any)
		byType[p["proposal_type"].(string)] = p
		require.Equal(t, "pending", p["status"])
		at, err := time.Parse(time.RFC3339, p["created_at"].(string))
		require.NoError(t, err)
		require.WithinDuration(t, apitest.Noon, at, time.Minute)
	}
	wording := byType["wording_change"]
	require.Equal(t, map[string]any{
		"total_signals": 40.0, "triggered_count": 24.0, "missed_count": 16.0, "rate": 0.4,
		"interval": map[string]any{"low": 0.2634832568429192, "high": 0.5540410633965381},
		"weeks": []any{
			map[string]any{"week": "2026-11-02", "total_signals": 20.0, "triggered_count": 20.0, "missed_count": 0.0},
			map[string]any{"week": "2026-11-09", "total_signals": 20.0, "triggered_count": 4.0, "missed_count": 16.0},
		},
	}, wording["evidence"])
	require.Len(t, wording, 8, "the documented keys, and no other")
	require.Equal(t, 0.2, byType["investigate_regression"]["evidence"].(map[string]any)["rate"]) //nolint:testifylint // 4 of 20, to the bit

	const fields = `{ proposal { status skillName skill { name } decidedBy { email } decidedAt appliedBy { email } appliedAt versionId } }`
	id := map[string]any{"id": wording["id"]}
	got := s.Query(t, "member", "mutation($id: ID!) { approveProposal(id: $id) "+fields+" }", id)["approveProposal"].(map[string]any)["proposal"].(map[string]any)
	require.Equal(t, "APPROVED", got["status"])
	require.Equal(t, map[string]any{"email": "member@example.com"}, got["decidedBy"])
	require.NotNil(t, got["decidedAt"])
	require.Nil(t, got["appliedBy"])
	require.Nil(t, got["versionId"])
	require.Nil(t, got["skill"], "only signals name it")
	got = s.Query(t, "admin", "mutation($id: ID!) { rejectProposal(id: $id) "+fields+" }", id)["rejectProposal"].(map[string]any)["proposal"].(map[string]any)
	require.Equal(t, "REJECTED", got["status"])
	require.Equal(t, map[string]any{"email": "admin@example.com"}, got["decidedBy"])

	page := s.Query(t, "viewer", `{ proposals(filter: {status: REJECTED, skillName: "pdf"}) { totalCount nodes { id } } node(id: "`+wording["id"].(string)+`") { ... on Proposal { reason } } }`, nil)
	require.Equal(t, map[string]any{"totalCount": 1.0, "nodes": []any{map[string]any{"id": wording["id"]}}}, page["proposals"])
	require.NotNil(t, page["node"])
	require.Nil(t, s.Query(t, "stranger", `{ node(id: "`+wording["id"].(string)+`") { id } }`, nil)["node"])

	refused := s.GraphQL(t, "member", "mutation($id: ID!, $v: ID!) { applyProposal(id: $id, versionId: $v) "+fields+" }", map[string]any{"id": wording["id"], "v": wording["id"]})
	require.Contains(t, string(refused.Body), "The proposal is rejected: approve it before applying it")
}

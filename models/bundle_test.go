package models_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// bundle is one that has everything.
func bundle() map[string]any {
	var out map[string]any
	if err := json.Unmarshal([]byte(`{
		"schema_version": "1.2", "skill_name": "pdf", "contributor_id": "3b241101-e2bb-4255-8caf-4136c566a962", "created_at": "2026-11-14T10:00:00+02:00",
		"tool_version": "2.3.0", "agent_type": "cli", "sanitization_level": "aggressive",
		"positive_queries": [{"query": "Fill in the form", "invocation_type": "implicit", "source": "log"}],
		"eval_entries": [{"query": "Fill in the form", "should_trigger": true, "invocation_type": "implicit"}, {"query": "Bake a cake", "should_trigger": false}],
		"grading_summary": {"total_sessions": 40, "graded_sessions": 30.0, "average_pass_rate": 0.9, "expectation_count": 120},
		"evolution_summary": {"total_proposals": 3, "deployed_proposals": 2, "rolled_back_proposals": 1, "average_improvement": -0.1},
		"session_metrics": {"total_sessions": 41, "avg_assistant_turns": 4.5, "avg_tool_calls": 7, "avg_errors": 0.2, "top_tools": [{"tool": "read", "count": 90}]},
		"unmatched_queries": [{"query": "Sign it", "timestamp": "2026-11-13T00:00:00Z"}],
		"pending_proposals": [{"proposal_id": "p", "skill_name": "pdf", "action": "reword", "timestamp": "2026-11-13T00:00:00Z", "details": null}],
		"something": {"new": [1, 2.50, 12345678901234567890]}
	}`), &out); err != nil {
		panic(err)
	}
	return out
}

func submit(t *testing.T, b map[string]any) (*models.Submission, error) {
	t.Helper()
	raw, err := json.Marshal(b)
	require.NoError(t, err)
	return models.SubmitBundleInput{CreatorID: ids.New(ids.User, time.Now()), SkillName: "pdf", Bundle: raw}.Submission()
}

func TestSubmission(t *testing.T) {
	t.Parallel()
	s, err := submit(t, bundle())
	require.NoError(t, err)
	require.Equal(t, models.CommunityBundle{
		CreatorID: s.CreatorID, SkillName: "pdf", SchemaVersion: "1.2", AgentType: "cli", ToolVersion: new("2.3.0"), SanitizationLevel: "aggressive",
		PositiveQueryCount: 1, EvalEntryCount: 2, TotalSessions: 41, GradedSessions: new(30), AveragePassRate: new(0.9), DeployedProposals: new(2), RolledBackProposals: new(1),
	}, s.CommunityBundle)
	require.InDelta(t, 0.9, s.PassRate().Value, 1e-9)
	require.Equal(t, 30, s.PassRate().Count)

	// Everything is kept, as it was sent, but for who sent it.
	var kept map[string]any
	require.NoError(t, json.Unmarshal(s.Bundle, &kept))
	want := bundle()
	delete(want, "contributor_id")
	require.Equal(t, want, kept)
	require.NotContains(t, string(s.Bundle), "3b241101")

	least := bundle()
	for _, key := range []string{"skill_name", "tool_version", "grading_summary", "unmatched_queries", "pending_proposals", "something"} {
		delete(least, key)
	}
	least["evolution_summary"] = nil
	s, err = submit(t, least)
	require.NoError(t, err)
	require.Nil(t, s.GradedSessions)
	require.Nil(t, s.PassRate())
	require.Nil(t, s.DeployedProposals)
	require.Nil(t, s.ToolVersion)
}

// The digest is of what a bundle says, not of how it is written.
func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(raw string) string {
		s, err := models.SubmitBundleInput{SkillName: "pdf", Bundle: models.JSON(raw)}.Submission()
		require.NoError(t, err)
		return string(s.Digest)
	}
	const (
		head = `{"schema_version": "1.0", "created_at": "2026-11-14T10:00:00Z", "agent_type": "cli", "sanitization_level": "aggressive", `
		tail = `"eval_entries": [], "session_metrics": {"total_sessions": 1, "avg_assistant_turns": 1, "avg_tool_calls": 0, "avg_errors": 0, "top_tools": []}`
		who  = `"contributor_id": "3b241101-e2bb-4255-8caf-4136c566a962"`
		none = `"positive_queries": []`
	)
	one := digest(head + who + "," + none + "," + tail + "}")
	require.Equal(t, one, digest(head+none+"  ,\n"+tail+","+who+"}"))
	require.Equal(t, one, digest(head+none+","+tail+`,"contributor_\u0069d": "3b241101-e2bb-4255-8caf-4136c566a962"}`))
	require.NotEqual(t, one, digest(head+who+","+none+","+tail+`, "x": null}`))
	require.NotEqual(t, one, digest(head+`"contributor_id": "3b241101-e2bb-4255-8caf-4136c566a963",`+none+","+tail+"}"))
}

func TestSubmissionRefused(t *testing.T) {
	t.Parallel()
	at := func(b map[string]any, path string) map[string]any {
		for step := range strings.SplitSeq(path, ".") {
			switch v := b[step].(type) {
			case map[string]any:
				b = v
			case []any:
				b = v[0].(map[string]any)
			}
		}
		return b
	}
	long := strings.Repeat("é", 501)
	for _, c := range []struct {
		in, key string
		value   any // nil: leave it out
		path    string
		says    string
	}{
		{"", "schema_version", nil, "schema_version", "is required"},
		{"", "schema_version", "1.3", "schema_version", "must be one of 1.0, 1.1, 1.2"},
		{"", "schema_version", 1.0, "schema_version", "must be one of 1.0, 1.1, 1.2"},
		{"", "contributor_id", nil, "contributor_id", "is required"},
		{"", "contributor_id", "me", "contributor_id", "must be a UUID"},
		{"", "created_at", nil, "created_at", "is required"},
		{"", "created_at", "yesterday", "created_at", "must be a time in RFC 3339"},
		{"", "agent_type", nil, "agent_type", "is required"},
		{"", "agent_type", "", "agent_type", "must not be empty"},
		{"", "agent_type", 7, "agent_type", "must be a string"},
		{"", "agent_type", "a\x00b", "agent_type", "must not contain control characters"},
		{"", "tool_version", 7, "tool_version", "must be a string"},
		{"", "tool_version", strings.Repeat("x", 201), "tool_version", "must be at most 200 characters long"},
		{"", "skill_name", "docx", "skill_name", `must be the envelope's skill_name, "pdf"`},
		{"", "sanitization_level", nil, "sanitization_level", "is required"},
		{"", "sanitization_level", "none", "sanitization_level", "must be one of conservative, aggressive"},
		{"", "positive_queries", nil, "positive_queries", "is required"},
		{"", "positive_queries", make([]any, 1001), "positive_queries", "must have at most 1000 items"},
		{"", "positive_queries", map[string]any{}, "positive_queries", "must be a list"},
		{"", "eval_entries", make([]any, 501), "eval_entries", "must have at most 500 items"},
		{"", "eval_entries", []any{7}, "eval_entries.0", "must be an object"},
		{"", "session_metrics", nil, "session_metrics", "is required"},
		{"", "session_metrics", []any{}, "session_metrics", "must be an object"},
		{"", "grading_summary", 7, "grading_summary", "must be an object or null"},
		{"", "evolution_summary", []any{}, "evolution_summary", "must be an object or null"},
		{"positive_queries", "query", nil, "positive_queries.0.query", "is required"},
		{"positive_queries", "query", long, "positive_queries.0.query", "must be at most 500 characters long"},
		{"positive_queries", "source", nil, "positive_queries.0.source", "is required"},
		{"eval_entries", "should_trigger", nil, "eval_entries.0.should_trigger", "is required"},
		{"eval_entries", "should_trigger", "yes", "eval_entries.0.should_trigger", "must be true or false"},
		{"eval_entries", "query", long, "eval_entries.0.query", "must be at most 500 characters long"},
		{"grading_summary", "average_pass_rate", 1.5, "grading_summary.average_pass_rate", "must be at most 1"},
		{"grading_summary", "average_pass_rate", -0.5, "grading_summary.average_pass_rate", "must be at least 0"},
		{"grading_summary", "graded_sessions", 1.5, "grading_summary.graded_sessions", "must be a whole number"},
		{"grading_summary", "graded_sessions", nil, "grading_summary.graded_sessions", "is required"},
		{"grading_summary", "graded_sessions", 1e10, "grading_summary.graded_sessions", "must be at most 2147483647"},
		{"evolution_summary", "deployed_proposals", -1, "evolution_summary.deployed_proposals", "must be at least 0"},
		{"session_metrics", "total_sessions", "many", "session_metrics.total_sessions", "must be a whole number"},
		{"session_metrics.top_tools", "count", nil, "session_metrics.top_tools.0.count", "is required"},
		{"unmatched_queries", "timestamp", "then", "unmatched_queries.0.timestamp", "must be a time in RFC 3339"},
		{"unmatched_queries", "query", long, "unmatched_queries.0.query", "must be at most 500 characters long"},
		{"pending_proposals", "details", nil, "pending_proposals.0.details", "is required"},
	} {
		name := fmt.Sprint(c.in, ".", c.key, " ", c.says)
		b := bundle()
		if c.value == nil {
			delete(at(b, c.in), c.key)
		} else {
			at(b, c.in)[c.key] = c.value
		}
		_, err := submit(t, b)
		var e *errs.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, errs.Invalid, e.Code, name)
		require.Equal(t, "bundle."+c.path, strings.Join(e.Path, "."), name)
		require.Equal(t, c.says, e.Message, name)
	}

	// Of several problems always the same one is named.
	bad := bundle()
	delete(bad, "agent_type")
	bad["created_at"], bad["sanitization_level"] = 7, 7
	for range 20 {
		_, err := submit(t, bad)
		require.EqualError(t, err, "is required")
	}

	// What only 1.2 knows is anybody's in an older version.
	old := bundle()
	old["schema_version"], old["unmatched_queries"] = "1.1", "whatever"
	_, err := submit(t, old)
	require.NoError(t, err)

	large := bundle()
	large["something"] = strings.Repeat("x", 512<<10)
	_, err = submit(t, large)
	require.Equal(t, errs.TooLarge, errs.CodeOf(err))

	for _, raw := range []string{`[]`, `"x"`, `null`, `7`} {
		_, err := models.SubmitBundleInput{SkillName: "pdf", Bundle: models.JSON(raw)}.Submission()
		require.EqualError(t, err, "must be an object", raw)
	}
	_, err = models.SubmitBundleInput{SkillName: "a\nb", Bundle: models.JSON(`{}`)}.Submission()
	require.EqualError(t, err, "must not contain control characters")
}

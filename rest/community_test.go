package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
)

// submission is an envelope around a bundle in which one query, and a field that nobody knows, are the test's.
func submission(s *apitest.Server, query, unknown string) string {
	return fmt.Sprintf(`{"creator_id": %q, "skill_name": "pdf", "bundle": {
		"schema_version": "1.0", "contributor_id": "3b241101-e2bb-4255-8caf-4136c566a962", "created_at": "2026-11-14T10:00:00Z", "agent_type": "cli", "sanitization_level": "conservative",
		"positive_queries": [{"query": %s, "invocation_type": "implicit", "source": "log"}], "eval_entries": [],
		"session_metrics": {"total_sessions": 2, "avg_assistant_turns": 1, "avg_tool_calls": 0, "avg_errors": 0, "top_tools": []}, "unknown": %q}}`, s.Viewers["owner"].UserID, query, unknown)
}

func TestBundleSizes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	post := func(body string) apitest.Response {
		return s.REST(t, "member", http.MethodPost, "/api/v1/community/bundles", body)
	}
	const kib = 1 << 10
	require.Equal(t, http.StatusCreated, post(submission(s, `"q"`, strings.Repeat("x", 500*kib))).Status)
	res := post(submission(s, `"q"`, strings.Repeat("x", 520*kib)))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.Status)
	require.Contains(t, string(res.Body), "A bundle may have 512 KiB")
	res = post(submission(s, `"q"`, strings.Repeat("x", 601*kib)))
	require.Equal(t, http.StatusRequestEntityTooLarge, res.Status)
	require.Contains(t, string(res.Body), "the limit is 600 KiB")
}

// What is in a bundle comes out as it went in, whatever characters it has.
func TestBundleCharacters(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	res := s.REST(t, "member", http.MethodPost, "/api/v1/community/bundles", submission(s, `"a\u0000b <é> \ud83d\ude00"`, "x"))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	got := s.Query(t, "owner", `{ viewer { submissions { nodes { bundle } } } }`, nil)
	bundle := got["viewer"].(map[string]any)["submissions"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["bundle"].(map[string]any)
	require.Equal(t, "a\x00b <é> 😀", bundle["positive_queries"].([]any)[0].(map[string]any)["query"])
	require.Equal(t, "x", bundle["unknown"])
	require.NotContains(t, bundle, "contributor_id")
}

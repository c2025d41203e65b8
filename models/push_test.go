package models_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

func parsePush(canonical string) (*models.Push, error) {
	return models.PushTelemetryInput{SchemaVersion: "2.0", Canonical: models.JSON(canonical)}.ParsePush()
}

// full has one whole record of each kind, with fields that nobody knows.
const full = `{
	"sessions": [{"session_id": "s", "platform": "cli", "agent_type": "a", "model": "m", "provider": "p", "started_at": "2026-11-15T00:00:00Z", "ended_at": "2026-11-15T01:00:00+01:00", "completion_status": "done", "schema": 7}],
	"prompts": [{"prompt_id": "p", "session_id": "s", "occurred_at": "2026-11-15T00:00:00Z", "prompt_text": "t", "prompt_kind": "k", "is_actionable": true}],
	"skill_invocations": [{"skill_invocation_id": "i", "session_id": "s", "occurred_at": "2026-11-15T00:00:00Z", "skill_name": "pdf", "triggered": true, "confidence": 1, "invocation_mode": "repaired", "matched_prompt_id": "p", "skill_version_hash": "h"}],
	"execution_facts": [{"execution_fact_id": "f", "session_id": "s", "occurred_at": "2026-11-15T00:00:00Z", "total_tool_calls": 1, "assistant_turns": 2, "errors_encountered": 3, "input_tokens": 4, "output_tokens": 5, "duration_ms": 6}],
	"grading_results": [{"grading_id": "g", "session_id": "s", "skill_name": "pdf", "graded_at": "2026-11-15T00:00:00Z", "pass_rate": 0.5, "passed_count": 1, "failed_count": 1, "total_count": 2}],
	"improvement_signals": [{"signal_id": "n", "session_id": "s", "timestamp": "2026-11-15T00:00:00Z", "query": "q", "signal_type": "t", "mentioned_skill": "pdf"}],
	"normalization_runs": [], "evolution_evidence": [{"any": "thing"}], "orchestrate_runs": 7}`

func TestParsePushTakesEveryField(t *testing.T) {
	t.Parallel()
	p, err := parsePush(full)
	require.NoError(t, err)
	var want map[string][]map[string]any
	require.Error(t, json.Unmarshal([]byte(full), &want)) // orchestrate_runs; the others are decoded
	for kind, records := range map[string]any{
		"sessions": p.Sessions, "prompts": p.Prompts, "skill_invocations": p.Invocations,
		"execution_facts": p.Facts, "grading_results": p.Gradings, "improvement_signals": p.Signals,
	} {
		raw, err := json.Marshal(records)
		require.NoError(t, err)
		var got []map[string]any
		require.NoError(t, json.Unmarshal(raw, &got))
		delete(want[kind][0], "schema")
		require.Equal(t, want[kind], got, kind)
	}
	for _, empty := range []string{`{}`, `{"sessions": []}`, `{"sessions": null}`} {
		_, err = parsePush(empty)
		require.NoError(t, err)
	}
}

// change gives the full delivery with one field of one record replaced, or removed when the value is "".
func change(t *testing.T, kind, field, value string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(full), &all))
	var records []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(all[kind], &records))
	require.Contains(t, records[0], field)
	changed := map[string]json.RawMessage{}
	maps.Copy(changed, records[0])
	if changed[field] = json.RawMessage(value); value == "" {
		delete(changed, field)
	}
	list, err := json.Marshal([]any{records[0], changed})
	require.NoError(t, err)
	all[kind] = list
	out, err := json.Marshal(all)
	require.NoError(t, err)
	return string(out)
}

func refusal(t *testing.T, err error) (path, message string) {
	t.Helper()
	var e *errs.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, errs.Invalid, e.Code)
	return strings.Join(e.Path, "."), e.Message
}

func TestParsePushRules(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	const oneTo200, required, control = "must be a string of 1 to 200 bytes", "is required", "must not contain control characters"
	for _, c := range []struct{ kind, field, value, message string }{
		{"sessions", "session_id", "", required},
		{"sessions", "session_id", "null", required},
		{"sessions", "session_id", `""`, required},
		{"sessions", "session_id", long(200), ""},
		{"sessions", "session_id", long(201), oneTo200},
		{"sessions", "session_id", `"a\u0000b"`, oneTo200},
		{"sessions", "platform", long(500), ""},
		{"sessions", "platform", long(501), "must be at most 500 bytes long"},
		{"sessions", "agent_type", long(501), "must be at most 500 bytes long"},
		{"sessions", "model", long(501), "must be at most 500 bytes long"},
		{"sessions", "provider", long(501), "must be at most 500 bytes long"},
		{"sessions", "completion_status", long(501), "must be at most 500 bytes long"},
		{"sessions", "started_at", "null", ""},
		{"prompts", "prompt_id", "", required},
		{"prompts", "session_id", "", required},
		{"prompts", "occurred_at", "", required},
		{"prompts", "occurred_at", "null", required},
		{"prompts", "prompt_text", long(64 << 10), ""},
		{"prompts", "prompt_text", long(64<<10 + 1), "must be at most 64 KiB long"},
		{"prompts", "prompt_text", "", ""},
		{"prompts", "prompt_kind", long(501), "must be at most 500 bytes long"},
		{"skill_invocations", "skill_invocation_id", "", required},
		{"skill_invocations", "session_id", "", required},
		{"skill_invocations", "occurred_at", "", required},
		{"skill_invocations", "skill_name", "", required},
		{"skill_invocations", "skill_name", `" "`, "must not be empty"},
		{"skill_invocations", "skill_name", long(201), "must be at most 200 characters long"},
		{"skill_invocations", "skill_name", `"a\nb"`, control},
		{"skill_invocations", "skill_name", `"a\u0000b"`, control},
		{"skill_invocations", "triggered", "", required},
		{"skill_invocations", "confidence", "", ""},
		{"skill_invocations", "confidence", "0", ""},
		{"skill_invocations", "confidence", "-0.1", "must be between 0 and 1"},
		{"skill_invocations", "confidence", "1.1", "must be between 0 and 1"},
		{"skill_invocations", "invocation_mode", `"magic"`, "must be one of explicit, implicit, inferred, repaired"},
		{"skill_invocations", "invocation_mode", "", ""},
		{"skill_invocations", "matched_prompt_id", long(501), "must be at most 500 bytes long"},
		{"skill_invocations", "skill_version_hash", long(501), "must be at most 500 bytes long"},
		{"execution_facts", "execution_fact_id", "", required},
		{"execution_facts", "session_id", "", required},
		{"execution_facts", "occurred_at", "", required},
		{"execution_facts", "total_tool_calls", "-1", "must not be negative"},
		{"execution_facts", "assistant_turns", "-1", "must not be negative"},
		{"execution_facts", "errors_encountered", "-1", "must not be negative"},
		{"execution_facts", "input_tokens", "-1", "must not be negative"},
		{"execution_facts", "output_tokens", "-1", "must not be negative"},
		{"execution_facts", "duration_ms", "-1", "must not be negative"},
		{"execution_facts", "duration_ms", "9223372036854775807", ""},
		{"grading_results", "grading_id", "", required},
		{"grading_results", "session_id", "", required},
		{"grading_results", "skill_name", "", required},
		{"grading_results", "graded_at", "", required},
		{"grading_results", "pass_rate", "1.01", "must be between 0 and 1"},
		{"grading_results", "pass_rate", "-0.01", "must be between 0 and 1"},
		{"grading_results", "passed_count", "-1", "must not be negative"},
		{"grading_results", "failed_count", "-1", "must not be negative"},
		{"grading_results", "total_count", "-1", "must not be negative"},
		{"improvement_signals", "signal_id", "", required},
		{"improvement_signals", "session_id", "", required},
		{"improvement_signals", "timestamp", "", required},
		{"improvement_signals", "query", long(64<<10 + 1), "must be at most 64 KiB long"},
		{"improvement_signals", "signal_type", long(501), "must be at most 500 bytes long"},
		{"improvement_signals", "mentioned_skill", `""`, ""},
		{"improvement_signals", "mentioned_skill", `"a\tb"`, control},
	} {
		_, err := parsePush(change(t, c.kind, c.field, c.value))
		name := c.kind + "." + c.field + " = " + c.value[:min(len(c.value), 20)]
		if c.message == "" {
			require.NoError(t, err, name)
			continue
		}
		path, message := refusal(t, err)
		require.Equal(t, "canonical."+c.kind+".1."+c.field, path, name)
		require.Equal(t, c.message, message, name)
	}
}

func TestParsePushLocatesWrongTypes(t *testing.T) {
	t.Parallel()
	wrong := map[string][]string{
		"a string":           {"7", "true", "[]", "{}"},
		"true or false":      {"1", `"true"`, "[]"},
		"a number":           {`"1"`, "true", "{}"},
		"a whole number":     {`"1"`, "1.5", "1e99", "true"},
		"a time in RFC 3339": {"7", `"yesterday"`, `"2026-11-15"`, `"2026-13-01T00:00:00Z"`, "{}"},
	}
	fields := map[string]map[string]string{
		"sessions": {
			"session_id": "a string", "platform": "a string", "agent_type": "a string", "model": "a string", "provider": "a string",
			"started_at": "a time in RFC 3339", "ended_at": "a time in RFC 3339", "completion_status": "a string",
		},
		"prompts": {
			"prompt_id": "a string", "session_id": "a string", "occurred_at": "a time in RFC 3339", "prompt_text": "a string",
			"prompt_kind": "a string", "is_actionable": "true or false",
		},
		"skill_invocations": {
			"skill_invocation_id": "a string", "session_id": "a string", "occurred_at": "a time in RFC 3339", "skill_name": "a string", "triggered": "true or false",
			"confidence": "a number", "invocation_mode": "a string", "matched_prompt_id": "a string", "skill_version_hash": "a string",
		},
		"execution_facts": {
			"execution_fact_id": "a string", "session_id": "a string", "occurred_at": "a time in RFC 3339", "total_tool_calls": "a whole number", "assistant_turns": "a whole number",
			"errors_encountered": "a whole number", "input_tokens": "a whole number", "output_tokens": "a whole number", "duration_ms": "a whole number",
		},
		"grading_results": {
			"grading_id": "a string", "session_id": "a string", "skill_name": "a string", "graded_at": "a time in RFC 3339", "pass_rate": "a number",
			"passed_count": "a whole number", "failed_count": "a whole number", "total_count": "a whole number",
		},
		"improvement_signals": {
			"signal_id": "a string", "session_id": "a string", "timestamp": "a time in RFC 3339", "query": "a string", "signal_type": "a string", "mentioned_skill": "a string",
		},
	}
	for kind, types := range fields {
		for field, typ := range types {
			for _, value := range wrong[typ] {
				_, err := parsePush(change(t, kind, field, value))
				path, message := refusal(t, err)
				require.Equal(t, "canonical."+kind+".1."+field, path, value)
				require.Equal(t, "must be "+typ, message, "%s = %s", path, value)
			}
		}
		for value, message := range map[string]string{`{}`: "must be a list", `7`: "must be a list", `"x"`: "must be a list"} {
			_, err := parsePush(`{"` + kind + `": ` + value + `}`)
			path, got := refusal(t, err)
			require.Equal(t, "canonical."+kind, path)
			require.Equal(t, message, got)
		}
		_, err := parsePush(`{"` + kind + `": [7]}`)
		path, message := refusal(t, err)
		require.Equal(t, "canonical."+kind+".0", path)
		require.Equal(t, "must be an object", message)
		_, err = parsePush(`{"` + kind + `": [null]}`)
		path, message = refusal(t, err)
		require.Regexp(t, `^canonical\.`+kind+`\.0\.\w+_id$`, path)
		require.Equal(t, "is required", message)
	}
	for _, value := range []string{`[]`, `7`, `"x"`, `true`} {
		_, err := parsePush(value)
		path, message := refusal(t, err)
		require.Equal(t, "canonical", path)
		require.Equal(t, "must be an object", message)
	}
}

func TestParsePushSchemaVersion(t *testing.T) {
	t.Parallel()
	_, err := models.PushTelemetryInput{SchemaVersion: "1.0", Canonical: models.JSON(`{}`)}.ParsePush()
	path, message := refusal(t, err)
	require.Equal(t, "schemaVersion", path)
	require.Equal(t, `must be "2.0"`, message)
}

func TestParsePushCountsThatDoNotAddUp(t *testing.T) {
	t.Parallel()
	_, err := parsePush(`{"grading_results": [{"grading_id": "g", "session_id": "s", "skill_name": "pdf", "graded_at": "2026-11-15T00:00:00Z", "passed_count": 3, "total_count": 2}]}`)
	path, message := refusal(t, err)
	require.Equal(t, "canonical.grading_results.0.passed_count", path)
	require.Equal(t, "must not be more than total_count", message)
}

func TestParsePushReplacesNUL(t *testing.T) {
	t.Parallel()
	p, err := parsePush(change(t, "prompts", "prompt_text", `"a\u0000b"`))
	require.NoError(t, err)
	require.Equal(t, "a\uFFFDb", *p.Prompts[1].PromptText)
	p, err = parsePush(change(t, "sessions", "platform", `"\u0000"`))
	require.NoError(t, err)
	require.Equal(t, "\uFFFD", *p.Sessions[1].Platform)
}

func FuzzParsePush(f *testing.F) {
	f.Add(full)
	f.Add(`{"sessions": [{"session_id": 7}]}`)
	f.Add(`{"SESSIONS": [{"session_id": 7, "session_id": "a"}]}`)
	f.Fuzz(func(t *testing.T, canonical string) {
		if !json.Valid([]byte(canonical)) {
			return // the scalar takes valid JSON only
		}
		p, err := parsePush(canonical)
		var e *errs.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("not made for the caller: %v", err)
		}
		if err == nil && p == nil {
			t.Fatal("neither a push nor an error")
		}
	})
}

func TestGradingRate(t *testing.T) {
	t.Parallel()
	f, n := func(v float64) *float64 { return &v }, func(v int64) *int64 { return &v }
	for name, c := range map[string]struct {
		in   models.GradingRecord
		want *float64
	}{
		"nothing":              {models.GradingRecord{}, nil},
		"said outright":        {models.GradingRecord{PassRate: f(0.3), PassedCount: n(1), TotalCount: n(1)}, f(0.3)},
		"said to be zero":      {models.GradingRecord{PassRate: f(0)}, f(0)},
		"passed of total":      {models.GradingRecord{PassedCount: n(3), TotalCount: n(4)}, f(0.75)},
		"total wins":           {models.GradingRecord{PassedCount: n(1), FailedCount: n(1), TotalCount: n(4)}, f(0.25)},
		"passed and failed":    {models.GradingRecord{PassedCount: n(1), FailedCount: n(3)}, f(0.25)},
		"none passed":          {models.GradingRecord{PassedCount: n(0), TotalCount: n(4)}, f(0)},
		"of none":              {models.GradingRecord{PassedCount: n(0), TotalCount: n(0)}, nil},
		"neither of none":      {models.GradingRecord{PassedCount: n(0), FailedCount: n(0)}, nil},
		"passed alone":         {models.GradingRecord{PassedCount: n(3)}, nil},
		"total alone":          {models.GradingRecord{TotalCount: n(3)}, nil},
		"failed alone":         {models.GradingRecord{FailedCount: n(3)}, nil},
		"more than 64 bits":    {models.GradingRecord{PassedCount: n(math.MaxInt64), FailedCount: n(math.MaxInt64)}, f(0.5)},
		"failed of total only": {models.GradingRecord{FailedCount: n(1), TotalCount: n(4)}, nil},
	} {
		require.Equal(t, c.want, c.in.Rate(), name)
	}
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	h := models.NewHorizon(now, 400*24*time.Hour)
	at := func(d time.Duration) *time.Time { v := now.Add(d); return &v }
	require.True(t, h.Has(nil))
	require.True(t, h.Has(at(0)))
	require.True(t, h.Has(at(24*time.Hour)))
	require.False(t, h.Has(at(24*time.Hour+time.Nanosecond)))
	require.True(t, h.Has(at(-400*24*time.Hour)))
	require.False(t, h.Has(at(-400*24*time.Hour-time.Nanosecond)))
	require.False(t, h.Has(at(10*365*24*time.Hour)))
	require.False(t, h.Has(at(-10*365*24*time.Hour)))
	require.False(t, h.Has(&time.Time{}))
}

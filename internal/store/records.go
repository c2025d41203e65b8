package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// How each kind of record is stored. A copy that says more wins field by field; what a record is about and when it
// happened never changes.

// upsert composes the statement for a kind: the key and fixed columns are written once, the others filled in later.
// types are those of the arrays in the order fixed, then filled.
func upsert(table, key string, fixed, filled, types []string) string {
	columns := append(append([]string{}, fixed...), filled...)
	var arrays, set, was, is []string
	for i, t := range types {
		arrays = append(arrays, "$"+strconv.Itoa(i+2)+"::"+t+"[]")
	}
	for _, c := range filled {
		set = append(set, c+" = coalesce(excluded."+c+", t."+c+")")
		was = append(was, "t."+c)
		is = append(is, "coalesce(excluded."+c+", t."+c+")")
	}
	return "INSERT INTO " + table + " AS t (org_id, " + strings.Join(columns, ", ") + ") SELECT $1, r.* FROM unnest(" + strings.Join(arrays, ", ") + ") AS r" +
		" ON CONFLICT (org_id, " + key + ") DO UPDATE SET " + strings.Join(set, ", ") +
		" WHERE (" + strings.Join(was, ", ") + ") IS DISTINCT FROM (" + strings.Join(is, ", ") + ")"
}

// fold keeps one record a key, in the order of the first copies, later copies filling in what is not nil.
func fold[R any](records []R, keep func(*R) bool, key func(*R) string, fill func(dst, src *R)) (kept []*R, ignored int) {
	at := make(map[string]*R, len(records))
	kept = make([]*R, 0, len(records))
	for i := range records {
		r := &records[i]
		if !keep(r) {
			ignored++
			continue
		}
		if first, twice := at[key(r)]; twice {
			fill(first, r)
			continue
		}
		at[key(r)] = r
		kept = append(kept, r)
	}
	return kept, ignored
}

// prefer takes over what src says.
func prefer[T any](dst **T, src *T) {
	if src != nil {
		*dst = src
	}
}

// column gathers one field of all records.
func column[R, V any](records []*R, field func(*R) V) []V {
	out := make([]V, len(records))
	for i, r := range records {
		out[i] = field(r)
	}
	return out
}

var putSessions = upsert("sessions", "session_id",
	[]string{"session_id", "user_id", "received_at"},
	[]string{"platform", "agent_type", "model", "provider", "started_at", "ended_at", "completion_status"},
	[]string{"text", "uuid", "timestamptz", "text", "text", "text", "text", "timestamptz", "timestamptz", "text"})

func (w *writer) putSessions(ctx context.Context, c *models.Canonical) error {
	type R = models.SessionRecord
	kept, ignored := fold(c.Sessions, func(r *R) bool { return w.horizon.Has(r.StartedAt) && w.horizon.Has(r.EndedAt) },
		func(r *R) string { return r.SessionID },
		func(dst, src *R) {
			prefer(&dst.Platform, src.Platform)
			prefer(&dst.AgentType, src.AgentType)
			prefer(&dst.Model, src.Model)
			prefer(&dst.Provider, src.Provider)
			prefer(&dst.StartedAt, src.StartedAt)
			prefer(&dst.EndedAt, src.EndedAt)
			prefer(&dst.CompletionStatus, src.CompletionStatus)
		})
	now := w.now()
	for _, r := range kept {
		w.touch(r.SessionID)
	}
	return w.put(ctx, len(c.Sessions), ignored, len(kept), &w.receipt.Accepted.Sessions, putSessions,
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(*R) *ids.ID { return w.by() }),
		column(kept, func(*R) time.Time { return now }),
		column(kept, func(r *R) *string { return r.Platform }),
		column(kept, func(r *R) *string { return r.AgentType }),
		column(kept, func(r *R) *string { return r.Model }),
		column(kept, func(r *R) *string { return r.Provider }),
		column(kept, func(r *R) *time.Time { return r.StartedAt }),
		column(kept, func(r *R) *time.Time { return r.EndedAt }),
		column(kept, func(r *R) *string { return r.CompletionStatus }))
}

var putPrompts = upsert("prompts", "prompt_id",
	[]string{"prompt_id", "session_id", "occurred_at"}, []string{"prompt_text", "prompt_kind", "is_actionable"},
	[]string{"text", "text", "timestamptz", "text", "text", "boolean"})

func (w *writer) putPrompts(ctx context.Context, c *models.Canonical) error {
	type R = models.PromptRecord
	kept, ignored := fold(c.Prompts, func(r *R) bool { return w.horizon.Has(r.OccurredAt) },
		func(r *R) string { return r.PromptID },
		func(dst, src *R) {
			prefer(&dst.PromptText, src.PromptText)
			prefer(&dst.PromptKind, src.PromptKind)
			prefer(&dst.IsActionable, src.IsActionable)
		})
	for _, r := range kept {
		w.mention(r.SessionID)
	}
	return w.put(ctx, len(c.Prompts), ignored, len(kept), &w.receipt.Accepted.Prompts, putPrompts,
		column(kept, func(r *R) string { return r.PromptID }),
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(r *R) *time.Time { return r.OccurredAt }),
		column(kept, func(r *R) *string {
			if w.store.options.DropPromptText {
				return nil
			}
			return r.PromptText
		}),
		column(kept, func(r *R) *string { return r.PromptKind }),
		column(kept, func(r *R) *bool { return r.IsActionable }))
}

var putInvocations = upsert("invocations", "invocation_id",
	[]string{"invocation_id", "session_id", "skill_id", "occurred_at"},
	[]string{"triggered", "confidence", "invocation_mode", "matched_prompt_id", "version_hash"},
	[]string{"text", "text", "uuid", "timestamptz", "boolean", "double precision", "text", "text", "text"})

func (w *writer) putInvocations(ctx context.Context, c *models.Canonical) error {
	type R = models.InvocationRecord
	kept, ignored := fold(c.Invocations, func(r *R) bool { return w.horizon.Has(r.OccurredAt) },
		func(r *R) string { return r.InvocationID },
		func(dst, src *R) {
			prefer(&dst.Triggered, src.Triggered)
			prefer(&dst.Confidence, src.Confidence)
			prefer(&dst.InvocationMode, src.InvocationMode)
			prefer(&dst.MatchedPromptID, src.MatchedPromptID)
			prefer(&dst.VersionHash, src.VersionHash)
		})
	for _, r := range kept {
		w.touch(r.SessionID)
	}
	return w.put(ctx, len(c.Invocations), ignored, len(kept), &w.receipt.Accepted.SkillInvocations, putInvocations,
		column(kept, func(r *R) string { return r.InvocationID }),
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(r *R) ids.ID { return w.skills[r.SkillName] }),
		column(kept, func(r *R) *time.Time { return r.OccurredAt }),
		column(kept, func(r *R) *bool { return r.Triggered }),
		column(kept, func(r *R) *float64 { return r.Confidence }),
		column(kept, func(r *R) *string { return r.InvocationMode }),
		column(kept, func(r *R) *string { return r.MatchedPromptID }),
		column(kept, func(r *R) *string { return r.VersionHash }))
}

var putFacts = upsert("execution_facts", "fact_id",
	[]string{"fact_id", "session_id", "occurred_at"},
	[]string{"total_tool_calls", "assistant_turns", "errors_encountered", "input_tokens", "output_tokens", "duration_ms"},
	[]string{"text", "text", "timestamptz", "bigint", "bigint", "bigint", "bigint", "bigint", "bigint"})

func (w *writer) putFacts(ctx context.Context, c *models.Canonical) error {
	type R = models.FactRecord
	kept, ignored := fold(c.Facts, func(r *R) bool { return w.horizon.Has(r.OccurredAt) },
		func(r *R) string { return r.FactID },
		func(dst, src *R) {
			prefer(&dst.TotalToolCalls, src.TotalToolCalls)
			prefer(&dst.AssistantTurns, src.AssistantTurns)
			prefer(&dst.ErrorsEncountered, src.ErrorsEncountered)
			prefer(&dst.InputTokens, src.InputTokens)
			prefer(&dst.OutputTokens, src.OutputTokens)
			prefer(&dst.DurationMs, src.DurationMs)
		})
	return w.put(ctx, len(c.Facts), ignored, len(kept), &w.receipt.Accepted.ExecutionFacts, putFacts,
		column(kept, func(r *R) string { return r.FactID }),
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(r *R) *time.Time { return r.OccurredAt }),
		column(kept, func(r *R) *int64 { return r.TotalToolCalls }),
		column(kept, func(r *R) *int64 { return r.AssistantTurns }),
		column(kept, func(r *R) *int64 { return r.ErrorsEncountered }),
		column(kept, func(r *R) *int64 { return r.InputTokens }),
		column(kept, func(r *R) *int64 { return r.OutputTokens }),
		column(kept, func(r *R) *int64 { return r.DurationMs }))
}

var putGradings = upsert("gradings", "grading_id",
	[]string{"grading_id", "session_id", "skill_id", "graded_at"}, []string{"rate"},
	[]string{"text", "text", "uuid", "timestamptz", "double precision"})

func (w *writer) putGradings(ctx context.Context, c *models.Canonical) error {
	type R = models.GradingRecord
	kept, ignored := fold(c.Gradings, func(r *R) bool { return w.horizon.Has(r.GradedAt) },
		func(r *R) string { return r.GradingID },
		func(dst, src *R) { // a rate is made of several fields, so a copy that has one replaces them all
			if src.Rate() != nil {
				dst.PassRate = src.Rate()
			}
		})
	for _, r := range kept {
		w.touch(r.SessionID)
	}
	return w.put(ctx, len(c.Gradings), ignored, len(kept), &w.receipt.Accepted.GradingResults, putGradings,
		column(kept, func(r *R) string { return r.GradingID }),
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(r *R) ids.ID { return w.skills[r.SkillName] }),
		column(kept, func(r *R) *time.Time { return r.GradedAt }),
		column(kept, func(r *R) *float64 { return r.Rate() }))
}

var putSignals = upsert("improvement_signals", "signal_id",
	[]string{"signal_id", "session_id", "occurred_at"}, []string{"query", "signal_type", "skill_id"},
	[]string{"text", "text", "timestamptz", "text", "text", "uuid"})

func (w *writer) putSignals(ctx context.Context, c *models.Canonical) error {
	type R = models.SignalRecord
	kept, ignored := fold(c.Signals, func(r *R) bool { return w.horizon.Has(r.OccurredAt) },
		func(r *R) string { return r.SignalID },
		func(dst, src *R) {
			prefer(&dst.Query, src.Query)
			prefer(&dst.SignalType, src.SignalType)
			prefer(&dst.MentionedSkill, src.MentionedSkill)
		})
	for _, r := range kept {
		w.mention(r.SessionID)
	}
	return w.put(ctx, len(c.Signals), ignored, len(kept), &w.receipt.Accepted.ImprovementSignals, putSignals,
		column(kept, func(r *R) string { return r.SignalID }),
		column(kept, func(r *R) string { return r.SessionID }),
		column(kept, func(r *R) *time.Time { return r.OccurredAt }),
		column(kept, func(r *R) *string {
			if w.store.options.DropPromptText {
				return nil
			}
			return r.Query
		}),
		column(kept, func(r *R) *string { return r.SignalType }),
		column(kept, func(r *R) *ids.ID {
			if r.MentionedSkill == nil || *r.MentionedSkill == "" {
				return nil
			}
			id := w.skills[*r.MentionedSkill]
			return &id
		}))
}

package models

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Push is one delivery of telemetry: an envelope around typed records.
type Push struct {
	ID ids.ID
	Canonical
}

// Canonical are the records that count. Other arrays and unknown fields are accepted and ignored.
type Canonical struct {
	Sessions    []SessionRecord    `json:"sessions"`
	Prompts     []PromptRecord     `json:"prompts"`
	Invocations []InvocationRecord `json:"skill_invocations"`
	Facts       []FactRecord       `json:"execution_facts"`
	Gradings    []GradingRecord    `json:"grading_results"`
	Signals     []SignalRecord     `json:"improvement_signals"`
}

// The records, with the natural key of each first. A nil field says nothing.
type (
	// SessionRecord is a conversation with an agent.
	SessionRecord struct {
		SessionID        string     `json:"session_id"`
		Platform         *string    `json:"platform"`
		AgentType        *string    `json:"agent_type"`
		Model            *string    `json:"model"`
		Provider         *string    `json:"provider"`
		StartedAt        *time.Time `json:"started_at"`
		EndedAt          *time.Time `json:"ended_at"`
		CompletionStatus *string    `json:"completion_status"`
	}
	// PromptRecord is something a person said.
	PromptRecord struct {
		PromptID     string     `json:"prompt_id"`
		SessionID    string     `json:"session_id"`
		OccurredAt   *time.Time `json:"occurred_at"`
		PromptText   *string    `json:"prompt_text"`
		PromptKind   *string    `json:"prompt_kind"`
		IsActionable *bool      `json:"is_actionable"`
	}
	// InvocationRecord is a skill that was seen: it fired, or it might have.
	InvocationRecord struct {
		InvocationID    string     `json:"skill_invocation_id"`
		SessionID       string     `json:"session_id"`
		OccurredAt      *time.Time `json:"occurred_at"`
		SkillName       string     `json:"skill_name"`
		Triggered       *bool      `json:"triggered"`
		Confidence      *float64   `json:"confidence"`
		InvocationMode  *string    `json:"invocation_mode"`
		MatchedPromptID *string    `json:"matched_prompt_id"`
		VersionHash     *string    `json:"skill_version_hash"`
	}
	// FactRecord is what a stretch of work cost.
	FactRecord struct {
		FactID            string     `json:"execution_fact_id"`
		SessionID         string     `json:"session_id"`
		OccurredAt        *time.Time `json:"occurred_at"`
		TotalToolCalls    *int64     `json:"total_tool_calls"`
		AssistantTurns    *int64     `json:"assistant_turns"`
		ErrorsEncountered *int64     `json:"errors_encountered"`
		InputTokens       *int64     `json:"input_tokens"`
		OutputTokens      *int64     `json:"output_tokens"`
		DurationMs        *int64     `json:"duration_ms"`
	}
	// GradingRecord is how well a skill did in a session.
	GradingRecord struct {
		GradingID   string     `json:"grading_id"`
		SessionID   string     `json:"session_id"`
		SkillName   string     `json:"skill_name"`
		GradedAt    *time.Time `json:"graded_at"`
		PassRate    *float64   `json:"pass_rate"`
		PassedCount *int64     `json:"passed_count"`
		FailedCount *int64     `json:"failed_count"`
		TotalCount  *int64     `json:"total_count"`
	}
	// SignalRecord is a hint that a skill should have fired.
	SignalRecord struct {
		SignalID       string     `json:"signal_id"`
		SessionID      string     `json:"session_id"`
		OccurredAt     *time.Time `json:"timestamp"`
		Query          *string    `json:"query"`
		SignalType     *string    `json:"signal_type"`
		MentionedSkill *string    `json:"mentioned_skill"`
	}
)

// Rate is the share that passed: said outright, or counted; nil when it was not graded after all.
func (g GradingRecord) Rate() *float64 {
	if g.PassRate != nil {
		return g.PassRate
	}
	if g.PassedCount == nil {
		return nil
	}
	var total float64
	switch passed := float64(*g.PassedCount); {
	case g.TotalCount != nil:
		total = float64(*g.TotalCount)
	case g.FailedCount != nil:
		total = passed + float64(*g.FailedCount)
	}
	if total == 0 {
		return nil
	}
	rate := float64(*g.PassedCount) / total
	return &rate
}

// PushSchemaVersion is the version of the envelope that we read.
const PushSchemaVersion = "2.0"

// ParsePush reads and checks an envelope. One bad record refuses all of it, with its path.
func (in PushTelemetryInput) ParsePush() (*Push, error) {
	if in.SchemaVersion != PushSchemaVersion {
		return nil, errs.At("schemaVersion").Because("must be %q", PushSchemaVersion)
	}
	if _, commas := measureJSON(in.Canonical); commas > maxPushValues {
		return nil, errs.New(errs.TooLarge, "A push may have %d values in its records: send these in several", maxPushValues)
	}
	p := &Push{ID: in.PushID}
	if err := json.Unmarshal(in.Canonical, &p.Canonical); err != nil {
		return nil, locate(in.Canonical)
	}
	return p, errs.Within(p.Validate(), "canonical")
}

// locate finds the field that could not be decoded: slowly, since that is rare.
func locate(raw JSON) error {
	at := errs.At("canonical")
	arrays := rawFields(json.RawMessage(raw))
	if arrays == nil {
		return at.Because("must be an object")
	}
	t := reflect.TypeFor[Canonical]()
	for field := range t.Fields() {
		name := field.Tag.Get("json")
		var items []json.RawMessage
		if list, there := arrays[name]; there && json.Unmarshal(list, &items) != nil {
			return at.At(name).Because("must be a list")
		}
		for n, item := range items {
			if err := locateField(at.At(name, n), field.Type.Elem(), item); err != nil {
				return err
			}
		}
	}
	return at.Because("is not usable")
}

func locateField(at errs.Path, record reflect.Type, item json.RawMessage) error {
	values := rawFields(item)
	if values == nil {
		return at.Because("must be an object")
	}
	for f := range record.Fields() {
		name := f.Tag.Get("json")
		if v, there := values[name]; there && json.Unmarshal(v, reflect.New(f.Type).Interface()) != nil {
			return at.At(name).Because("must be %s", kindName(f.Type))
		}
	}
	return nil
}

func kindName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() { //nolint:exhaustive // these are the kinds that records have
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Int64:
		return "a whole number"
	}
	return "a time in RFC 3339"
}

// maxPushValues bounds what decoding may cost: the shortest records are a hundred times larger in memory than in JSON.
// It is enough for some 70,000 records of every field.
const maxPushValues = 1_000_000

const (
	maxRecordID   = 200
	maxPromptText = 64 << 10
	maxWord       = 500
)

// InvocationModes are the ways in which a skill comes to be invoked.
var InvocationModes = []string{"explicit", "implicit", "inferred", "repaired"}

// Validate is the rule for every record; it names the first that breaks it. It also replaces what PostgreSQL cannot store.
func (c *Canonical) Validate() error {
	for i := range c.Sessions {
		r := &c.Sessions[i]
		k := recordCheck{at: []any{"sessions", i}}
		k.id("session_id", r.SessionID)
		k.words("platform", r.Platform, "agent_type", r.AgentType, "model", r.Model, "provider", r.Provider, "completion_status", r.CompletionStatus)
		if k.err != nil {
			return k.err
		}
	}
	for i := range c.Prompts {
		r := &c.Prompts[i]
		k := recordCheck{at: []any{"prompts", i}}
		k.id("prompt_id", r.PromptID).id("session_id", r.SessionID).need("occurred_at", r.OccurredAt != nil)
		k.words("prompt_kind", r.PromptKind)
		k.long("prompt_text", r.PromptText)
		if k.err != nil {
			return k.err
		}
	}
	for i := range c.Invocations {
		r := &c.Invocations[i]
		k := recordCheck{at: []any{"skill_invocations", i}}
		k.id("skill_invocation_id", r.InvocationID).id("session_id", r.SessionID).need("occurred_at", r.OccurredAt != nil)
		k.skill("skill_name", r.SkillName).need("triggered", r.Triggered != nil)
		k.fraction("confidence", r.Confidence).words("matched_prompt_id", r.MatchedPromptID, "skill_version_hash", r.VersionHash)
		k.oneOf("invocation_mode", r.InvocationMode, InvocationModes...)
		if k.err != nil {
			return k.err
		}
	}
	for i := range c.Facts {
		r := &c.Facts[i]
		k := recordCheck{at: []any{"execution_facts", i}}
		k.id("execution_fact_id", r.FactID).id("session_id", r.SessionID).need("occurred_at", r.OccurredAt != nil)
		k.counts("total_tool_calls", r.TotalToolCalls, "assistant_turns", r.AssistantTurns, "errors_encountered", r.ErrorsEncountered,
			"input_tokens", r.InputTokens, "output_tokens", r.OutputTokens, "duration_ms", r.DurationMs)
		if k.err != nil {
			return k.err
		}
	}
	for i := range c.Gradings {
		r := &c.Gradings[i]
		k := recordCheck{at: []any{"grading_results", i}}
		k.id("grading_id", r.GradingID).id("session_id", r.SessionID).skill("skill_name", r.SkillName).need("graded_at", r.GradedAt != nil)
		k.fraction("pass_rate", r.PassRate).counts("passed_count", r.PassedCount, "failed_count", r.FailedCount, "total_count", r.TotalCount)
		if rate := r.Rate(); k.err == nil && rate != nil && *rate > 1 {
			k.refuse("passed_count", "must not be more than total_count")
		}
		if k.err != nil {
			return k.err
		}
	}
	for i := range c.Signals {
		r := &c.Signals[i]
		k := recordCheck{at: []any{"improvement_signals", i}}
		k.id("signal_id", r.SignalID).id("session_id", r.SessionID).need("timestamp", r.OccurredAt != nil)
		k.long("query", r.Query).words("signal_type", r.SignalType)
		if r.MentionedSkill != nil && *r.MentionedSkill != "" {
			k.skill("mentioned_skill", *r.MentionedSkill)
		}
		if k.err != nil {
			return k.err
		}
	}
	return nil
}

// recordCheck checks the fields of one record and remembers the first that is wrong.
type recordCheck struct {
	at  []any
	err error
}

func (k *recordCheck) refuse(field, format string, args ...any) {
	if k.err == nil {
		k.err = errs.At(k.at...).At(field).Because(format, args...)
	}
}

func (k *recordCheck) need(field string, there bool) {
	if !there {
		k.refuse(field, "is required")
	}
}

func (k *recordCheck) id(field, v string) *recordCheck {
	k.need(field, v != "")
	if len(v) > maxRecordID || strings.ContainsRune(v, 0) {
		k.refuse(field, "must be a string of 1 to %d bytes", maxRecordID)
	}
	return k
}

func (k *recordCheck) skill(field, v string) *recordCheck {
	k.need(field, v != "")
	if err := checkText(errs.At(k.at...).At(field), v, 1, 200); err != nil && k.err == nil {
		k.err = err
	}
	return k
}

// words checks short texts, given as field and value in turn.
func (k *recordCheck) words(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(*string); v != nil {
			if len(*v) > maxWord {
				k.refuse(pairs[i].(string), "must be at most %d bytes long", maxWord)
			}
			clean(v)
		}
	}
}

func (k *recordCheck) long(field string, v *string) *recordCheck {
	if v == nil {
		return k
	}
	if len(*v) > maxPromptText {
		k.refuse(field, "must be at most %d KiB long", maxPromptText>>10)
	}
	clean(v)
	return k
}

func (k *recordCheck) fraction(field string, v *float64) *recordCheck {
	if v != nil && (*v < 0 || *v > 1) {
		k.refuse(field, "must be between 0 and 1")
	}
	return k
}

func (k *recordCheck) counts(pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		if v := pairs[i+1].(*int64); v != nil && *v < 0 {
			k.refuse(pairs[i].(string), "must not be negative")
		}
	}
}

func (k *recordCheck) oneOf(field string, v *string, allowed ...string) {
	if v == nil {
		return
	}
	if slices.Contains(allowed, *v) {
		return
	}
	k.refuse(field, "must be one of %s", strings.Join(allowed, ", "))
}

// clean replaces NUL, which PostgreSQL has no place for: a prompt that was pasted from a binary is still a prompt.
func clean(s *string) {
	if strings.ContainsRune(*s, 0) {
		*s = strings.ReplaceAll(*s, "\x00", string(utf8.RuneError))
	}
}

// Horizon is the time that records may lie in; what lies outside is ignored.
type Horizon struct{ From, Until time.Time }

// NewHorizon goes from the retention to a day ahead, for clocks that are a little off.
func NewHorizon(now time.Time, retention time.Duration) Horizon {
	return Horizon{now.Add(-retention), now.Add(24 * time.Hour)}
}

// Has reports whether a time counts; a record without a time does.
func (h Horizon) Has(t *time.Time) bool {
	return t == nil || !t.Before(h.From) && !t.After(h.Until)
}

// Add adds the counts of other records.
func (c *PushCounts) Add(other *PushCounts) {
	c.Sessions += other.Sessions
	c.Prompts += other.Prompts
	c.SkillInvocations += other.SkillInvocations
	c.ExecutionFacts += other.ExecutionFacts
	c.GradingResults += other.GradingResults
	c.ImprovementSignals += other.ImprovementSignals
}

// NewPush is the answer to a delivery that is being stored.
func NewPush(id ids.ID) *PushTelemetryPayload {
	return &PushTelemetryPayload{Status: "accepted", PushID: id, IsNew: true, Accepted: &PushCounts{}}
}

// RepeatedPush is the answer to a delivery that was stored before.
func RepeatedPush(id ids.ID) *PushTelemetryPayload {
	return &PushTelemetryPayload{Status: "accepted", PushID: id, Duplicate: new(true), Accepted: &PushCounts{}}
}

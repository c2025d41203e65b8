// Package otlp takes OpenTelemetry logs as telemetry, so that an agent which has nothing but an OpenTelemetry exporter
// needs no client of ours: an event that a skill was activated is a session and an invocation.
package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"

	"skillgraph/models"
)

// eventSuffix is how the name of the one event ends that says something about a skill.
const eventSuffix = ".skill_activated"

// Records turns an export into telemetry. What is not the activation of a skill, or does not say of which one and in
// which session, is counted as rejected.
func Records(in *logs.LogsData) (out models.Canonical, rejected int) {
	sessions := map[string]bool{}
	for _, resource := range in.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				a := attributes{record.GetAttributes(), scope.GetScope().GetAttributes(), resource.GetResource().GetAttributes()}
				session, invocation, ok := activation(record, a)
				if !ok {
					rejected++
					continue
				}
				out.Invocations = append(out.Invocations, invocation)
				if !sessions[session.SessionID] {
					sessions[session.SessionID] = true
					out.Sessions = append(out.Sessions, session)
				}
			}
		}
	}
	return out, rejected
}

// activation reads one log record.
func activation(r *logs.LogRecord, a attributes) (s models.SessionRecord, i models.InvocationRecord, ok bool) {
	if !slices.ContainsFunc([]string{r.GetEventName(), a.text("event.name"), text(r.GetBody())}, func(name string) bool { return strings.HasSuffix(name, eventSuffix) }) {
		return s, i, false
	}
	at, fired := moment(r, a), true
	s = models.SessionRecord{SessionID: a.text("session.id", "session_id"), Platform: word(a.text("service.name"))}
	i = models.InvocationRecord{
		SessionID: s.SessionID, SkillName: a.text("skill.name", "skill_name"), OccurredAt: at, Triggered: &fired,
		InvocationMode: mode(a.text("invocation_trigger", "invocation_mode")),
	}
	if at == nil {
		return s, i, false
	}
	i.InvocationID = naturalKey(s.SessionID, "at", strconv.FormatInt(at.UnixNano(), 10), i.SkillName)
	if n := a.text("event.sequence"); n != "" {
		i.InvocationID = naturalKey(s.SessionID, "sequence", n)
	}
	one := models.Canonical{Sessions: []models.SessionRecord{s}, Invocations: []models.InvocationRecord{i}}
	return s, i, one.Validate() == nil
}

// moment is when the record happened, was observed, or says that it happened; nil when nobody knows.
func moment(r *logs.LogRecord, a attributes) *time.Time {
	for _, nano := range []uint64{r.GetTimeUnixNano(), r.GetObservedTimeUnixNano()} {
		if nano > 0 {
			t := time.Unix(int64(nano/1e9), int64(nano%1e9)).UTC() //nolint:gosec // both are below 2^63
			return &t
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, a.text("event.timestamp")); err == nil {
		return &t
	}
	return nil
}

// mode is how the skill was invoked, where it is one of the words that telemetry has for that.
func mode(s string) *string {
	if s = strings.ToLower(s); slices.Contains(models.InvocationModes, s) {
		return &s
	}
	return nil
}

func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// naturalKey makes an id of bounded length from what makes an invocation itself.
func naturalKey(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(strconv.Quote(p)))
	}
	return "otlp-" + hex.EncodeToString(h.Sum(nil)[:16])
}

// attributes are those of a record, its scope and its resource, the nearest first.
type attributes [3][]*common.KeyValue

// text is the first attribute that has one of the names and a value.
func (a attributes) text(names ...string) string {
	for _, level := range a {
		for _, name := range names {
			for _, kv := range level {
				if s := text(kv.GetValue()); kv.GetKey() == name && s != "" {
					return s
				}
			}
		}
	}
	return ""
}

// text is a string, or a whole number as one.
func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	}
	return ""
}

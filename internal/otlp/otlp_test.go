package otlp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"skillgraph/internal/apitest"
	"skillgraph/internal/otlp"
	"skillgraph/models"
)

var at = uint64(apitest.Noon.Add(-time.Hour).UnixNano())

func word(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func number(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

// attrs makes attributes from names and values in turn; a value is a string or an int.
func attrs(pairs ...any) []*common.KeyValue {
	var out []*common.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		kv := &common.KeyValue{Key: pairs[i].(string)}
		switch v := pairs[i+1].(type) {
		case string:
			kv.Value = word(v)
		case int:
			kv.Value = number(int64(v))
		}
		out = append(out, kv)
	}
	return out
}

// activated is a record that says it all.
func activated(session, skill string, sequence int) *logs.LogRecord {
	return &logs.LogRecord{TimeUnixNano: at, EventName: "agent.skill_activated", Attributes: attrs("session.id", session, "skill.name", skill, "event.sequence", sequence)}
}

func export(service string, records ...*logs.LogRecord) *logs.LogsData {
	return &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: attrs("service.name", service)}, ScopeLogs: []*logs.ScopeLogs{{LogRecords: records}},
	}}}
}

func TestRecordsTakesEverySpelling(t *testing.T) {
	t.Parallel()
	yes, cli, explicit, when := true, "cli", "explicit", apitest.Noon.Add(-time.Hour)
	for name, r := range map[string]*logs.LogRecord{
		"event name":          {TimeUnixNano: at, EventName: "agent.skill_activated", Attributes: attrs("session.id", "s", "skill.name", "pdf", "invocation_trigger", "explicit")},
		"attribute":           {TimeUnixNano: at, Attributes: attrs("event.name", "agent.skill_activated", "session_id", "s", "skill_name", "pdf", "invocation_mode", "Explicit")},
		"body":                {TimeUnixNano: at, Body: word("agent.skill_activated"), Attributes: attrs("session.id", "s", "skill_name", "pdf", "invocation_mode", "explicit")},
		"short attribute":     {TimeUnixNano: at, Body: word("agent.skill_activated"), Attributes: attrs("event.name", "skill_activated", "session.id", "s", "skill.name", "pdf", "invocation_mode", "explicit")},
		"observed time":       {ObservedTimeUnixNano: at, EventName: "x.skill_activated", Attributes: attrs("session.id", "s", "skill.name", "pdf", "invocation_mode", "explicit")},
		"time in a attribute": {EventName: "x.skill_activated", Attributes: attrs("event.timestamp", "2026-11-15T11:00:00.000Z", "session.id", "s", "skill.name", "pdf", "invocation_mode", "explicit")},
	} {
		got, rejected := otlp.Records(export("cli", r))
		require.Zero(t, rejected, name)
		require.Equal(t, []models.SessionRecord{{SessionID: "s", Platform: &cli}}, got.Sessions, name)
		require.Len(t, got.Invocations, 1)
		i := got.Invocations[0]
		require.Regexp(t, "^otlp-[0-9a-f]{32}$", i.InvocationID)
		i.InvocationID = ""
		require.Equal(t, models.InvocationRecord{SessionID: "s", SkillName: "pdf", OccurredAt: &when, Triggered: &yes, InvocationMode: &explicit}, i, name)
	}
}

func TestRecordsRejects(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 201)
	for name, r := range map[string]*logs.LogRecord{
		"nothing":          {},
		"nil":              nil,
		"another event":    {TimeUnixNano: at, EventName: "agent.user_prompt", Attributes: attrs("session.id", "s", "skill.name", "pdf")},
		"no dot":           {TimeUnixNano: at, EventName: "skill_activated", Attributes: attrs("session.id", "s", "skill.name", "pdf")},
		"no skill":         {TimeUnixNano: at, EventName: "a.skill_activated", Attributes: attrs("session.id", "s")},
		"no session":       {TimeUnixNano: at, EventName: "a.skill_activated", Attributes: attrs("skill.name", "pdf")},
		"no time":          {EventName: "a.skill_activated", Attributes: attrs("session.id", "s", "skill.name", "pdf", "event.sequence", 1)},
		"a long session":   activated(long, "pdf", 1),
		"a long skill":     activated("s", long, 1),
		"a control":        activated("s", "a\nb", 1),
		"NUL in a session": activated("a\x00", "pdf", 1),
		"a list":           {TimeUnixNano: at, EventName: "a.skill_activated", Attributes: []*common.KeyValue{{Key: "session.id", Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{}}}, {Key: "skill.name"}, nil}},
	} {
		got, rejected := otlp.Records(export("cli", r, activated("s", "pdf", 7)))
		require.Equal(t, 1, rejected, name)
		require.Len(t, got.Invocations, 1, name)
	}
	_, rejected := otlp.Records(&logs.LogsData{ResourceLogs: []*logs.ResourceLogs{nil, {ScopeLogs: []*logs.ScopeLogs{nil}}}})
	require.Zero(t, rejected)
}

// The session may be told once, on the resource or the scope; the nearest counts.
func TestRecordsInherits(t *testing.T) {
	t.Parallel()
	bare := &logs.LogRecord{TimeUnixNano: at, EventName: "a.skill_activated", Attributes: attrs("skill.name", "pdf")}
	in := &logs.LogsData{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: attrs("session.id", "of the resource")},
		ScopeLogs: []*logs.ScopeLogs{
			{LogRecords: []*logs.LogRecord{bare, activated("of the record", "pdf", 1)}},
			{Scope: &common.InstrumentationScope{Attributes: attrs("session.id", 42)}, LogRecords: []*logs.LogRecord{bare}},
		},
	}}}
	got, rejected := otlp.Records(in)
	require.Zero(t, rejected)
	require.Equal(t, []models.SessionRecord{{SessionID: "of the resource"}, {SessionID: "of the record"}, {SessionID: "42"}}, got.Sessions)
}

func TestRecordsNaturalKey(t *testing.T) {
	t.Parallel()
	key := func(r *logs.LogRecord) string {
		got, rejected := otlp.Records(export("cli", r))
		require.Zero(t, rejected)
		return got.Invocations[0].InvocationID
	}
	later := activated("s", "docx", 1)
	later.TimeUnixNano++
	require.Equal(t, key(activated("s", "pdf", 1)), key(later), "session and sequence are the key")
	require.NotEqual(t, key(activated("s", "pdf", 1)), key(activated("s", "pdf", 2)))
	require.NotEqual(t, key(activated("s", "pdf", 1)), key(activated("t", "pdf", 1)))

	without := func(session, skill string, nano uint64) string {
		return key(&logs.LogRecord{TimeUnixNano: nano, EventName: "a.skill_activated", Attributes: attrs("session.id", session, "skill.name", skill)})
	}
	same := without("s", "pdf", at)
	require.Equal(t, same, without("s", "pdf", at), "else session, time and skill")
	require.NotEqual(t, without("s", "pdf", at), without("s", "pdf", at+1))
	require.NotEqual(t, without("s", "pdf", at), without("s", "docx", at))
	require.NotEqual(t, without("s", "pdf", at), without("t", "pdf", at))
}

func FuzzRecords(f *testing.F) {
	in := export("cli", activated("s", "pdf", 1), &logs.LogRecord{Body: word("a.skill_activated")})
	packed, err := proto.Marshal(in)
	require.NoError(f, err)
	text, err := protojson.Marshal(in)
	require.NoError(f, err)
	f.Add(packed)
	f.Add(text)
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"18446744073709551615","eventName":".skill_activated","attributes":[{"key":"session.id","value":{"intValue":"-1"}},{"key":"skill.name","value":{"stringValue":"x"}}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, unmarshal := range []func([]byte, proto.Message) error{proto.Unmarshal, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal} {
			var in logs.LogsData
			if unmarshal(body, &in) != nil {
				continue
			}
			n := 0
			for _, r := range in.GetResourceLogs() {
				for _, s := range r.GetScopeLogs() {
					n += len(s.GetLogRecords())
				}
			}
			got, rejected := otlp.Records(&in)
			require.NoError(t, got.Validate(), "what is not rejected can be stored")
			require.Equal(t, n, rejected+len(got.Invocations))
			require.LessOrEqual(t, len(got.Sessions), len(got.Invocations))
		}
	})
}

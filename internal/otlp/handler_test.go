package otlp_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func header(mediaType string) http.Header { return http.Header{"Content-Type": {mediaType}} }

func sessions(t *testing.T, s *apitest.Server, skill string) any {
	t.Helper()
	return s.Query(t, "owner", `query($name: String!) { skill(name: $name) { uniqueSessions } }`, map[string]any{"name": skill})["skill"].(map[string]any)["uniqueSessions"]
}

// partial reads an ExportLogsServiceResponse field by field.
func partial(t *testing.T, body []byte) (rejected uint64, message string) {
	t.Helper()
	num, typ, n := protowire.ConsumeTag(body)
	require.Equal(t, protowire.Number(1), num)
	require.Equal(t, protowire.BytesType, typ)
	inner, m := protowire.ConsumeBytes(body[n:])
	require.Len(t, body, n+m)
	for len(inner) > 0 {
		num, _, n = protowire.ConsumeTag(inner)
		inner = inner[n:]
		if num == 1 {
			rejected, n = protowire.ConsumeVarint(inner)
		} else {
			require.Equal(t, protowire.Number(2), num)
			message, n = protowire.ConsumeString(inner)
		}
		require.Positive(t, n)
		inner = inner[n:]
	}
	return rejected, message
}

func TestExportProtobuf(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	body, err := proto.Marshal(export("my-agent", activated("a", "pdf", 1), activated("a", "pdf", 2), activated("b", "pdf", 1)))
	require.NoError(t, err)
	for range 2 { // an export that is sent again counts once
		res := s.Do(t, "member", http.MethodPost, "/v1/logs", header("application/x-protobuf"), body)
		require.Equal(t, http.StatusOK, res.Status, string(res.Body))
		require.Equal(t, "application/x-protobuf", res.Header.Get("Content-Type"))
		require.Empty(t, res.Body, "nothing was rejected")
	}
	require.EqualValues(t, 2, sessions(t, s, "pdf"))
	data := s.Query(t, "owner", `{ skill(name: "pdf") { triggerRate breakdown(by: PLATFORM) { value sessions } } }`, nil)
	require.Equal(t, map[string]any{"triggerRate": 1.0, "breakdown": []any{map[string]any{"value": "my-agent", "sessions": 2.0}}}, data["skill"])

	// The same records in another batch count once too; what is not about a skill, or ten years off, is rejected.
	old := activated("c", "pdf", 1)
	old.TimeUnixNano -= 10 * 365 * 24 * 3600 * 1e9
	body, err = proto.Marshal(export("my-agent", activated("a", "pdf", 1), &logs.LogRecord{EventName: "agent.user_prompt"}, old))
	require.NoError(t, err)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err = z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	h := header("application/x-protobuf")
	h.Set("Content-Encoding", "gzip")
	res := s.Do(t, "member", http.MethodPost, "/v1/logs", h, packed.Bytes())
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	rejected, message := partial(t, res.Body)
	require.EqualValues(t, 2, rejected)
	require.Contains(t, message, "Ignored 2 log records")
	require.EqualValues(t, 2, sessions(t, s, "pdf"))
}

// exportJSON is what an exporter in a browser or a script sends: ids in hexadecimal, 64-bit integers as strings or
// numbers, enums as numbers, fields that nobody knows.
const exportJSON = `{"resourceLogs": [{
  "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "my-agent"}}, {"key": "session.id", "value": {"stringValue": "a"}}]},
  "scopeLogs": [{"scope": {"name": "agent"}, "schemaUrl": "x", "logRecords": [
    {"timeUnixNano": "1794736800000000000", "severityNumber": 9, "severityText": "INFO", "body": {"stringValue": "agent.skill_activated"}, "newField": {"a": [1]},
     "attributes": [{"key": "skill_name", "value": {"stringValue": "pdf"}}, {"key": "event.sequence", "value": {"intValue": "12"}}],
     "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "flags": 1},
    {"timeUnixNano": 1794736800000000001, "eventName": "agent.skill_activated",
     "attributes": [{"key": "skill.name", "value": {"stringValue": "pdf"}}, {"key": "event.sequence", "value": {"intValue": 13}}, {"key": "session_id", "value": {"stringValue": "b"}}]},
    {"timeUnixNano": "1794736800000000000", "body": {"kvlistValue": {"values": []}}}]}]}]}`

func TestExportJSON(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	res := s.Do(t, "member", http.MethodPost, "/v1/logs", header("application/json; charset=utf-8"), []byte(exportJSON))
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	require.JSONEq(t, `{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "Ignored 1 log records: they are not the activation of a skill in a session, or too old"}}`, string(res.Body))
	require.EqualValues(t, 2, sessions(t, s, "pdf"))
	res = s.Do(t, "member", http.MethodPost, "/v1/logs", header("application/json"), []byte(`{}`))
	require.Equal(t, http.StatusOK, res.Status)
	require.JSONEq(t, `{}`, string(res.Body))
}

func TestExportRefuses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	body, err := proto.Marshal(export("my-agent", activated("a", "pdf", 1)))
	require.NoError(t, err)
	const protobuf = "application/x-protobuf"
	for name, c := range map[string]struct {
		who, mediaType string
		body           []byte
		status         int
		says           string
	}{
		"no key":          {"", protobuf, body, http.StatusUnauthorized, "UNAUTHENTICATED"},
		"no permission":   {"viewer", protobuf, body, http.StatusForbidden, "telemetry:write"},
		"another one":     {"installer", protobuf, body, http.StatusForbidden, "telemetry:write"},
		"cut off":         {"member", protobuf, body[:len(body)-1], http.StatusBadRequest, "not an ExportLogsServiceRequest"},
		"not JSON":        {"member", "application/json", body, http.StatusBadRequest, "not an ExportLogsServiceRequest"},
		"not an export":   {"member", "application/json", []byte(`{"resourceLogs": 7}`), http.StatusBadRequest, "not an ExportLogsServiceRequest"},
		"no body in JSON": {"member", "application/json", nil, http.StatusBadRequest, "not an ExportLogsServiceRequest"},
		"another type":    {"member", "text/plain", body, http.StatusUnsupportedMediaType, "application/x-protobuf"},
		"too large":       {"member", protobuf, make([]byte, 32<<20+1), http.StatusRequestEntityTooLarge, "32768 KiB"},
	} {
		res := s.Do(t, c.who, http.MethodPost, "/v1/logs", header(c.mediaType), c.body)
		require.Equal(t, c.status, res.Status, "%s: %s", name, res.Body)
		require.Contains(t, string(res.Body), c.says, name)
	}
	res := s.Do(t, "member", http.MethodGet, "/v1/logs", nil, nil)
	require.Equal(t, http.StatusMethodNotAllowed, res.Status)
	res = s.GraphQL(t, "owner", `{ skills { totalCount } }`, nil)
	require.JSONEq(t, `{"data": {"skills": {"totalCount": 0}}}`, string(res.Body), "nothing of it was stored")
}

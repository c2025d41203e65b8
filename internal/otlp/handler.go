package otlp

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
	"skillgraph/rest"
)

// maxBody bounds an export; packed with gzip it may have twice that inside.
const maxBody = 32 << 20

// operation is the stored operation that takes telemetry in: it has the permission and the rules.
const operation = "PushTelemetry"

// Runner runs a stored operation for a request.
type Runner func(r *http.Request, operation string, vars map[string]any) (body []byte, err error)

// encoding is one of the two ways that OTLP over HTTP spells its messages. The request has the same fields as LogsData,
// and the response is small enough to write by hand; the package that has both would bring gRPC along.
type encoding struct {
	unmarshal func([]byte, proto.Message) error
	marshal   func(rejected int) []byte
}

var encodings = map[string]encoding{
	"application/json":       {protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal, answerJSON},
	"application/x-protobuf": {proto.Unmarshal, answerProtobuf},
}

// explain says why records were rejected.
func explain(rejected int) string {
	return fmt.Sprintf("Ignored %d log records: they are not the activation of a skill in a session, or too old", rejected)
}

// answerJSON is an ExportLogsServiceResponse, with integers of 64 bits as strings.
func answerJSON(rejected int) []byte {
	if rejected == 0 {
		return []byte("{}")
	}
	b, _ := json.Marshal(map[string]any{"partialSuccess": map[string]string{"rejectedLogRecords": strconv.Itoa(rejected), "errorMessage": explain(rejected)}})
	return b
}

// answerProtobuf is an ExportLogsServiceResponse: in field 1 the partial success, in its field 1 the number, in its field
// 2 the message.
func answerProtobuf(rejected int) []byte {
	if rejected == 0 {
		return nil
	}
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(rejected)) //nolint:gosec // it is not negative
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), explain(rejected))
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

// Handler takes an export of logs.
func Handler(run Runner) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		mediaType, answer, err := export(w, r, run)
		if err != nil {
			rest.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(answer)
	}
}

// export stores the records of a request and encodes the answer as the request was.
func export(w http.ResponseWriter, r *http.Request, run Runner) (mediaType string, answer []byte, err error) {
	mediaType, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type"))
	enc, ok := encodings[mediaType]
	if !ok {
		return "", nil, errs.New(errs.BadMediaType, "Send logs as application/x-protobuf or application/json, not %q", mediaType)
	}
	raw, err := rest.ReadBody(w, r, maxBody)
	if err != nil {
		return "", nil, err
	}
	var in logs.LogsData
	if enc.unmarshal(raw, &in) != nil {
		return "", nil, errs.At().Because("the body is not an ExportLogsServiceRequest in %s", mediaType)
	}
	records, rejected := Records(&in)
	// The same bytes have the same id: an export that is sent again counts once.
	ignored, err := push(r, run, ids.Derive(ids.Push, raw), &records)
	return mediaType, enc.marshal(rejected + ignored), err
}

// push stores records and says how many of them were too old or too far ahead.
func push(r *http.Request, run Runner, id ids.ID, records *models.Canonical) (ignored int, err error) {
	canonical, err := json.Marshal(records)
	if err != nil {
		return 0, err
	}
	body, err := run(r, operation, map[string]any{"schema_version": models.PushSchemaVersion, "push_id": id.String(), "canonical": json.RawMessage(canonical)})
	if err != nil {
		return 0, err
	}
	var receipt struct{ Ignored int }
	err = json.Unmarshal(body, &receipt)
	return receipt.Ignored, err
}

package graph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/answer"
	"skillgraph/internal/errs"
)

const (
	maxBody = 256 << 10

	typeJSON     = "application/json"
	typeResponse = "application/graphql-response+json"
)

// overHTTP is GraphQL over HTTP after the specification of that name: POST, and GET for queries. What goes on comes as
// server-sent events.
type overHTTP struct{ *Streams }

// Supports takes what no other transport has taken.
func (overHTTP) Supports(*http.Request) bool { return true }

// Do runs one operation.
func (t overHTTP) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	defer func() {
		if v := recover(); v != nil { // in a resolver it would have been caught there
			Deny(w, r, recovered(r.Context(), v))
		}
	}()
	accept := r.Header.Get("Accept")
	media, ok := negotiate(accept)
	streams := acceptsEvents(accept)
	if !ok {
		media = typeJSON
	}
	if !ok && !streams {
		writeRefusal(w, media, http.StatusNotAcceptable, errs.New(errs.BadMediaType, "The answer can be %s, %s or %s", typeResponse, typeJSON, typeEvents))
		return
	}
	params, status, err := readParams(w, r)
	if err != nil {
		writeRefusal(w, media, status, err)
		return
	}
	ctx := r.Context()
	op, list := exec.CreateOperationContext(ctx, params)
	if list != nil && !ok {
		t.sendEvents(ctx, w, r, exec, op, list)
		return
	}
	if list != nil {
		status := http.StatusOK // what the older media type promises for every well-formed request
		if media == typeResponse || params.Query == "" && errs.CodeOf(list[0].Err) != errs.UnknownQuery || isMissingOperation(list) {
			status = http.StatusBadRequest
		}
		write(w, media, status, exec.DispatchError(graphql.WithOperationContext(ctx, op), list))
		return
	}
	stream := streams && op.Operation.Operation == ast.Subscription
	if r.Method == http.MethodGet && op.Operation.Operation != ast.Query && !stream {
		w.Header().Set("Allow", http.MethodPost)
		writeRefusal(w, media, http.StatusMethodNotAllowed, errs.New(errs.BadMethod, "GET runs queries only: send this %s by POST", op.Operation.Operation))
		return
	}
	if stream || !ok { // a client that takes either has queries answered at once
		t.sendEvents(ctx, w, r, exec, op, nil)
		return
	}
	ctx, out := answer.With(ctx, onlyData)
	defer out.Free()
	respond, ctx := exec.DispatchOperation(ctx, op)
	resp := respond(ctx)
	if resp != nil && len(resp.Errors) == 0 && out.Ends(resp.Data) {
		send(w, media, http.StatusOK, append(out.B, "}\n"...))
		return
	}
	write(w, media, http.StatusOK, resp)
}

// onlyData begins an answer that has no errors.
const onlyData = `{"data":`

func isMissingOperation(list gqlerror.List) bool {
	return len(list) == 1 && strings.HasPrefix(list[0].Message, "no operation provided")
}

// readParams reads the request of either method; the status is for when it fails.
func readParams(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, int, *errs.Error) {
	p := &graphql.RawParams{Headers: r.Header, ReadTime: graphql.TraceTiming{Start: graphql.Now()}}
	var err *errs.Error
	switch r.Method {
	case http.MethodGet:
		err = fromQuery(r, p)
	case http.MethodPost:
		if mt, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); mt != typeJSON {
			return nil, http.StatusUnsupportedMediaType, errs.New(errs.BadMediaType, "Send the operation as %s", typeJSON)
		}
		body, readErr := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var large *http.MaxBytesError
		if errors.As(readErr, &large) {
			return nil, http.StatusRequestEntityTooLarge, errs.New(errs.TooLarge, "A GraphQL request may have %d KiB", maxBody>>10)
		}
		err = fromBody(body, p)
	default:
		w.Header().Set("Allow", "GET, POST")
		return nil, http.StatusMethodNotAllowed, errs.New(errs.BadMethod, "Use GET or POST")
	}
	p.ReadTime.End = graphql.Now()
	return p, http.StatusBadRequest, err
}

func fromQuery(r *http.Request, p *graphql.RawParams) *errs.Error {
	if len(r.URL.RawQuery) > maxBody {
		return errs.New(errs.TooLarge, "A GraphQL request may have %d KiB", maxBody>>10)
	}
	q := r.URL.Query()
	p.Query, p.OperationName = q.Get("query"), q.Get("operationName")
	if s := q.Get("variables"); s != "" {
		if err := decodeMap([]byte(s), "variables", &p.Variables); err != nil {
			return err
		}
	}
	if s := q.Get("extensions"); s != "" {
		if err := decodeMap([]byte(s), "extensions", &p.Extensions); err != nil {
			return err
		}
	}
	name(p, cmp.Or(q.Get(documentID), q.Get("id")))
	return nil
}

// name notes the stored document that a client means.
func name(p *graphql.RawParams, document string) {
	delete(p.Extensions, documentID)
	if document != "" {
		if p.Extensions == nil {
			p.Extensions = map[string]any{}
		}
		p.Extensions[documentID] = document
	}
}

func fromBody(body []byte, p *graphql.RawParams) *errs.Error {
	var raw map[string]json.RawMessage
	if json.Unmarshal(body, &raw) != nil || raw == nil {
		return errs.New(errs.Invalid, `The body must be a JSON object: {"query": "…", "variables": {…}}`)
	}
	for name, dst := range map[string]*string{"query": &p.Query, "operationName": &p.OperationName} {
		if v, ok := raw[name]; ok && json.Unmarshal(v, dst) != nil {
			return errs.At(name).Because("%s must be a string", name)
		}
	}
	for name, dst := range map[string]*map[string]any{"variables": &p.Variables, "extensions": &p.Extensions} {
		if v, ok := raw[name]; ok {
			if err := decodeMap(v, name, dst); err != nil {
				return err
			}
		}
	}
	var id, document string
	_, _ = json.Unmarshal(raw["id"], &id), json.Unmarshal(raw[documentID], &document) // anything else is none of ours
	name(p, cmp.Or(document, id))
	return nil
}

// decodeMap decodes an object and gives numbers the Go type that their declared type expects, so that a number where
// a string belongs is an error and a 64-bit id stays whole.
func decodeMap(raw []byte, name string, dst *map[string]any) *errs.Error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return errs.At(name).Because("%s must be an object", name)
	}
	v, ok := numbers(v)
	m, isMap := v.(map[string]any)
	switch {
	case !ok:
		return errs.At(name).Because("%s has a number that is too large", name)
	case v != nil && !isMap:
		return errs.At(name).Because("%s must be an object", name)
	}
	*dst = m
	return nil
}

func numbers(v any) (_ any, ok bool) {
	ok = true
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, true
		}
		f, err := v.Float64()
		return f, err == nil && !math.IsInf(f, 0)
	case []any:
		for i := range v {
			if v[i], ok = numbers(v[i]); !ok {
				return v, false
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], ok = numbers(v[k]); !ok {
				return v, false
			}
		}
	}
	return v, ok
}

// negotiate picks the media type of the answer; clients from before the specification want plain JSON.
func negotiate(accept string) (string, bool) {
	if strings.TrimSpace(accept) == "" {
		return typeJSON, true
	}
	best, bestQ := "", 0.0
	for part := range strings.SplitSeq(accept, ",") {
		mt, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q := 1.0
		if s, ok := params["q"]; ok {
			q, _ = strconv.ParseFloat(s, 64)
		}
		if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
			continue
		}
		switch mt {
		case "*/*", "application/*":
			mt = typeJSON
		case typeJSON, typeResponse:
		default:
			continue
		}
		if q > bestQ {
			best, bestQ = mt, q
		}
	}
	return best, best != ""
}

// write sends an answer without decoding the data again.
func write(w http.ResponseWriter, mediaType string, status int, resp *graphql.Response) {
	send(w, mediaType, status, append(encode(resp), '\n'))
}

func send(w http.ResponseWriter, mediaType string, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType+"; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func encode(resp *graphql.Response) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	if resp == nil { // the client has gone
		resp = &graphql.Response{}
	}
	if len(resp.Errors) > 0 {
		b.WriteString(`"errors":`)
		list := json.NewEncoder(&b)
		list.SetEscapeHTML(false) // people read them
		_ = list.Encode(resp.Errors)
		b.Truncate(b.Len() - 1) // the line break
	}
	if resp.Data != nil {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"data":`)
		b.Write(resp.Data)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func writeRefusal(w http.ResponseWriter, mediaType string, status int, e *errs.Error) {
	write(w, mediaType, status, &graphql.Response{Errors: gqlerror.List{withCode(&gqlerror.Error{}, e, e.Path)}})
}

// Deny answers a request that does not get as far as an operation.
func Deny(w http.ResponseWriter, r *http.Request, err error) {
	var status int
	switch errs.CodeOf(err) {
	case errs.Unauthenticated:
		status = http.StatusUnauthorized
	case errs.Unavailable, errs.Timeout:
		w.Header().Set("Retry-After", "5")
		status = http.StatusServiceUnavailable
	default:
		status = http.StatusInternalServerError
	}
	write(w, typeJSON, status, &graphql.Response{Errors: gqlerror.List{present(r.Context(), err)}})
}

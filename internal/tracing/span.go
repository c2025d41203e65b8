package tracing

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span is something under way. It may be nil: then nobody wants to know.
type Span struct {
	span   trace.Span
	into   metric.Float64Histogram // nil: it is only traced
	start  time.Time
	labels []attribute.KeyValue // of the measurement: few values each, or a collector drowns
}

// traceparent is how traces cross processes.
var traceparent propagation.TraceContext

func (t *instruments) begin(ctx context.Context, name string, kind trace.SpanKind, start time.Time, into metric.Float64Histogram, labels ...attribute.KeyValue) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(start), trace.WithAttributes(labels...))
	return ctx, &Span{span, into, start, labels}
}

// Request begins a request, as a part of the trace that the client says it belongs to.
func Request(ctx context.Context, header http.Header, method string) (context.Context, *Span) {
	t := active.Load()
	if t == nil {
		return ctx, nil
	}
	ctx = traceparent.Extract(ctx, propagation.HeaderCarrier(header))
	return t.begin(ctx, method, trace.SpanKindServer, time.Now(), t.request, attribute.String("http.request.method", method))
}

// Answered ends a request. Its route, unlike its path, holds nothing of the client's.
func (s *Span) Answered(ctx context.Context, method, route string, status int) {
	if s == nil {
		return
	}
	if route != "" {
		s.span.SetName(method + " " + route)
		s.label(attribute.String("http.route", route))
	}
	s.label(attribute.Int("http.response.status_code", status))
	s.End(ctx, failure(status, http.StatusInternalServerError)) // what the client did wrong is no failure of ours
}

// Operation begins an operation, which started when it was received. Label is a name of ours, name is the client's.
func Operation(ctx context.Context, start time.Time, label, kind, name string) (context.Context, *Span) {
	t := active.Load()
	if t == nil {
		return ctx, nil
	}
	if start.IsZero() {
		start = time.Now()
	}
	ctx, s := t.begin(ctx, label, trace.SpanKindInternal, start, t.operation, attribute.String("skillgraph.operation", label))
	s.span.SetAttributes(attribute.String("graphql.operation.type", kind), attribute.String("graphql.operation.name", name))
	return ctx, s
}

// Batch begins the reading of an edge for many parents.
func Batch(ctx context.Context, edge string, keys int) (context.Context, *Span) {
	t := active.Load()
	if t == nil {
		return ctx, nil
	}
	return t.begin(ctx, "batch "+edge, trace.SpanKindInternal, time.Now(), nil, attribute.String("skillgraph.edge", edge), attribute.Int("skillgraph.keys", keys))
}

type statementKey struct{}

// Statement begins a statement; EndStatement finds it in the context. Values in the text are left out, unless it is constant.
// Statements that belong to no trace, such as those with which servers look for jobs, are only measured.
func Statement(ctx context.Context, text string, constant bool) context.Context {
	t := active.Load()
	if t == nil {
		return ctx
	}
	verb := verb(text)
	label := attribute.String("db.operation.name", verb)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return context.WithValue(ctx, statementKey{}, &Span{trace.SpanFromContext(ctx), t.statement, time.Now(), []attribute.KeyValue{label}})
	}
	ctx, s := t.begin(ctx, verb, trace.SpanKindClient, time.Now(), t.statement, label, attribute.String("db.system.name", "postgresql"))
	if s.span.IsRecording() {
		if !constant {
			text = mask(text)
		}
		s.span.SetAttributes(attribute.String("db.query.text", text))
	}
	return context.WithValue(ctx, statementKey{}, s)
}

// EndStatement ends the statement that the context belongs to. Of an error only its code is told: its text may hold values.
func EndStatement(ctx context.Context, code string) {
	if !On() {
		return
	}
	if s, ok := ctx.Value(statementKey{}).(*Span); ok {
		s.End(ctx, code)
	}
}

// Job begins an attempt at a job.
func Job(ctx context.Context, kind string, attempt int) (context.Context, *Span) {
	t := active.Load()
	if t == nil {
		return ctx, nil
	}
	ctx, s := t.begin(ctx, "job "+kind, trace.SpanKindConsumer, time.Now(), t.job, attribute.String("skillgraph.job.kind", kind))
	s.span.SetAttributes(attribute.Int("skillgraph.job.attempt", attempt))
	return ctx, s
}

// Call begins a call that leaves the process. The host may be a user's choice, so it is no label.
func Call(ctx context.Context, method, host string) (context.Context, *Span) {
	t := active.Load()
	if t == nil {
		return ctx, nil
	}
	ctx, s := t.begin(ctx, method, trace.SpanKindClient, time.Now(), t.call, attribute.String("http.request.method", method))
	s.span.SetAttributes(attribute.String("server.address", host))
	return ctx, s
}

// Returned ends a call that was answered.
func (s *Span) Returned(ctx context.Context, status int) {
	if s == nil {
		return
	}
	s.label(attribute.Int("http.response.status_code", status))
	s.End(ctx, failure(status, http.StatusBadRequest))
}

// Inject tells another server which trace it is part of.
func Inject(ctx context.Context, header http.Header) {
	if On() {
		traceparent.Inject(ctx, propagation.HeaderCarrier(header))
	}
}

// End ends a span. What failed is a code, "" when nothing did.
func (s *Span) End(ctx context.Context, failed string) {
	if s == nil {
		return
	}
	if failed != "" {
		s.span.SetStatus(codes.Error, "")
		s.label(attribute.String("error.type", failed))
	}
	end := time.Now()
	if s.into != nil {
		s.into.Record(ctx, end.Sub(s.start).Seconds(), metric.WithAttributes(s.labels...))
	}
	s.span.End(trace.WithTimestamp(end))
}

// EndErr ends a span of what may fail. The text of the error may hold values, so it is not told.
func (s *Span) EndErr(ctx context.Context, err error) {
	if err != nil {
		s.End(ctx, "error")
		return
	}
	s.End(ctx, "")
}

func (s *Span) label(a attribute.KeyValue) {
	s.span.SetAttributes(a)
	s.labels = append(s.labels, a)
}

// failure is the name of a status that is one.
func failure(status, from int) string {
	if status < from {
		return ""
	}
	return strconv.Itoa(status)
}

// verb is the first word of a statement, after its comments.
func verb(text string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(words[0], "--") {
			return strings.ToUpper(strings.Trim(words[0], "();"))
		}
	}
	return "EMPTY"
}

// tokens of SQL: literals, names in quotes, words and numbers. Strings are written with standard_conforming_strings.
var tokens = regexp.MustCompile(`'(?:[^']|'')*'|"(?:[^"]|"")*"|[\pL\pN_$.]+`)

// mask leaves the values out of a statement that was written with them.
func mask(text string) string {
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		c := strings.TrimPrefix(token, ".") // .5 is a number, and .id is a column
		if c != "" && (c[0] == '\'' || c[0] >= '0' && c[0] <= '9') || strings.EqualFold(token, "true") || strings.EqualFold(token, "false") {
			return "?"
		}
		return token
	})
}

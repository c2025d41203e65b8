package graph

import (
	"context"
	"errors"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"

	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/tracing"
)

// Metrics counts and traces operations, and counts the errors in their answers.
type Metrics struct {
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
}

// NewMetrics registers the figures.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skillgraph_operation_seconds", Help: "Duration of operations, by REST operation, or query or mutation of a GraphQL client.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "skillgraph_errors_total", Help: "Errors in answers, by code.",
		}, []string{"code"}),
	}
	reg.MustRegister(m.duration, m.errors)
	return m
}

// ExtensionName and Validate make it an extension.
func (*Metrics) ExtensionName() string { return "Metrics" }

// Validate has nothing to check.
func (*Metrics) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse sees every answer, also that to an operation which was refused.
func (m *Metrics) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	ctx, span := traced(ctx)
	resp := next(ctx)
	if resp == nil {
		return nil
	}
	failed := ""
	if len(resp.Errors) > 0 {
		failed = code(resp.Errors[0])
	}
	span.End(ctx, failed)
	m.duration.WithLabelValues(operation(ctx)).Observe(time.Since(graphql.GetStartTime(ctx)).Seconds())
	for _, e := range resp.Errors {
		m.errors.WithLabelValues(code(e)).Inc()
	}
	return resp
}

// traced begins the span of an operation. It has no variables: they may hold secrets.
func traced(ctx context.Context) (context.Context, *tracing.Span) {
	if !tracing.On() {
		return ctx, nil
	}
	var kind, name string
	if graphql.HasOperationContext(ctx) {
		if op := graphql.GetOperationContext(ctx).Operation; op != nil {
			kind, name = string(op.Operation), op.Name
		}
	}
	return tracing.Operation(ctx, graphql.GetStartTime(ctx), operation(ctx), kind, name)
}

// operation is a name of ours: a client's own names could be any number.
func operation(ctx context.Context) string {
	if name := face.Operation(ctx); name != "" {
		return name
	}
	if graphql.HasOperationContext(ctx) {
		if op := graphql.GetOperationContext(ctx).Operation; op != nil {
			return string(op.Operation)
		}
	}
	return "refused"
}

func code(err error) string {
	var known *errs.Error
	if errors.As(err, &known) {
		return string(known.Code)
	}
	return string(errs.Invalid)
}

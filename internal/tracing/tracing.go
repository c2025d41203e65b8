// Package tracing tells an OpenTelemetry collector what the server does and how long it takes. It is the only place that
// knows OpenTelemetry. Unless Start has found a collector every function returns at once, without allocating.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"
)

// instruments are what is measured with.
type instruments struct {
	tracer                                   trace.Tracer
	request, operation, statement, job, call metric.Float64Histogram
}

// active are the instruments of the process; nil: nobody wants to know.
var active atomic.Pointer[instruments]

// On reports whether anything is measured.
func On() bool { return active.Load() != nil }

// Start begins to measure when the standard variables name a collector, which the exporters then read for themselves.
// Stop sends what is left.
func Start(ctx context.Context, version string, lookup func(string) (string, bool)) (stop func(context.Context) error, err error) {
	e := environment{lookup}
	traces, err := e.wanted("TRACES")
	if err != nil {
		return nil, err
	}
	metrics, err := e.wanted("METRICS")
	if err != nil {
		return nil, err
	}
	if !traces && !metrics {
		return func(context.Context) error { return nil }, nil
	}
	us, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "skillgraph"), attribute.String("service.version", version)),
		resource.WithFromEnv()) // last, so that the operator's names win
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.Warn("telemetry could not be sent", "error", err) }))
	var tracers trace.TracerProvider = notrace.NewTracerProvider()
	var meters metric.MeterProvider = nometric.NewMeterProvider()
	stops := []func(context.Context) error{}
	if traces {
		out, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, err
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(out), sdktrace.WithResource(us))
		tracers, stops = p, append(stops, p.Shutdown)
	}
	if metrics {
		out, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, err
		}
		p := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(out)), sdkmetric.WithResource(us))
		meters, stops = p, append(stops, p.Shutdown)
	}
	in, err := newInstruments(tracers, meters)
	if err != nil {
		return nil, err
	}
	active.Store(in)
	return func(ctx context.Context) error {
		active.CompareAndSwap(in, nil)
		var failed error
		for _, stop := range stops {
			failed = errors.Join(failed, stop(ctx))
		}
		return failed
	}, nil
}

func newInstruments(tracers trace.TracerProvider, meters metric.MeterProvider) (*instruments, error) {
	meter := meters.Meter("skillgraph")
	var failed error
	histogram := func(name, help string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithDescription(help), metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10))
		failed = errors.Join(failed, err)
		return h
	}
	return &instruments{
		tracer:    tracers.Tracer("skillgraph"),
		request:   histogram("http.server.request.duration", "Duration of requests."),
		operation: histogram("skillgraph.operation.duration", "Duration of operations, by REST operation, or query or mutation of a GraphQL client."),
		statement: histogram("db.client.operation.duration", "Duration of statements."),
		job:       histogram("skillgraph.job.duration", "Duration of jobs."),
		call:      histogram("http.client.request.duration", "Duration of outbound calls."),
	}, failed
}

// environment reads the standard variables.
type environment struct {
	lookup func(string) (string, bool)
}

// first is the first of the variables that is set, with its name. An empty one counts as not set, says the standard.
func (e environment) first(names ...string) (name, value string) {
	for _, name := range names {
		if value, _ := e.lookup(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// wanted reports whether a signal has somewhere to go. What could not be sent is refused when the server starts.
func (e environment) wanted(signal string) (bool, error) {
	_, disabled := e.first("OTEL_SDK_DISABLED")
	_, exporter := e.first("OTEL_" + signal + "_EXPORTER")
	name, endpoint := e.first("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if disabled == "true" || exporter == "none" || endpoint == "" {
		return false, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" { // it may hold a password, so it is not shown
		return false, fmt.Errorf("%s must be a URL such as http://localhost:4318", name)
	}
	name, protocol := e.first("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("%s must be http/protobuf, not %q", name, protocol)
	}
	return true, nil
}

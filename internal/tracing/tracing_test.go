package tracing_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"skillgraph/graph"
	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/jobs"
	"skillgraph/internal/outbound"
	"skillgraph/internal/server"
	"skillgraph/internal/tracing"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// What is measured belongs to the process, so these tests run one after the other.

// collector is an OTLP receiver that keeps what it gets.
type collector struct {
	mu      sync.Mutex
	raw     []byte
	spans   []*tracev1.Span
	metrics map[string]uint64 // how often each was measured
	service map[string]string // what the resource says
	failed  error
}

// listen starts a collector and measures until stop, which sends everything.
func listen(t *testing.T) (c *collector, stop func()) {
	t.Helper()
	c = &collector{metrics: map[string]uint64{}, service: map[string]string{}}
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", web.URL)
	end, err := tracing.Start(t.Context(), "1.2.3", os.LookupEnv)
	require.NoError(t, err)
	stop = sync.OnceFunc(func() {
		require.NoError(t, end(context.Background()))
		require.NoError(t, c.failed)
	})
	t.Cleanup(stop)
	return c, stop
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	c.raw = append(c.raw, body...)
	if err == nil && r.URL.Path == "/v1/traces" {
		err = c.addSpans(body)
	} else if err == nil {
		err = c.addMetrics(body)
	}
	if err != nil {
		c.failed = fmt.Errorf("%s: %w", r.URL.Path, err)
	}
}

func (c *collector) addSpans(body []byte) error {
	var in collecttrace.ExportTraceServiceRequest
	err := proto.Unmarshal(body, &in)
	for _, from := range in.ResourceSpans {
		for _, a := range from.Resource.Attributes {
			c.service[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range from.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return err
}

func (c *collector) addMetrics(body []byte) error {
	var in collectmetrics.ExportMetricsServiceRequest
	err := proto.Unmarshal(body, &in)
	for _, from := range in.ResourceMetrics {
		for _, s := range from.ScopeMetrics {
			for _, m := range s.Metrics {
				for _, p := range m.GetHistogram().GetDataPoints() {
					c.metrics[m.Name] += p.Count
				}
			}
		}
	}
	return err
}

// find is the one span that has an attribute with this value.
func (c *collector) find(t *testing.T, key, value string) *tracev1.Span {
	t.Helper()
	var found []*tracev1.Span
	for _, s := range c.spans {
		if attributes(s)[key] == value {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "%s = %s", key, value)
	return found[0]
}

// under are the spans right below one.
func (c *collector) under(s *tracev1.Span) (out []*tracev1.Span) {
	for _, child := range c.spans {
		if string(child.ParentSpanId) == string(s.SpanId) {
			out = append(out, child)
		}
	}
	return out
}

func attributes(s *tracev1.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		out[a.Key] = a.Value.GetStringValue()
		if n := a.Value.GetIntValue(); n != 0 {
			out[a.Key] = fmt.Sprint(n)
		}
	}
	return out
}

const (
	trace  = "0af7651916cd43dd8448eb211c80319c"
	parent = "b7ad6b7169203331"
)

// ask runs an operation, as part of a trace of the client's, until everything about it is done.
func ask(t *testing.T, s *apitest.Server, query string, variables map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "/graphql?secret=in-the-address", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.Keys["owner"])
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	require.NotContains(t, w.Body.String(), `"errors"`)
	return w.Body.String()
}

const (
	create = `mutation Make($name: String!, $cases: JSON!) {
		createSuite(input: {name: $name, sourceKind: MANUAL, verifierKind: LLM_JUDGE, casesJson: $cases}) { suite { id } } }`
	list = `query List { suites(first: 7) { nodes { name createdBy { email } } } }`
)

// One request is one tree, whoever runs the operation, and nothing of what was sent is in it.
func TestTree(t *testing.T) {
	for _, executor := range []graph.Executor{graph.Level, graph.Gqlgen} {
		t.Run(string(executor), func(t *testing.T) {
			s := apitest.New(t).Also(t, func(c *server.Config) { c.Executor = executor })
			c, stop := listen(t)
			cases := []any{map[string]any{"case_kind": "trigger_query", "query": "it's a sesame of 471147", "expectation": "should_trigger"}}
			ask(t, s, create, map[string]any{"name": "it's an open sesame", "cases": cases})
			require.Contains(t, ask(t, s, list, nil), "open sesame")
			stop()

			operation := c.find(t, "graphql.operation.name", "List")
			require.Equal(t, "query", attributes(operation)["graphql.operation.type"])
			batch := c.find(t, "skillgraph.edge", "EvalSuite.createdBy")
			require.Equal(t, "1", attributes(batch)["skillgraph.keys"])
			require.Equal(t, operation.SpanId, batch.ParentSpanId)
			statements := c.under(batch)
			require.Len(t, statements, 1)
			require.Equal(t, "SELECT", statements[0].Name)
			require.Contains(t, attributes(statements[0])["db.query.text"], "$1")
			var requests int
			for _, span := range c.spans {
				require.Equal(t, trace, hex.EncodeToString(span.TraceId), span.Name)
				if hex.EncodeToString(span.ParentSpanId) == parent {
					requests++
					require.Equal(t, "POST /graphql", span.Name)
					require.Equal(t, "200", attributes(span)["http.response.status_code"])
				}
				if string(span.SpanId) == string(operation.ParentSpanId) {
					require.Equal(t, "POST /graphql", span.Name)
				}
			}
			require.Equal(t, 2, requests)

			// bun writes values into its texts.
			var inserts []string
			for _, span := range c.spans {
				if span.Name == "INSERT" {
					inserts = append(inserts, attributes(span)["db.query.text"])
				}
			}
			require.Contains(t, strings.Join(inserts, "\n"), `INSERT INTO "eval_suites"`)
			for _, secret := range []string{"sesame", "471147", "should_trigger", "in-the-address", s.Keys["owner"], s.Orgs["acme"].String(), "@example.com"} {
				require.NotContains(t, string(c.raw), secret)
			}

			require.Equal(t, "skillgraph", c.service["service.name"])
			require.Equal(t, "1.2.3", c.service["service.version"])
			require.EqualValues(t, 2, c.metrics["http.server.request.duration"])
			require.EqualValues(t, 2, c.metrics["skillgraph.operation.duration"])
			require.Positive(t, c.metrics["db.client.operation.duration"])
		})
	}
}

// A job is a trace of its own; the statements with which the queue looks for jobs are not.
func TestJob(t *testing.T) {
	s := apitest.New(t)
	c, stop := listen(t)
	j, err := jobs.Start(t.Context(), jobs.Config{Store: s.Store, Alerts: s.Alerts, AlertInterval: time.Second, Blobs: s.Blobs, Hosting: s.Hosting, Host: s.Host})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		n, err := s.Store.QueueCounts(t.Context())
		require.NoError(t, err)
		return n[[2]string{"prune", "completed"}] > 0
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, j.Stop(t.Context()))
	stop()

	job := c.find(t, "skillgraph.job.kind", "prune")
	require.Equal(t, "job prune", job.Name)
	require.Equal(t, "1", attributes(job)["skillgraph.job.attempt"])
	require.NotEmpty(t, c.under(job))
	for _, s := range c.spans {
		if len(s.ParentSpanId) == 0 {
			require.Equal(t, tracev1.Span_SPAN_KIND_CONSUMER, s.Kind, s.Name)
		}
	}
	require.Positive(t, c.metrics["skillgraph.job.duration"])
}

// A call is traced, but only the code host hears of the trace.
func TestCall(t *testing.T) {
	heard := make(chan string, 2)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusTeapot)
	}))
	defer web.Close()
	c, stop := listen(t)
	out := outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	status, err := out.Post(t.Context(), web.URL+"/a-secret", nil, []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, http.StatusTeapot, status)
	require.Empty(t, <-heard)
	res, err := (&http.Client{Transport: out.Transport()}).Get(web.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	stop()

	require.Len(t, c.spans, 2)
	require.Equal(t, "00-"+hex.EncodeToString(c.spans[1].TraceId)+"-"+hex.EncodeToString(c.spans[1].SpanId)+"-01", <-heard)
	for _, s := range c.spans {
		require.Equal(t, strings.TrimPrefix(web.URL, "http://"), attributes(s)["server.address"])
		require.Equal(t, "418", attributes(s)["http.response.status_code"])
	}
	require.NotContains(t, string(c.raw), "a-secret")
	require.EqualValues(t, 2, c.metrics["http.client.request.duration"])
}

func TestVariables(t *testing.T) {
	for name, c := range map[string]struct {
		set     map[string]string
		on      bool
		because string
	}{
		"nothing":     {},
		"empty":       {set: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": ""}},
		"traces":      {set: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, on: true},
		"metrics":     {set: map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1/v1/metrics"}, on: true},
		"disabled":    {set: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}},
		"none":        {set: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}},
		"no URL":      {set: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "password@localhost:4317"}, because: "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"},
		"no protobuf": {set: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, because: "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf"},
	} {
		t.Run(name, func(t *testing.T) {
			stop, err := tracing.Start(t.Context(), "1.2.3", func(name string) (string, bool) { v, ok := c.set[name]; return v, ok })
			if c.because != "" {
				require.ErrorContains(t, err, c.because)
				require.NotContains(t, err.Error(), "password")
				require.False(t, tracing.On())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.on, tracing.On())
			ended, cancel := context.WithCancel(t.Context())
			cancel() // nobody is there to be told
			_ = stop(ended)
			require.False(t, tracing.On())
		})
	}
}

// A collector that is there hears nothing while the variables say so.
func TestSilence(t *testing.T) {
	s := apitest.New(t)
	t.Setenv("OTEL_SDK_DISABLED", "true")
	c, stop := listen(t)
	ask(t, s, list, nil)
	stop()
	require.Empty(t, c.raw)
}

// Nobody pays for what nobody wants.
func TestOff(t *testing.T) {
	require.False(t, tracing.On())
	ctx, header := t.Context(), http.Header{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, s := tracing.Request(ctx, header, "GET")
		s.Answered(ctx, "GET", "/", 200)
		_, s = tracing.Operation(ctx, time.Time{}, "query", "query", "List")
		s.End(ctx, "")
		_, s = tracing.Batch(ctx, "EvalSuite.createdBy", 3)
		s.EndErr(ctx, nil)
		tracing.EndStatement(tracing.Statement(ctx, "SELECT 1", false), "")
	}))
	require.Empty(t, header)
}

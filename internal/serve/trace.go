package serve

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// tracer makes a span of each request, or of none. Nothing in it is global: two
// servers of one process do not mix.
type tracer struct {
	trace.Tracer
	close func(context.Context) error
}

// newTracer sends spans to the collector at this URL; "" means none. The rest, such
// as headers for it, say the variables of OpenTelemetry, which its library reads.
func newTracer(ctx context.Context, collector string) (*tracer, error) {
	if collector == "" {
		return &tracer{Tracer: noop.NewTracerProvider().Tracer(""), close: func(context.Context) error { return nil }}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimRight(collector, "/")+"/v1/traces"))
	if err != nil {
		return nil, problem.New(api.Invalid, "traces cannot be sent: %w", err).WithHint("OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318")
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "assize"))))
	return &tracer{Tracer: provider.Tracer("github.com/assize-iac/assize"), close: provider.Shutdown}, nil
}

// begin begins the span of a request, as part of the client's trace if it has one.
func (t *tracer) begin(r *http.Request) (context.Context, trace.Span) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	return t.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
}

// end ends it with what a log would say too, and nothing else (docs/server.md, rule 11).
func (t *tracer) end(span trace.Span, r *http.Request, status int) {
	span.SetName(method(r) + " " + route(r))
	span.SetAttributes(attribute.String("http.request.method", method(r)), attribute.String("http.route", route(r)),
		attribute.Int("http.response.status_code", status), attribute.String("assize.request_id", id(r)))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

package serve_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// TestStop: a server that stops says so first, lets a request end that has begun, and
// then takes no more (docs/server.md, rule 12).
func TestStop(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) { s.Drain = 500 * time.Millisecond }})
	body, sender := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/v2/organizations", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/vnd.api+json")
	client := s.Client(t)
	answered := make(chan int, 1)
	go func() {
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		res.Body.Close()
		answered <- res.StatusCode
	}()
	if _, err := io.WriteString(sender, `{"data":{"type":"organizations",`); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	for status, body := 200, ""; status != 503; time.Sleep(10 * time.Millisecond) {
		if status, body = get(t, s, "/readyz", ""); status == 503 && !strings.Contains(body, `"server":"stopping"`) {
			t.Errorf("%s", body)
		}
	}
	time.Sleep(time.Second) // no connection is taken any more
	if _, err := s.Client(t).Get(s.URL + "/healthz"); err == nil {
		t.Error("a new connection was taken")
	}
	if _, err := io.WriteString(sender, `"attributes":{"name":"later","email":"a@example.com"}}}`); err != nil {
		t.Fatal(err)
	}
	sender.Close()
	if status := <-answered; status != 201 {
		t.Errorf("the request that ran was answered with %d", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestStopNow: whoever does not want to wait cuts off what runs, and is told.
func TestStopNow(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	body, sender := io.Pipe()
	defer sender.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/api/v2/organizations", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	client := s.Client(t)
	cut := make(chan error, 1)
	go func() {
		res, err := client.Do(req)
		if err == nil {
			res.Body.Close()
		}
		cut <- err
	}()
	if _, err := io.WriteString(sender, "{"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until it is in the handler
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Stop(ctx); problem.Code(err) != api.Limited {
		t.Errorf("%v, want that something was cut off", err)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}

// TestPrivate is a server that has everything to itself: it begins again where it
// was, does not go on without its Postgres, and makes no new key for old artifacts.
func TestPrivate(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	passable(t, parent)
	settings := serve.Defaults(func(string) string { return "" })
	settings.Data, settings.Listen = filepath.Join(parent, "data"), "127.0.0.1:0"
	log := slog.New(slog.DiscardHandler)
	first, err := serve.Start(t.Context(), settings, log)
	if err != nil {
		t.Fatal(err)
	}
	var welcome bytes.Buffer
	first.Welcome(&welcome)
	for _, want := range []string{"SSL_CERT_FILE=" + settings.Data, "tofu login 127.0.0.1:", "assize login https://127.0.0.1:", "TF_TOKEN_127.0.0.1:"} {
		if !strings.Contains(welcome.String(), want) {
			t.Errorf("no %q in\n%s", want, welcome.String())
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait(t.Context()) }()
	status, err := os.ReadFile(filepath.Join(settings.Data, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	kill(t, status)
	if err := <-ended; problem.Code(err) != api.Unavailable || !strings.Contains(err.Error(), "Postgres") {
		t.Errorf("without its Postgres: %v", err)
	}
	known := &servetest.Server{URL: first.URL(), CA: filepath.Join(settings.Data, "ca.pem")}
	if status, body := get(t, known, "/readyz", ""); status != 503 || !strings.Contains(body, `"database":"unavailable"`) {
		t.Errorf("without its Postgres: %d %s", status, body)
	}
	if status, _ := get(t, known, "/healthz", ""); status != 200 {
		t.Errorf("without its Postgres the process is not alive: %d", status)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	token, err := os.ReadFile(filepath.Join(settings.Data, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := serve.Start(t.Context(), settings, log)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(filepath.Join(settings.Data, "admin-token")); err != nil || !bytes.Equal(again, token) {
		t.Errorf("another token: %v", err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(settings.Data, "artifact-key")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(settings.Data, "artifacts", "header"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.Start(t.Context(), settings, log); problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), "their key is gone") {
		t.Errorf("without its key: %v", err)
	}
}

// kill ends a Postgres as the kernel would.
func kill(t *testing.T, status []byte) {
	t.Helper()
	var pid int
	for _, digit := range bytes.SplitN(status, []byte("\n"), 2)[0] {
		pid = pid*10 + int(digit-'0')
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// TestMetrics: the figures say what was asked by route and never by path.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	get(t, s, "/api/v2/organizations/canary-4f1e", s.Token)
	get(t, s, "/canary-4f1e?canary-4f1e", s.Token)
	_, text := get(t, s, "/metrics", "")
	for _, want := range []string{
		`assize_http_requests_total{method="GET",route="/api/v2/organizations/{organisation}",status="404"} 1`,
		`assize_http_request_seconds_count{method="GET",route="/"} 1`,
		`assize_database_connections{state="most"}`, `assize_database_rows_total{table="state_versions"}`, "assize_http_requests_running 1", "assize_stopping 0", "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("a path is in the figures")
	}
	closed := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) { s.MetricsToken = "a token of the watchers" }})
	if status, _ := get(t, closed, "/metrics", ""); status != 404 {
		t.Errorf("without the token: %d", status)
	}
	if status, _ := get(t, closed, "/metrics", "a token of the watchers"); status != 200 {
		t.Errorf("with the token: %d", status)
	}
}

// TestTraces: a collector gets the spans, as part of the client's trace, and no secret.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got collector.ExportTraceServiceRequest
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %v", r.URL, err)
		}
		mu.Lock()
		defer mu.Unlock()
		var more collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &more); err != nil {
			t.Error(err)
		}
		got.ResourceSpans = append(got.ResourceSpans, more.ResourceSpans...)
	}))
	defer receiver.Close()
	s := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) { s.Traces = receiver.URL }})
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/v2/organizations/canary-4f1e?canary-4f1e", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	res, err := s.Client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := s.Stop(context.Background()); err != nil { // sends what is left
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	text := got.String()
	if !strings.Contains(text, "GET /api/v2/organizations/{organisation}") || strings.Contains(text, "canary") || strings.Contains(text, s.Token) {
		t.Errorf("%s", text)
	}
	if trace := got.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId; !bytes.Equal(trace[:3], []byte{0x0a, 0xf7, 0x65}) {
		t.Errorf("%x is not the client's trace", trace)
	}
}

package serve

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/assize-iac/assize/internal/postgres"
)

// metrics are the figures of one server. None has a name, a path or an address in
// it: who may watch a server need not know whom it serves.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	running  prometheus.Gauge
	received *prometheus.CounterVec
}

func newMetrics(store *postgres.Store, h *health) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assize_http_requests_total", Help: "Requests that were answered."}, []string{"method", "route", "status"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "assize_http_request_seconds", Help: "How long answers took.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600}}, []string{"method", "route"}),
		running:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "assize_http_requests_running", Help: "Requests that are being answered."}),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assize_http_received_bytes_total", Help: "Bytes of bodies of requests."}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.took, m.running, m.received, database{store}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "assize_stopping", Help: "1 once the server has been told to stop."}, func() float64 {
			if h.stopping.Load() {
				return 1
			}
			return 0
		}))
	return m
}

// count counts a request that was answered. Its route is a pattern, so that nobody
// can fill the memory with paths.
func (m *metrics) count(r *http.Request, status int, received int64, took time.Duration) {
	route := route(r)
	m.requests.WithLabelValues(method(r), route, strconv.Itoa(status)).Inc()
	m.took.WithLabelValues(method(r), route).Observe(took.Seconds())
	m.received.WithLabelValues(route).Add(float64(received))
}

// handler shows the figures to those who may see them (docs/server.md, rule 11).
func (m *metrics) handler(token string) http.Handler {
	show := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !mayWatch(r, token) {
			nothing(w, r)
			return
		}
		show.ServeHTTP(w, r)
	})
}

// mayWatch reports whether a request shows the token, or without one comes from this
// machine itself: a proxy on it says for whom it asks.
func mayWatch(r *http.Request, token string) bool {
	if token != "" {
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		return ok && subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 1
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") || name == "X-Real-Ip" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback() && localName(r.Host)
}

// localName reports whether a client called this machine by a name that means itself.
func localName(address string) bool {
	return loopback(address) || loopback(net.JoinHostPort(strings.Trim(address, "[]"), "0"))
}

// database gives the figures of the store when somebody asks for them.
type database struct{ store *postgres.Store }

func (database) Describe(all chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections(), waits(), jobs(), written()} {
		all <- d
	}
}

func (d database) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	f, err := d.store.Figures(ctx)
	if err != nil {
		all <- prometheus.NewInvalidMetric(jobs(), err)
		return
	}
	for what, n := range map[string]int{"busy": f.Busy, "idle": f.Connections - f.Busy, "most": f.Most} {
		all <- prometheus.MustNewConstMetric(connections(), prometheus.GaugeValue, float64(n), what)
	}
	all <- prometheus.MustNewConstMetric(waits(), prometheus.CounterValue, float64(f.Waited))
	for state, n := range f.Jobs {
		all <- prometheus.MustNewConstMetric(jobs(), prometheus.GaugeValue, float64(n), state)
	}
	for table, n := range f.Written {
		all <- prometheus.MustNewConstMetric(written(), prometheus.CounterValue, float64(n), table)
	}
}

func connections() *prometheus.Desc {
	return prometheus.NewDesc("assize_database_connections", "Connections to the database, and how many there may be at most.", []string{"state"}, nil)
}

func waits() *prometheus.Desc {
	return prometheus.NewDesc("assize_database_waits_total", "How often all connections were busy.", nil, nil)
}

func jobs() *prometheus.Desc {
	return prometheus.NewDesc("assize_jobs", "Jobs in the database, of all replicas together.", []string{"state"}, nil)
}

func written() *prometheus.Desc {
	return prometheus.NewDesc("assize_database_rows_total", "Rows that were written, of all replicas together: versions of states, refused states, tokens, entries of the audit log.", []string{"table"}, nil)
}

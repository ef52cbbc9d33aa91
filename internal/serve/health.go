package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/postgres"
)

// A health is what is known of the parts that a server needs.
type health struct {
	store     *postgres.Store
	artifacts *artifact.Store

	stopping atomic.Bool

	mu     sync.Mutex // held while the artifacts are tried
	probed time.Time  // when that was last
	kept   error      // what came of it
}

// probeEvery is how often artifacts are written to see whether that works.
const probeEvery = 30 * time.Second

// alive says that the process answers. It looks at nothing else: to start a process
// again mends no database.
func (h *health) alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}

// ready says whether requests can be answered now. A stranger learns which part is
// not well, and no more.
func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	parts := map[string]string{"server": "ok", "database": word(h.store.Ready(ctx)), "artifacts": word(h.keeps(ctx))}
	if h.stopping.Load() {
		parts["server"] = "stopping"
	}
	status := http.StatusOK
	for _, said := range parts {
		if said != "ok" {
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(parts) // nobody is left to be told
}

func word(err error) string {
	if err != nil {
		return "unavailable"
	}
	return "ok"
}

// stop makes the server not ready for good, and reports whether it was until now.
func (h *health) stop() bool { return !h.stopping.Swap(true) }

// keeps reports whether bytes can be kept and read again, as of a short time ago.
func (h *health) keeps(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept != nil || time.Since(h.probed) > probeEvery {
		h.kept = probe(ctx, h.artifacts)
		h.probed = time.Now()
	}
	return h.kept
}

// probe keeps an artifact that nobody else has, reads it and removes it.
func probe(ctx context.Context, artifacts *artifact.Store) error {
	name, _, err := artifacts.Add(ctx, "probe", "server", strings.NewReader(rand.Text()))
	if err != nil {
		return err
	}
	r, err := artifacts.Open(ctx, name)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	return artifacts.Delete(ctx, name)
}

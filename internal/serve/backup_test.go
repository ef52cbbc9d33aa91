package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// A writer writes versions of one state over the plain http backend.
type writer struct {
	t          *testing.T
	client     *http.Client
	url, token string
}

// do sends a request and wants it to be done.
func (w writer) do(method, path, body string) []byte {
	w.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return nil
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		w.t.Errorf("%s %s: %d %s %v", method, path, res.StatusCode, answer, err)
	}
	return answer
}

// begin makes a stack and locks it.
func (w writer) begin() {
	w.t.Helper()
	w.do("POST", "/v1/organisations/default/stacks", `{"name":"app"}`)
	w.do("LOCK", "/state/default/app", `{"ID":"the-lock","Operation":"a test","Who":"somebody"}`)
}

// document is a state with this serial.
func document(serial int) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"4f1e","outputs":{"n":{"value":"%d","type":"string"}},"resources":[]}`, serial, serial)
}

// write writes the version with this serial.
func (w writer) write(serial int) {
	w.t.Helper()
	w.do("POST", "/state/default/app?ID=the-lock", document(serial))
}

// current is the serial of the newest version, which must be whole, as must be all
// before it.
func (w writer) current() int {
	w.t.Helper()
	text := w.do("GET", "/state/default/app", "")
	var state struct{ Serial int }
	if err := json.Unmarshal(text, &state); err != nil || string(text) != document(state.Serial) {
		w.t.Fatalf("%s: %v", text, err)
	}
	var stack struct{ ID string }
	if err := json.Unmarshal(w.do("GET", "/v1/organisations/default/stacks/app", ""), &stack); err != nil {
		w.t.Fatal(err)
	}
	var list struct {
		Items []struct {
			ID     string
			Serial int
		}
	}
	if err := json.Unmarshal(w.do("GET", "/v1/stacks/"+stack.ID+"/state-versions", ""), &list); err != nil || len(list.Items) == 0 {
		w.t.Fatalf("%+v %v", list, err)
	}
	for _, v := range list.Items {
		if got := string(w.do("GET", "/v1/state-versions/"+v.ID+"/state", "")); got != document(v.Serial) {
			w.t.Errorf("version %d is %s", v.Serial, got)
		}
	}
	return state.Serial
}

// run runs a program to its end.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// copyRunning copies files while they are written. Of unfinished ones, cp says that
// they are gone, as the page says.
func copyRunning(t *testing.T, from, to string) {
	t.Helper()
	out, err := exec.Command("cp", "-a", from, to).CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, ".tmp'") {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
}

// program is one of Postgres, beside the server that tests run.
func program(name string) string {
	dirs := []string{filepath.Join("..", "..", ".bin", "postgres")}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	if installed, err := filepath.Glob("/usr/lib/postgresql/*/bin"); err == nil {
		dirs = append(dirs, installed...)
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return ""
}

// TestBackup makes a backup while states are written, in the order that the page
// says, and restores it: every version that was acknowledged before the backup began
// is there, and whatever is there is whole (docs/server.md, rule 16).
func TestBackup(t *testing.T) {
	t.Parallel()
	dump, restore := program("pg_dump"), program("pg_restore")
	if dump == "" || restore == "" {
		t.Log("this Postgres has no pg_dump: only TestMoved shows that a copy can be started")
		return
	}
	s := servetest.Start(t, servetest.Options{})
	w := writer{t, s.Client(t), s.URL, s.Token}
	w.begin()
	var acknowledged atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	enough := make(chan struct{})
	go func() {
		defer close(ended)
		for serial := 1; ; serial++ {
			w.write(serial)
			acknowledged.Store(int64(serial))
			if serial == 5 {
				close(enough)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	stop := sync.OnceFunc(func() {
		close(done)
		<-ended
	})
	defer stop()
	<-enough
	before, to := acknowledged.Load(), t.TempDir()
	run(t, dump, "--format=custom", "--file="+filepath.Join(to, "assize.dump"), s.Database)
	for _, part := range []string{"header", "body"} {
		copyRunning(t, filepath.Join(s.Data, "artifacts", part), to)
	}
	stop()
	if acknowledged.Load() <= before {
		t.Error("nothing was written while the backup was made, so it shows nothing")
	}
	empty := postgrestest.Empty(t)
	run(t, restore, "--no-owner", "--exit-on-error", "--dbname="+empty, filepath.Join(to, "assize.dump"))
	data := t.TempDir()
	restored := servetest.Start(t, servetest.Options{Settings: func(set *serve.Settings) {
		set.Data, set.Database, set.Artifacts, set.ArtifactKey, set.NewAdminToken = data, empty, to, s.ArtifactKey, true
	}})
	again := writer{t, restored.Client(t), restored.URL, restored.Token}
	if got := again.current(); int64(got) < before {
		t.Errorf("the backup ends at %d, and %d was acknowledged before it began", got, before)
	}
}

// TestMoved copies the whole data directory of a server that was stopped, and starts
// the copy.
func TestMoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	passable(t, parent)
	settings := serve.Defaults(func(string) string { return "" })
	settings.Data, settings.Listen = filepath.Join(parent, "data"), "localhost:0"
	start := func() (*serve.Server, writer) {
		t.Helper()
		s, err := serve.Start(t.Context(), settings, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		token, err := os.ReadFile(filepath.Join(settings.Data, "admin-token"))
		if err != nil {
			t.Fatal(err)
		}
		known := servetest.Server{CA: filepath.Join(settings.Data, "ca.pem")}
		return s, writer{t, known.Client(t), s.URL(), strings.TrimSpace(string(token))}
	}
	first, w := start()
	w.begin()
	for serial := range 3 {
		w.write(serial + 1)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, "cp", "-a", settings.Data, filepath.Join(parent, "copy"))
	settings.Data = filepath.Join(parent, "copy")
	second, again := start()
	if got := again.current(); got != 3 {
		t.Errorf("the copy is at %d", got)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// passable lets the user as whom Postgres runs come to a directory of a test.
func passable(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

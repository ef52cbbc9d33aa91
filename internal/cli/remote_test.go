package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api/client"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/cli"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// A console is somebody at a command line, logged in to a server of their own.
type console struct {
	*client.Client
	organisation string
}

func newConsole(t *testing.T) console {
	t.Helper()
	s := servetest.Start(t, servetest.Options{})
	for name, value := range map[string]string{"HOME": t.TempDir(), "ASSIZE_SERVER_URL": s.URL, "ASSIZE_API_KEY": s.Token,
		"ASSIZE_CA": s.CA, "ASSIZE_ORGANISATION": s.Organisation} {
		t.Setenv(name, value)
	}
	c, err := client.New(client.Server{URL: s.URL, Token: s.Token, CA: s.CA})
	if err != nil {
		t.Fatal(err)
	}
	return console{Client: c, organisation: s.Organisation}
}

// run runs a command line.
func (c console) run(ctx context.Context, in io.Reader, args ...string) (code int, out string) {
	var text bytes.Buffer
	g := &cli.Globals{In: in, Out: &text, Err: &text, Version: "test", Now: time.Now}
	code = cli.Run(ctx, g, args)
	return code, text.String()
}

func (c console) stack(t *testing.T, name string) v1.Stack {
	t.Helper()
	var s v1.Stack
	if err := c.Ask(t.Context(), v1.FindStack{Organisation: c.organisation, Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c console) locked(t *testing.T, s v1.Stack) bool {
	t.Helper()
	var l v1.Locking
	if err := c.Ask(t.Context(), v1.ShowLock{Stack: s.ID}, &l); err != nil {
		t.Fatal(err)
	}
	return l.Lock != nil
}

// TestPushInterrupted: a push that is interrupted while its bytes come gives its
// lock back, and nothing was written.
func TestPushInterrupted(t *testing.T) {
	c := newConsole(t)
	if code, out := c.run(t.Context(), nil, "stack", "create", "network"); code != 0 {
		t.Fatal(out)
	}
	s := c.stack(t, "network")
	ctx, interrupt := context.WithCancel(t.Context())
	in, never := io.Pipe()
	ended := make(chan string, 1)
	go func() {
		code, out := c.run(ctx, in, "state", "push", "network", "-")
		ended <- fmt.Sprint(code, " ", out)
	}()
	if _, err := io.WriteString(never, `{"version":4,"serial":1,`); err != nil { // once somebody reads it, there is a lock
		t.Fatal(err)
	}
	if !c.locked(t, s) {
		t.Error("there is no lock while it is pushed")
	}
	interrupt()
	if got := <-ended; !strings.HasPrefix(got, "1 assize: error: it was interrupted") {
		t.Error(got)
	}
	never.Close()
	if c.locked(t, s) {
		t.Error("the lock was left behind")
	}
	if err := c.Ask(t.Context(), v1.CurrentState{Stack: s.ID}, nil); err == nil {
		t.Error("something was written")
	}
}

// TestImportInterrupted: an import that is interrupted again and again is done in
// the end, each state once, and leaves no lock.
func TestImportInterrupted(t *testing.T) {
	c := newConsole(t)
	const states = 12
	dir := t.TempDir()
	var list strings.Builder
	for i := range states {
		path := filepath.Join(dir, fmt.Sprint(i))
		text := fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"l-%d","outputs":{},"resources":[],"check_results":%q}`,
			i+10, i, strings.Repeat("x", i<<14))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "stack-%d %s\n", i, path)
	}
	file := filepath.Join(dir, "list")
	if err := os.WriteFile(file, []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	interrupted := 0
	for try := 0; ; try++ {
		after := time.Duration((30+rand.N(150))*(try+1)/2) * time.Millisecond
		if try == 20 {
			after = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), after)
		code, out := c.run(ctx, nil, "state", "import", "--list", file)
		cancel()
		if code == 0 {
			if n := strings.Count(out, "imported, serial") + strings.Count(out, "there already, serial"); n != states {
				t.Errorf("%d states are there: %s", n, out)
			}
			break
		}
		if interrupted++; try == 20 {
			t.Fatal(out)
		}
	}
	t.Logf("interrupted %d times", interrupted)
	for i := range states {
		s := c.stack(t, fmt.Sprint("stack-", i))
		n := 0
		for v, err := range client.All[v1.StateVersion](t.Context(), c.Client, func(p v1.Paging) binding.Request {
			return v1.ListStateVersions{Stack: s.ID, Paging: p}
		}) {
			if err != nil || v.Serial != int64(i+10) || v.Lineage != fmt.Sprint("l-", i) {
				t.Errorf("%+v %v", v, err)
			}
			n++
		}
		if n != 1 || c.locked(t, s) {
			t.Errorf("%s has %d versions; locked: %v", s.Name, n, c.locked(t, s))
		}
	}
}

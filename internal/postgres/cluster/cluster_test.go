package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres/cluster"
	"github.com/assize-iac/assize/internal/problem"
)

// TestMain is also the process that starts a cluster and is then killed.
func TestMain(m *testing.M) {
	if os.Getenv("ASSIZE_TEST_VICTIM") == "" {
		os.Exit(m.Run())
	}
	programs, err := cluster.Find(bin())
	if err != nil {
		panic(err)
	}
	c, err := cluster.Scratch(context.Background(), programs)
	if err != nil {
		panic(err)
	}
	fmt.Println(c.URL("postgres"))
	select {}
}

// bin is where tools/build postgres has put a link.
func bin() string { return filepath.Join("..", "..", "..", ".bin", "postgres") }

func find(t *testing.T) cluster.Programs {
	t.Helper()
	programs, err := cluster.Find(bin())
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// query is the first column of the first row that a query gives.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var answer string
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// sockets is the directory of the socket that a URL names.
func sockets(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

func TestScratch(t *testing.T) {
	c, err := cluster.Scratch(t.Context(), find(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if got := query(t, c.URL("postgres"), "SHOW listen_addresses"); got != "" {
		t.Errorf("it listens on %q, want no network at all", got)
	}
	dir := sockets(t, c.URL("postgres"))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory of the socket is %v (%v), want one that is closed to others", info.Mode(), err)
	}
	c.Stop()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop %s is still there: %v", dir, err)
	}
}

// TestSweep: what was left by a process that was killed before Postgres ran goes
// with the next start; what somebody holds stays, however old it is.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	open(t, tmp)
	t.Setenv("TMPDIR", tmp)
	long := time.Now().Add(-48 * time.Hour)
	running, err := cluster.Scratch(t.Context(), find(t))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Stop()
	held, left, fresh := sockets(t, running.URL("")), filepath.Join(tmp, "assize-postgres-left"), filepath.Join(tmp, "assize-postgres-fresh")
	for _, dir := range []string{left, fresh} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{held, left} {
		if err := os.Chtimes(filepath.Join(dir, "lock"), long, long); err != nil {
			t.Fatal(err)
		}
	}
	next, err := cluster.Scratch(t.Context(), find(t))
	if err != nil {
		t.Fatal(err)
	}
	next.Stop()
	for dir, want := range map[string]bool{held: true, left: false, fresh: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
}

// TestKilled kills the process that started a cluster, as a time-out of go test
// or the kernel would: neither a process nor a directory may be left
// (docs/database.md, rule 2).
func TestKilled(t *testing.T) {
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "ASSIZE_TEST_VICTIM=1")
	victim.Stderr = os.Stderr
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer victim.Wait()
	defer victim.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := sockets(t, strings.TrimSpace(line))
	status, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	process := filepath.Join("/proc", strings.SplitN(string(status), "\n", 2)[0])
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{process, dir} {
		gone := func() bool { _, err := os.Stat(path); return errors.Is(err, fs.ErrNotExist) }
		for until := time.Now().Add(20 * time.Second); !gone(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s is still there", path)
			}
		}
	}
}

// TestKept is the cluster of a server: its data outlives it, one process uses it
// at a time, a second start waits for the first to end, and one that fails says why.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "some", "where")
	open(t, filepath.Dir(filepath.Dir(dir)))
	first, err := cluster.Start(t.Context(), find(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	query(t, first.URL("postgres"), "SELECT lo_from_bytea(4711, 'yes')::text")
	hurry, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := cluster.Start(hurry, find(t), dir); problem.Code(err) != api.Conflict {
		t.Errorf("a second cluster in one directory: %v, want a conflict", err)
	}
	go first.Stop()
	second, err := cluster.Start(t.Context(), find(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Stop()
	if got := query(t, second.URL("postgres"), "SELECT convert_from(lo_get(4711), 'UTF8')"); got != "yes" {
		t.Errorf("the large object holds %q", got)
	}
	second.Stop()

	conf := filepath.Join(dir, "data", "postgresql.conf")
	if err := os.WriteFile(conf, []byte("no_such_setting = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = cluster.Start(t.Context(), find(t), dir)
	if problem.Code(err) != api.Unavailable || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("%v, want what Postgres says", err)
	}
}

// open lets every user pass the directories that t made for itself.
func open(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOtherVersion: data of another major version is neither touched nor started.
func TestOtherVersion(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := cluster.Start(t.Context(), find(t), dir)
	if problem.Code(err) != api.Conflict || !strings.Contains(problem.Hint(err), "PostgreSQL 9") {
		t.Errorf("%v (%s), want a conflict that says which programs are needed", err, problem.Hint(err))
	}
}

func TestFind(t *testing.T) {
	old := t.TempDir()
	for name, script := range map[string]string{"initdb": "#!/bin/sh\n", "postgres": "#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n"} {
		if err := os.WriteFile(filepath.Join(old, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", old)
	if programs, err := cluster.Find(bin()); err != nil || strings.Contains(programs.Version(), "14.9") {
		t.Errorf("%q (%v), want the old one passed over", programs.Version(), err)
	}
	t.Setenv("ASSIZE_POSTGRES_BIN", old)
	if _, err := cluster.Find(bin()); problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), old) {
		t.Errorf("%v, want a refusal of what was named", err)
	}
}

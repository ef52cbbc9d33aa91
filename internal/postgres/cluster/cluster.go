// Package cluster runs a private Postgres in a directory: for tests, and for a
// server on a laptop that was given no database. It talks to the programs of a
// PostgreSQL that is installed, and to nobody over a network: the only way in is
// a socket in a directory of its own. It knows nothing of what is kept inside.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Cluster is a Postgres that runs. It ends with this process, however that
// ends (docs/database.md, rule 2).
type Cluster struct {
	sockets string        // directory of the socket
	leash   *os.File      // Postgres stops when nobody holds this any more
	ended   chan struct{} // closed once nothing of it runs
}

// supervise runs Postgres until the leash, which is its standard input, is let
// go, be it by Stop or by the death of whoever holds it: the kernel closes what a
// killed process held. Then it removes the scratch directory. What Pdeathsig
// offers instead follows a thread, not a process, and cleans nothing up.
const supervise = `
signal=$1 scratch=$2; shift 2
exec 4<&0 </dev/null
"$@" 4<&- & server=$!
{ read -r _ <&4; kill -s "$signal" "$server"; } & leash=$!
wait "$server"; code=$?
kill "$leash" 2>/dev/null
rm -rf "$scratch"
exit "$code"`

// Start runs a cluster whose data is kept in dir, which it makes if it is not
// there. It waits for one that is still stopping; one that somebody else runs in
// dir is a conflict.
func Start(ctx context.Context, programs Programs, dir string) (*Cluster, error) {
	as, err := account()
	if err != nil {
		return nil, err
	}
	if err := as.mkdir(dir); err != nil {
		return nil, err
	}
	lock, err := hold(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the supervisor has its own
	data := filepath.Join(dir, "data")
	if err := initialise(ctx, programs, as, data); err != nil {
		return nil, err
	}
	sockets, err := as.temp("assize-postgres-")
	if err != nil {
		return nil, err
	}
	// After a crash Postgres makes sure that everything is on the disk, by default file
	// by file: with other work on the disk that took longer than somebody waits.
	return run(ctx, programs, as, lock, place{data: data, sockets: sockets, log: filepath.Join(dir, "log"), scratch: sockets, signal: "INT"},
		"-c", "recovery_init_sync_method=syncfs")
}

// Scratch runs a cluster that keeps nothing, for tests: it is fast because it
// does not care about a loss of power, and nothing of it is left when it ends.
func Scratch(ctx context.Context, programs Programs) (*Cluster, error) {
	as, err := account()
	if err != nil {
		return nil, err
	}
	sweep()
	dir, err := as.temp("assize-postgres-")
	if err != nil {
		return nil, err
	}
	lock, err := hold(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	data := filepath.Join(dir, "data")
	if err := copyTemplate(ctx, programs, as, data); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return run(ctx, programs, as, lock, place{data: data, sockets: dir, log: filepath.Join(dir, "log"), scratch: dir, signal: "QUIT"},
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=off", "-c", "autovacuum=off",
		"-c", "max_connections=300", "-c", "shared_buffers=64MB")
}

// A place is where a cluster has its things.
type place struct {
	data, sockets, log string
	scratch            string // removed at the end
	signal             string // how Postgres is told to stop
}

// run starts Postgres under its supervisor and waits until it takes connections.
func run(ctx context.Context, programs Programs, as user, lock *os.File, at place, options ...string) (*Cluster, error) {
	log, err := as.create(at.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	held, leash, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer held.Close()
	// A lock file of a run that was killed would name a process that may by now be
	// anybody; ours says that nobody uses the directory.
	if err := os.Remove(filepath.Join(at.data, "postmaster.pid")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	args := append([]string{"-c", supervise, "assize-postgres", at.signal, at.scratch, programs.path("postgres"),
		"-D", at.data, "-k", at.sockets, "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700"}, options...)
	cmd := as.command(context.Background(), "/bin/sh", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = held, log, log, []*os.File{lock}
	cmd.SysProcAttr.Setsid = true // an interrupt from a keyboard is for us to pass on
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, leash.Close(), os.RemoveAll(at.scratch))
	}
	c := &Cluster{sockets: at.sockets, leash: leash, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(c.ended)
	}()
	if err := c.ready(ctx, at); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// ready waits until Postgres says so in postmaster.pid, as pg_ctl does.
func (c *Cluster) ready(ctx context.Context, at place) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return problem.New(api.Unavailable, "Postgres did not start in time: %w", ctx.Err())
		case <-c.ended:
			return problem.New(api.Unavailable, "Postgres did not start: %s", lastLines(at.log)).
				WithHint("its log is %s", at.log)
		case <-tick.C:
			status, err := os.ReadFile(filepath.Join(at.data, "postmaster.pid"))
			if lines := bytes.Split(status, []byte("\n")); err == nil && len(lines) > 7 && bytes.HasPrefix(lines[7], []byte("ready")) {
				return nil
			}
		}
	}
}

// lastLines is the end of a log, which a scratch cluster takes with it.
func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "it left no log"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// URL is how to connect to one of the cluster's databases, as its superuser.
// There is always one called postgres.
func (c *Cluster) URL(database string) string {
	query := url.Values{"host": {c.sockets}, "user": {superuser}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}).String()
}

// Stop ends Postgres and waits until nothing of it runs. Open connections are cut,
// and what was committed in a cluster that keeps its data is kept.
func (c *Cluster) Stop() {
	_ = c.leash.Close() // a second time says that it is closed
	<-c.ended
}

// Ended is closed once Postgres has ended, whoever ended it.
func (c *Cluster) Ended() <-chan struct{} { return c.ended }

// hold takes the lock on a cluster's directory. Whoever inherits the open file
// holds it too, so that it is free only when the last process of an earlier
// cluster is gone.
func hold(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(20 * time.Second); ; {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || ctx.Err() != nil || time.Now().After(until) {
			return nil, errors.Join(problem.New(api.Conflict, "another process uses the database in %s", filepath.Dir(path)).
				WithHint("stop it, or choose another directory for the data"), file.Close())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sweep removes scratch directories that nobody holds: those of processes that
// were killed before Postgres ran, or together with the supervisor. What cannot be
// removed is somebody else's. An hour is much longer than a start takes before it
// has its lock.
func sweep() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), "assize-postgres-*", "lock"))
	if err != nil {
		return
	}
	for _, path := range locks {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = file.Close()
	}
}

// output runs a program to its end; what it said is part of the error.
func output(cmd *exec.Cmd) error {
	said, err := cmd.CombinedOutput()
	if err != nil {
		return problem.New(api.Unavailable, "%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(string(said)))
	}
	return nil
}

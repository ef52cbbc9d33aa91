package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/assize-iac/assize/internal/serve"
)

// A background is a server that a script has started.
type background struct {
	cmd    *exec.Cmd
	ended  chan error
	stderr string // path of what it has logged
}

// servers are those of a script that still run.
type servers map[string]*background

type serversKey struct{}

// server starts `assize server` in the background, or ends it:
//
//	server start DIR [FLAG...]   with its data in DIR; returns once it answers
//	server stop DIR              like a service manager does: SIGTERM, and wants exit code 0
//	server kill DIR
//
// After a start, $SERVER is its URL, $HOST the host of that, $SSL_CERT_FILE its
// authority and $ADMIN_TOKEN the administrator's token. What it logs is in DIR.log.
func server(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: server start|stop|kill DIR [FLAG...]")
	}
	dir := ts.MkAbs(args[1])
	all := ts.Value(serversKey{}).(servers)
	switch running := all[dir]; {
	case args[0] == "start" && running == nil:
		all[dir] = startServer(ts, dir, args[2:])
	case args[0] == "stop" && running != nil:
		delete(all, dir)
		if err := running.end(syscall.SIGTERM); err != nil {
			ts.Fatalf("the server ended with %v:\n%s", err, ts.ReadFile(running.stderr))
		}
	case args[0] == "kill" && running != nil:
		delete(all, dir)
		_ = running.end(syscall.SIGKILL)
	default:
		ts.Fatalf("server %s %s: there is none, or one already", args[0], args[1])
	}
}

// end sends a signal and waits.
func (b *background) end(s syscall.Signal) error {
	if err := b.cmd.Process.Signal(s); err != nil {
		return err
	}
	select {
	case err := <-b.ended:
		return err
	case <-time.After(time.Minute):
		_ = b.cmd.Process.Kill()
		return fmt.Errorf("it did not end within a minute")
	}
}

func startServer(ts *testscript.TestScript, dir string, flags []string) *background {
	passable(dir)
	program := filepath.Join(filepath.SplitList(ts.Getenv("PATH"))[0], "assize")
	b := &background{ended: make(chan error, 1), stderr: dir + ".log"}
	b.cmd = exec.Command(program, append([]string{"server", "--data", dir, "--listen", "localhost:0"}, flags...)...)
	b.cmd.Env = serverEnv(ts)
	log, err := os.OpenFile(b.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	b.cmd.Stderr = log
	out, err := b.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(b.cmd.Start())
	lines := bufio.NewScanner(out)
	found := lines.Scan()
	address, ready := strings.CutPrefix(lines.Text(), "Assize is ready at ")
	go func() {
		for lines.Scan() {
		}
		b.ended <- b.cmd.Wait()
	}()
	if !found || !ready {
		<-b.ended
		ts.Fatalf("no server: %s", ts.ReadFile(b.stderr))
	}
	u, err := url.Parse(address)
	ts.Check(err)
	ts.Setenv("SERVER", address)
	ts.Setenv("HOST", u.Host)
	ts.Setenv("SSL_CERT_FILE", filepath.Join(dir, "ca.pem"))
	ts.Setenv("ADMIN_TOKEN", strings.TrimSpace(ts.ReadFile(filepath.Join(dir, "admin-token"))))
	return b
}

// fetch prints what the server answers to a GET: fetch PATH [TOKEN].
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: fetch PATH [TOKEN]")
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ts.ReadFile(ts.Getenv("SSL_CERT_FILE"))))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	req, err := http.NewRequest("GET", ts.Getenv("SERVER")+args[0], nil)
	ts.Check(err)
	if len(args) == 2 {
		req.Header.Set("Authorization", "Bearer "+args[1])
	}
	res, err := client.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	fmt.Fprintln(ts.Stdout(), res.Status)
	_, err = io.Copy(ts.Stdout(), res.Body)
	ts.Check(err)
}

// serverEnv is what a server may read of a script's environment.
func serverEnv(ts *testscript.TestScript) []string {
	names := []string{"PATH", "HOME", "TMPDIR", "ASSIZE_POSTGRES_BIN"}
	for _, s := range (&serve.Settings{}).Table() {
		names = append(names, s.Variable)
	}
	var env []string
	if linked, err := filepath.Abs(filepath.Join("..", "..", ".bin", "postgres")); err == nil {
		if _, err := os.Stat(linked); err == nil {
			env = append(env, "ASSIZE_POSTGRES_BIN="+linked) // what a script sets is stronger: it comes later
		}
	}
	for _, name := range names {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// passable lets the user as whom Postgres runs come to dir when root runs the tests.
func passable(dir string) {
	for dir = filepath.Dir(dir); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		_ = os.Chmod(dir, 0o755)
	}
}

package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A site is an `assize server` that runs, with all that it makes for itself.
type site struct {
	data  string // directory
	host  string // and port
	token string // of the administrator
	ca    string // the file with the certificate authority
	http  *http.Client

	process *exec.Cmd
	untie   func() // once it has ended
	log     string // file
	mayFail bool   // something is done to it that it cannot help
}

// newSite starts a server, and ends it with the test. It must not have gone
// wrong by itself meanwhile.
func newSite(t *testing.T) *site {
	t.Helper()
	// The user as whom Postgres runs must come to it; a directory of the test is closed.
	data, err := os.MkdirTemp("", "assize-server-")
	if err == nil {
		err = os.Chmod(data, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	s := &site{data: data, host: "localhost:0", ca: filepath.Join(data, "ca.pem"), log: filepath.Join(t.TempDir(), "log")}
	t.Cleanup(func() {
		log, _ := os.ReadFile(s.log)
		if t.Failed() {
			t.Logf("the server's log:\n%s", last(log, 8<<10))
		}
		if wrong := wentWrong.Find(log); wrong != nil && !s.mayFail {
			t.Errorf("the server's log says: %s", wrong)
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		s.tellsNothing(t)
	})
	token, err := os.ReadFile(filepath.Join(data, "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(string(token))
	return s
}

// tellsNothing looks for the canary, as it is and in base64, in all that the server has
// put on the disk: artifacts, the files of the database with its journal, its log.
func (s *site) tellsNothing(t *testing.T) {
	t.Helper()
	secrets := [][]byte{[]byte(canary)}
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary))
		secrets = append(secrets, []byte(text[shift+1:len(text)-1]))
	}
	files := []string{s.log}
	err := filepath.WalkDir(s.data, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		for _, secret := range secrets {
			if bytes.Contains(text, secret) {
				t.Errorf("the secret is in %s, as %s", path, secret)
			}
		}
	}
}

// wentWrong is a line about something that no client has done.
var wentWrong = regexp.MustCompile(`(?m)^.*level=ERROR.*$`)

func last(text []byte, most int) []byte { return text[max(0, len(text)-most):] }

// start starts the server where it was before, and returns when it is ready.
func (s *site) start() error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin", "postgres"))
	if err != nil {
		return err
	}
	s.process = exec.Command("assize", "server", "--data", s.data, "--listen", s.host)
	s.process.Env = append(os.Environ(), "ASSIZE_POSTGRES_BIN="+bin)
	s.process.Stderr = log
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	host, ready := strings.CutPrefix(strings.TrimSpace(line), "Assize is ready at https://")
	if !ready {
		said, _ := os.ReadFile(s.log)
		return errors.Join(fmt.Errorf("the server is not ready: %q\n%s", line, last(said, 2<<10)), err, s.process.Wait())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	if err := s.tie(); err != nil {
		return err
	}
	if s.http == nil {
		s.host = host
		s.http, err = trusting(s.ca)
	}
	return err
}

// untied ends a server, and what it made, whose test has died: the test held the other
// end of the standard input.
const untied = `
read -r _
grep -qs -- "$2" "/proc/$1/cmdline" || exit 0
kill "$1"
while [ -e "/proc/$1" ]; do sleep 0.1; done
rm -rf "$2"`

// tie sees to it that the server does not outlive this process.
func (s *site) tie() error {
	watch := exec.Command("/bin/sh", "-c", untied, "sh", strconv.Itoa(s.process.Process.Pid), s.data)
	rope, err := watch.StdinPipe()
	if err == nil {
		err = watch.Start()
	}
	if err != nil {
		return err
	}
	s.untie = func() { _ = rope.Close(); _ = watch.Wait() }
	return nil
}

// wait waits for the end of the server.
func (s *site) wait() error {
	err := s.process.Wait()
	s.untie()
	return err
}

// trusting is a client that trusts one authority, of a file, and no other.
func trusting(ca string) (*http.Client, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

// stop asks the server to end, which it does in order.
func (s *site) stop() error {
	s.http.CloseIdleConnections()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.wait(); err != nil {
		return fmt.Errorf("assize server: %w", err)
	}
	return nil
}

// do sends a request of the administrator's, and returns what was answered if that
// is a success.
func (s *site) do(method, address, body string) ([]byte, error) {
	if strings.HasPrefix(address, "/") {
		address = "https://" + s.host + address
	}
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/vnd.api+json")
	res, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, address, res.Status, bytes.TrimSpace(answer))
	}
	return answer, err
}

// document is the one that was answered to a GET.
func (s *site) document(path string) (doc document, err error) {
	answer, err := s.do("GET", path, "")
	if err == nil {
		err = json.Unmarshal(answer, &doc)
	}
	return doc, err
}

// A document is what of JSON:API is read here.
type document struct {
	Data struct {
		ID         string
		Attributes struct {
			Download string `json:"hosted-state-download-url"`
		}
	}
}

// create makes an organisation, which has a secret in a set of variables.
func (s *site) create(t *testing.T, organisation string) {
	t.Helper()
	for _, made := range []struct{ path, document string }{
		{"", fmt.Sprintf(`{"type":"organizations","attributes":{"name":%q,"email":"ops@example.com"}}`, organisation)},
		{"/" + organisation + "/varsets", fmt.Sprintf(`{"type":"varsets","attributes":{"name":"all","global":true},"relationships":{"vars":{"data":[
			{"type":"vars","attributes":{"key":"secret","value":%q,"category":"terraform","sensitive":true}}]}}}`, canary)},
	} {
		if _, err := s.do("POST", "/api/v2/organizations"+made.path, `{"data":`+made.document+`}`); err != nil {
			t.Fatal(err)
		}
	}
}

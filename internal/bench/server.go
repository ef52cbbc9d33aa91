package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A server is `assize server` in a process and a directory of its own, as on a
// laptop: with a private Postgres, and over TLS.
type server struct {
	cmd   *exec.Cmd
	url   string // such as https://localhost:41234
	data  string // directory
	token string // of the administrator
	roots *x509.CertPool
	again atomic.Int64 // how often clients were told to come again, and did
}

const ready = "Assize is ready at "

// organisation is the one that a new server has.
const organisation = "default"

// startServer returns once the server says that it is ready.
func startServer(bin, data string) (*server, error) {
	if err := os.Mkdir(data, 0o755); err != nil { // root's Postgres runs as somebody else
		return nil, err
	}
	s := &server{data: data, cmd: exec.Command(filepath.Join(bin, "assize"), "server", "--data", data, "--listen", "localhost:0")}
	var log bytes.Buffer
	s.cmd.Stderr = &log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewReader(stdout)
	for s.url == "" {
		line, err := said.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("the server does not start: %w\n%s", errors.Join(err, s.stop()), log.Bytes())
		}
		if address, ok := strings.CutPrefix(line, ready); ok {
			s.url = strings.TrimSpace(address)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // so that it never waits for a reader
	if err := s.trust(); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// trust reads what a client needs to know.
func (s *server) trust() error {
	token, err := os.ReadFile(filepath.Join(s.data, "admin-token"))
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(s.authority())
	if err != nil {
		return err
	}
	s.token, s.roots = strings.TrimSpace(string(token)), x509.NewCertPool()
	s.roots.AppendCertsFromPEM(authority)
	return nil
}

func (s *server) authority() string { return filepath.Join(s.data, "ca.pem") }

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// database is how to reach a database of the server's own Postgres. Where its
// socket is stands in the file in which Postgres says so to pg_ctl.
func (s *server) database(name string) (string, error) {
	status, err := os.ReadFile(filepath.Join(s.data, "postgres", "data", "postmaster.pid"))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(status), "\n")
	if len(lines) < 5 {
		return "", fmt.Errorf("postmaster.pid names no socket: %q", status)
	}
	query := url.Values{"host": {lines[4]}, "user": {"postgres"}, "sslmode": {"disable"}}
	return "postgres:///" + name + "?" + query.Encode(), nil
}

// A client asks a server over a connection of its own.
type client struct {
	server *server
	http   http.Client
	buffer bytes.Buffer // the last answer
}

func (s *server) client() *client {
	return &client{server: s, http: http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots}, ForceAttemptHTTP2: true}}}
}

// How often and after which pause the tools ask again when they are told to
// (go-tfe, as they use it).
const (
	tries    = 30
	minPause = 100 * time.Millisecond
	maxPause = 400 * time.Millisecond
)

// call returns the body of an answer, which is good until the next call. An answer
// that is none of success is an error. The place is a path, or an address that
// the server has given.
func (c *client) call(method, place string, body func() io.Reader, size int64) ([]byte, error) {
	if strings.HasPrefix(place, "/") {
		place = c.server.url + place
	}
	for try := 1; ; try++ {
		status, err := c.ask(method, place, body, size)
		switch {
		case err != nil:
			return nil, err
		case status/100 == 2:
			return c.buffer.Bytes(), nil
		case status != http.StatusTooManyRequests && status < 500 || try == tries:
			return nil, fmt.Errorf("%s %s: %d: %.500s", method, place, status, c.buffer.Bytes())
		}
		c.server.again.Add(1)
		time.Sleep(minPause + rand.N(maxPause-minPause))
	}
}

// ask sends a request once and reads the answer.
func (c *client) ask(method, place string, body func() io.Reader, size int64) (status int, err error) {
	req, err := http.NewRequest(method, place, body())
	if err != nil {
		return 0, err
	}
	req.ContentLength = size
	req.Header.Set("Authorization", "Bearer "+c.server.token)
	if strings.HasPrefix(req.URL.Path, "/api/v2/") {
		req.Header.Set("Content-Type", "application/vnd.api+json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	c.buffer.Reset()
	_, err = c.buffer.ReadFrom(resp.Body)
	return resp.StatusCode, err
}

func (c *client) get(place string) ([]byte, error) {
	return c.call(http.MethodGet, place, func() io.Reader { return nil }, 0)
}

func (c *client) post(place, body string) ([]byte, error) {
	return c.call(http.MethodPost, place, func() io.Reader { return strings.NewReader(body) }, int64(len(body)))
}

// A document is what is read of one in JSON:API.
type document struct {
	Data struct {
		ID         string
		Attributes struct {
			Upload   string `json:"hosted-state-upload-url"`
			Download string `json:"hosted-state-download-url"`
		}
	}
}

// read decodes the answer of a call.
func read(text []byte, err error) (document, error) {
	var d document
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
}

// organise makes an organisation.
func (c *client) organise(name string) error {
	_, err := c.post("/api/v2/organizations", fmt.Sprintf(`{"data":{"type":"organizations","attributes":{"name":%q,"email":"bench@example.com"}}}`, name))
	return err
}

// stack makes one and returns its id.
func (c *client) stack(organisation, name string) (string, error) {
	d, err := read(c.post("/api/v2/organizations/"+organisation+"/workspaces", fmt.Sprintf(`{"data":{"type":"workspaces","attributes":{"name":%q}}}`, name)))
	return d.Data.ID, err
}

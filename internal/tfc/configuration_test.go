package tfc

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// version makes a version of a configuration and returns its id and the path at
// which it is uploaded.
func (s server) version(t *testing.T, token, workspace string) (id, path string) {
	t.Helper()
	made := s.do(t, token, "POST", "/api/v2/workspaces/"+workspace+"/configuration-versions",
		`{"data":{"type":"configuration-versions","attributes":{"auto-queue-runs":false,"speculative":false}}}`)
	address, _ := made.attribute(t, "upload-url").(string)
	path, ok := strings.CutPrefix(address, s.URL)
	if !ok {
		t.Fatalf("%d %s: no address to upload to", made.status, made.body)
	}
	return made.id(t), path
}

// put uploads what r reads, of an unknown length.
func (s server) put(t *testing.T, path string, r io.Reader) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "PUT", s.URL+path, struct{ io.Reader }{r})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0 // the server closed the connection when it had enough
	}
	res.Body.Close()
	return res.StatusCode
}

// An endless archive begins as one and goes on with so many zeros.
func endless(size int64) io.Reader {
	return io.MultiReader(strings.NewReader("\x1f\x8b\x08"), io.LimitReader(zeros{}, size-3))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestUpload: what was uploaded comes back byte for byte, and what is none, too
// large, cut short or by somebody else changes nothing.
func TestUpload(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	ws := s.acme(t, ann)
	id, path := s.version(t, ann, ws)
	status := func() any {
		return s.do(t, ann, "GET", "/api/v2/configuration-versions/"+id, "").attribute(t, "status")
	}
	for name, c := range map[string]struct {
		path string
		body io.Reader
		want int
	}{
		"nothing":        {path, strings.NewReader(""), 422},
		"no archive":     {path, strings.NewReader("PK\x03\x04"), 422},
		"a byte":         {path, strings.NewReader("\x1f"), 422},
		"another secret": {path[:len(path)-1] + "!", strings.NewReader("\x1f\x8b\x08"), 404},
		"too large":      {path, endless(100<<20 + 1), 413},
	} {
		if got := s.put(t, c.path, c.body); got != c.want && (got != 0 || c.want != 413) {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got := status(); got != "pending" {
			t.Errorf("%s: the version is %v", name, got)
		}
	}
	for _, word := range []string{"%00", "%ff%fe", "%2e%2e%2f", strings.Repeat("x", 5000)} {
		for _, path := range []string{"/api/v2/configuration-versions/" + word + "/upload/x", "/api/v2/configuration-versions/" + id + "/upload/" + word} {
			if got := s.do(t, "", "PUT", path, "\x1f\x8b\x08"); got.status != 404 && got.status != 422 {
				t.Errorf("PUT %.80s: %d %s", path, got.status, got.body)
			}
		}
	}
	s.cutShort(t, path)
	if got := status(); got != "pending" {
		t.Errorf("cut short: the version is %v", got)
	}
	if got := s.do(t, ann, "GET", "/api/v2/configuration-versions/"+id+"/download", ""); got.status != 404 {
		t.Errorf("there is something to download: %d", got.status)
	}
	archive := "\x1f\x8b\x08" + strings.Repeat("any bytes \x00\xff", 1000)
	for range 2 { // clients send it again when the answer is lost
		if got := s.do(t, "", "PUT", path, archive); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if got := s.download(t, ann, id); got != archive {
		t.Errorf("%d bytes come back, not the same", len(got))
	}
}

// cutShort announces more than it sends, and goes away.
func (s server) cutShort(t *testing.T, path string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n\x1f\x8b\x08 half of it", path)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil && res.StatusCode < 400 {
		t.Errorf("half an archive: %d", res.StatusCode)
	}
}

// download is an archive as it comes; do would trim it.
func (s server) download(t *testing.T, token, id string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/v2/configuration-versions/"+id+"/download", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil || res.StatusCode != 200 || res.ContentLength != int64(body.Len()) {
		t.Fatalf("%d %d %v", res.StatusCode, res.ContentLength, err)
	}
	return body.String()
}

// TestWhoUploads: a reader sees that there is a version, and neither makes one nor
// reads the files; and an address that somebody was given opens nothing any more
// when they may do nothing any more (docs/secrets.md, rules 10 and 11).
func TestWhoUploads(t *testing.T) {
	t.Parallel()
	s := start(t)
	owner, ann := s.person(t, "ann")
	member, bob := s.person(t, "bob")
	s.appoint(t, owner)
	ws := s.acme(t, ann)
	id, path := s.version(t, ann, ws)
	const archive = "\x1f\x8b\x08 an archive"
	if got := s.do(t, "", "PUT", path, archive); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	versions, one := "/api/v2/workspaces/"+ws+"/configuration-versions", "/api/v2/configuration-versions/"+id
	statuses := func(wantMake, wantSee, wantRead, wantArchive int) {
		t.Helper()
		for _, c := range []struct {
			method, path string
			want         int
		}{{"POST", versions, wantMake}, {"GET", versions, wantSee}, {"GET", one, wantSee}, {"GET", one + "/download", wantRead}, {"POST", one + "/actions/archive", wantArchive}} {
			body := ""
			if c.path == versions && c.method == "POST" {
				body = `{"data":{"type":"configuration-versions"}}`
			}
			if got := s.do(t, bob, c.method, c.path, body); got.status != c.want {
				t.Errorf("%s %s: %d %s, want %d", c.method, c.path, got.status, got.body, c.want)
			}
		}
	}
	statuses(404, 404, 404, 404)
	s.role(t, owner, member, identity.Reader)
	statuses(403, 200, 403, 403)
	s.role(t, owner, member, identity.Planner)
	statuses(201, 200, 200, 403)
	_, his := s.version(t, bob, ws)
	s.role(t, owner, member, "")
	if got := s.do(t, "", "PUT", his, archive); got.status != 404 {
		t.Errorf("somebody who may nothing uploads: %d %s", got.status, got.body)
	}
}

// appoint lets somebody make organisations.
func (s server) appoint(t *testing.T, who identity.Principal) {
	t.Helper()
	err := s.store.Update(t.Context(), func(u *postgres.Update) error { return u.Appoint(t.Context(), postgres.Server(), who.ID, true) })
	if err != nil {
		t.Fatal(err)
	}
}

// role gives somebody a role in acme, or takes the last one away.
func (s server) role(t *testing.T, owner, member identity.Principal, role identity.Role) {
	t.Helper()
	err := s.store.Update(t.Context(), func(u *postgres.Update) error {
		o, err := u.Organisation(t.Context(), owner, "acme")
		if err != nil {
			return err
		}
		at := identity.Scope{Organisation: o.ID}
		if role == "" {
			return u.Revoke(t.Context(), owner, member.ID, identity.Grant{Role: identity.Planner, Scope: at})
		}
		return u.Grant(t.Context(), owner, member.ID, identity.Grant{Role: role, Scope: at})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// roleAt gives somebody a role for one workspace.
func (s server) roleAt(t *testing.T, owner, member identity.Principal, role identity.Role, workspace string) {
	t.Helper()
	err := s.store.Update(t.Context(), func(u *postgres.Update) error {
		k, err := u.Stack(t.Context(), owner, workspace)
		if err != nil {
			return err
		}
		at := identity.Scope{Organisation: k.Organisation, Project: k.Project, Stack: k.ID}
		return u.Grant(t.Context(), owner, member.ID, identity.Grant{Role: role, Scope: at})
	})
	if err != nil {
		t.Fatal(err)
	}
}

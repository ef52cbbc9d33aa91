package tfc

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// founder is the token of a user who may make organisations.
func (s server) founder(t *testing.T, name string) string {
	t.Helper()
	who := postgres.NewUser(name)
	var token identity.Token
	err := s.store.Update(t.Context(), func(u *postgres.Update) error {
		if err := u.Register(t.Context(), who); err != nil {
			return err
		}
		if err := u.Appoint(t.Context(), postgres.Server(), who.ID, true); err != nil {
			return err
		}
		made, _, err := u.CreateToken(t.Context(), who, postgres.TokenRequest{Owner: who.ID})
		token = made
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

// network is the id of a new workspace of a new organisation.
func (s server) network(t *testing.T, token, organisation string) string {
	t.Helper()
	s.must(t, 201, token, "POST", "/api/v2/organizations", fmt.Sprintf(`{"data":{"type":"organizations","attributes":{"name":%q,"email":"a@example.com"}}}`, organisation))
	made := s.must(t, 201, token, "POST", "/api/v2/organizations/"+organisation+"/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"network"}}}`)
	return field[string](t, made, "data", "id")
}

func (s server) must(t *testing.T, status int, token, method, path, body string) map[string]any {
	t.Helper()
	got := s.do(t, token, method, path, body)
	if got.status != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
	}
	if len(got.body) == 0 {
		return nil
	}
	return got.doc(t)
}

// field is what is deep in a document.
func field[T any](t *testing.T, doc map[string]any, path ...string) T {
	t.Helper()
	var at any = doc
	for _, name := range path {
		inner, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("there is no %s in %v", strings.Join(path, "."), doc)
		}
		at = inner[name]
	}
	got, ok := at.(T)
	if !ok {
		t.Fatalf("%s is %v", strings.Join(path, "."), at)
	}
	return got
}

// versionOf is the document that creates a version; what is in more comes on top.
func versionOf(serial int, text, more string) string {
	sum := md5.Sum([]byte(text))
	return fmt.Sprintf(`{"data":{"type":"state-versions","attributes":{"serial":%d,"md5":%q,"lineage":"l"%s}}}`, serial, hex.EncodeToString(sum[:]), more)
}

// TestState is what the clients do with the state of a workspace, and what becomes
// of what they should not.
func TestState(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.founder(t, "ann"), s.founder(t, "bob")
	s.network(t, bob, "other")
	ws := "/api/v2/workspaces/" + s.network(t, ann, "acme")
	one := `{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":12345678901234567890,"type":"number"}},"resources":[]}`

	s.must(t, 404, ann, "GET", ws+"/current-state-version", "")
	none := s.must(t, 200, ann, "GET", ws+"/current-state-version-outputs", "")
	if len(field[[]any](t, none, "data")) != 0 {
		t.Errorf("a workspace without a state has the outputs %v", none)
	}
	s.must(t, 409, ann, "POST", ws+"/state-versions", versionOf(1, one, ""))
	locked := s.must(t, 200, ann, "POST", ws+"/actions/lock", `{"data":{"attributes":{"reason":"Locked by OpenTofu"},"type":""}}`)
	if !field[bool](t, locked, "data", "attributes", "locked") || field[string](t, locked, "data", "relationships", "locked-by", "data", "type") != "users" {
		t.Errorf("%v", locked)
	}
	outputs := base64.StdEncoding.EncodeToString([]byte(`{"o":{"value":12345678901234567890,"type":"number","sensitive":false}}`))
	begun := s.must(t, 201, ann, "POST", ws+"/state-versions", versionOf(1, one, fmt.Sprintf(`,"json-state-outputs":%q`, outputs)))
	version := "/api/v2/state-versions/" + field[string](t, begun, "data", "id")
	if field[string](t, begun, "data", "attributes", "status") != "pending" {
		t.Errorf("%v", begun)
	}
	upload, err := url.Parse(field[string](t, begun, "data", "attributes", "hosted-state-upload-url"))
	if err != nil || !strings.HasPrefix(upload.String(), s.URL) {
		t.Fatalf("%v, %v", upload, err)
	}
	if got := s.do(t, "", "PUT", upload.Path, one+" "); got.status != 422 {
		t.Errorf("other bytes: %d %s", got.status, got.body)
	}
	if got := s.do(t, "", "PUT", upload.Path, one); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	read := s.must(t, 200, ann, "GET", version+"?include=outputs", "")
	if field[string](t, read, "data", "attributes", "status") != "finalized" || strings.Contains(fmt.Sprint(read), "upload-url:http") {
		t.Errorf("%v", read)
	}
	for path, token := range map[string]string{version: bob, version + "/download": bob, ws + "/current-state-version": bob, version + "/outputs": bob} {
		s.must(t, 404, token, "GET", path, "")
	}
	if got := s.do(t, ann, "GET", version+"/download", ""); string(got.body) != one {
		t.Errorf("%s", got.body)
	}
	if got := s.do(t, ann, "GET", version+"/outputs", ""); !strings.Contains(string(got.body), `"value":12345678901234567890`) {
		t.Errorf("a number is another: %s", got.body)
	}
	two := strings.Replace(one, `"serial":1`, `"serial":2`, 1)
	inline := fmt.Sprintf(`,"state":%q`, base64.StdEncoding.EncodeToString([]byte(two)))
	s.must(t, 201, ann, "POST", ws+"/state-versions", versionOf(2, two, inline))
	s.must(t, 409, ann, "POST", ws+"/state-versions", versionOf(1, two, inline))
	s.must(t, 422, ann, "POST", ws+"/state-versions", versionOf(3, one, inline))
	s.must(t, 422, ann, "POST", ws+"/state-versions", versionOf(3, two, `,"state":"no base64"`))
	s.must(t, 422, ann, "POST", ws+"/state-versions", `{"data":{"type":"state-versions","attributes":{"serial":3}}}`)
	back := s.must(t, 201, ann, "PATCH", ws+"/state-versions", fmt.Sprintf(
		`{"data":{"type":"state-versions","relationships":{"rollback-state-version":{"data":{"type":"state-versions","id":%q}}}}}`, field[string](t, begun, "data", "id")))
	if got := s.do(t, ann, "GET", "/api/v2/state-versions/"+field[string](t, back, "data", "id")+"/download", ""); string(got.body) != one {
		t.Errorf("back to %s", got.body)
	}
	list := s.must(t, 200, ann, "GET", "/api/v2/state-versions?filter[organization][name]=acme&filter[workspace][name]=network", "")
	if n := len(field[[]any](t, list, "data")); n != 3 {
		t.Errorf("%d versions", n)
	}
	s.must(t, 200, ann, "POST", ws+"/actions/unlock", "")
	if got := s.do(t, ann, "POST", ws+"/actions/unlock", ""); got.status != 409 || strings.Contains(string(got.body), "is locked by") {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.must(t, 422, ann, "POST", ws+"/actions/lock", `{"data":{"type":"elephants"}}`)
}

// TestStateTooLarge: what is larger than is taken is refused before it is read.
func TestStateTooLarge(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.founder(t, "ann")
	ws := "/api/v2/workspaces/" + s.network(t, ann, "acme")
	s.must(t, 200, ann, "POST", ws+"/actions/lock", "")
	text := strings.Repeat(" ", control.InlineMax+1)
	s.must(t, 413, ann, "POST", ws+"/state-versions", versionOf(1, text, fmt.Sprintf(`,"state":%q`, base64.StdEncoding.EncodeToString([]byte(text)))))
	begun := s.must(t, 201, ann, "POST", ws+"/state-versions", versionOf(1, text, ""))
	req, err := http.NewRequestWithContext(t.Context(), "PUT", field[string](t, begun, "data", "attributes", "hosted-state-upload-url"), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength, req.Body = control.StateMax+1, http.MaxBytesReader(nil, http.NoBody, 1)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		res.Body.Close()
		if res.StatusCode != 413 {
			t.Errorf("%s", res.Status)
		}
	}
}

// TestBrisk: what comes slowly does not keep a place for long, and what comes at the rate
// that is wanted keeps it to its end.
func TestBrisk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		since  time.Duration
		status int
	}{{0, http.StatusOK}, {time.Minute, http.StatusRequestTimeout}} {
		body := brisk{io.NopCloser(strings.NewReader("a few bytes")), time.Now().Add(-test.since), new(int64)}
		r := &request{Request: httptest.NewRequest("POST", "/", body)}
		status := http.StatusOK
		if _, err := r.body(stateDocumentMax); err != nil {
			w := httptest.NewRecorder()
			writeError(w, err)
			status = w.Code
		}
		if status != test.status {
			t.Errorf("after %v: %d, want %d", test.since, status, test.status)
		}
	}
}

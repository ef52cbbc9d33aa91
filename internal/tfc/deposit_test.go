package tfc

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// uploadPath is where the document of a reply says that its archive goes.
func (r reply) uploadPath(t *testing.T) string {
	t.Helper()
	data, _ := r.doc(t)["data"].(map[string]any)
	links, _ := data["links"].(map[string]any)
	address, _ := links["upload"].(string)
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

// expect sends a request and ends the test when it is not answered with this status.
func (s server) expect(t *testing.T, status int, token, method, path, body string) reply {
	t.Helper()
	got := s.do(t, token, method, path, body)
	if got.status != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
	}
	return got
}

// organisation makes one, of which the token's user is the owner.
func (s server) organisation(t *testing.T, token, name string) {
	t.Helper()
	s.expect(t, http.StatusCreated, token, "POST", "/api/v2/organizations",
		fmt.Sprintf(`{"data":{"type":"organizations","attributes":{"name":%q,"email":"a@example.com"}}}`, name))
}

// archive is a tar.gz of files.
func archive(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	packed := tar.NewWriter(zipped)
	for name, text := range files {
		if err := packed.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(packed, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSecretsOfDeposits: what is sent as a secret comes back in no answer, and is in
// the clear in no log, table or file (docs/protocol.md, rule 19).
func TestSecretsOfDeposits(t *testing.T) {
	t.Parallel()
	w := watch(t)
	ann := w.user(t, "ann")
	stack := w.acme(t, ann)
	const canary = "canary-red-93be10"
	set := w.ask(t, 201, ann, "POST", "/api/v2/organizations/acme/policy-sets", `{"data":{"type":"policy-sets","attributes":{"name":"all"}}}`).id(t)
	clients, parameters := "/api/v2/organizations/acme/oauth-clients", "/api/v2/policy-sets/"+set+"/parameters"
	for _, c := range []struct{ create, read, body, change string }{
		{clients, "/api/v2/oauth-clients/", `{"data":{"type":"oauth-clients","attributes":{"api-url":"https://example.com","http-url":"https://example.com",
			"service-provider":"ado_server","oauth-token-string":"` + canary + `1","secret":"` + canary + `2","private-key":"` + canary + `3"}}}`,
			`{"data":{"type":"oauth-clients","attributes":{"secret":"` + canary + `4"}}}`},
		{parameters, parameters + "/", `{"data":{"type":"vars","attributes":{"key":"password","value":"` + canary + `5","sensitive":true}}}`,
			`{"data":{"type":"vars","attributes":{"value":"` + canary + `6"}}}`},
		{parameters, parameters + "/", `{"data":{"type":"vars","attributes":{"key":"later","value":"open"}}}`,
			`{"data":{"type":"vars","attributes":{"value":"` + canary + `7","sensitive":true}}}`},
		{"/api/v2/workspaces/" + stack + "/notification-configurations", "/api/v2/notification-configurations/",
			`{"data":{"type":"notification-configurations","attributes":{"name":"n","destination-type":"generic","url":"https://example.com","token":"` + canary + `8"}}}`,
			`{"data":{"type":"notification-configurations","attributes":{"token":"` + canary + `9"}}}`},
	} {
		id := w.ask(t, 201, ann, "POST", c.create, c.body).id(t)
		w.ask(t, 200, ann, "PATCH", c.read+id, c.change)
		w.ask(t, 200, ann, "GET", c.read+id, "")
		w.ask(t, 200, ann, "GET", c.create, "")
		if c.create == parameters {
			w.ask(t, 422, ann, "PATCH", c.read+id, `{"data":{"type":"vars","attributes":{"sensitive":false}}}`)
		}
	}
	w.ask(t, 422, ann, "POST", clients, `{"data":{"type":"oauth-clients","attributes":{"api-url":"`+canary+`","oauth-token-string":"`+canary+`"}}}`)
	if where := w.holds(t, canary); where != nil {
		t.Errorf("it is in %q", where)
	}
	if sealed := w.dump(t)["deposit_secrets"]; strings.Count(sealed, "\\x5345414c454400") != 6 {
		t.Errorf("6 secrets were sent, and there are\n%s", sealed)
	}
}

// principal is whose token this is.
func (s server) principal(t *testing.T, token string) identity.Principal {
	t.Helper()
	parsed, err := identity.ParseToken(token)
	if err != nil {
		t.Fatal(err)
	}
	who, err := s.store.Authenticate(t.Context(), parsed)
	if err != nil {
		t.Fatal(err)
	}
	return who
}

// join gives somebody a role in an organisation, or takes it away again.
func (s server) join(t *testing.T, owner, somebody, organisation string, role identity.Role, leave bool) {
	t.Helper()
	who, holder := s.principal(t, owner), s.principal(t, somebody)
	err := s.store.Update(t.Context(), func(u *postgres.Update) error {
		o, err := u.Organisation(t.Context(), who, organisation)
		if err != nil {
			return err
		}
		grant := identity.Grant{Role: role, Scope: identity.Scope{Organisation: o.ID}}
		if leave {
			return u.Revoke(t.Context(), who, holder.ID, grant)
		}
		return u.Grant(t.Context(), who, holder.ID, grant)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhoMayDeposit: a stranger finds nothing, a reader reads and changes nothing,
// nor learns where an archive would be uploaded; addresses of notifications only
// who may change them reads (docs/protocol.md, rule 20).
func TestWhoMayDeposit(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob, eve := s.user(t, "ann"), s.user(t, "bob"), s.user(t, "eve")
	s.organisation(t, ann, "acme")
	s.join(t, ann, bob, "acme", identity.Reader, false)
	org := "/api/v2/organizations/acme"
	stack := s.expect(t, http.StatusCreated, ann, "POST", org+"/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"network"}}}`).id(t)
	set := s.expect(t, http.StatusCreated, ann, "POST", org+"/policy-sets", `{"data":{"type":"policy-sets","attributes":{"name":"all"}}}`).id(t)
	s.expect(t, http.StatusCreated, ann, "POST", org+"/registry-modules", `{"data":{"type":"registry-modules","attributes":{"name":"network","provider":"aws"}}}`)
	for _, c := range []struct{ create, read, body string }{
		{org + "/policies", "/api/v2/policies/", `{"data":{"type":"policies","attributes":{"name":"p","enforcement-level":"advisory"}}}`},
		{org + "/policy-sets", "/api/v2/policy-sets/", `{"data":{"type":"policy-sets","attributes":{"name":"second"}}}`},
		{"/api/v2/policy-sets/" + set + "/parameters", "/api/v2/policy-sets/" + set + "/parameters/", `{"data":{"type":"vars","attributes":{"key":"k"}}}`},
		{"/api/v2/policy-sets/" + set + "/versions", "/api/v2/policy-set-versions/", ""},
		{org + "/oauth-clients", "/api/v2/oauth-clients/", `{"data":{"type":"oauth-clients","attributes":{"api-url":"https://example.com",
			"http-url":"https://example.com","service-provider":"github","oauth-token-string":"t"}}}`},
		{"/api/v2/workspaces/" + stack + "/notification-configurations", "/api/v2/notification-configurations/",
			`{"data":{"type":"notification-configurations","attributes":{"name":"n","destination-type":"slack","url":"https://example.com/secret"}}}`},
		{org + "/registry-modules", "/api/v2/registry-modules/", `{"data":{"type":"registry-modules","attributes":{"name":"n","provider":"p"}}}`},
		{"/api/v2/registry-modules/acme/network/aws/versions", org + "/registry-modules/private/acme/network/aws/version?module_version=1.0.0&id=",
			`{"data":{"type":"registry-module-versions","attributes":{"version":"1.0.0"}}}`},
	} {
		made := s.expect(t, http.StatusCreated, ann, "POST", c.create, c.body)
		s.expect(t, http.StatusOK, ann, "GET", c.read+made.id(t), "")
		s.expect(t, http.StatusNotFound, eve, "GET", c.read+made.id(t), "")
		s.expect(t, http.StatusNotFound, eve, "POST", c.create, c.body)
		s.expect(t, http.StatusForbidden, bob, "POST", c.create, c.body)
		if strings.Contains(c.create, "notification") {
			s.expect(t, http.StatusForbidden, bob, "GET", c.read+made.id(t), "")
			continue
		}
		read := s.expect(t, http.StatusOK, bob, "GET", c.read+made.id(t), "")
		if read.uploadPath(t) != "" {
			t.Errorf("a reader learns where to upload: %s", read.body)
		}
	}
}

// TestPolicyBytes: the text of a policy comes back as it was sent, whatever it is,
// and one that is too large is refused.
func TestPolicyBytes(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	s.organisation(t, ann, "acme")
	path := "/api/v2/policies/" + s.expect(t, http.StatusCreated, ann, "POST", "/api/v2/organizations/acme/policies",
		`{"data":{"type":"policies","attributes":{"name":"p","kind":"opa","query":"data.p.deny","enforcement-level":"mandatory"}}}`).id(t)
	s.expect(t, http.StatusNotFound, ann, "GET", path+"/download", "")
	for _, text := range []string{"package p\n\ndeny contains 1 if false\n.", "\x00\xff\xfe not text", ""} {
		s.expect(t, http.StatusOK, ann, "PUT", path+"/upload", text)
		if got := s.expect(t, http.StatusOK, ann, "GET", path+"/download", ""); string(got.body) != text {
			t.Errorf("%q came back as %q", text, got.body)
		}
	}
	s.expect(t, http.StatusRequestEntityTooLarge, ann, "PUT", path+"/upload", strings.Repeat("x", 4<<20+1))
	if got := s.expect(t, http.StatusOK, ann, "GET", path+"/download", ""); len(got.body) != 0 {
		t.Errorf("%d bytes of what was refused", len(got.body))
	}
}

// TestUploadAddress: the address for an archive needs no token, is good for its one
// thing, and for as long as who asked for it may upload (docs/protocol.md, rule 23).
func TestUploadAddress(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann, bob := s.user(t, "ann"), s.user(t, "bob")
	s.organisation(t, ann, "acme")
	s.join(t, ann, bob, "acme", identity.Owner, false)
	set := s.expect(t, http.StatusCreated, ann, "POST", "/api/v2/organizations/acme/policy-sets", `{"data":{"type":"policy-sets","attributes":{"name":"all"}}}`).id(t)
	versions := "/api/v2/policy-sets/" + set + "/versions"
	first, second := s.expect(t, http.StatusCreated, bob, "POST", versions, ""), s.expect(t, http.StatusCreated, bob, "POST", versions, "")
	packed := archive(t, map[string]string{"policies/p.rego": "package p"})
	status := func(version reply) any {
		return s.expect(t, http.StatusOK, ann, "GET", "/api/v2/policy-set-versions/"+version.id(t), "").attribute(t, "status")
	}
	for name, path := range map[string]string{
		"another thing's": strings.Replace(first.uploadPath(t), first.id(t), second.id(t), 1),
		"changed":         first.uploadPath(t)[:len(first.uploadPath(t))-2] + "AA",
		"none":            "/api/v2/object/" + first.id(t) + "/none",
	} {
		if got := s.do(t, "", "PUT", path, packed); got.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	s.expect(t, http.StatusNotFound, "", "GET", first.uploadPath(t)+"/archive.tar.gz", "")
	s.expect(t, http.StatusUnprocessableEntity, "", "PUT", first.uploadPath(t), "no archive")
	s.expect(t, http.StatusUnprocessableEntity, "", "PUT", first.uploadPath(t), archive(t, map[string]string{"../p.rego": ""}))
	if got := status(first); got != "pending" {
		t.Errorf("it is %v after what was refused", got)
	}
	s.expect(t, http.StatusOK, "", "PUT", first.uploadPath(t), packed)
	if got := status(first); got != "ready" {
		t.Errorf("it is %v", got)
	}
	s.join(t, ann, bob, "acme", identity.Owner, true)
	s.expect(t, http.StatusNotFound, "", "PUT", second.uploadPath(t), packed)
}

// TestHostileDeposits sends every kind with attributes that are no such thing. Each
// is refused or kept, and none is an error of the server.
func TestHostileDeposits(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.user(t, "ann")
	stack := s.acme(t, ann)
	set := s.expect(t, http.StatusCreated, ann, "POST", "/api/v2/organizations/acme/policy-sets", `{"data":{"type":"policy-sets","attributes":{"name":"all"}}}`).id(t)
	s.module(t, ann, "acme", "1.0.0", map[string]string{"main.tf": ""})
	good := map[string]string{"name": `"n"`, "kind": `"opa"`, "enforcement-level": `"advisory"`, "key": `"k"`, "api-url": `"https://example.com"`,
		"http-url": `"https://example.com"`, "service-provider": `"github"`, "oauth-token-string": `"t"`, "destination-type": `"email"`, "provider": `"p"`, "version": `"1.2.3"`}
	hostile := []string{`"\u0000"`, `"a\u0000b"`, `"\ud800"`, "\"\xff\"", `7`, `-1e400`, `true`, `null`, `{}`, `[]`, `[null]`, `[[7]]`, `{"a":{"b":[1]}}`, `"../../etc"`, `"` + strings.Repeat("x", 3000) + `"`}
	for _, c := range []struct{ path, kind, attributes string }{
		{"/api/v2/organizations/acme/policies", "policies", "name kind query description enforce enforcement-level path"},
		{"/api/v2/organizations/acme/policy-sets", "policy-sets", "name kind overridable policy-update-patterns vcs-repo *"},
		{"/api/v2/policy-sets/" + set + "/parameters", "vars", "key value sensitive category"},
		{"/api/v2/organizations/acme/oauth-clients", "oauth-clients", "name api-url service-provider organization-scoped oauth-token-string secret"},
		{"/api/v2/workspaces/" + stack + "/notification-configurations", "notification-configurations", "name destination-type enabled url token triggers email-addresses"},
		{"/api/v2/organizations/acme/registry-modules", "registry-modules", "name provider namespace registry-name no-code vcs-repo"},
		{"/api/v2/registry-modules/acme/network/null/versions", "registry-module-versions", "version commit-sha"},
	} {
		for _, attribute := range strings.Fields(c.attributes) {
			for _, value := range hostile {
				var all []string
				for name, value := range good {
					if name != attribute {
						all = append(all, fmt.Sprintf("%q:%s", name, value))
					}
				}
				body := fmt.Sprintf(`{"data":{"type":%q,"attributes":{%s,%q:%s}}}`, c.kind, strings.Join(all, ","), attribute, value)
				if got := s.do(t, ann, "POST", c.path, body); got.status >= 500 {
					t.Errorf("%s with %s %.40s: %d %s", c.path, attribute, value, got.status, got.body)
				}
			}
		}
		if got := s.do(t, ann, "GET", c.path, ""); got.status >= 500 {
			t.Errorf("GET %s: %d %s", c.path, got.status, got.body)
		}
	}
}

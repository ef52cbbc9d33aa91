package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
	"github.com/assize-iac/assize/internal/problem"
)

// A running server answers over a database of its own. In it are two users with an
// organisation each: ann of acme, and bob.
type running struct {
	*httptest.Server
	store    *postgres.Store
	dir      string // of the artifacts
	ann, bob string // tokens
	who      identity.Principal
	project  postgres.Project
	stack    postgres.Stack
	token    string // id of a token of acme
	version  string // id of a version of the stack's state
	refused  string // id of bytes that were refused
	deleted  string // id of a stack that was deleted with a state
	team     string // id of a team of acme
	member   string // id of ann's membership
}

func start(t *testing.T) running {
	t.Helper()
	keys, err := artifact.ParseRing(artifact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	artifacts, err := artifact.CreateTree(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = artifacts.Close() })
	s := running{store: postgrestest.Open(t), dir: dir}
	failed := func(r *http.Request, err error) {
		if problem.Code(err) == api.Internal {
			t.Logf("%s %.200s: %v", r.Method, r.URL.Path, err)
		}
	}
	s.Server = httptest.NewServer(Handler(control.New(s.store, artifacts, keys), failed))
	t.Cleanup(s.Close)
	s.who, s.ann = s.user(t, "ann")
	var bob identity.Principal
	bob, s.bob = s.user(t, "bob")
	s.update(t, func(u *postgres.Update) error {
		if _, err := found(t, u, bob, "other"); err != nil {
			return err
		}
		o, err := found(t, u, s.who, "acme")
		if err != nil {
			return err
		}
		if s.project, err = u.CreateProject(t.Context(), s.who, o.ID, "one"); err != nil {
			return err
		}
		if s.stack, err = u.CreateStack(t.Context(), s.who, postgres.Stack{Project: s.project.ID, Name: "network"}); err != nil {
			return err
		}
		_, made, err := u.CreateToken(t.Context(), s.who, postgres.TokenRequest{Owner: o.ID, Role: identity.Reader})
		s.token = made.ID
		if err != nil {
			return err
		}
		team, err := u.CreateTeam(t.Context(), s.who, o.ID, "developers")
		s.team = team.ID
		if err != nil {
			return err
		}
		members, err := u.Memberships(t.Context(), s.who, o.ID)
		s.member = members[0].ID
		return err
	})
	return s
}

// written is a server whose stack has a state, and something that was refused.
func written(t *testing.T) running {
	t.Helper()
	s := start(t)
	s.version = answer[v1.StateVersion](t, s, s.ann, v1.ImportState{Stack: s.stack.ID, Body: strings.NewReader(file(1, "hello"))}).ID
	answer[v1.Lock](t, s, s.ann, v1.TakeLock{Stack: s.stack.ID})
	s.ask(t, s.ann, v1.PushState{Stack: s.stack.ID, Body: strings.NewReader(file(1, "something else"))})
	s.ask(t, s.ann, v1.ReleaseLock{Stack: s.stack.ID})
	s.refused = answer[v1.Page[v1.Quarantined]](t, s, s.ann, v1.ListQuarantine{Stack: s.stack.ID}).Items[0].ID
	s.deleted = answer[v1.Stack](t, s, s.ann, v1.CreateStack{Organisation: "acme", Name: "gone"}).ID
	answer[v1.StateVersion](t, s, s.ann, v1.ImportState{Stack: s.deleted, Body: strings.NewReader(file(5, "gone"))})
	if got := s.ask(t, s.ann, v1.DeleteStack{Stack: s.deleted}); got.status != http.StatusNoContent {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return s
}

// found makes an organisation of a user who is no more than its owner afterwards.
func found(t *testing.T, u *postgres.Update, who identity.Principal, name string) (postgres.Organisation, error) {
	if err := u.Appoint(t.Context(), postgres.Server(), who.ID, true); err != nil {
		return postgres.Organisation{}, err
	}
	o, err := u.CreateOrganisation(t.Context(), who, name)
	if err != nil {
		return o, err
	}
	return o, u.Appoint(t.Context(), postgres.Server(), who.ID, false)
}

func (s running) update(t *testing.T, fn func(*postgres.Update) error) {
	t.Helper()
	if err := s.store.Update(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// user is a new user and a token of theirs.
func (s running) user(t *testing.T, name string) (identity.Principal, string) {
	t.Helper()
	who := postgres.NewUser(name)
	var token identity.Token
	s.update(t, func(u *postgres.Update) (err error) {
		if err = u.Register(t.Context(), who); err != nil {
			return err
		}
		token, _, err = u.CreateToken(t.Context(), who, postgres.TokenRequest{Owner: who.ID, Description: "a test"})
		return err
	})
	return who, token.Reveal()
}

// A reply is what a client got.
type reply struct {
	status int
	body   []byte
}

// raw sends a request as it is.
func (s running) raw(t *testing.T, token, method, target string, body io.Reader) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req) // follows no redirect
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: res.StatusCode, body: data}
}

// ask sends a request and checks the answer against the OpenAPI document.
func (s running) ask(t *testing.T, token string, in binding.Request) reply {
	t.Helper()
	sent, err := binding.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	got := s.raw(t, token, sent.Method, sent.Target, sent.Body)
	conform(t, in.Route(), got)
	return got
}

// answer asks for what must work.
func answer[T any](t *testing.T, s running, token string, in binding.Request) T {
	t.Helper()
	got := s.ask(t, token, in)
	var doc T
	if got.status >= 300 {
		t.Fatalf("%T: %d %s", in, got.status, got.body)
	}
	if err := json.Unmarshal(got.body, &doc); err != nil {
		t.Fatalf("%T: %s: %v", in, got.body, err)
	}
	return doc
}

// file is a state with this text as an output.
func file(serial int, text string) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":"8094ef40-1dbd-95cd-1f60-bb25d84d883b",
		"outputs":{"text":{"value":%q,"type":"string"}},"resources":[]}`, serial, text)
}

// target is the path of an endpoint with what stands in it: values of the world, or
// one word for all.
func (s running) target(e endpoint, word string) (method, path string) {
	method, path, _ = strings.Cut(e.route, " ")
	values := map[string]string{"organisation": "acme", "stack": s.stack.ID, "name": "network", "token": s.token, "version": s.version, "quarantined": s.refused, "deleted": s.deleted,
		"project": s.project.ID, "team": s.team, "member": s.member, "user": s.who.ID}
	for _, f := range binding.Fields(e.in) {
		if f.Place != binding.Path {
			continue
		}
		value := values[f.Name]
		if word != "" {
			value = word
		}
		path = strings.ReplaceAll(path, "{"+f.Name+"}", value)
	}
	return method, path
}

// TestEveryEndpoint asks for everything that there is without a token, with one of
// somebody of another organisation, with names that lead elsewhere, and with bodies
// and queries that are none: each is refused, none is an error of the server.
func TestEveryEndpoint(t *testing.T) {
	t.Parallel()
	s := written(t)
	for _, e := range (&server{}).endpoints() {
		method, path := s.target(e, "")
		for _, bad := range []string{"", "nonsense", "assize_u_" + strings.Repeat("0", 49)} {
			if got := s.raw(t, bad, method, path, nil); got.status != http.StatusUnauthorized {
				t.Errorf("%s with the token %q: %d %s", e.route, bad, got.status, got.body)
			}
		}
		want := http.StatusNotFound
		if e.needs == identity.SiteAdmin { // that there are users and administrators everybody knows
			want = http.StatusForbidden
		}
		if got := s.raw(t, s.bob, method, path, validBody(e)); strings.Contains(e.route, "{") && got.status != want {
			t.Errorf("%s by somebody of another organisation: %d %s", e.route, got.status, got.body)
		}
		for _, word := range []string{"nonexisting", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", "%ff%fe", "stk_0000000000000000000000", strings.Repeat("x", 5000)} {
			for _, body := range []string{"", "null", "[]", "{", `{"unknown":1}`, `{"name":7,"description":[]}`, `{"name":"\u0000"}`, strings.Repeat(`[`, 20000)} {
				_, path := s.target(e, word)
				got := s.raw(t, s.ann, method, path, strings.NewReader(body))
				if got.status >= 500 || len(binding.Fields(e.in)) > 0 && got.status < 300 && strings.Contains(e.route, "{") {
					t.Errorf("%s %.100s %.40s: %d %s", e.route, path, body, got.status, got.body)
				}
			}
		}
		for _, query := range []string{"?unknown=1", "?%zz", "?cursor=%00", "?cursor=~~~", "?limit=-1", "?limit=501", "?limit=1&limit=2", "?cursor=" + strings.Repeat("A", 600)} {
			if got := s.raw(t, s.ann, method, path+query, nil); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s%s: %d %s", e.route, query, got.status, got.body)
			}
		}
	}
	if got := s.raw(t, s.ann, "GET", "/v1/elephants", nil); got.status != http.StatusNotFound {
		t.Errorf("a path that leads nowhere: %d", got.status)
	}
}

// validBody is a body that the endpoint accepts.
func validBody(e endpoint) io.Reader {
	body := map[string]any{}
	for _, f := range binding.Fields(e.in) {
		if f.Place == binding.Body && f.Required {
			body[f.Name] = "something"
		}
	}
	if len(body) == 0 {
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

func TestStacks(t *testing.T) {
	t.Parallel()
	s := start(t)
	made := answer[v1.Stack](t, s, s.ann, v1.CreateStack{Organisation: "acme", Name: "database"})
	for _, in := range []binding.Request{v1.ShowStack{Stack: made.ID}, v1.FindStack{Organisation: "acme", Name: "DATABASE"}} {
		if got := answer[v1.Stack](t, s, s.ann, in); got != made {
			t.Errorf("%+v, want what was created: %+v", got, made)
		}
	}
	found := answer[v1.Page[v1.Stack]](t, s, s.ann, v1.ListStacks{Organisation: "acme", Search: "BASE"})
	if len(found.Items) != 1 || found.Items[0] != made || found.Next != "" {
		t.Errorf("%+v", found)
	}
	if got := s.ask(t, s.ann, v1.CreateStack{Organisation: "acme", Name: "database"}); got.status != http.StatusConflict {
		t.Errorf("a second one: %d %s", got.status, got.body)
	}
	if got := s.ask(t, s.ann, v1.CreateStack{Organisation: "acme", Name: "../x"}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a bad name: %d %s", got.status, got.body)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	made := answer[v1.Token](t, s, s.ann, v1.CreateToken{Description: "for CI"})
	if me := answer[v1.Caller](t, s, made.Token, v1.Whoami{}); me.ID != s.who.ID || me.Name != "ann" {
		t.Errorf("%+v", me)
	}
	robot := answer[v1.Token](t, s, s.ann, v1.CreateToken{Owner: s.stack.Organisation, Role: "reader", Description: "a job"})
	if got := s.ask(t, robot.Token, v1.ListTokens{}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("the tokens of a token: %d %s", got.status, got.body)
	}
	for _, token := range answer[v1.Page[v1.Token]](t, s, s.ann, v1.ListTokens{}).Items {
		if token.Token != "" {
			t.Errorf("a list shows a token: %+v", token)
		}
	}
	if got := s.ask(t, s.ann, v1.RevokeToken{Token: made.ID}); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(t, made.Token, v1.Whoami{}); got.status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d %s", got.status, got.body)
	}
}

// TestAudit: an export verifies, and ends with the head.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.update(t, func(u *postgres.Update) error {
		for i := range exportPage {
			if err := u.ChangeProject(t.Context(), s.who, postgres.Project{ID: s.project.ID, Name: fmt.Sprint("p", i), Settings: s.project.Settings}); err != nil {
				return err
			}
		}
		return nil
	})
	head := answer[v1.AuditHead](t, s, s.ann, v1.HeadAudit{Organisation: "acme"})
	export := s.ask(t, s.ann, v1.ExportAudit{Organisation: "acme"})
	var log identity.Log
	for line := range bytes.Lines(export.body) {
		e, err := identity.DecodeEntry(line)
		if err == nil {
			err = log.Read(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if log.Head.Digest != head.Digest || log.Head.Sequence != head.Sequence || head.Sequence < exportPage {
		t.Errorf("the export ends with %d %s, the head is %+v", log.Head.Sequence, log.Head.Digest, head)
	}
}

// TestState: what is pushed is what is pulled, versions are listed, and one can go back.
func TestState(t *testing.T) {
	t.Parallel()
	s := written(t)
	second := file(2, "second")
	if got := s.ask(t, s.ann, v1.PushState{Stack: s.stack.ID, Body: strings.NewReader(second)}); got.status != http.StatusConflict {
		t.Errorf("without a lock: %d %s", got.status, got.body)
	}
	answer[v1.Lock](t, s, s.ann, v1.TakeLock{Stack: s.stack.ID, Reason: "a test", Key: "mine"})
	if l := answer[v1.Locking](t, s, s.ann, v1.ShowLock{Stack: s.stack.ID}).Lock; l == nil || l.Reason != "a test" || l.Holder.Name != "ann" {
		t.Errorf("%+v", l)
	}
	if got := s.ask(t, s.ann, v1.PushState{Stack: s.stack.ID, Key: "another", Body: strings.NewReader(second)}); got.status != http.StatusConflict {
		t.Errorf("with the key of another process: %d %s", got.status, got.body)
	}
	wrong := v1.PushState{Stack: s.stack.ID, Key: "mine", MD5: strings.Repeat("0", 32), Body: strings.NewReader(second)}
	if got := s.ask(t, s.ann, wrong); got.status != http.StatusUnprocessableEntity {
		t.Errorf("with another md5: %d %s", got.status, got.body)
	}
	push := func() v1.StateVersion {
		return answer[v1.StateVersion](t, s, s.ann, v1.PushState{Stack: s.stack.ID, Key: "mine", Body: strings.NewReader(second)})
	}
	made := push()
	if again := push(); again.ID != made.ID || made.Serial != 2 || made.Sequence != 2 {
		t.Errorf("%+v, and once more %+v", made, again)
	}
	if got := s.ask(t, s.ann, v1.DownloadState{Version: made.ID}); string(got.body) != second {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, asked := range []binding.Request{v1.RollbackState{Version: s.version}, v1.ImportQuarantined{Quarantined: s.refused, Key: "another"}} {
		if got := s.ask(t, s.ann, asked); got.status != http.StatusConflict {
			t.Errorf("%T of another process: %d %s", asked, got.status, got.body)
		}
	}
	back := answer[v1.StateVersion](t, s, s.ann, v1.RollbackState{Version: s.version, Key: "mine"})
	if back.CopyOf != s.version || back.Serial != 1 || back.Sequence != 3 {
		t.Errorf("%+v", back)
	}
	if now := answer[v1.StateVersion](t, s, s.ann, v1.CurrentState{Stack: s.stack.ID}); now.ID != back.ID {
		t.Errorf("%+v, want %+v", now, back)
	}
	saved := answer[v1.StateVersion](t, s, s.ann, v1.ImportQuarantined{Quarantined: s.refused, Key: "mine"})
	if got := s.ask(t, s.ann, v1.DownloadState{Version: saved.ID}); string(got.body) != file(1, "something else") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask(t, s.ann, v1.ReleaseLock{Stack: s.stack.ID, Key: "mine"}); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	answer[v1.Lock](t, s, s.ann, v1.TakeLock{Stack: s.stack.ID, Key: "another"})
	answer[v1.Lock](t, s, s.ann, v1.BreakLock{Stack: s.stack.ID, Reason: "the job is dead"})
	graves := answer[v1.Page[v1.DeletedStack]](t, s, s.ann, v1.ListDeleted{Organisation: "acme"}).Items
	if len(graves) != 1 || graves[0].Stack != s.deleted || graves[0].Serial != 5 || graves[0].Name != "gone" {
		t.Errorf("%+v", graves)
	}
	if got := s.ask(t, s.ann, v1.DownloadDeleted{Stack: s.deleted}); string(got.body) != file(5, "gone") {
		t.Errorf("%d %s", got.status, got.body)
	}
	var ids []string
	in := v1.ListStateVersions{Stack: s.stack.ID, Paging: v1.Paging{Limit: 1}}
	for {
		page := answer[v1.Page[v1.StateVersion]](t, s, s.ann, in)
		for _, v := range page.Items {
			ids = append(ids, v.ID)
		}
		if in.Cursor = page.Next; in.Cursor == "" {
			break
		}
	}
	if want := []string{saved.ID, back.ID, made.ID, s.version}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
}

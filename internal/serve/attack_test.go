package serve_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// canary is the secret of the state that is attacked.
const canary = "canary-4f1e"

// A victim is a workspace with one version of its state, and those who attack it.
type victim struct {
	*testing.T
	*servetest.Server
	http      *http.Client
	workspace string // path
	owner     string // tokens
	team      string // of a team that may write
	stranger  string // of a team of another organisation
	writers   string // id of that team
	state     []byte // the current one, serial 5
}

// An answered is what a client got; it may be nothing.
type answered struct {
	status int
	body   []byte
}

func (v *victim) do(token, method, address, contentType string, body io.Reader) answered {
	v.Helper()
	if strings.HasPrefix(address, "/") {
		address = v.URL + address
	}
	req, err := http.NewRequestWithContext(v.Context(), method, address, body)
	if err != nil {
		v.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := v.http.Do(req)
	if err != nil {
		return answered{}
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return answered{status: res.StatusCode, body: data}
}

// ask sends a document, or nothing.
func (v *victim) ask(token, method, path, document string) answered {
	v.Helper()
	return v.do(token, method, path, "application/vnd.api+json", strings.NewReader(document))
}

// made is a string of the answer to something that must succeed.
func (v *victim) made(token, method, path, document string, member ...string) string {
	v.Helper()
	got := v.ask(token, method, path, document)
	if got.status >= 300 {
		v.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
	}
	return got.member(v.T, member...)
}

// member is a string somewhere in a document.
func (a answered) member(t *testing.T, path ...string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(a.body, &value); err != nil && len(path) > 0 {
		t.Fatalf("%s: %v", a.body, err)
	}
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	text, _ := value.(string)
	return text
}

func (v *victim) lock(token string) {
	v.Helper()
	v.made(token, "POST", v.workspace+"/actions/lock", "")
}
func (v *victim) unlock(token string) {
	v.Helper()
	v.made(token, "POST", v.workspace+"/actions/unlock", "")
}

// A write is what is said of a state that is sent.
type write struct {
	serial  int
	lineage string
	md5     string // "": that of the bytes
	bytes   []byte
	inline  bool
}

// another is a state that follows the current one.
func another(serial int) write {
	return write{serial: serial, lineage: lineage, bytes: tfstate(serial, lineage, "another")}
}

const lineage = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// tfstate is a state with a secret in it.
func tfstate(serial int, lineage, word string) []byte {
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.11.4","serial":%d,"lineage":%q,"outputs":{"word":{"value":%q,"type":"string","sensitive":true}},"resources":[]}`,
		serial, lineage, canary+word)
}

// begin announces a version, or sends it whole.
func (v *victim) begin(token string, w write) answered {
	v.Helper()
	sum := md5.Sum(w.bytes)
	if w.md5 == "" {
		w.md5 = hex.EncodeToString(sum[:])
	}
	attributes := map[string]any{"serial": w.serial, "lineage": w.lineage, "md5": w.md5}
	if w.inline {
		attributes["state"] = base64.StdEncoding.EncodeToString(w.bytes)
	}
	document, err := json.Marshal(map[string]any{"data": map[string]any{"type": "state-versions", "attributes": attributes}})
	if err != nil {
		v.Fatal(err)
	}
	return v.ask(token, "POST", v.workspace+"/state-versions", string(document))
}

// begun is the address for the bytes of a version that must be welcome.
func (v *victim) begun(token string, w write) string {
	v.Helper()
	got := v.begin(token, w)
	if got.status != http.StatusCreated {
		v.Fatalf("%d %s", got.status, got.body)
	}
	return got.member(v.T, "data", "attributes", "hosted-state-upload-url")
}

func (v *victim) put(address string, data []byte) answered {
	v.Helper()
	return v.do("", "PUT", address, "application/octet-stream", bytes.NewReader(data))
}

// newVictim makes the workspace of an attack.
func newVictim(t *testing.T, base *victim, name string) *victim {
	t.Helper()
	v := *base
	v.T = t
	id := v.made(v.owner, "POST", "/api/v2/organizations/default/workspaces",
		fmt.Sprintf(`{"data":{"type":"workspaces","attributes":{"name":%q}}}`, name), "data", "id")
	v.workspace = "/api/v2/workspaces/" + id
	v.made(v.owner, "POST", "/api/v2/team-workspaces", fmt.Sprintf(
		`{"data":{"type":"team-workspaces","attributes":{"access":"write"},"relationships":{"team":{"data":{"type":"teams","id":%q}},"workspace":{"data":{"type":"workspaces","id":%q}}}}}`,
		v.writers, id))
	v.state = tfstate(5, lineage, "")
	v.lock(v.owner)
	if got := v.begin(v.owner, write{serial: 5, lineage: lineage, bytes: v.state, inline: true}); got.status != http.StatusCreated {
		t.Fatalf("%d %s", got.status, got.body)
	}
	v.unlock(v.owner)
	return &v
}

// newTeam makes a team and a token of it.
func (v *victim) newTeam(organisation, name, expires string) (id, token string) {
	v.Helper()
	id = v.made(v.owner, "POST", "/api/v2/organizations/"+organisation+"/teams",
		fmt.Sprintf(`{"data":{"type":"teams","attributes":{"name":%q,"organization-access":{"manage-workspaces":true}}}}`, name), "data", "id")
	document := `{"data":{"type":"authentication-tokens","attributes":{}}}`
	if expires != "" {
		document = fmt.Sprintf(`{"data":{"type":"authentication-tokens","attributes":{"expired-at":%q}}}`, expires)
	}
	return id, v.made(v.owner, "POST", "/api/v2/teams/"+id+"/authentication-token", document, "data", "attributes", "token")
}

// attacks are what other servers accept, or stumble over, and what is answered here.
var attacks = []struct {
	name   string
	do     func(v *victim) answered
	status int
	says   string
	writes bool   // there is a new version afterwards
	kept   string // the bytes stand apart, with this reason
}{
	{name: "no lock", status: 409, says: "not locked by you", do: func(v *victim) answered { return v.begin(v.owner, another(6)) }},
	{name: "somebody else's lock", status: 409, says: `Team token \"tok_`, do: func(v *victim) answered {
		v.lock(v.team)
		return v.begin(v.owner, another(6))
	}},
	{name: "foreign lineage", status: 409, says: "lineage", do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		w.lineage = "0e8a3d5c-0000-4000-8000-000000000000"
		return v.begin(v.owner, w)
	}},
	{name: "foreign lineage inline", kept: "lineage", status: 409, says: "lineage", do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		w.lineage, w.inline = "0e8a3d5c-0000-4000-8000-000000000000", true
		return v.begin(v.owner, w)
	}},
	{name: "lower serial", status: 409, says: "older", do: func(v *victim) answered { v.lock(v.owner); return v.begin(v.owner, another(4)) }},
	{name: "same serial", status: 409, says: "same serial", do: func(v *victim) answered { v.lock(v.owner); return v.begin(v.owner, another(5)) }},
	{name: "same again", status: 201, says: "finalized", do: func(v *victim) answered {
		v.lock(v.owner)
		return v.begin(v.owner, write{serial: 5, lineage: lineage, bytes: v.state})
	}},
	{name: "skipped serial", status: 201, says: "finalized", writes: true, do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(60)
		w.inline = true
		return v.begin(v.owner, w)
	}},
	{name: "negative serial", status: 422, says: "negative", do: func(v *victim) answered { v.lock(v.owner); return v.begin(v.owner, another(-1)) }},
	{name: "wrong md5 inline", kept: "md5", status: 422, says: "md5", do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		w.md5, w.inline = strings.Repeat("0", 32), true
		return v.begin(v.owner, w)
	}},
	{name: "wrong md5 uploaded", kept: "md5", status: 422, says: "md5", do: func(v *victim) answered {
		v.lock(v.owner)
		return v.put(v.begun(v.owner, another(6)), tfstate(6, lineage, "swapped"))
	}},
	{name: "no state", kept: "content", status: 422, says: "no state", do: func(v *victim) answered {
		v.lock(v.owner)
		return v.put(v.begun(v.owner, write{serial: 6, lineage: lineage, bytes: []byte("elephants")}), []byte("elephants"))
	}},
	{name: "half an upload", status: 200, writes: true, do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		to := v.begun(v.owner, w)
		v.cutOff(to, w.bytes)
		v.intact()
		return v.put(to, w.bytes)
	}},
	{name: "two uploads at once", status: 200, writes: true, do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		to := v.begun(v.owner, w)
		got := make([]answered, 8)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i] = v.put(to, w.bytes) })
		}
		all.Wait()
		for _, a := range got {
			if a.status != 200 {
				v.Errorf("%d %s", a.status, a.body)
			}
		}
		return got[0]
	}},
	{name: "two versions at once", kept: "late", status: 409, says: "too late", writes: true, do: func(v *victim) answered {
		v.lock(v.owner)
		first, second := another(6), write{serial: 6, lineage: lineage, bytes: tfstate(6, lineage, "second")}
		late, to := v.begun(v.owner, first), v.begun(v.owner, second)
		if got := v.put(to, second.bytes); got.status != 200 {
			v.Errorf("%d %s", got.status, got.body)
		}
		return v.put(late, first.bytes)
	}},
	{name: "an upload after unlock", kept: "late", status: 409, says: "too late", do: func(v *victim) answered {
		v.lock(v.owner)
		w := another(6)
		to := v.begun(v.owner, w)
		v.made(v.owner, "POST", v.workspace+"/actions/force-unlock", "")
		return v.put(to, w.bytes)
	}},
	{name: "unlock before the bytes", status: 503, says: "", do: func(v *victim) answered {
		v.lock(v.owner)
		v.begun(v.owner, another(6))
		return v.ask(v.owner, "POST", v.workspace+"/actions/unlock", "")
	}},
	{name: "a guessed upload", status: 404, do: func(v *victim) answered {
		v.lock(v.owner)
		v.begun(v.owner, another(6))
		return v.put(v.URL+"/api/v2/state-uploads/"+strings.Repeat("A", 43), another(6).bytes)
	}},
	{name: "unlock of somebody else's lock", status: 409, says: "locked by", do: func(v *victim) answered {
		v.lock(v.team)
		return v.ask(v.owner, "POST", v.workspace+"/actions/unlock", "")
	}},
	{name: "400 MB document", status: 413, do: func(v *victim) answered {
		v.lock(v.owner)
		return v.do(v.owner, "POST", v.workspace+"/state-versions", "application/vnd.api+json", zeros(400<<20))
	}},
	{name: "another type", status: 422, says: "JSON:API", do: func(v *victim) answered {
		v.lock(v.owner)
		return v.ask(v.owner, "POST", v.workspace+"/state-versions", `{"data":{"type":"elephants","attributes":{"serial":6}}}`)
	}},
	{name: "no document", status: 422, do: func(v *victim) answered {
		v.lock(v.owner)
		return v.ask(v.owner, "POST", v.workspace+"/state-versions", `{"data":`)
	}},
	{name: "http backend without lock", kept: "lock", status: 409, do: func(v *victim) answered {
		return v.do(v.owner, "POST", v.plain(), "application/json", bytes.NewReader(another(6).bytes))
	}},
	{name: "http backend with somebody else's lock", kept: "lock", status: 423, do: func(v *victim) answered {
		v.lock(v.team)
		return v.do(v.owner, "POST", v.plain()+"?ID=guessed", "application/json", bytes.NewReader(another(6).bytes))
	}},
	{name: "http backend deletes", status: 409, do: func(v *victim) answered { return v.ask(v.owner, "DELETE", v.plain(), "") }},
	{name: "deleted with resources", status: 204, do: func(v *victim) answered {
		other := newVictim(v.T, v, "elsewhere")
		return other.ask(other.owner, "DELETE", other.workspace, "")
	}},
}

// plain is the path of the http backend.
func (v *victim) plain() string {
	return "/state/default/" + v.made(v.owner, "GET", v.workspace, "", "data", "attributes", "name")
}

// zeros is so many bytes of white space and no document.
func zeros(n int64) io.Reader { return io.LimitReader(blank{}, n) }

type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// cutOff sends half of what it says it will, and hangs up.
func (v *victim) cutOff(address string, data []byte) {
	v.Helper()
	from, to := io.Pipe()
	go func() {
		_, _ = to.Write(data[:len(data)/2])
		time.Sleep(50 * time.Millisecond)
		to.CloseWithError(net.ErrClosed)
	}()
	req, err := http.NewRequestWithContext(v.Context(), "PUT", address, from)
	if err != nil {
		v.Fatal(err)
	}
	req.ContentLength = int64(len(data))
	if res, err := v.http.Do(req); err == nil {
		res.Body.Close()
		v.Errorf("half an upload: %s", res.Status)
	}
}

// intact wants the current state to be the one that was there before.
func (v *victim) intact() {
	v.Helper()
	current := v.ask(v.owner, "GET", v.workspace+"/current-state-version", "")
	got := v.do(v.owner, "GET", current.member(v.T, "data", "attributes", "hosted-state-download-url"), "", nil)
	if got.status != 200 || !bytes.Equal(got.body, v.state) {
		v.Errorf("the state is another now: %d %s", got.status, got.body)
	}
}

// quarantined is why the bytes that are kept apart were refused; each once.
func (v *victim) quarantined() string {
	v.Helper()
	got := v.ask(v.owner, "GET", "/v1/stacks/"+strings.TrimPrefix(v.workspace, "/api/v2/workspaces/")+"/quarantine", "")
	var list struct{ Items []struct{ Reason string } }
	if err := json.Unmarshal(got.body, &list); err != nil || got.status != 200 {
		v.Fatalf("%d %s", got.status, got.body)
	}
	var reasons []string
	for _, item := range list.Items {
		reasons = append(reasons, item.Reason)
	}
	return strings.Join(reasons, " ")
}

// TestAttack sends what other servers accept. Each is answered as docs/state.md says,
// nothing is lost, no secret is in an answer or in the log, and nothing is an error of
// the server.
func TestAttack(t *testing.T) {
	t.Parallel()
	base := newAttacked(t)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			v := newVictim(t, base, strings.ReplaceAll(strings.ReplaceAll(a.name, " ", "-"), "'", ""))
			got := a.do(v)
			if got.status != a.status || !strings.Contains(string(got.body), a.says) {
				t.Errorf("%d %s, want %d and %q", got.status, got.body, a.status, a.says)
			}
			if bytes.Contains(got.body, []byte(canary)) {
				t.Errorf("the secret is in the answer: %s", got.body)
			}
			if !a.writes {
				v.intact()
			}
			if got := v.quarantined(); got != a.kept {
				t.Errorf("of what was refused, %q is kept, want %q", got, a.kept)
			}
			// Whatever happened, its owner goes on.
			v.ask(v.owner, "POST", v.workspace+"/actions/force-unlock", "")
			v.ask(v.team, "POST", v.workspace+"/actions/force-unlock", "")
			v.lock(v.owner)
			w := another(61)
			w.inline = true
			if got := v.begin(v.owner, w); got.status != 201 {
				t.Errorf("nobody can write any more: %d %s", got.status, got.body)
			}
		})
	}
}

// newAttacked starts a server whose log tells of no secret and no error.
func newAttacked(t *testing.T) *victim {
	t.Helper()
	var log safeBuffer
	s := servetest.Start(t, servetest.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() {
		if text := log.String(); strings.Contains(text, canary) || strings.Contains(text, "level=ERROR") || strings.Contains(text, s.Token) {
			t.Errorf("the log has a secret or an error:\n%s", text)
		}
	})
	base := &victim{T: t, Server: s, http: s.Client(t), owner: s.Token}
	base.made(base.owner, "POST", "/api/v2/organizations", `{"data":{"type":"organizations","attributes":{"name":"other","email":"ops@example.com"}}}`)
	base.writers, base.team = base.newTeam("default", "writers", "")
	_, base.stranger = base.newTeam("other", "strangers", "")
	return base
}

// A safeBuffer is a buffer for several who write.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestStrangers: whoever is of another organisation learns nothing, and a token that
// has expired, or is none, is of no use.
func TestStrangers(t *testing.T) {
	t.Parallel()
	base := newAttacked(t)
	_, expired := base.newTeam("default", "expired", time.Now().Add(time.Second).UTC().Format(time.RFC3339))
	v := newVictim(t, base, "network")
	version := v.made(v.owner, "GET", v.workspace+"/current-state-version", "", "data", "id")
	id := strings.TrimPrefix(v.workspace, "/api/v2/workspaces/")
	time.Sleep(2 * time.Second)
	for _, path := range []string{
		"GET " + v.workspace, "PATCH " + v.workspace, "DELETE " + v.workspace,
		"GET /api/v2/organizations/default", "GET /api/v2/organizations/default/workspaces", "GET /api/v2/organizations/default/workspaces/network",
		"GET " + v.workspace + "/current-state-version", "GET " + v.workspace + "/current-state-version-outputs",
		"POST " + v.workspace + "/state-versions", "POST " + v.workspace + "/actions/lock", "POST " + v.workspace + "/actions/unlock",
		"POST " + v.workspace + "/actions/force-unlock",
		"GET /api/v2/state-versions/" + version, "GET /api/v2/state-versions/" + version + "/download", "GET /api/v2/state-versions/" + version + "/outputs",
		"GET /api/v2/state-versions?filter[organization][name]=default&filter[workspace][name]=network",
		"GET /state/default/network", "POST /state/default/network", "LOCK /state/default/network", "UNLOCK /state/default/network", "DELETE /state/default/network",
		"GET /v1/stacks/" + id, "GET /v1/stacks/" + id + "/lock", "POST /v1/stacks/" + id + "/lock", "POST /v1/stacks/" + id + "/lock/break",
		"GET /v1/stacks/" + id + "/state-versions", "GET /v1/stacks/" + id + "/quarantine", "GET /v1/state-versions/" + version + "/state",
		"GET /v1/organisations/default/audit", "GET /v1/organisations/default/audit/export",
	} {
		method, path, _ := strings.Cut(path, " ")
		document := ""
		if method != "GET" {
			document = `{"data":{"type":"workspaces","attributes":{}}}`
		}
		for name, c := range map[string]struct {
			token  string
			status []int
		}{
			"a stranger": {v.stranger, []int{404}}, "an expired token": {expired, []int{401}}, "no token": {"", []int{401}},
			"nonsense": {"assize_t_" + strings.Repeat("0", 49), []int{401}},
		} {
			got := v.ask(c.token, method, path, document)
			if got.status != c.status[0] && !(got.status == 422 && name == "a stranger" && method != "GET") {
				t.Errorf("%s: %s %s: %d %s", name, method, path, got.status, got.body)
			}
			if bytes.Contains(got.body, []byte(canary)) || bytes.Contains(got.body, []byte(lineage)) {
				t.Errorf("%s: %s %s tells: %s", name, method, path, got.body)
			}
		}
	}
	v.intact()
}

// TestNames: a name that leads elsewhere leads nowhere.
func TestNames(t *testing.T) {
	t.Parallel()
	v := newVictim(t, newAttacked(t), "network")
	for _, word := range []string{"..", "../..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e", "a/../b", "a\\..\\b", ".", "a%00b", "a\x7fb", "a\n", "%ff", " ", strings.Repeat("x", 5000)} {
		escaped := strings.NewReplacer("%", "%25", "/", "%2f", "\\", "%5c", "\x7f", "%7f", "\n", "%0a", " ", "%20").Replace(word)
		if strings.Contains(word, "%") {
			escaped = word
		}
		for _, path := range []string{"/api/v2/organizations/%s", "/api/v2/organizations/%s/workspaces", "/api/v2/organizations/default/workspaces/%s", "/api/v2/workspaces/%s",
			"/api/v2/workspaces/%s/current-state-version", "/api/v2/state-versions/%s", "/api/v2/state-versions/%s/download", "/api/v2/state-version-outputs/%s",
			"/state/%s/network", "/state/default/%s", "/v1/stacks/%s", "/v1/organisations/%s/stacks", "/v1/state-versions/%s/state"} {
			got := v.ask(v.owner, "GET", fmt.Sprintf(path, escaped), "")
			if got.status != 404 && got.status != 422 && got.status != 301 && got.status != 307 && got.status != 308 && got.status != 400 {
				t.Errorf("%s with %q: %d %s", path, word, got.status, got.body)
			}
		}
		name, _ := json.Marshal(word)
		for path, document := range map[string]string{
			"/api/v2/organizations":                    `{"data":{"type":"organizations","attributes":{"name":%s,"email":"a@example.com"}}}`,
			"/api/v2/organizations/default/workspaces": `{"data":{"type":"workspaces","attributes":{"name":%s}}}`,
			"/api/v2/organizations/default/projects":   `{"data":{"type":"projects","attributes":{"name":%s}}}`,
			"/api/v2/organizations/default/teams":      `{"data":{"type":"teams","attributes":{"name":%s}}}`,
		} {
			if got := v.ask(v.owner, "POST", path, fmt.Sprintf(document, name)); got.status != 422 {
				t.Errorf("%s called %q: %d %s", path, word, got.status, got.body)
			}
		}
	}
	v.intact()
}

// TestPublicAddress: with a public URL, the addresses in answers begin with it, whatever
// a client or a proxy on the way has made of the request's own: a state must not be
// sent without TLS, or elsewhere, because a proxy does not say for whom it asks.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) {
		s.PublicURL, s.InsecureHTTP = "https://assize.example.com", true
	}})
	s.URL = "http://" + s.Host
	v := &victim{T: t, Server: s, http: &http.Client{}, owner: s.Token}
	id := v.made(v.owner, "POST", "/api/v2/organizations/default/workspaces", `{"data":{"type":"workspaces","attributes":{"name":"network"}}}`, "data", "id")
	v.workspace = "/api/v2/workspaces/" + id
	v.lock(v.owner)
	to := v.begun(v.owner, another(1))
	path, ok := strings.CutPrefix(to, "https://assize.example.com/")
	if !ok {
		t.Fatalf("the state is to be sent to %s", to)
	}
	if got := v.put("/"+path, another(1).bytes); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

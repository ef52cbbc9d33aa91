package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An agent is a client of "assize mcp", over the real SDK and a real process.
type agent struct {
	t       *testing.T
	program string   // the assize that serves it
	environ []string // of that
	dir     string   // the repository
	policy  string
	temp    string // of the server
	session *mcp.ClientSession
	errors  bytes.Buffer
	mu      sync.Mutex
	told    []string // progress
}

const agentSpecification = `package estate

import rnd "registry.opentofu.org/hashicorp/random"

$random: rnd.#Provider

web: $random.#Resource.random_pet & {length: 2}
api: $random.#Resource.random_pet & {length: 2}
`

const noDelete = `// Deleting needs a human.
changes: [...{
	addr:   string
	action: string
	if action == "delete" || action == "replace" {
		error("\(addr): delete is not allowed")
	}
}]
`

// hire starts an agent with one policy.
func hire(t *testing.T) *agent {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "assize")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tools, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{t: t, program: bin, dir: t.TempDir(), policy: filepath.Join(t.TempDir(), "no-delete.cue"), temp: t.TempDir()}
	a.write("estate.cue", agentSpecification)
	if err := os.WriteFile(a.policy, []byte(noDelete), 0o600); err != nil {
		t.Fatal(err)
	}
	a.environ = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"),
		"TF_CLI_CONFIG_FILE="+filepath.Join(tools, "tofurc"), "CHECKPOINT_DISABLE=1", "TMPDIR="+a.temp)
	cmd := exec.Command(bin, "mcp", "--policy", a.policy)
	cmd.Dir, cmd.Env, cmd.Stderr = a.dir, a.environ, &a.errors
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.told = append(a.told, r.Params.Message)
		},
	})
	a.session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, &a.errors)
	}
	t.Cleanup(func() { _ = a.session.Close() })
	return a
}

func (a *agent) write(name, text string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// A reply is what a tool said.
type reply struct {
	Refused  bool // before any command was started
	Text     string
	ExitCode int `json:"exit_code"`
	Output   string
	Messages string
	Saved    bool
	Digest   string
	Policies []string
}

// call calls a tool.
func (a *agent) call(tool string, args map[string]any) reply {
	a.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken("progress of " + tool)
	res, err := a.session.CallTool(a.t.Context(), params)
	if err != nil {
		return reply{Refused: true, Text: err.Error()}
	}
	var r reply
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			r.Text += text.Text
		}
	}
	if res.IsError {
		r.Refused = true
		return r
	}
	data, err := json.Marshal(res.StructuredContent)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		a.t.Fatalf("%s: %v", data, err)
	}
	return r
}

// exists are the names of what was made, as the state has them.
func (a *agent) exists() string {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, "terraform.tfstate"))
	if err != nil {
		return ""
	}
	var state struct {
		Resources []struct{ Name string }
	}
	if err := json.Unmarshal(data, &state); err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, r := range state.Resources {
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

// TestAgent is a day in the life of an agent that is bound by a policy, and of one
// that would rather not be (seed 003, "The server for agents"; docs/mcp.md).
func TestAgent(t *testing.T) {
	t.Parallel()
	a := hire(t)

	// It does its work: look, plan, read, apply.
	if got := a.call("check", nil); got.ExitCode != 0 || !strings.Contains(got.Output, "Success! 2 resources") {
		t.Fatalf("check: %+v", got)
	}
	planned := a.call("plan", nil)
	if planned.ExitCode != 0 || !planned.Saved || len(planned.Policies) != 1 || !strings.HasPrefix(planned.Policies[0], a.policy+" (sha256:") {
		t.Fatalf("plan: %+v", planned)
	}
	if got := a.call("show_plan", nil); got.ExitCode != 0 || !strings.Contains(got.Output, "web") {
		t.Errorf("show_plan: %+v", got)
	}
	if got := a.call("policy_check", nil); got.ExitCode != 0 {
		t.Errorf("policy_check: %+v", got)
	}
	if got := a.call("apply", nil); got.ExitCode != 0 || a.exists() != "api web" {
		t.Fatalf("apply: %+v; there is %s", got, a.exists())
	}

	if got := a.call("state_query", map[string]any{"expression": `strings.Join([for r in resources {r.addr}], " and ")`}); got.ExitCode != 0 || strings.TrimSpace(got.Output) != `"api and web"` {
		t.Errorf("state_query: %+v", got)
	}

	// It removes a resource: the plan is refused, and there is nothing to apply.
	a.write("estate.cue", strings.Replace(agentSpecification, "api:", "_api:", 1))
	if got := a.call("plan", nil); got.ExitCode != 5 || got.Saved || !strings.Contains(got.Messages, "api: delete is not allowed") {
		t.Errorf("plan of a delete: %+v", got)
	}
	if got := a.call("apply", nil); !got.Refused {
		t.Errorf("apply of a plan that was not saved: %+v", got)
	}

	// It tries to take the policy away, or another one in, by arguments that the tools
	// do not have, or that look like flags.
	for _, args := range []map[string]any{
		{"policy": "/dev/null"}, {"policies": []string{}}, {"args": []string{"--policy", "/dev/null"}},
		{"stack": "--policy=/dev/null"}, {"stack": "-C/"}, {"name": "--json"}, {"stack": " "}, {"name": "../../etc/passwd"},
		{"name": "a/b"}, {"stack": "../elsewhere"}, {"stack": "/"}, {"stack": "x\n--policy"}, {"name": ".."}, {"stack": ".:../../x"},
	} {
		for _, tool := range []string{"plan", "apply", "show_plan", "policy_check"} {
			if got := a.call(tool, args); !got.Refused && got.ExitCode == 0 {
				t.Errorf("%s %v: %+v", tool, args, got)
			}
		}
	}
	if got := a.call("state_query", map[string]any{"expression": "--help"}); !got.Refused {
		t.Errorf("state_query of a flag: %+v", got)
	}
	if got := a.call("state_query", map[string]any{"expression": ""}); !got.Refused {
		t.Errorf("state_query of nothing: %+v", got)
	}

	// It rewrites the policy file: the server has its own copy.
	if err := os.WriteFile(a.policy, []byte("changes: [...]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := a.call("plan", nil); got.ExitCode != 5 {
		t.Errorf("plan under a policy that was rewritten: %+v", got)
	}

	// It makes a harmless plan, and changes what it is about: the plan is stale.
	a.write("estate.cue", agentSpecification+"third: $random.#Resource.random_pet & {length: 1}\n")
	if got := a.call("plan", map[string]any{"name": "harmless"}); got.ExitCode != 0 || !got.Saved {
		t.Fatalf("plan of a third: %+v", got)
	}
	a.write("estate.cue", strings.Replace(agentSpecification, "web:", "_web:", 1))
	if got := a.call("apply", map[string]any{"name": "harmless"}); got.ExitCode != 3 {
		t.Errorf("apply of a stale plan: %+v", got)
	}

	// It goes around the server with a plan that was never judged: a shell makes one
	// that deletes, and the tool judges what it applies.
	a.write("estate.cue", strings.Replace(agentSpecification, "api:", "_api:", 1))
	outside := exec.Command(a.program, "plan")
	outside.Dir, outside.Env = a.dir, a.environ
	if out, err := outside.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := a.call("apply", nil); got.ExitCode != 5 {
		t.Errorf("apply of a plan that was made without the policy: %+v", got)
	}
	if a.exists() != "api web" {
		t.Errorf("there is %s", a.exists())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.told) == 0 {
		t.Error("it was told nothing of the progress")
	}
}

// TestAgentElsewhere: an agent works on any stack of the repository, and on nothing that
// is none.
func TestAgentElsewhere(t *testing.T) {
	t.Parallel()
	a := hire(t)
	for _, dir := range []string{".git", "infra"} { // it is a checkout
		if err := os.Mkdir(filepath.Join(a.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.write("infra/estate.cue", strings.Replace(agentSpecification, "web:", "db:", 1))
	stack := map[string]any{"stack": "infra"}
	with := func(key, value string) map[string]any { return map[string]any{"stack": "infra", key: value} }
	if got := a.call("check", stack); got.ExitCode != 0 {
		t.Errorf("check: %+v", got)
	}
	if got := a.call("apply", stack); !got.Refused || !strings.Contains(got.Text, "call the tool plan first") {
		t.Errorf("apply of no plan: %+v", got)
	}
	for _, tool := range []string{"plan", "show_plan", "policy_check", "apply"} {
		if got := a.call(tool, with("name", "first")); got.Refused || got.ExitCode != 0 {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	if got := a.call("state_query", with("expression", "len(resources)")); got.ExitCode != 0 || strings.TrimSpace(got.Output) != "2" {
		t.Errorf("state_query: %+v", got)
	}
	for _, tool := range []string{"plan", "apply"} {
		if got := a.call(tool, map[string]any{"stack": "infra:prod", "name": "second"}); got.Refused || got.ExitCode != 0 {
			t.Errorf("%s of an instance: %+v", tool, got)
		}
	}
	if a.exists() != "" {
		t.Errorf("in the other stack there is %s", a.exists())
	}
	for _, tool := range []string{"check", "plan"} {
		if got := a.call(tool, map[string]any{"stack": "infra/.assize/spec"}); !got.Refused && got.ExitCode == 0 {
			t.Errorf("%s of what assize made: %+v", tool, got)
		}
	}
}

// TestAgentOverwrites: what an agent applies may write files, and so the copies by which
// the server judges. It goes on with none that was changed.
func TestAgentOverwrites(t *testing.T) {
	t.Parallel()
	a := hire(t)
	copies, err := filepath.Glob(filepath.Join(a.temp, "assize-mcp-*", "0", "no-delete.cue"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%v, %v", copies, err)
	}
	a.write("file.cue", `package estate

import "registry.opentofu.org/hashicorp/local"

$local: local.#Provider

free: $local.#Resource.local_file & {filename: "`+copies[0]+`", content: "// anything goes\n"}
`)
	for _, tool := range []string{"plan", "apply"} {
		if got := a.call(tool, nil); got.Refused || got.ExitCode != 0 {
			t.Fatalf("%s: %+v", tool, got)
		}
	}
	a.write("estate.cue", strings.Replace(agentSpecification, "api:", "_api:", 1))
	for _, tool := range []string{"plan", "apply", "policy_check"} {
		if got := a.call(tool, nil); !got.Refused {
			t.Errorf("%s by a policy of the agent's: %+v", tool, got)
		}
	}
	if a.exists() != "free api web" {
		t.Errorf("there is %s", a.exists())
	}
}

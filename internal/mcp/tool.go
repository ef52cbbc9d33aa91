package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An At names the stack that a tool is about. It is not called Stack: embedded in another
// struct, that name would hide the field from the schema that agents are given.
type At struct {
	Stack string `json:"stack,omitempty" jsonschema:"path or path:instance, from the root of the repository; left out, the directory of the server"`
}

// A Plan names a saved plan of a stack.
type Plan struct {
	At
	Name string `json:"name,omitempty" jsonschema:"what the saved plan is called: letters, digits, - and _; left out, the one plan that every stack has"`
}

// A Query is an expression over a state.
type Query struct {
	At
	Expression string `json:"expression" jsonschema:"a CUE expression over resources and outputs, such as: [for r in resources if r.type == \"random_pet\" {r.values.id}]"`
}

// A Fixtures names a policy's tests.
type Fixtures struct {
	Path string `json:"path" jsonschema:"a directory with tests of policies, in the repository"`
}

// A Planned is what a plan came to.
type Planned struct {
	Outcome
	Saved    bool         `json:"saved" jsonschema:"whether there is a saved plan now that can be applied"`
	Digest   string       `json:"digest,omitempty" jsonschema:"of the bytes of the saved plan"`
	Policies []string     `json:"policies,omitempty" jsonschema:"the policies that judged it, with digest and outcome"`
	Summary  *api.Summary `json:"summary,omitempty"`
}

// register adds the tools.
func (s *server) register(m *mcp.Server) {
	no := false
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	add(m, &mcp.Tool{Name: "check", Annotations: reads,
		Description: "Evaluate the specification in CUE against its providers. Nothing is planned."}, s.check)
	add(m, &mcp.Tool{Name: "plan", Annotations: &mcp.ToolAnnotations{DestructiveHint: &no},
		Description: "Plan one stack, have the policies of this server judge the plan, and save it. A plan that violates a policy is not saved (exit code 5)."}, s.plan)
	add(m, &mcp.Tool{Name: "show_plan", Annotations: reads,
		Description: "Show what a saved plan would do, and what the policies say of it."}, s.showPlan)
	add(m, &mcp.Tool{Name: "apply", Annotations: &mcp.ToolAnnotations{},
		Description: "Apply a saved plan, exactly. The policies of this server judge it again first; a plan that is stale is refused (exit code 3)."}, s.apply)
	add(m, &mcp.Tool{Name: "state_query", Annotations: reads,
		Description: "Evaluate a CUE expression over what exists. Sensitive values are masked."}, s.query)
	add(m, &mcp.Tool{Name: "graph", Annotations: reads,
		Description: "Show the stacks of the repository and what depends on what."}, s.graph)
	add(m, &mcp.Tool{Name: "policy_check", Annotations: reads,
		Description: "Have the policies of this server judge a saved plan, and nothing else."}, s.policyCheck)
	add(m, &mcp.Tool{Name: "policy_test", Annotations: reads,
		Description: "Run the tests of policies in a directory of the repository."}, s.policyTest)
}

// add adds a tool. What it refuses is told with what to do about it.
func add[In, Out any](m *mcp.Server, t *mcp.Tool, do mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(m, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		result, out, err := do(ctx, req, in)
		if hint := problem.Hint(err); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
		return result, out, err
	})
}

func (s *server) check(ctx context.Context, req *mcp.CallToolRequest, in At) (*mcp.CallToolResult, Outcome, error) {
	o, err := s.about(ctx, req, in, "spec", "check")
	return nil, o, err
}

func (s *server) graph(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, Outcome, error) {
	o, err := s.in(ctx, req, s.options.Dir, "graph")
	return nil, o, err
}

func (s *server) query(ctx context.Context, req *mcp.CallToolRequest, in Query) (*mcp.CallToolResult, Outcome, error) {
	if err := safe(in.Expression); err != nil {
		return nil, Outcome{}, err
	}
	o, err := s.about(ctx, req, in.At, "state", "query", in.Expression)
	return nil, o, err
}

func (s *server) plan(ctx context.Context, req *mcp.CallToolRequest, in Plan) (*mcp.CallToolResult, Planned, error) {
	at, err := s.place(in)
	if err != nil {
		return nil, Planned{}, err
	}
	s.working.Lock()
	defer s.working.Unlock()
	if err := s.policies.whole(); err != nil {
		return nil, Planned{}, err
	}
	args := append([]string{"plan"}, s.policies.flags()...)
	if in.Name != "" {
		args = append(args, "--out", at.file)
	}
	o, err := s.about(ctx, req, in.At, args...)
	if err != nil {
		return nil, Planned{}, err
	}
	planned := Planned{Outcome: o}
	if o.ExitCode == 0 {
		err = planned.read(at.warrant, s.policies)
	}
	return nil, planned, err
}

func (s *server) apply(ctx context.Context, req *mcp.CallToolRequest, in Plan) (*mcp.CallToolResult, Outcome, error) {
	at, err := s.place(in)
	if err != nil {
		return nil, Outcome{}, err
	}
	s.working.Lock()
	defer s.working.Unlock()
	if err := cmp.Or(at.there(), s.policies.whole()); err != nil {
		return nil, Outcome{}, err
	}
	args := append([]string{"apply"}, s.policies.flags()...)
	if in.Name != "" {
		args = append(args, at.file)
	}
	o, err := s.about(ctx, req, in.At, args...)
	return nil, o, err
}

func (s *server) showPlan(ctx context.Context, req *mcp.CallToolRequest, in Plan) (*mcp.CallToolResult, Outcome, error) {
	at, err := s.place(in)
	if err != nil {
		return nil, Outcome{}, err
	}
	if err := at.there(); err != nil {
		return nil, Outcome{}, err
	}
	o, err := s.in(ctx, req, at.dir, "show", "--show", at.file)
	return nil, o, err
}

func (s *server) policyCheck(ctx context.Context, req *mcp.CallToolRequest, in Plan) (*mcp.CallToolResult, Outcome, error) {
	at, err := s.place(in)
	if err != nil {
		return nil, Outcome{}, err
	}
	if err := cmp.Or(at.there(), s.policies.whole()); err != nil {
		return nil, Outcome{}, err
	}
	o, err := s.in(ctx, req, at.dir, append([]string{"policy", "check", "--show", at.file}, s.policies.flags()...)...)
	return nil, o, err
}

func (s *server) policyTest(ctx context.Context, req *mcp.CallToolRequest, in Fixtures) (*mcp.CallToolResult, Outcome, error) {
	if err := safe(in.Path); err != nil {
		return nil, Outcome{}, err
	}
	if _, err := s.inside(in.Path); err != nil {
		return nil, Outcome{}, err
	}
	o, err := s.in(ctx, req, s.options.Dir, "policy", "test", in.Path)
	return nil, o, err
}

// about runs a command about a stack: the one that is named, or the directory of the
// server.
func (s *server) about(ctx context.Context, req *mcp.CallToolRequest, in At, args ...string) (Outcome, error) {
	if in.Stack != "" {
		if err := safe(in.Stack); err != nil {
			return Outcome{}, err
		}
		args = append(args, in.Stack)
	}
	return s.in(ctx, req, s.options.Dir, args...)
}

// A saved is where a saved plan is.
type saved struct{ dir, file, warrant string }

// there refuses a plan that was not saved.
func (at saved) there() error {
	if _, err := os.Lstat(at.warrant); err != nil {
		return problem.New(api.NotFound, "there is no saved plan of that name").WithHint("call the tool plan first")
	}
	return nil
}

// planName is what a saved plan may be called: a name, and no path.
var planName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// place is where a saved plan is, in the private directory of its stack and nowhere
// else (docs/mcp.md, rule 5).
func (s *server) place(in Plan) (saved, error) {
	path, instance, _ := strings.Cut(in.Stack, ":")
	for _, word := range []string{in.Stack, in.Name} {
		if word != "" {
			if err := safe(word); err != nil {
				return saved{}, err
			}
		}
	}
	for _, name := range []string{in.Name, instance} {
		if name != "" && !planName.MatchString(name) {
			return saved{}, problem.New(api.Invalid, "%.80q is no name of a saved plan or an instance", name).
				WithHint("letters, digits, - and _; it is no path")
		}
	}
	dir, err := s.inside(path)
	if err != nil {
		return saved{}, err
	}
	home := ".assize"
	if instance != "" {
		home = filepath.Join(home, "instances", instance)
	}
	at := saved{dir: dir, file: filepath.Join(home, "plan.tfplan"), warrant: filepath.Join(dir, home, "plan.warrant.json")}
	if in.Name != "" {
		at.file = filepath.Join(".assize", in.Name+".saved")
		at.warrant = filepath.Join(dir, at.file+".warrant.json")
	}
	return at, nil
}

// inside is a directory of the repository. One that leads out of it, by its name or
// by a link, is refused.
func (s *server) inside(path string) (string, error) {
	if path == "" {
		path = "."
	}
	root, err := os.OpenRoot(s.options.Dir)
	if err != nil {
		return "", problem.New(api.Unavailable, "the directory of the server cannot be read: %w", err)
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(path))
	if err != nil || !info.IsDir() {
		return "", problem.New(api.NotFound, "%.200q is no directory of the repository", path).WithHint("call the tool graph to see its stacks")
	}
	return filepath.Join(s.options.Dir, filepath.FromSlash(path)), nil
}

// read takes from a warrant what an agent should know.
func (p *Planned) read(warrant string, policies *pinned) error {
	data, err := os.ReadFile(warrant)
	if err != nil {
		return problem.New(api.Unavailable, "the warrant of the plan cannot be read: %w", err)
	}
	var w api.Warrant
	if err := json.Unmarshal(data, &w); err != nil {
		return problem.New(api.Invalid, "the warrant of the plan cannot be read: %w", err)
	}
	p.Saved, p.Digest, p.Summary = true, w.Binding.Plan, &w.Summary
	for _, j := range w.Verdicts {
		p.Policies = append(p.Policies, policies.shown(j.Path)+" ("+j.Digest+") "+string(j.Outcome))
	}
	return nil
}

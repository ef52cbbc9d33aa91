package regoengine

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/input"
	"github.com/assize-iac/assize/internal/policy/regoengine/builtins"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
	"github.com/assize-iac/assize/internal/policy/regoengine/reach"
)

// A compiled is a policy that is ready to judge any plan. Nothing in it depends
// on one, so what Check accepts is what Judge runs.
type compiled struct {
	contract *input.Contract // nil for conftest's convention
	compiler *ast.Compiler
	data     map[string]any
	rules    []rule      // of conftest's convention, by namespace, then by name
	query    ast.Body    // asks all rules at once, or for the decision; binds answers
	seen     *reach.Tree // of conftest's convention: what the rules can see of the input
	shape    string      // of conftest's convention: where the plan stands in the input
	run      policy.Run  // of the contract
	notes    []string
}

// compile refuses every policy of which it can be said without a plan that it
// cannot judge one (docs/policy.md, rules 2 and 25). What the compiler has to
// say comes before what we have: a policy that does not compile has no types to
// look at, and its author needs the first cause.
func compile(src policy.Source) (*compiled, error) {
	caps, err := builtins.Convention()
	if err != nil {
		return nil, err
	}
	modules, err := parse(src.Files, caps)
	if err != nil {
		return nil, err
	}
	c := &compiled{shape: src.Rego.InputShape, run: src.Run}
	if c.contract, err = agreed(modules, src.Rego); err != nil {
		return nil, err
	}
	if c.contract != nil {
		if caps, err = builtins.Decision(); err != nil {
			return nil, err
		}
	}
	if c.data, err = document.Data(src.Rego.Data); err != nil {
		return nil, err
	}
	if err := toPack(src, modules, c.data).Agrees(src.Bundle); err != nil {
		return nil, err
	}
	if c.compiler, err = link(modules, caps, src.Files); err != nil {
		return nil, err
	}
	if c.contract != nil {
		err = c.demand()
	} else {
		err = c.convene(modules, src.Rego)
	}
	if err != nil {
		return nil, err
	}
	if err := c.unused(); err != nil {
		return nil, err
	}
	if err := literalPatterns(c.compiler); err != nil {
		return nil, err
	}
	if c.notes, err = c.undefinedData(); err != nil {
		return nil, err
	}
	if c.contract == nil {
		c.seen = reach.Of(c.compiler, c.query, document.ListOfChanges(src.Rego.InputShape)...)
		c.notes = append(c.notes, leftOut(modules, c.rules)...)
	}
	c.notes = append(c.notes, strictNotes(modules, caps)...)
	return c, nil
}

// convene finds the rules of conftest's convention and how to ask for them.
func (c *compiled) convene(modules map[string]*ast.Module, opts policy.RegoOptions) (err error) {
	if c.rules, err = choose(modules, opts); err != nil {
		return err
	}
	for _, r := range c.rules {
		if err := r.canFire(c.compiler.TypeEnv); err != nil {
			return err
		}
	}
	c.query, err = c.ask()
	return err
}

// parse reads the modules among files by their extension, as conftest does, but
// in any case, because a file that was left out would pass.
func parse(files []policy.File, caps *ast.Capabilities) (map[string]*ast.Module, error) {
	modules, tests := map[string]*ast.Module{}, 0
	for _, f := range files {
		if path.Ext(strings.ToLower(f.Name)) != bundle.RegoExt {
			continue
		}
		m, err := parseFile(f, caps)
		if err != nil {
			return nil, err
		}
		if IsTest(f.Name) {
			tests++
			m.Rules = withoutTests(m.Rules)
			m.Imports = needed(m)
		}
		modules[f.Name] = m
	}
	switch len(modules) {
	case 0:
		return nil, unjudged("the policy holds no Rego file").WithHint("name a .rego file, or a directory that holds one")
	case tests: // what conftest passes with "0 tests" when the policy itself is missing
		return nil, unjudged("the policy holds tests only").WithHint("files that end in _test.rego test a policy; name the policy too")
	}
	return modules, nil
}

// withoutTests leaves out the tests of a test file. conftest loads the file
// like any other, and what else stands in it is part of the policy; but no
// verdict depends on a test, and tests print and stub what no policy may call.
func withoutTests(rules []*ast.Rule) []*ast.Rule {
	var kept []*ast.Rule
	for _, r := range rules {
		name := strings.TrimPrefix(headName(r), "todo_")
		if !strings.HasPrefix(name, "test_") {
			kept = append(kept, r)
		}
	}
	return kept
}

// needed leaves out the imports of a test file that only its tests use: strict
// mode would say of them that nobody does.
func needed(m *ast.Module) []*ast.Import {
	used := map[ast.Var]bool{}
	for _, r := range m.Rules {
		ast.WalkVars(r, func(v ast.Var) bool {
			used[v] = true
			return false
		})
	}
	return slices.DeleteFunc(slices.Clone(m.Imports), func(i *ast.Import) bool {
		path, _ := i.Path.Value.(ast.Ref)
		return path.HasPrefix(ast.DefaultRootRef) && !used[i.Name()]
	})
}

// parseFile takes a file as v0 only if it is no v1: most public policies for
// plans are in v0, and one directory may hold both, which conftest's
// --rego-version cannot say. A file that is both means the same in both.
// Annotations are read, as in conftest, so that a broken one is an error.
func parseFile(f policy.File, caps *ast.Capabilities) (*ast.Module, error) {
	opts := ast.ParserOptions{RegoVersion: ast.RegoV1, ProcessAnnotation: true, Capabilities: caps}
	m, errV1 := ast.ParseModuleWithOpts(f.Name, string(f.Data), opts)
	if errV1 == nil {
		return m, nil
	}
	opts.RegoVersion = ast.RegoV0
	m, errV0 := ast.ParseModuleWithOpts(f.Name, string(f.Data), opts)
	if errV0 == nil {
		return m, nil
	}
	// A file without v1's keywords is meant as v0, and v0's complaint is the
	// one that its author can do something about.
	if strings.Contains(errV1.Error(), "keyword is required") {
		return nil, explain(errV0, f)
	}
	return nil, explain(errV1, f)
}

// link compiles the modules with the fixed capabilities. Print statements are
// enabled so that they are refused: a compiler that does not know them erases
// them silently. Like conftest, it is not strict (see strictNotes).
func link(modules map[string]*ast.Module, caps *ast.Capabilities, files []policy.File) (*ast.Compiler, error) {
	c := ast.NewCompiler().WithCapabilities(caps).WithEnablePrintStatements(true)
	if c.Compile(modules); c.Failed() {
		return nil, explain(c.Errors, files...)
	}
	return c, nil
}

// maxShown is how many complaints one error holds; the first is usually the
// cause of the rest.
const maxShown = 5

// explain turns OPA's complaints about a policy into one error. It quotes
// OPA: what it says at this stage is about the policy's text, never about a
// plan.
func explain(err error, files ...policy.File) error {
	var all ast.Errors
	var one *ast.Error
	switch {
	case errors.As(err, &all) && len(all) > 0:
	case errors.As(err, &one):
		all = ast.Errors{one}
	default:
		return unjudged("the policy does not compile: %w", err)
	}
	var texts []string
	hint := "correct the policy"
	for _, e := range all[:min(maxShown, len(all))] {
		if name, at := forbidden(e, files); name != "" {
			texts = append(texts, name+" is not allowed ("+at+")")
			hint = "policies call pure functions only: no network, file, clock, randomness, environment or printing"
			continue
		}
		texts = append(texts, e.Message+" ("+position(e.Location)+")")
	}
	return unjudged("%s", strings.Join(texts, "; ")).WithHint("%s", hint)
}

var (
	undefinedFunction = regexp.MustCompile(`^(?:undefined function|deprecated built-in function calls in expression:) (\S+)$`)
	mention           = regexp.MustCompile(`\b(?:with|as)\s+([a-z_][\w.]*)`)
)

// forbidden returns the built-in that e is about, if e is about one, and where
// it stands (docs/policy.md, rule 26). To the compiler a built-in that the
// manifest lacks is a function like any other that nobody defined; an author
// should not look for a typing mistake. OPA's columns point at the expression,
// ours at the name.
func forbidden(e *ast.Error, files []policy.File) (name, at string) {
	if e.Location == nil {
		return "", ""
	}
	loc := *e.Location
	line, start := sourceLine(&loc, files)
	if m := undefinedFunction.FindStringSubmatch(e.Message); m != nil {
		name = m[1]
		if name == "internal.print" {
			name = "print" // what a print statement becomes
		}
		if i := strings.Index(line[start:], name); i >= 0 {
			loc.Col = start + i + 1
		}
	} else if e.Code == ast.UnsafeVarErr || strings.HasPrefix(e.Message, "with keyword") {
		// "with f as http.send" makes OPA complain about a variable http, and a
		// target of that name about something that does not exist.
		for _, m := range mention.FindAllStringSubmatchIndex(line, -1) {
			if mentioned := line[m[2]:m[3]]; !builtins.Allowed(mentioned) && builtins.Known(mentioned) {
				name, loc.Col = mentioned, m[2]+1
			}
		}
	}
	if !builtins.Known(name) {
		return "", ""
	}
	return name, position(&loc)
}

// sourceLine returns the line that loc is in, and where in it loc points.
func sourceLine(loc *ast.Location, files []policy.File) (line string, start int) {
	for _, f := range files {
		if f.Name != loc.File {
			continue
		}
		lines := strings.Split(string(f.Data), "\n")
		if loc.Row < 1 || loc.Row > len(lines) {
			return "", 0
		}
		line = lines[loc.Row-1]
		return line, min(max(loc.Col-1, 0), len(line))
	}
	return "", 0
}

package regoengine

import (
	"errors"
	"path"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/regoengine/builtins"
	"github.com/assize-iac/assize/internal/policy/regoengine/document"
)

// A TestSuite is a policy with its tests, ready to be compiled and run.
type TestSuite struct {
	Modules  map[string]*ast.Module
	Compiler *ast.Compiler // knows no print, and so erases it: no verdict depends on a test
	Data     map[string]any
}

// Tests reads a policy with its tests; nil when there are none.
func Tests(src policy.Source) (*TestSuite, error) {
	caps, err := builtins.Convention()
	if err != nil {
		return nil, err
	}
	t, tests := &TestSuite{Modules: map[string]*ast.Module{}}, 0
	for _, f := range src.Files {
		if path.Ext(strings.ToLower(f.Name)) != bundle.RegoExt {
			continue
		}
		if t.Modules[f.Name], err = parseFile(f, caps); err != nil {
			return nil, err
		}
		if IsTest(f.Name) {
			tests++
		}
	}
	if tests == 0 {
		return nil, nil
	}
	caps.Builtins = append(caps.Builtins, ast.InternalTestCase) // the runner's own
	t.Compiler = ast.NewCompiler().WithCapabilities(caps)
	t.Data, err = document.Data(src.Rego.Data)
	return t, err
}

// IsTest reports whether a file holds tests, by its name.
func IsTest(name string) bool { return strings.HasSuffix(strings.ToLower(name), "_test.rego") }

// Explain says what is wrong with a policy, or where its evaluation stopped,
// without quoting a value.
func Explain(err error, files ...policy.File) error {
	var stopped *topdown.Error
	if errors.As(err, &stopped) {
		return failure(err)
	}
	return explain(err, files...)
}

// Trace judges a plan under a tracer, and returns the modules as they are
// written: compiling adds to them.
func Trace(src policy.Source, p *plan.Plan, tracer topdown.QueryTracer) (map[string]*ast.Module, error) {
	c, err := compile(src)
	if err != nil {
		return nil, err
	}
	seen, err := c.sees(p)
	if err != nil {
		return nil, err
	}
	if _, err := c.evaluate(seen, rego.EvalQueryTracer(tracer)); err != nil {
		return nil, err
	}
	caps, err := builtins.Convention()
	if err != nil {
		return nil, err
	}
	return parse(src.Files, caps)
}

package regoengine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/assize-iac/assize/api"
)

// evaluate returns what the query says of the input, or nil where it is
// undefined. There is no deadline: the process around it has one, for OPA does
// not heed one everywhere (open-policy-agent/opa#8326).
func (c *compiled) evaluate(input ast.Value, more ...rego.EvalOption) (any, error) {
	ctx := context.Background()
	prepared, err := rego.New(
		rego.ParsedQuery(c.query),
		rego.Compiler(c.compiler),
		rego.Store(inmem.NewFromObject(c.data)),
		rego.StrictBuiltinErrors(true), // else a failing built-in is undefined, and its rule passes
	).PrepareForEval(ctx)
	if err != nil {
		return nil, failure(err)
	}
	// OPA's index of rules skips a rule whose startswith or glob.match would have
	// failed, and has skipped rules that hold (OPA 1.21.0); without it every rule
	// is evaluated as it is written. It saves next to nothing on a plan.
	rs, err := prepared.Eval(ctx, append(more, rego.EvalParsedInput(input), rego.EvalRuleIndexing(false))...)
	if err != nil {
		return nil, failure(err)
	}
	switch len(rs) {
	case 0:
		return nil, nil
	case 1:
		return rs[0].Bindings["answers"], nil
	}
	return nil, unjudged("the policy says %d things of this plan, not one", len(rs))
}

// violations asks all rules in one query, so that what they share is evaluated
// once. The query is made so that it has exactly one result. If that ever
// changes, nothing has been judged.
func (c *compiled) violations(input ast.Value) ([]api.Finding, error) {
	result, err := c.evaluate(input)
	if err != nil {
		return nil, err
	}
	answers, _ := result.([]any)
	if len(answers) != len(c.rules) {
		return nil, unjudged("the policy is undefined for this plan")
	}
	var out []api.Finding
	for i, r := range c.rules {
		found, err := r.findings(answers[i])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// ask builds the query: two lists for each rule, its value, if it has one, and
// a mark for each exception that names it. A comprehension is defined when its
// body is not, so that one undefined rule does not hide the others.
func (c *compiled) ask() (ast.Body, error) {
	var answers []string
	for _, r := range c.rules {
		exception := r.ref[:len(r.ref)-1].Append(ast.StringTerm("exception"))
		answers = append(answers, fmt.Sprintf("[[value | value := %s], [1 | %s[_][_] == %q]]", r.ref, exception, r.exception()))
	}
	body, err := ast.ParseBody("answers = [" + strings.Join(answers, ", ") + "]")
	if err != nil {
		return nil, explain(err)
	}
	if _, err := c.compiler.QueryCompiler().Compile(body.Copy()); err != nil {
		return nil, explain(err)
	}
	return body, nil
}

// findings turns the value of a rule into findings. An exception excepts all
// of them, as in conftest, but they are still shown. A set that nothing was added
// to is empty and passes; a rule without a value has not decided anything.
func (r rule) findings(answer any) ([]api.Finding, error) {
	pair, _ := answer.([]any)
	if len(pair) != 2 {
		return nil, unjudged("%s is undefined for this plan (%s)", r.id(), position(r.at))
	}
	values, _ := pair[0].([]any)
	exceptions, _ := pair[1].([]any)
	if len(values) != 1 {
		return nil, unjudged("%s is undefined for this plan (%s)", r.id(), position(r.at)).
			WithHint("write %s contains msg if { ... }: a set is empty where nothing is wrong, not undefined", r.name)
	}
	elements, ok := values[0].([]any)
	if !ok {
		return nil, unjudged("%s is %s for this plan, not a set of messages (%s)", r.id(), kindOf(values[0]), position(r.at)).
			WithHint("write %s contains msg if { ... }", r.name)
	}
	var out []api.Finding
	for _, e := range elements {
		f, err := r.finding(e)
		if err != nil {
			return nil, err
		}
		f.Excepted = len(exceptions) > 0
		out = append(out, f)
	}
	slices.SortStableFunc(out, byMessage)
	return out, nil
}

// byMessage makes the order of findings independent of OPA's.
func byMessage(a, b api.Finding) int {
	details := func(f api.Finding) string {
		text, _ := json.Marshal(f.Details) // with sorted keys; it came out of JSON
		return string(text)
	}
	return cmp.Or(
		strings.Compare(a.Message, b.Message), strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.Address, b.Address), strings.Compare(a.Deposed, b.Deposed),
		strings.Compare(details(a), details(b)),
	)
}

// failure says where and why evaluation stopped. What a built-in says of its
// operands may quote a piece of a secret, which nobody could redact any more,
// so only its name is shown.
func failure(err error) error {
	var e *topdown.Error
	if !errors.As(err, &e) {
		return unjudged("evaluating the policy failed")
	}
	switch e.Code {
	case topdown.BuiltinErr, topdown.TypeErr:
		name, _, _ := strings.Cut(e.Message, ":")
		return unjudged("%s failed on a value of the plan (%s)", name, position(e.Location)).
			WithHint("test the value first, for example with is_string, is_number or json.is_valid")
	case topdown.ConflictErr:
		what, _, _ := strings.Cut(e.Message, ":") // the values themselves follow
		return unjudged("%s (%s)", what, position(e.Location)).
			WithHint("let at most one of the bodies hold, or join them with else")
	}
	return unjudged("evaluating the policy failed: %s (%s)", e.Code, position(e.Location))
}

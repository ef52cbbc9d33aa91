package mutate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/assize-iac/assize/internal/policy"
)

// regoEdits are the ways to weaken a file in Rego.
func regoEdits(f policy.File) ([]edit, error) {
	name := strings.ToLower(f.Name)
	if !strings.HasSuffix(name, ".rego") || strings.HasSuffix(name, "_test.rego") {
		return nil, nil
	}
	module, err := ast.ParseModuleWithOpts(f.Name, string(f.Data), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		module, err = ast.ParseModuleWithOpts(f.Name, string(f.Data), ast.ParserOptions{RegoVersion: ast.RegoV0})
	}
	if err != nil {
		return nil, err
	}
	r := regoReader{text: string(f.Data)}
	for _, rule := range module.Rules {
		r.rule = rule.Head.Ref().String()
		for ; rule != nil; rule = rule.Else {
			r.drop(rule)
			r.bodies(rule)
		}
	}
	return r.edits, nil
}

// A regoReader collects edits of one file. Locations hold the text of what they
// are of, which is all that editing needs.
type regoReader struct {
	text  string
	rule  string
	edits []edit
}

func (r *regoReader) replace(loc *ast.Location, with, change string) {
	r.edits = append(r.edits, edit{from: loc.Offset, to: loc.Offset + len(loc.Text), with: with, line: loc.Row, rule: r.rule, change: change})
}

// opening matches what stands before the first expression of a braced body.
var opening = regexp.MustCompile(`\{\s*(#[^\n]*\n\s*)*$`)

// drop makes the body of a rule false. The rule itself stays: without it the
// policy might not load, and a mutant that cannot judge shows nothing.
func (r *regoReader) drop(rule *ast.Rule) {
	first := rule.Body[0]
	if rule.Default || first.Generated || first.Location == nil || len(first.Location.Text) == 0 {
		return
	}
	text := string(first.Location.Text)
	with := "false; " + text
	if !opening.MatchString(r.text[:first.Location.Offset]) {
		with = "{ " + with + " }"
	}
	r.edits = append(r.edits, edit{
		from: first.Location.Offset, to: first.Location.Offset + len(text), with: with, line: rule.Location.Row, rule: r.rule, change: "dropped the rule",
	})
}

// bodies edits the expressions of a rule, also those of comprehensions.
func (r *regoReader) bodies(rule *ast.Rule) {
	own := *rule
	own.Else = nil // comes as a rule of its own
	own.Head = &ast.Head{}
	ast.WalkBodies(&own, func(body ast.Body) bool {
		for _, e := range body {
			if !e.Generated && e.Location != nil {
				r.expression(e, len(body) > 1)
			}
		}
		return false
	})
}

func (r *regoReader) expression(e *ast.Expr, droppable bool) {
	text := string(e.Location.Text)
	if _, declares := e.Terms.(*ast.SomeDecl); declares || strings.HasPrefix(text, "some ") {
		return
	}
	operator := ""
	if e.IsCall() {
		operator = string(e.OperatorTerm().Location.Text)
	}
	assigns := operator == ":=" || operator == "="
	if droppable && !assigns && operator != "walk" { // which is there for what it binds
		r.replace(e.Location, "true", "dropped "+brief(text))
	}
	if rest, ok := strings.CutPrefix(text, "not "); e.Negated && ok {
		r.replace(e.Location, rest, "dropped not before "+brief(rest))
	}
	if op := opposite(operator); op != "" {
		r.replace(e.OperatorTerm().Location, op, "turned "+operator+" into "+op+" in "+brief(text))
	}
	if operator == "in" && !e.Negated {
		r.replace(e.Location, "not "+text, "put not before "+brief(text))
	}
	if opposite(operator) != "" || slices.Contains(predicates(), operator) {
		r.strings(e)
	}
	if !assigns || !speaks(e) {
		r.references(e)
	}
}

// predicates are the calls whose strings decide. Any other string is mostly
// part of a message, which no test looks at.
func predicates() []string {
	return []string{"in", "startswith", "endswith", "contains", "glob.match", "regex.match", "re_match"}
}

// strings misspells the strings that an expression compares with, also those in
// a list or set of them.
func (r *regoReader) strings(e *ast.Expr) {
	misspell := func(t *ast.Term) {
		if _, ok := t.Value.(ast.String); ok && t.Location != nil {
			text := string(t.Location.Text)
			r.replace(t.Location, misspelt(text), "turned "+brief(text)+" into "+brief(misspelt(text)))
		}
	}
	for _, operand := range e.Operands() {
		switch v := operand.Value.(type) {
		case ast.String:
			misspell(operand)
		case *ast.Array:
			v.Foreach(misspell)
		case ast.Set:
			v.Foreach(misspell)
		}
	}
}

// speaks reports whether an expression makes a message.
func speaks(e *ast.Expr) bool {
	for _, operand := range e.Operands() {
		if call, ok := operand.Value.(ast.Call); ok && slices.Contains([]string{"sprintf", "concat"}, call[0].String()) {
			return true
		}
	}
	return false
}

// references misspells the last name of each reference into the input or into a
// variable. Bodies inside of the expression have their own turn.
func (r *regoReader) references(e *ast.Expr) {
	var visitor *ast.GenericVisitor
	visitor = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case ast.Body:
			return true
		case ast.Call: // its name is a reference, too
			for _, operand := range x[1:] {
				visitor.Walk(operand)
			}
			return true
		case ast.Ref:
			r.reference(x)
		}
		return false
	})
	if !e.IsCall() {
		visitor.Walk(e.Terms)
		return
	}
	for _, operand := range e.Operands() {
		visitor.Walk(operand)
	}
}

func (r *regoReader) reference(ref ast.Ref) {
	if head, ok := ref[0].Value.(ast.Var); !ok || head.Equal(ast.DefaultRootDocument.Value) {
		return
	}
	for i := len(ref) - 1; i > 0; i-- {
		loc := ref[i].Location
		if _, ok := ref[i].Value.(ast.String); !ok || loc == nil || len(loc.Text) == 0 {
			continue
		}
		// The operator of an infix call is a reference as well, and not written as one.
		if text := string(loc.Text); strings.Trim(text, "\"`") == string(ref[i].Value.(ast.String)) && loc.Offset > ref[0].Location.Offset {
			r.replace(loc, misspelt(text), "changed "+brief(text)+" to "+brief(misspelt(text))+" in "+brief(ref.String()))
		}
		return
	}
}

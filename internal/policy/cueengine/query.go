package cueengine

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
	cuejson "cuelang.org/go/encoding/json"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// queryName is what positions call an expression.
const queryName = "query"

// Query evaluates an expression over a document, and returns what it comes to as
// JSON. The expression may name the fields of the document and the packages of the
// standard library, and nothing else (docs/spec.md, rule 32).
func (Engine) Query(expression string, document []byte) ([]byte, error) {
	x, err := parser.ParseExpr(queryName, expression, parser.ParseComments)
	if err != nil {
		return nil, wrongQuery(err)
	}
	if err := refuseAttributes(x); err != nil {
		return nil, err
	}
	data, err := cuejson.Extract("document", document)
	if err != nil {
		return nil, problem.New(api.Internal, "the document is no JSON")
	}
	ctx := cuecontext.New()
	scope := ctx.BuildExpr(data)
	if err := scope.Err(); err != nil {
		return nil, problem.New(api.Internal, "the document cannot be evaluated")
	}
	v := ctx.BuildExpr(x, cue.Scope(scope), cue.InferBuiltins(true))
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, wrongQuery(err)
	}
	out, err := v.MarshalJSON()
	if err != nil {
		return nil, wrongQuery(errors.Promote(err, ""))
	}
	return out, nil
}

// refuseAttributes refuses what would read something else than the document.
func refuseAttributes(x ast.Expr) (err error) {
	ast.Walk(x, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok && err == nil {
			err = refused(fmt.Sprintf("an attribute has no meaning here:\n    %s", a.Pos()))
		}
		return true
	}, nil)
	return err
}

// wrongQuery is what CUE says of an expression, with the positions that are in it:
// those in the document would lead nowhere.
func wrongQuery(err error) error {
	var all []string
	for _, e := range errors.Errors(err) {
		format, args := e.Msg()
		text := fmt.Sprintf(format, args...)
		if path := e.Path(); len(path) > 0 {
			text = strings.Join(path, ".") + ": " + text
		}
		if len(text) > maxMessage {
			text = strings.ToValidUTF8(text[:maxMessage], "") + "..."
		}
		var at []string
		for _, p := range errors.Positions(e) {
			if p.Filename() == queryName {
				at = append(at, fmt.Sprintf("    %s:%d:%d", queryName, p.Line(), p.Column()))
			}
		}
		if len(at) > 0 {
			text += ":\n" + strings.Join(slices.Compact(at), "\n")
		}
		all = append(all, text)
	}
	return refused(strings.Join(all, "\n"))
}

func refused(why string) error {
	if strings.Contains(why, "{$sensitive:true}") {
		return problem.New(api.Invalid, "the query is wrong:\n%s", why).
			WithHint(`a sensitive value cannot be compared; write (x & "text") != _|_ for x == "text", which is false for it`)
	}
	return problem.New(api.Invalid, "the query is wrong:\n%s", why).
		WithHint("it is one expression of CUE over format, serial, resources and outputs, such as [for r in resources {r.addr}]")
}

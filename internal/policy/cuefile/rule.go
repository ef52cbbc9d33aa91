// Package cuefile reads the text of CUE policies: whether one can be used at
// all, and what its text says before any plan is there (docs/policy.md, rules
// 31 and 32). It evaluates nothing; package cueengine does.
package cuefile

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// A Rule is one file of a policy. It is judged on its own.
type Rule struct {
	Name string // what findings call it: the file's name without .cue
	Path string // what positions call it: as the user named it
	Self string // what notes call it: several files cannot all be "the policy"
	data []byte
	file *ast.File // for questions about the text; evaluation compiles data anew

	sources map[ast.Node]ast.Node // what identifiers refer to, and where that comes from
}

// Load reads every file of a policy, or says why one cannot be used. Judging
// begins with it as well: a caller that forgot to check must not get a pass
// out of a file that holds nothing.
func Load(src policy.Source) ([]Rule, error) {
	if len(src.Files) == 0 {
		return nil, problem.New(api.Invalid, "policy %s has no .cue file", src.Path).
			WithHint("name a .cue file, or a directory that holds some")
	}
	var rules []Rule
	for _, f := range src.Files {
		r := Rule{Name: strings.TrimSuffix(filepath.ToSlash(f.Name), ".cue"), Path: rulePath(src, f), data: f.Data}
		r.Self = r.Path
		if len(src.Files) == 1 {
			r.Name, r.Self = path.Base(r.Name), "the policy"
		}
		if err := r.check(); err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// rulePath is the file's path as the user would name it: the policy's own when
// the policy is that file. Positions can then be clicked on, and compared with
// what the seed's page prints.
func rulePath(src policy.Source, f policy.File) string {
	named := filepath.ToSlash(src.Path)
	if len(src.Files) == 1 && (path.Ext(named) == ".cue" || path.Base(named) == path.Base(f.Name)) {
		return src.Path
	}
	return path.Join(named, f.Name)
}

// check parses and compiles r. Whatever would let a file hold without judging
// anything, or depend on more than its own bytes, is refused here.
func (r *Rule) check() error {
	// An empty file unifies with every plan (docs/policy.md, rules 2 and 31).
	if len(strings.TrimSpace(string(r.data))) == 0 {
		return r.unusable(token.NoPos, "the file is empty").WithHint("an empty file is satisfied by every plan; write a rule, or leave the policy out")
	}
	file, err := parser.ParseFile(r.Path, r.data, parser.ParseComments)
	if err != nil {
		return r.broken(err)
	}
	r.file = file
	for _, check := range []func() *problem.Error{r.checkPackage, r.checkImports, r.checkAttributes, r.checkRegexps, r.checkContent} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := r.compile(); err != nil {
		return err
	}
	r.sources = origins(r.file) // only now do identifiers know what they refer to
	if err := r.checkMatchers(); err != nil {
		return err
	}
	return nil
}

// checkImports allows the CUE standard library without its tool packages,
// which describe commands, files and requests and say nothing about a plan
// (docs/policy.md, rule 31).
func (r *Rule) checkImports() *problem.Error {
	for spec := range r.file.ImportSpecs() {
		name, err := literal.Unquote(spec.Path.Value)
		first, _, _ := strings.Cut(name, "/")
		if err != nil || first == "tool" || strings.ContainsAny(first, ".:@") {
			return r.unusable(spec.Pos(), "import %s is outside the CUE standard library", spec.Path.Value).
				WithHint(`a policy may import only the standard library, such as "list", "strings" and "regexp"`)
		}
	}
	return nil
}

// checkAttributes refuses those that would make the verdict depend on more
// than the file (embed, extern), on another language (experiment), or that say
// the file is conditional, which it is not.
func (r *Rule) checkAttributes() (bad *problem.Error) {
	ast.Walk(r.file, func(n ast.Node) bool {
		if a, ok := n.(*ast.Attribute); ok && bad == nil {
			name, _, _ := strings.Cut(strings.TrimPrefix(a.Text, "@"), "(")
			if slices.Contains([]string{"embed", "extern", "experiment", "if", "ignore"}, name) {
				bad = r.unusable(a.Pos(), "the attribute @%s is not allowed in a policy", name).
					WithHint("a policy depends on nothing but its own text; remove @%s", name)
			}
		}
		return true
	}, nil)
	return bad
}

// checkRegexps compiles every literal one: CUE looks at it only when a value
// meets it, and that may be months later.
func (r *Rule) checkRegexps() (bad *problem.Error) {
	check := func(op token.Token, x ast.Expr) {
		lit, ok := x.(*ast.BasicLit)
		if !ok || (op != token.MAT && op != token.NMAT) || bad != nil {
			return
		}
		text, err := literal.Unquote(lit.Value)
		if err != nil {
			return // the compiler says it better
		}
		if _, err := regexp.Compile(text); err != nil {
			bad = r.unusable(lit.Pos(), "%v", err).WithHint("regular expressions are RE2: https://github.com/google/re2/wiki/Syntax")
		}
	}
	ast.Walk(r.file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.UnaryExpr:
			check(x.Op, x.X)
		case *ast.BinaryExpr:
			check(x.Op, x.Y)
		}
		return true
	}, nil)
	return bad
}

// compile reports what only the compiler sees, such as a reference to nothing.
// It evaluates nothing: alone, without a plan, a sound policy may be in error.
func (r *Rule) compile() error {
	instance := build.NewContext().NewInstance(r.Path, nil)
	if err := instance.AddSyntax(r.file); err != nil {
		return r.broken(err)
	}
	cuecontext.New().BuildInstance(instance)
	if instance.Err != nil {
		return r.broken(instance.Err)
	}
	return nil
}

// Value is the policy as a value of ctx.
func (r *Rule) Value(ctx *cue.Context) cue.Value {
	return ctx.CompileBytes(r.data, cue.Filename(r.Path))
}

// broken says what a parser or compiler said first: what follows is mostly
// said of the same slip. Before a plan is there, no text of CUE's can quote one.
func (r *Rule) broken(err error) *problem.Error {
	first := errors.Errors(err)[0]
	pos := token.NoPos
	if all := errors.Positions(first); len(all) > 0 {
		pos = all[0]
	}
	text := errors.StringWithConfig(first, &errors.Config{OmitPath: true})
	bad := r.unusable(pos, "it does not compile: %s", text)
	if strings.HasPrefix(text, "reference ") {
		return bad.WithHint("a guard sees only what its own struct declares: write the field beside it, as in action: string")
	}
	return bad
}

// unusable names the policy as the fault, and the place in it.
func (r *Rule) unusable(pos token.Pos, format string, args ...any) *problem.Error {
	bad := problem.New(api.Invalid, format, args...)
	bad.Message = "policy " + r.Path + " cannot be used: " + bad.Message
	if pos.IsValid() {
		bad.Message += " (" + Position(pos) + ")"
	}
	return bad
}

// Position is a place as CUE prints it under an error.
func Position(pos token.Pos) string {
	at := pos.Position()
	if !at.IsValid() {
		return at.Filename
	}
	return fmt.Sprintf("%s:%d:%d", at.Filename, at.Line, at.Column)
}

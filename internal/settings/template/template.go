// Package template renders the values of assize.yaml and .assize.yaml that refer
// to their stack (seed 004, "Configuration"; docs/configuration.md, rules 12 and
// 13). It is pure, takes what people write for hostile, and must not know which
// key a value belongs to.
package template

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/assize-iac/assize/internal/stack"
	"github.com/assize-iac/assize/internal/strict"
)

// Max bounds what a template and each of its functions may produce, and the
// template itself, in bytes: no value of a file can stall who renders it.
const Max = 4096

// Is reports whether a text is a template; any other is used as it is.
func Is(text string) bool { return strings.Contains(text, "{{") }

// A Template is a text that was parsed, once for every stack. The zero Template
// is the empty text.
type Template struct {
	text   string
	parsed *template.Template // nil for what is used as it is
}

// Parse says why a text could be rendered for no stack. Its errors fit on one
// line and repeat nothing but the text.
func Parse(text string) (Template, error) {
	if !Is(text) {
		return Template{text: text}, nil
	}
	parsed, err := parsed(text)
	if err != nil {
		return Template{}, err
	}
	return Template{text, parsed}, nil
}

// Render renders for a stack. Its errors are like those of [Parse].
func (t Template) Render(key stack.Key) (string, error) {
	if t.parsed == nil {
		return t.text, nil
	}
	var out bounded
	data := map[string]string{"Path": key.Path, "Name": path.Base(key.Path), "Instance": key.Instance, "Key": key.String()}
	if err := t.parsed.Execute(&out, data); err != nil {
		return "", plainly(err)
	}
	return out.text.String(), nil
}

var errTooLong = fmt.Errorf("it makes more than %d bytes", Max)

// bounded collects at most Max bytes. It has no other way in than Write.
type bounded struct{ text strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > Max {
		return 0, errTooLong
	}
	return b.text.Write(p)
}

// functions are what a template may call besides the builtins.
func functions() template.FuncMap {
	bounds := func(s string) (string, error) {
		if len(s) > Max {
			return "", errTooLong
		}
		return s, nil
	}
	return template.FuncMap{
		"trimPrefix": func(prefix, s string) string { return strings.TrimPrefix(s, prefix) },
		"trimSuffix": func(suffix, s string) string { return strings.TrimSuffix(s, suffix) },
		"base":       path.Base,
		"dir":        path.Dir,
		"replace":    func(old, new, s string) (string, error) { return bounds(strings.ReplaceAll(s, old, new)) },
		"lower":      func(s string) (string, error) { return bounds(strings.ToLower(s)) }, // a letter may take more bytes in the other case
		"upper":      func(s string) (string, error) { return bounds(strings.ToUpper(s)) },
	}
}

// builtins are the functions of text/template that are allowed.
var builtins = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge"}

// keyword finds the actions that would loop, or make a second template. Such an
// action has the word first.
var keyword = regexp.MustCompile(`\{\{(?:-\s)?\s*(range|define|template|block|break|continue)\b`)

func parsed(text string) (*template.Template, error) {
	if len(text) > Max {
		return nil, fmt.Errorf("the template has %d bytes, at most %d are allowed", len(text), Max)
	}
	if m := keyword.FindStringSubmatch(text); m != nil {
		return nil, fmt.Errorf("{{%s}} is not allowed in a template", m[1])
	}
	t, err := template.New("it").Option("missingkey=error").Funcs(functions()).Parse(text)
	if err != nil {
		return nil, plainly(err)
	}
	if t.Tree == nil || len(t.Templates()) != 1 {
		return nil, errors.New("it is no single template")
	}
	if err := allowed(t.Root); err != nil {
		return nil, err
	}
	return t, nil
}

// allowed refuses every node that is not known to be harmless, and every name
// that does not exist: also on a branch that no stack takes today.
func allowed(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return each(n.Nodes)
	case *parse.ActionNode:
		return allowed(n.Pipe)
	case *parse.IfNode:
		return branches(&n.BranchNode)
	case *parse.WithNode:
		return branches(&n.BranchNode)
	case *parse.PipeNode:
		return each(n.Cmds)
	case *parse.CommandNode:
		return each(n.Args)
	case *parse.IdentifierNode:
		return function(n.Ident)
	case *parse.FieldNode:
		return field(n.Ident)
	case *parse.VariableNode:
		return field(n.Ident[1:])
	case *parse.TextNode, *parse.DotNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return nil
	}
	return fmt.Errorf("%s is not allowed in a template", strict.Cut(node.String()))
}

func each[N parse.Node](nodes []N) error {
	for _, n := range nodes {
		if err := allowed(n); err != nil {
			return err
		}
	}
	return nil
}

func branches(n *parse.BranchNode) error {
	if err := allowed(n.Pipe); err != nil {
		return err
	}
	return each([]parse.Node{n.List, n.ElseList})
}

func function(name string) error {
	if _, ours := functions()[name]; ours || slices.Contains(builtins, name) {
		return nil
	}
	return fmt.Errorf("the function %q is not allowed in a template", name)
}

// fields are the data of a template.
var fields = []string{"Path", "Name", "Instance", "Key"}

func field(names []string) error {
	if len(names) == 0 || len(names) == 1 && slices.Contains(fields, names[0]) {
		return nil
	}
	name := strings.Join(names, ".")
	return fmt.Errorf("there is no .%s%s; there are .%s", strict.Cut(name), strict.Near(name, fields), strings.Join(fields, ", ."))
}

// where is what text/template puts before its messages.
var where = regexp.MustCompile(`^template: it:\d+(:\d+)?: (executing "it" )?`)

// plainly says what is wrong with a template without the library's own place,
// which is not that of the file.
func plainly(err error) error {
	if errors.Is(err, errTooLong) {
		return errTooLong
	}
	text := where.ReplaceAllString(err.Error(), "")
	return errors.New("the template: " + strict.Cut(strings.Join(strings.Fields(text), " ")))
}

package cueengine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
)

const (
	// maxFindings is how many violations of one file are told apart. One policy
	// can be violated in every attribute of every change.
	maxFindings = 100
	// maxMessage is how many bytes a message may have: CUE quotes the values
	// that conflict, and one of them may be the whole list of changes.
	maxMessage = 2000
)

// An outcome is what one file says of the document.
type outcome struct {
	violations []violation // in CUE's order; at most maxFindings of each part
	total      int
	added      []string // what the policy adds to the document's fixed shape
	matched    map[int]bool
}

// A violation is one error of the evaluator, already written out, because the
// values it quotes go away with their part.
type violation struct {
	path      []string // as CUE writes labels; indices count in the whole list
	pos       token.Pos
	message   string
	positions []string
}

// judge unifies r with the document and requires a concrete result
// (docs/policy.md, rule 28). The document comes first: the order decides which
// of two values a message names first, and the seed's page has it so.
func (d *document) judge(r rule) outcome {
	o := outcome{matched: map[int]bool{}}
	for p := range d.parts(r) {
		result := p.value.Unify(r.value(p.ctx))
		if err := result.Validate(cue.Concrete(true)); err != nil {
			o.addErrors(err, p.from)
		} else if err := unevaluated(result); err != nil {
			o.addErrors(err, p.from)
		} else {
			// Only a result that holds can be walked; one that does not says
			// enough already.
			(&addition{outcome: &o, from: p.from}).find(result, d.data)
		}
		r.match(&o, p)
	}
	slices.SortStableFunc(o.violations, func(a, b violation) int {
		return cmp.Or(comparePos(a.pos, b.pos), slices.Compare(a.path, b.path))
	})
	return o
}

// comparePos sorts what has no position first, as CUE does.
func comparePos(a, b token.Pos) int {
	switch {
	case a == b:
		return 0
	case !a.IsValid():
		return -1
	case !b.IsValid():
		return 1
	}
	return a.Compare(b)
}

// addErrors takes the errors of one part, the first ones as text. Sanitize
// gives them the order in which CUE prints them; the first hundred of the whole
// plan are among the first hundred of each part.
func (o *outcome) addErrors(err error, from int) {
	all := errors.Errors(err)
	if e, ok := err.(errors.Error); ok {
		all = errors.Errors(errors.Sanitize(e))
	}
	o.total += len(all)
	for _, e := range all[:min(len(all), maxFindings)] {
		v := violation{path: shift(e.Path(), from), pos: e.Position()}
		v.message = label(v.path) + errors.StringWithConfig(e, &errors.Config{OmitPath: true})
		for _, pos := range errors.Positions(e) {
			v.positions = append(v.positions, position(pos))
		}
		o.violations = append(o.violations, v)
	}
}

// violate adds a violation that is not CUE's own.
func (o *outcome) violate(v violation) {
	o.total++
	if o.total <= maxFindings {
		o.violations = append(o.violations, v)
	}
}

// shift makes the index of a change that of the whole list.
func shift(path []string, from int) []string {
	if n, ok := changeIndex(path); ok && from > 0 {
		path = slices.Clone(path)
		path[1] = strconv.Itoa(n + from)
	}
	return path
}

// changeIndex is N for a path changes.N and below.
func changeIndex(path []string) (int, bool) {
	if len(path) < 2 || path[0] != "changes" {
		return 0, false
	}
	n, err := strconv.Atoi(path[1])
	return n, err == nil && n >= 0
}

func label(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return strings.Join(path, ".") + ": "
}

// position is a place as CUE prints it under an error.
func position(pos token.Pos) string {
	at := pos.Position()
	if !at.IsValid() {
		return at.Filename
	}
	return fmt.Sprintf("%s:%d:%d", at.Filename, at.Line, at.Column)
}

// findings turns violations into findings; every one of them denies.
func (d *document) findings(r rule, o outcome) []api.Finding {
	var out []api.Finding
	for _, v := range o.violations[:min(len(o.violations), maxFindings)] {
		f := api.Finding{Rule: r.name, Level: api.Deny, Message: d.safe(v.message), Positions: v.positions}
		if d.marked(v.path) {
			f.Message = d.safe(label(v.path) + "conflicts with the policy (the value is sensitive)")
		}
		f.Path = d.attribute(v.path)
		if c := d.change(v.path); c != nil {
			f.Address, f.Deposed, f.Path = c.Addr, c.Deposed, d.attribute(v.path[2:])
		}
		out = append(out, f)
	}
	if more := o.total - len(out); more > 0 {
		out = append(out, api.Finding{Rule: r.name, Level: api.Deny, Message: fmt.Sprintf("and %d more violations of %s", more, r.path)})
	}
	return out
}

// change is the one that a path leads into, or nil.
func (d *document) change(path []string) *api.Change {
	if n, ok := changeIndex(path); ok && n < len(d.changes) {
		return &d.changes[n]
	}
	return nil
}

// attribute writes a path of CUE labels in the syntax of plan.ParsePath. A
// policy can make a label of a secret; each is searched before it is escaped.
func (d *document) attribute(path []string) string {
	out := steps(path)
	for i := range out {
		out[i].Key = d.plan.Redact(out[i].Key)
	}
	return out.String()
}

// steps reads CUE labels; a key of digits is quoted there, an index is not.
func steps(path []string) plan.Path {
	var out plan.Path
	for _, label := range path {
		step := plan.Step{Kind: plan.Key, Key: label}
		if n, err := strconv.Atoi(label); err == nil {
			step = plan.Step{Kind: plan.Index, Index: n, Key: label}
		} else if text, err := literal.Unquote(label); err == nil {
			step.Key = text
		}
		out = append(out, step)
	}
	return out
}

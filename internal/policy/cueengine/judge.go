package cueengine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/cuefile"
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
	found      []violation // of the part that is being judged, all of them
	violations []violation // of the parts before; at most maxFindings of each
	total      int
	noted      []string // what the policy adds to the document's fixed shape
	matched    map[int]bool
	others     int // module calls, checks and the like that the file looks at
}

// A violation is one error of the evaluator, or one that the evaluator does not
// see and that has only a message.
type violation struct {
	path      []string // as CUE writes labels; indices count in the whole list
	pos       token.Pos
	offset    int          // of pos in the whole text of its file
	err       errors.Error // nil when it is not CUE's own, or written out
	message   string
	positions []string
}

func (o *outcome) add(v violation) { o.found = append(o.found, v) }

// judge unifies r with the document and requires a concrete result
// (docs/policy.md, rule 28). The document comes first: the order decides which
// of two values a message names first, and the seed's page has it so.
func (d *document) judge(r cuefile.Rule) (outcome, error) {
	o := outcome{matched: map[int]bool{}}
	for p, err := range d.parts(r) {
		if err != nil {
			return o, err
		}
		policy := r.Value(p.ctx)
		w := walk{outcome: &o, part: p, rule: &r, alone: policy, leads: map[helperError]bool{}}
		w.result(p.value.Unify(policy), d.data)
		o.settle(p)
		d.match(&r, &o, p)
	}
	sortViolations(o.violations)
	return o, nil
}

// settle writes out what was found in a part, as far as it may be shown: the
// first hundred of the whole plan are among the first hundred of each part. The
// values that an error quotes go away with their part. What is not about the
// changes is the same in every part, and was said of the first.
func (o *outcome) settle(p part) {
	o.found = slices.DeleteFunc(o.found, func(v violation) bool {
		_, isChange := changeIndex(v.path)
		return !isChange && p.from > 0
	})
	for i := range o.found {
		o.found[i].offset = p.offset(o.found[i].pos)
	}
	sortViolations(o.found)
	o.found = slices.CompactFunc(o.found, func(a, b violation) bool {
		return a.pos == b.pos && a.err == b.err && a.message == b.message && slices.Equal(a.path, b.path)
	})
	o.total += len(o.found)
	for _, v := range o.found[:min(len(o.found), maxFindings)] {
		o.violations = append(o.violations, v.written(p))
	}
	o.found = nil
}

// written is a violation as text.
func (v violation) written(p part) violation {
	positions := []token.Pos{v.pos}
	if v.err != nil {
		v.message = errors.StringWithConfig(v.err, &errors.Config{OmitPath: true})
		positions = errors.Positions(v.err)
	}
	v.message, v.err = label(v.path)+v.message, nil
	for _, pos := range positions {
		if pos.IsValid() {
			v.positions = append(v.positions, p.position(pos))
		}
	}
	return v
}

// sortViolations gives them the order in which CUE prints them.
func sortViolations(all []violation) {
	slices.SortStableFunc(all, func(a, b violation) int {
		return cmp.Or(comparePos(a, b), slices.Compare(a.path, b.path))
	})
}

// comparePos sorts what has no position first, as CUE does.
func comparePos(a, b violation) int {
	switch {
	case !a.pos.IsValid() && !b.pos.IsValid():
		return 0
	case !a.pos.IsValid():
		return -1
	case !b.pos.IsValid():
		return 1
	}
	return cmp.Or(strings.Compare(a.pos.Filename(), b.pos.Filename()), cmp.Compare(a.offset, b.offset))
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
	n, ok := listIndex(path)
	return n, ok && path[0] == "changes"
}

// listIndex is N for a path NAME.N and below.
func listIndex(path []string) (int, bool) {
	if len(path) < 2 {
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

// findings turns violations into findings; every one of them denies.
func (d *document) findings(r cuefile.Rule, o outcome) []api.Finding {
	var out []api.Finding
	for _, v := range o.violations[:min(len(o.violations), maxFindings)] {
		f := api.Finding{Rule: r.Name, Level: api.Deny, Message: d.safe(v.message), Positions: v.positions}
		if d.marked(v.path) {
			f.Message = d.safe(label(v.path) + "conflicts with the policy (the value is sensitive)")
		}
		f.Path = d.attribute(v.path)
		if e, ok := d.entry(v.path); ok {
			f.Address, f.Deposed, f.Action, f.Path = e.address, e.deposed, e.action, d.attribute(v.path[2:])
		}
		out = append(out, f)
	}
	if more := o.total - len(out); more > 0 {
		out = append(out, api.Finding{Rule: r.Name, Level: api.Deny, Message: fmt.Sprintf("and %d more violations of %s", more, r.Path)})
	}
	return out
}

// An entry is what a finding is about: a change, or what has an address
// besides. Without an action, policy.Judge looks for that of a change.
type entry struct{ address, deposed, action string }

// entry is the one that a path leads into.
func (d *document) entry(path []string) (entry, bool) {
	n, ok := listIndex(path)
	switch {
	case !ok:
	case path[0] == "changes" && n < len(d.doc.Changes):
		return entry{address: d.plan.Changes[n].Address, deposed: d.doc.Changes[n].Deposed}, true
	case path[0] == "deferred" && n < len(d.doc.Deferred):
		c := d.doc.Deferred[n]
		return entry{d.plan.Deferred[n].Address, c.Deposed, c.Action}, true
	case path[0] == "modules" && n < len(d.doc.Modules): // judged by their calls (docs/policy.md, rule 14)
		return entry{address: d.doc.Modules[n].Addr, action: "config"}, true
	case path[0] == "checks" && n < len(d.doc.Checks):
		return entry{address: d.doc.Checks[n].Addr}, true
	}
	return entry{}, false
}

// change is the one that a path leads into, or nil.
func (d *document) change(path []string) *api.Change {
	if n, ok := changeIndex(path); ok && n < len(d.doc.Changes) {
		return &d.doc.Changes[n]
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

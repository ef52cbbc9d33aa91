// Package show decides how `assize show` sums up one plan for a person: what
// changes, why, and how much it touches. It judges nothing. It must not know of
// policies, files or terminals, and it never prints a value that the plan marks
// as sensitive, wherever else in the plan that value stands.
package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report/page"
)

// A sheet is the summary of one plan while it is laid out.
type sheet struct {
	*page.Page
	plan *plan.Plan
}

// Plan writes the summary of a plan (docs/report.md, rules 13 to 15).
func Plan(w io.Writer, p *plan.Plan, o page.Options) error {
	s := sheet{page.New(o), p}
	// The order is that of the questions a reader has: is this the plan I mean,
	// how much does it do, what and why; and only then what else is in it.
	s.origin()
	s.extent()
	s.changes()
	s.deferred()
	s.outputs()
	s.modules()
	s.checks()
	_, err := s.WriteTo(w)
	return err
}

// said makes a text of the plan fit to print. Secrets go first: a secret that
// is cut in two or escaped is found no more.
func (s sheet) said(text string) string { return page.Visible(s.plan.Redact(text)) }

// address is said for an address of the plan, of which a policy's finding shows
// as much (docs/policy.md, rule 4).
func (s sheet) address(text string) string { return page.Visible(s.plan.RedactAddress(text)) }

// addresses joins several.
func (s sheet) addresses(texts []string) string {
	var out []string
	for _, text := range texts {
		out = append(out, s.address(text))
	}
	return strings.Join(out, ", ")
}

// origin says who made the plan, when and how. A plan that was narrowed by a
// flag must not be taken for the whole change, so the flags come first; what
// flags there were only the caller knows (see [plan.Flags]).
func (s sheet) origin() {
	line := "Plan by " + s.tool() + s.said(s.plan.ToolVersion)
	if s.plan.Created != "" {
		line += ", made " + s.said(s.plan.Created)
	}
	s.Line(0, s.Paint(page.Bold, line))
	f := s.plan.Flags
	if f.Destroy {
		s.Line(0, "Made with -destroy: it destroys everything that the state holds.")
	}
	if f.RefreshOnly {
		s.Line(0, "Made with -refresh-only: it changes the state and no object.")
	}
	if len(f.Targets) > 0 {
		s.Line(0, "Made with -target: it is not the whole change. Targets: "+s.addresses(f.Targets))
	}
	if len(f.Replace) > 0 {
		s.Line(0, "Made with -replace: "+s.addresses(f.Replace))
	}
	if s.plan.Complete != nil && !*s.plan.Complete {
		s.Line(0, "Not complete: after it is applied, another plan is needed.")
	}
}

// tool is the name of the tool, where the plan gives it away: both write their
// version as terraform_version, but they have different registries, and only
// Terraform says whether a plan is complete.
func (s sheet) tool() string {
	if s.plan.Complete != nil {
		return "Terraform "
	}
	for _, c := range s.plan.Changes {
		if strings.HasPrefix(c.Provider, "registry.opentofu.org/") {
			return "OpenTofu "
		}
	}
	return "OpenTofu or Terraform "
}

// list joins texts of the plan before secrets are removed: one secret may hold
// the comma between two of them.
func (s sheet) list(texts []string) string { return s.said(strings.Join(texts, ", ")) }

// extent is the plan in numbers. The number of objects it touches is what a
// reader weighs a surprise with.
func (s sheet) extent() {
	sum := s.plan.Summary()
	line := page.Tally(sum)
	line = strings.ToUpper(line[:1]) + line[1:]
	if sum.Read > 0 {
		line += fmt.Sprintf(", %d to read", sum.Read)
	}
	if sum.BlastRadius > 0 {
		line += "; it touches " + page.Plural(sum.BlastRadius, "object")
	}
	s.Line(0, line+".")
}

// changes lists them by what they do, the most dangerous first. What a no-op
// moves or imports is a change of the state and is listed as well.
func (s sheet) changes() {
	for _, kind := range []struct {
		title   string
		color   page.Color
		actions []plan.Action
	}{
		{"Destroy", page.Red, []plan.Action{plan.Delete}},
		{"Replace", page.Red, []plan.Action{plan.Replace}},
		{"Create, and forget the object before it", page.Red, []plan.Action{plan.CreateForget, plan.ForgetCreate}},
		{"Forget: no longer managed, not destroyed", page.Yellow, []plan.Action{plan.Forget}},
		{"Update in place", page.Yellow, []plan.Action{plan.Update}},
		{"Create", page.Green, []plan.Action{plan.Create}},
		{"Read during apply", page.Cyan, []plan.Action{plan.Read}},
		{"Change in the state alone", page.Cyan, []plan.Action{plan.NoOp}},
	} {
		// Within a kind the order is the plan's, which sorts by address.
		var found []*plan.Change
		for i := range s.plan.Changes {
			if c := &s.plan.Changes[i]; slices.Contains(kind.actions, c.Action) && (c.Action != plan.NoOp || moved(c) || c.Importing != nil) {
				found = append(found, c)
			}
		}
		if len(found) == 0 {
			continue
		}
		s.title(fmt.Sprintf("%s (%d)", kind.title, len(found)))
		for _, c := range found {
			s.change(c, kind.color)
		}
	}
}

// moved holds for deposed objects as well, which move along with the current one.
func moved(c *plan.Change) bool {
	return c.PreviousAddress != "" && c.PreviousAddress != c.Address
}

// title begins a section.
func (s sheet) title(text string) {
	s.Line(0, "")
	s.Line(0, s.Paint(page.Bold, text))
}

// change writes one change: what happens to which object, why, where it comes
// from, and what of it changes.
func (s sheet) change(c *plan.Change, color page.Color) {
	s.head(c, color)
	s.why(c)
	if len(c.ReplacePaths) > 0 {
		s.Line(8, "replaced because of "+s.list(s.plan.ShownReplacePaths(c)))
	}
	if moved(c) {
		s.Line(8, "moved from "+s.address(c.PreviousAddress))
	}
	if c.Importing != nil {
		s.Line(8, "imported: "+s.importing(c.Importing))
	}
	edits, more := s.edits(c)
	for _, e := range edits {
		s.Line(8, e)
	}
	if more > 0 {
		s.Line(8, fmt.Sprintf("and %s more", page.Plural(more, "value")))
	}
	// What nobody can review yet, in a number (seed 002, step 4).
	if n := marks(c.AfterUnknown); n > 0 && c.Action != plan.Delete {
		s.Line(8, page.Plural(n, "value")+" known after apply")
	}
}

// head names the object. A deposed object repeats the address of the current
// one, and to take one for the other is to be wrong about what is destroyed.
func (s sheet) head(c *plan.Change, color page.Color) {
	address := s.address(c.Address)
	if c.Deposed != "" {
		address += " (deposed object " + s.said(c.Deposed) + ")"
	}
	s.Line(2, s.Paint(color, fmt.Sprintf("%3s", page.Symbol(c.Label())))+" "+address)
}

// why gives the tool's reason (seed 002, step 5: it comes for free and is worth
// printing). Words of ours are not searched for secrets.
func (s sheet) why(c *plan.Change) {
	words, known := reason(c.Reason)
	if !known {
		words = s.said(c.Reason)
	}
	if words != "" {
		s.Line(8, words)
	}
}

// importing says what is imported: an id, or what stands in for it. An id may
// be known only after apply, and since Terraform 1.12 it may be an identity.
func (s sheet) importing(from any) string {
	object, _ := from.(map[string]any)
	if id, ok := object["id"].(string); ok {
		return "id " + s.quote(id)
	}
	if object["unknown"] == true {
		return "id (known after apply)"
	}
	return s.quote(from)
}

// deferred lists what Terraform leaves for another plan. Nobody has judged it:
// a plan with such a list is not the whole change.
func (s sheet) deferred() {
	if len(s.plan.Deferred) == 0 {
		return
	}
	s.title(fmt.Sprintf("Left for another plan (%d)", len(s.plan.Deferred)))
	for i := range s.plan.Deferred {
		c := &s.plan.Deferred[i]
		s.head(c, page.Yellow)
		s.why(c)
	}
}

// outputs lists the root outputs that change; other stacks may read them.
func (s sheet) outputs() {
	titled := false
	for _, o := range s.plan.Outputs {
		if o.Action == plan.NoOp {
			continue
		}
		if !titled {
			s.title("Outputs")
			titled = true
		}
		s.Line(2, fmt.Sprintf("%3s %s: %s", page.Symbol(string(o.Action)), s.said(o.Name), s.output(o)))
	}
}

// modules lists where code comes from, one line a call (seed 002, step 2).
func (s sheet) modules() {
	if len(s.plan.Modules) == 0 {
		return
	}
	s.title("Modules")
	for _, m := range s.plan.Modules {
		line := s.address(m.Address) + " from " + s.said(m.Source)
		if m.Version != "" {
			line += ", version " + s.said(m.Version)
		}
		s.Line(2, line)
	}
}

// checks lists those that do not pass; a check that passed needs no reader.
func (s sheet) checks() {
	passed, titled := 0, false
	for _, c := range s.plan.Checks {
		if c.Status == "pass" {
			passed++
			continue
		}
		if !titled {
			s.title("Checks")
			titled = true
		}
		s.Line(2, s.address(c.Address)+": "+status(s.said(c.Status)))
		for _, problem := range c.Problems {
			s.Prose(8, 8, page.Plain, s.plan.Redact(problem))
		}
	}
	if passed > 0 && titled {
		s.Line(2, page.Plural(passed, "other check")+" passed")
	}
}

// status puts the status of a check into words; a new one is shown as it is.
func status(word string) string {
	switch word {
	case "fail":
		return "failed"
	case "error":
		return "could not be evaluated"
	case "unknown":
		return "known after apply"
	}
	return word
}

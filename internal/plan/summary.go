package plan

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/mark"
)

// Summary counts what the plan does. A deposed object is an object: its delete
// counts. A replacement destroys too, but is one object in the blast radius,
// and so is an object that is created while the one before it is forgotten.
func (p *Plan) Summary() api.Summary {
	var s api.Summary
	for i := range p.Changes {
		c := &p.Changes[i]
		switch c.Action {
		case Create:
			s.Create++
		case Update:
			s.Update++
		case Replace:
			s.Replace++
			s.Destroy++
		case Delete:
			s.Destroy++
		case Forget:
			s.Forget++
		case CreateForget, ForgetCreate:
			s.Create++
			s.Forget++
		case Read:
			s.Read++
		}
		if c.Action != NoOp && c.Action != Read {
			s.BlastRadius++
		}
		if c.Importing != nil {
			s.Import++
		}
		if c.moved() {
			s.Move++
		}
	}
	return s
}

// moved leaves deposed objects out: they move along with the current one.
func (c *Change) moved() bool {
	return c.PreviousAddress != "" && c.PreviousAddress != c.Address && c.Deposed == ""
}

// stats counts entries, whatever they do, so that a reader can tell an empty
// plan from one that changes nothing.
func (p *Plan) stats() api.Stats {
	s := api.Stats{Resources: len(p.Changes), Deferred: len(p.Deferred)}
	for i := range p.Changes {
		if p.Changes[i].Action == NoOp {
			s.NoOp++
		}
		if mark.Any(p.Changes[i].AfterUnknown) {
			s.Unknown++
		}
	}
	return s
}

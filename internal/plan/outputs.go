package plan

import "slices"

// OutputsAfter are the root outputs as they will be once the plan is applied, by
// name, those that stay as they are among them, be it that the plan has targets.
// One that is null is not there: the tools keep no such output in a state.
func (p *Plan) OutputsAfter() map[string]Output {
	after := map[string]Output{}
	for _, o := range slices.Concat(p.Outputs, p.untouched) {
		if o.Action != Delete && (o.After != nil || o.AfterUnknown == true) {
			after[o.Name] = o
		}
	}
	return after
}

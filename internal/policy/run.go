package policy

import (
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/input"
)

// A Run is what neither plan nor policy can say: where the plan came from, and
// how large an input may be. Only policies of the decision contract see it. It is
// of the run, so no digest of a policy counts it (docs/decision.md, rule 4).
type Run struct {
	From   input.Provenance // a manual run without a repository's id gets one
	Bounds input.Bounds     // zero for the contract's own
}

// Of is where p came from. Somebody who judges a plan by hand has no upload with
// an id. The plan's digest stands in for it: it is as immutable, and no commit is
// made up.
func (r Run) Of(p *plan.Plan) input.Provenance {
	from := r.From
	if from.Source.RepositoryID == "" && from.Kind == api.ManualRun {
		digits := strings.TrimPrefix(p.Digest, "sha256:")
		from.Source.RepositoryID = "cfg_" + digits[:min(32, len(digits))]
	}
	return from
}

// Validate reports what would be refused of a run, whatever the plan.
func (r Run) Validate() error {
	return r.Of(&plan.Plan{Digest: strings.Repeat("0", 32)}).Validate()
}

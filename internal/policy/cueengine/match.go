package cueengine

import (
	"cuelang.org/go/cue"

	"github.com/assize-iac/assize/internal/policy/cuefile"
)

// match adds what r looks at in p, for a green that judged nothing should look
// like one (docs/policy.md, rule 2): where everything a template says stands under
// guards, a change counts when a guard lets it in. The guards are watched in a
// copy of the policy, so that watching cannot change the verdict.
func (d *document) match(r *cuefile.Rule, o *outcome, p part) {
	seen := r.Watched()
	for _, name := range seen.Lists {
		switch have := d.data[name].(type) {
		case []any:
			o.others += len(have)
		case map[string]any:
			o.others += len(have)
		}
	}
	var result cue.Value
	if seen.Guarded != nil && !seen.Every {
		result = p.value.Unify(p.ctx.BuildFile(seen.Guarded))
	}
	for i := range p.count {
		if seen.Every || seen.Guarded != nil && isMarked(result, i) {
			o.matched[p.from+i] = true
		}
	}
}

// isMarked counts a change in error as looked at: something found the error.
func isMarked(result cue.Value, i int) bool {
	change := result.LookupPath(cue.MakePath(cue.Str("changes"), cue.Index(i)))
	return change.Err() != nil || change.LookupPath(cue.MakePath(cue.Def(cuefile.Marker))).Exists()
}

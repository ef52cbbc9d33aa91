package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/plan/secret"
	"github.com/assize-iac/assize/internal/problem"
)

// Decode reads one plan, as `tofu show -json` or `terraform show -json` prints
// it. Its errors are problems with a hint each, and quote no value of the plan.
//
// The text is walked once and never copied; Plan.Raw is raw itself. Of state
// and configuration only secrets, module calls, provider names and variables
// are kept. Keys may come in any order, and a key that only some versions
// write does not matter (docs/policy.md, rule 3).
func Decode(raw []byte) (*Plan, error) {
	secrets := secret.Collector{}
	src, err := planjson.Read(raw, secrets.Marked)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	p := &Plan{
		Raw: raw, Digest: "sha256:" + hex.EncodeToString(sum[:]),
		FormatVersion: src.FormatVersion, ToolVersion: src.ToolVersion, Created: src.Timestamp, Complete: src.Complete,
		Variables: map[string]any{}, Checks: checks(src.Checks),
		Modules: moduleCalls(&src.Configuration.Root), providers: providers(src.Configuration.Providers),
	}
	for name, v := range src.Variables {
		p.Variables[name] = v.Value
	}
	declared(secrets, p.Variables, &src.Configuration.Root)
	marked(secrets, src)
	p.secrets = secrets.Index()
	if err := p.decodeChanges(src); err != nil {
		return nil, p.harmless(err)
	}
	p.addresses = p.named()
	return p, nil
}

// marked takes every secret of what may change, drifted or is put off.
func marked(secrets secret.Collector, src *planjson.Plan) {
	take := func(d *planjson.Delta) {
		secrets.Marked(d.Before, d.BeforeSensitive)
		secrets.Marked(d.After, d.AfterSensitive)
	}
	for _, changes := range [][]planjson.Change{src.Changes, src.Drift} {
		for i := range changes {
			take(&changes[i].Change)
		}
	}
	for i := range src.Deferred {
		take(&src.Deferred[i].Change.Change)
	}
	for _, d := range src.Outputs {
		take(&d)
	}
}

// harmless removes secrets from an error, which may name a change by its key.
func (p *Plan) harmless(err error) error {
	var e *problem.Error
	if !errors.As(err, &e) {
		return err
	}
	return problem.New(e.Code, "%s", p.Redact(e.Message)).WithHint("%s", e.Hint)
}

// Number returns the one spelling that a JSON number has in a plan: 1.0, 1e0
// and 1 are all 1. It is exact, so equal texts are equal numbers and different
// texts are different ones. It is an error for text to be no JSON number, or
// to be beyond 1e99999 in either direction.
func Number(text string) (json.Number, error) { return planjson.Number(text) }

// decodeChanges reads everything that may change or has. No policy judges what
// drifted, but it must be well-formed like the rest.
func (p *Plan) decodeChanges(src *planjson.Plan) (err error) {
	if p.Changes, err = decodeAll(src.Changes); err != nil {
		return err
	}
	if p.Drifted, err = decodeAll(src.Drift); err != nil {
		return err
	}
	for i := range src.Deferred {
		c, err := decodeChange(&src.Deferred[i].Change)
		if err != nil {
			return err
		}
		c.Reason = src.Deferred[i].Reason
		p.Deferred = append(p.Deferred, c)
	}
	if p.Outputs, err = decodeOutputs(src, src.Outputs); err != nil {
		return err
	}
	untouched, err := src.Untouched()
	if err != nil {
		return err
	}
	if p.untouched, err = decodeOutputs(src, untouched); err != nil {
		return err
	}
	return p.refuseTwins()
}

func decodeOutputs(src *planjson.Plan, all map[string]planjson.Delta) (out []Output, err error) {
	for name, d := range all {
		o, err := decodeOutput(name, &d)
		if err != nil {
			return nil, err
		}
		o.Type = src.OutputType(name)
		out = append(out, o)
	}
	// They come from an object, whose order means nothing.
	slices.SortFunc(out, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// refuseTwins refuses a plan in which it is not clear what happens to an object
// (docs/policy.md, rule 9).
func (p *Plan) refuseTwins() error {
	type identity struct{ address, deposed string }
	known := map[identity]bool{}
	for i := range p.Changes {
		c := &p.Changes[i]
		id := identity{c.Address, c.Deposed}
		if known[id] {
			return problem.New(api.Invalid, "the plan has two changes for %s", nameOf(c.Address, c.Deposed)).
				WithHint("no tool writes such a plan; %s", planjson.Hint)
		}
		known[id] = true
	}
	return nil
}

func checks(all []planjson.Check) []Check {
	var out []Check
	for _, c := range all {
		check := Check{Address: c.Address.Display, Status: c.Status}
		for _, instance := range c.Instances {
			for _, p := range instance.Problems {
				check.Problems = append(check.Problems, p.Message)
			}
		}
		out = append(out, check)
	}
	return out
}

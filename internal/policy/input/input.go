// Package input decides what a policy of the decision contract sees of a plan:
// it projects the plan to the policy input v1 without any secret, binds it to
// where it came from, bounds it, and reads such a document back as strictly as
// it writes it (docs/policy-input.md).
//
// Whatever is not certain is an error, never a smaller document. It must not
// know of policies, evaluators, files or processes.
package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/plan/planjson"
	"github.com/assize-iac/assize/internal/problem"
)

// An Input is a policy input that holds to every rule, with the one text it
// has. Only [Build] and [Read] make one.
type Input struct {
	Contract Contract
	Document api.PolicyInput
	Text     []byte // canonical: RFC 8785 with exact numbers (docs/policy-input.md, rule 14)
	Digest   string // "sha256:..." of Text
}

// A Provenance is what a plan cannot say of itself. The caller vouches for it.
type Provenance struct {
	Kind    api.RunKind
	Source  api.InputSource
	Subject api.InputSubject
	Secrets Canaries // values that must not be in the input
}

// Validate reports what [Build] would refuse of a provenance, whatever the plan.
func (from Provenance) Validate() error {
	if err := checkSource(from.Kind, from.Source); err != nil {
		return err
	}
	subject := from.Subject
	if subject.Metadata == nil {
		subject.Metadata = map[string]string{}
	}
	if err := Assize().checkSubject(&subject); err != nil {
		return err
	}
	for _, c := range from.Secrets {
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// Build makes the input of a plan. Errors name every bound that is exceeded
// (too_large) or the first rule that does not hold; none quotes a value.
func Build(c Contract, p *plan.Plan, from Provenance, b Bounds) (*Input, error) {
	limits, err := b.limits()
	if err != nil {
		return nil, err
	}
	// Nothing is made of what is refused anyway.
	if err := (Bounds{Changes: len(p.Changes)}).within(limits); err != nil {
		return nil, err
	}
	if err := c.expresses(p); err != nil {
		return nil, err
	}
	d := project(c, p, from)
	// The same rules as for what is read: there is no other way into an Input.
	if err := c.check(&d); err != nil {
		return nil, err
	}
	tree, err := treeOf(&d)
	if err != nil {
		return nil, err
	}
	text, err := canonical(tree)
	if err != nil {
		return nil, err
	}
	if err := measure(tree, len(text)).within(limits); err != nil {
		return nil, err
	}
	// Last, over the very bytes that leave: what follows cannot add a secret.
	if err := from.Secrets.Refuse("the policy input", text); err != nil {
		return nil, err
	}
	return &Input{Contract: c, Document: d, Text: text, Digest: digest(text)}, nil
}

// Read reads a document of either contract and refuses everything that this
// build would not have written itself (docs/policy-input.md, rule 13).
func Read(raw []byte, b Bounds) (*Input, error) {
	limits, err := b.limits()
	if err != nil {
		return nil, err
	}
	// Before anything is made of it: a small text can only become a small tree.
	if err := (Bounds{Bytes: len(raw)}).within(limits); err != nil {
		return nil, err
	}
	tree, err := planjson.Parse(string(raw))
	if err != nil {
		return nil, explain(err)
	}
	if err := measure(tree, len(raw)).within(limits); err != nil {
		return nil, err
	}
	d, err := decode(tree)
	if err != nil {
		return nil, err
	}
	c, err := contractOf(d.Version)
	if err != nil {
		return nil, err
	}
	if err := c.check(&d); err != nil {
		return nil, err
	}
	text, err := canonical(tree)
	if err != nil {
		return nil, err
	}
	return &Input{Contract: c, Document: d, Text: text, Digest: digest(text)}, nil
}

// decode fills the type and then asks what it would write: a document that is
// not the same has something the type does not know, or lacks something it
// always writes. So there is no second list of fields that could differ from
// the first, and encoding/json's leniency (case, null, what is unknown) does not count.
func decode(tree any) (api.PolicyInput, error) {
	var d api.PolicyInput
	text, err := json.Marshal(tree)
	if err != nil {
		return d, problem.New(api.Internal, "the policy input cannot be read again: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		return d, explain(err)
	}
	again, err := treeOf(&d)
	if err != nil {
		return d, err
	}
	if what := difference(tree, again, ""); what != "" {
		return d, problem.New(api.Invalid, "the policy input is malformed: %s", what).WithHint(hint)
	}
	return d, nil
}

const hint = "docs/policy-input.md lists the fields; `assize policy input PLAN.json` prints a document that has them all"

// explain says what is wrong with a text without quoting it, as the libraries'
// own messages would.
func explain(err error) error {
	var known *problem.Error
	var syntax *jsontext.SyntacticError
	var shape *json.UnmarshalTypeError
	message := "the policy input is not valid JSON"
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		message = "the policy input says a thing twice"
		if at := string(syntax.JSONPointer); strings.Count(at, "/") == 1 {
			message += ": " + plan.Quote(at[1:])
		}
	case errors.As(err, &syntax):
	case errors.As(err, &shape):
		kind, _, _ := strings.Cut(shape.Value, " ") // the rest may be the number itself
		message = "the policy input is malformed: a value of the wrong type, " + kind
		if shape.Field != "" {
			message += ", at " + shape.Field
		}
	case errors.As(err, &known): // its message has the path, whose keys may be anything
		message = "the policy input has a number beyond 1e99999, or something after its end"
	}
	return problem.New(api.Invalid, "%s", message).WithHint(hint)
}

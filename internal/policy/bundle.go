package policy

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Bundle is what the archive that a policy was read from says of it. It is a
// claim: the files are what is judged, and an engine compares the two
// (docs/bundle.md, rules 9 and 10).
type Bundle struct {
	Digest    string // of the archive's bytes; "" before there is one
	Evaluator string // that checked the policy when it was built; "" for a bundle that OPA built
	OPA       *OPA   // Rego only
}

// OPA is what OPA's bundle format says of a Rego policy beside its files.
type OPA struct {
	Capabilities     string         // digest of the built-ins that policies could call; "" for a bundle that OPA built
	Roots            []string       // slash-separated paths below data that the bundle fills; nil for all of data
	RegoVersion      *int           // 0 or 1; nil where nothing is said, which OPA takes for 1
	FileRegoVersions map[string]int // by glob, what differs from it
	Data             []byte         // all documents below data, as one JSON object; nil without any
}

// A Packer is an engine whose evaluator has a bundle format of its own, and
// which knows what that wants to be told of a policy.
type Packer interface {
	Pack(Source) (*OPA, error)
}

// Checked is src as it goes into a bundle: with the engine that accepts it. The
// error is why no plan can be judged by it.
func Checked(engines []Engine, src Source) (checked Source, err error) {
	defer func() {
		if r := recover(); r != nil {
			checked, err = Source{}, problem.New(api.Internal, "the %s engine panicked", src.Language)
		}
	}()
	if err := Check(engines, src); err != nil {
		return Source{}, err
	}
	e := engine(engines, src.Language)
	src.Bundle = &Bundle{Evaluator: e.Evaluator()}
	if p, ok := e.(Packer); ok {
		opa, err := p.Pack(src)
		if err != nil {
			return Source{}, err
		}
		src.Bundle.OPA = opa
	}
	return src, nil
}

// WithRego says how a Rego policy is judged; to the other languages it says
// nothing. A bundle of Assize has said so itself: of two answers one would be
// ignored, and nobody would see which (docs/bundle.md, rule 12).
func (s Source) WithRego(o RegoOptions) (Source, error) {
	switch {
	case s.Language != api.Rego || s.Bundle != nil && o.IsZero():
	case s.Bundle != nil && s.Bundle.Evaluator != "":
		return Source{}, problem.New(api.Invalid, "policy %s is a bundle, which says itself how its Rego is judged", s.Path).
			WithHint("leave out --namespace, --all-namespaces, --data and --input-shape, or name the directory that the bundle was built from")
	default:
		o.Data = append(s.Rego.Data[:len(s.Rego.Data):len(s.Rego.Data)], o.Data...)
		s.Rego = o
	}
	return s, nil
}

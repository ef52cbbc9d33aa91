package confine

import (
	"errors"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// Query implements [policy.Querier] for an inner engine that does: an expression can
// loop as a policy can.
func (e *Engine) Query(expression string, document []byte) ([]byte, error) {
	a, err := e.ask(request{Op: opQuery, Source: policy.Source{Language: e.Language()}, Expression: expression}, document)
	return a.Value, answering(err)
}

// answering says of a query what is said of a policy.
func answering(err error) error {
	var p *problem.Error
	if !errors.As(err, &p) || !strings.HasPrefix(p.Message, "could not judge: ") {
		return err
	}
	said := *p
	said.Message = strings.NewReplacer("could not judge: the policy", "could not answer: the query", "could not judge: the verdict", "could not answer: the answer",
		"could not judge: ", "could not answer: ").Replace(p.Message)
	if p.Code == api.Limited || p.Code == api.TooLarge {
		said.Hint = "ask for less: look for loops inside loops, and for alternatives that multiply"
	}
	return &said
}

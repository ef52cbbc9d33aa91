package tfc

import (
	"time"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func agentTokens() []route {
	return []route{
		{pattern: "GET /api/v2/agent-pools/{pool}/authentication-tokens", do: listAgentTokens},
		{pattern: "POST /api/v2/agent-pools/{pool}/authentication-tokens", do: createAgentToken},
	}
}

// An agentTokenDoc is the token of an agent. The token itself is in it once.
type agentTokenDoc struct {
	ID          string    `jsonapi:"primary,authentication-tokens"`
	CreatedAt   time.Time `jsonapi:"attr,created-at,iso8601"`
	Description string    `jsonapi:"attr,description"`
	Token       *string   `jsonapi:"attr,token"`
	CreatedBy   *userRef  `jsonapi:"relation,created-by,omitempty"` // if it was a user
}

func newAgentTokenDoc(t postgres.AgentToken) *agentTokenDoc {
	d := &agentTokenDoc{ID: t.ID, CreatedAt: t.Created, Description: t.Description}
	if identity.IsID(identity.UserID, t.CreatedBy) {
		d.CreatedBy = &userRef{ID: t.CreatedBy}
	}
	return d
}

func listAgentTokens(r *request) (answer, error) {
	p := r.paging()
	var docs []*agentTokenDoc
	err := r.view(func(v *postgres.View) error {
		all, err := v.AgentTokens(r.Context(), r.who, r.PathValue("pool"))
		for _, t := range part(all, &p) {
			docs = append(docs, newAgentTokenDoc(t))
		}
		return err
	})
	return listed(docs, p), err
}

func createAgentToken(r *request) (answer, error) {
	var wanted struct {
		ID          string `jsonapi:"primary,agent-tokens"`
		Description string `jsonapi:"attr,description"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	var token identity.Token
	var made postgres.AgentToken
	err := r.update(func(u *postgres.Update) (err error) {
		token, made, err = u.CreateAgentToken(r.Context(), r.who, r.PathValue("pool"), wanted.Description)
		return err
	})
	doc, shown := newAgentTokenDoc(made), token.Reveal()
	doc.Token = &shown
	return created(doc), err
}

func readAgentToken(r *request) (answer, error) {
	var t postgres.AgentToken
	err := r.view(func(v *postgres.View) (err error) {
		t, err = v.AgentToken(r.Context(), r.who, r.PathValue("token"))
		return err
	})
	return ok(newAgentTokenDoc(t)), err
}

func deleteAgentToken(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.RevokeAgentToken(r.Context(), r.who, r.PathValue("token"))
	})
}

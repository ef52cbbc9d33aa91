package postgres

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// AgentTokenID is the prefix of the ids of tokens of agents.
const AgentTokenID = "agt_"

// An AgentToken is all that is known of the token of an agent but the token. As
// yet there is nothing that an agent could do with it.
type AgentToken struct {
	ID           string
	Organisation string // id
	Pool         string // id
	Description  string
	CreatedBy    string // id of the user, team or organisation
	Created      time.Time
}

func agentTokenCall(who identity.Principal, action string, t AgentToken) call {
	return call{who: who, action: action, needs: identity.TokenAdmin, at: identity.Scope{Organisation: t.Organisation}, object: t.ID,
		detail: map[string]string{"owner": t.Pool, "description": t.Description}}
}

const sqlInsertAgentToken = `
	INSERT INTO agent_tokens (id, organisation, pool, description, digest, created_by, created_at)
	VALUES (@id, @organisation, @pool, @description, @digest, @by, @at)`

// CreateAgentToken makes a token of a pool and shows it, the one time that anybody
// can: only its digest is kept.
func (u *Update) CreateAgentToken(ctx context.Context, who identity.Principal, pool, description string) (identity.Token, AgentToken, error) {
	p, err := u.agentPool(ctx, pool)
	if err != nil {
		return identity.Token{}, AgentToken{}, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	token := identity.NewToken(identity.AgentToken, random)
	t := AgentToken{ID: newID(AgentTokenID), Organisation: p.Organisation, Pool: pool, Description: description, Created: u.at}
	if t.CreatedBy, err = u.actsFor(ctx, who); err != nil {
		return identity.Token{}, AgentToken{}, err
	}
	err = u.guard(ctx, agentTokenCall(who, "agent_token:create", t), func() error {
		if len(description) > 255 {
			return problem.New(api.Invalid, "the description of the token is too long").WithHint("at most 255 bytes")
		}
		_, err := u.tx.Exec(ctx, sqlInsertAgentToken, pgx.NamedArgs{"id": t.ID, "organisation": t.Organisation, "pool": pool,
			"description": description, "digest": token.Digest(), "by": t.CreatedBy, "at": u.at})
		return err
	})
	if err != nil {
		return identity.Token{}, AgentToken{}, err
	}
	return token, t, nil
}

const sqlDeleteAgentToken = `
	DELETE FROM agent_tokens WHERE id = @id`

// RevokeAgentToken deletes a token of a pool.
func (u *Update) RevokeAgentToken(ctx context.Context, who identity.Principal, id string) error {
	t, err := u.agentToken(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, agentTokenCall(who, "agent_token:revoke", t), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteAgentToken, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlAgentToken = `
	SELECT id, organisation, pool, description, created_by, created_at FROM agent_tokens WHERE id = @id`

// agentToken is the one with this id, for the guard to ask about.
func (v *View) agentToken(ctx context.Context, id string) (AgentToken, error) {
	rows, err := v.tx.Query(ctx, sqlAgentToken, pgx.NamedArgs{"id": id})
	if err != nil {
		return AgentToken{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[AgentToken])
}

// AgentToken is the one with this id.
func (v *View) AgentToken(ctx context.Context, who identity.Principal, id string) (AgentToken, error) {
	t, err := v.agentToken(ctx, id)
	if err != nil {
		return AgentToken{}, err
	}
	if err := v.permit(ctx, agentTokenCall(who, "agent_token:read", t)); err != nil {
		return AgentToken{}, err
	}
	return t, nil
}

const sqlAgentTokens = `
	SELECT id, organisation, pool, description, created_by, created_at FROM agent_tokens WHERE pool = @pool ORDER BY created_at, id`

// AgentTokens are those of a pool.
func (v *View) AgentTokens(ctx context.Context, who identity.Principal, pool string) ([]AgentToken, error) {
	p, err := v.agentPool(ctx, pool)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, agentTokenCall(who, "agent_token:read", AgentToken{Organisation: p.Organisation, Pool: pool})); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlAgentTokens, pgx.NamedArgs{"pool": pool})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[AgentToken])
}

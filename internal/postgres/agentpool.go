package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const agentPoolID = "pool_"

// An AgentPool is agents that run stacks of an organisation: of all that are not
// excluded, or of those alone that are allowed.
type AgentPool struct {
	ID              string
	Organisation    string // id
	Name            string
	ForAll          bool
	Created         time.Time
	Allowed         []string // ids of stacks
	AllowedProjects []string // ids
	Excluded        []string // ids of stacks
}

func agentPoolCall(who identity.Principal, action string, needs identity.Permission, p AgentPool) call {
	return call{who: who, action: action, needs: needs, at: identity.Scope{Organisation: p.Organisation}, object: p.ID,
		detail: map[string]string{"name": p.Name}}
}

const sqlInsertAgentPool = `
	INSERT INTO agent_pools (id, organisation, name, for_all, created_at) VALUES (@id, @organisation, @name, @for_all, @at)`

// CreateAgentPool makes a pool of an organisation. Of p it takes all but the id.
func (u *Update) CreateAgentPool(ctx context.Context, who identity.Principal, p AgentPool) (AgentPool, error) {
	p.ID, p.Created = newID(agentPoolID), u.at
	err := u.guard(ctx, agentPoolCall(who, "agent_pool:create", identity.OrganisationAdmin, p), func() error {
		if err := checkLabel("an agent pool", p.Name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertAgentPool, pgx.NamedArgs{"id": p.ID, "organisation": p.Organisation, "name": p.Name, "for_all": p.ForAll, "at": u.at})
		if err != nil {
			return err
		}
		return u.allot(ctx, p)
	})
	if err != nil {
		return AgentPool{}, err
	}
	return u.agentPool(ctx, p.ID)
}

const sqlClearPoolStacks = `
	DELETE FROM agent_pool_stacks WHERE pool = @pool`

const sqlClearPoolProjects = `
	DELETE FROM agent_pool_projects WHERE pool = @pool`

const sqlPoolStacks = `
	INSERT INTO agent_pool_stacks (organisation, pool, stack, excluded)
	SELECT DISTINCT @organisation, @pool, unnest(@ids::text[]), @excluded::boolean`

const sqlPoolProjects = `
	INSERT INTO agent_pool_projects (organisation, pool, project)
	SELECT DISTINCT @organisation, @pool, unnest(@ids::text[])`

// allot writes for which stacks and projects a pool is. Those of other
// organisations do not exist here.
func (u *Update) allot(ctx context.Context, p AgentPool) error {
	for _, id := range append(append([]string{}, p.Allowed...), p.Excluded...) {
		if k, err := u.stack(ctx, id); err != nil || k.Organisation != p.Organisation {
			return notFound()
		}
	}
	for _, id := range p.AllowedProjects {
		if k, err := u.project(ctx, id); err != nil || k.Organisation != p.Organisation {
			return notFound()
		}
	}
	args := pgx.NamedArgs{"organisation": p.Organisation, "pool": p.ID, "ids": p.Allowed, "excluded": false}
	if _, err := u.tx.Exec(ctx, sqlPoolStacks, args); err != nil {
		return err
	}
	args["ids"], args["excluded"] = p.Excluded, true
	if _, err := u.tx.Exec(ctx, sqlPoolStacks, args); err != nil {
		return err
	}
	_, err := u.tx.Exec(ctx, sqlPoolProjects, pgx.NamedArgs{"organisation": p.Organisation, "pool": p.ID, "ids": p.AllowedProjects})
	return err
}

// An AgentPoolChange is what of a pool shall be another; nil leaves it.
type AgentPoolChange struct {
	Name                               *string
	ForAll                             *bool
	Allowed, AllowedProjects, Excluded *[]string
}

const sqlChangeAgentPool = `
	UPDATE agent_pools SET name = @name, for_all = @for_all WHERE id = @id`

// ChangeAgentPool changes a pool.
func (u *Update) ChangeAgentPool(ctx context.Context, who identity.Principal, id string, with AgentPoolChange) (AgentPool, error) {
	p, err := u.agentPool(ctx, id)
	if err != nil {
		return AgentPool{}, err
	}
	err = u.guard(ctx, agentPoolCall(who, "agent_pool:change", identity.OrganisationAdmin, p), func() error {
		change(&p.Name, with.Name)
		change(&p.ForAll, with.ForAll)
		change(&p.Allowed, with.Allowed)
		change(&p.AllowedProjects, with.AllowedProjects)
		change(&p.Excluded, with.Excluded)
		if err := checkLabel("an agent pool", p.Name); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlChangeAgentPool, pgx.NamedArgs{"id": id, "name": p.Name, "for_all": p.ForAll}); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlClearPoolStacks, pgx.NamedArgs{"pool": id}); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlClearPoolProjects, pgx.NamedArgs{"pool": id}); err != nil {
			return err
		}
		return u.allot(ctx, p)
	})
	if err != nil {
		return AgentPool{}, err
	}
	return u.agentPool(ctx, id)
}

const sqlDeleteAgentPool = `
	DELETE FROM agent_pools WHERE id = @id`

// sqlPoolUsers knows the words of settings, which are otherwise for the callers, in
// which clients keep the id of a pool.
const sqlPoolUsers = `
	SELECT 'the stack ' || name FROM stacks WHERE organisation = @organisation AND settings->>'agent-pool-id' = @id
	UNION ALL SELECT 'the project ' || name FROM projects WHERE organisation = @organisation AND settings->>'default-agent-pool-id' = @id
	UNION ALL SELECT 'the organisation' FROM organisations WHERE id = @organisation AND settings->>'default-agent-pool-id' = @id
	LIMIT 1`

// DeleteAgentPool deletes a pool, and with it the tokens of its agents. It is refused
// while something is to be run by them: without its pool that would be run by nobody,
// or elsewhere than was said (docs/protocol.md, rule 33).
func (u *Update) DeleteAgentPool(ctx context.Context, who identity.Principal, id string) error {
	p, err := u.agentPool(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, agentPoolCall(who, "agent_pool:delete", identity.OrganisationAdmin, p), func() error {
		var user string
		err := u.tx.QueryRow(ctx, sqlPoolUsers, pgx.NamedArgs{"organisation": p.Organisation, "id": id}).Scan(&user)
		if err == nil {
			return problem.New(api.Conflict, "the agent pool is in use: %s is run by it", user).
				WithHint("give what is run by it another pool or execution mode first")
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		_, err = u.tx.Exec(ctx, sqlDeleteAgentPool, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlAgentPool = `
	SELECT p.id, p.organisation, p.name, p.for_all, p.created_at,
		ARRAY(SELECT stack FROM agent_pool_stacks WHERE pool = p.id AND NOT excluded ORDER BY stack),
		ARRAY(SELECT project FROM agent_pool_projects WHERE pool = p.id ORDER BY project),
		ARRAY(SELECT stack FROM agent_pool_stacks WHERE pool = p.id AND excluded ORDER BY stack)
	FROM agent_pools p WHERE p.id = @id`

// agentPool is the one with this id, for the guard to ask about.
func (v *View) agentPool(ctx context.Context, id string) (AgentPool, error) {
	rows, err := v.tx.Query(ctx, sqlAgentPool, pgx.NamedArgs{"id": id})
	if err != nil {
		return AgentPool{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[AgentPool])
}

// AgentPool is the one with this id.
func (v *View) AgentPool(ctx context.Context, who identity.Principal, id string) (AgentPool, error) {
	p, err := v.agentPool(ctx, id)
	if err != nil {
		return AgentPool{}, err
	}
	if err := v.permit(ctx, agentPoolCall(who, "agent_pool:read", identity.OrganisationRead, p)); err != nil {
		return AgentPool{}, err
	}
	return p, nil
}

const sqlAgentPools = `
	SELECT p.id, p.organisation, p.name, p.for_all, p.created_at,
		ARRAY(SELECT stack FROM agent_pool_stacks WHERE pool = p.id AND NOT excluded ORDER BY stack),
		ARRAY(SELECT project FROM agent_pool_projects WHERE pool = p.id ORDER BY project),
		ARRAY(SELECT stack FROM agent_pool_stacks WHERE pool = p.id AND excluded ORDER BY stack)
	FROM agent_pools p WHERE p.organisation = @organisation ORDER BY lower(p.name)`

// AgentPools are those of an organisation.
func (v *View) AgentPools(ctx context.Context, who identity.Principal, organisation string) ([]AgentPool, error) {
	if err := v.permit(ctx, agentPoolCall(who, "agent_pool:read", identity.OrganisationRead, AgentPool{Organisation: organisation})); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlAgentPools, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[AgentPool])
}

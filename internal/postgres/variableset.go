package postgres

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const variableSetID = "vset_"

// A VariableSet is variables that several stacks have in common.
type VariableSet struct {
	ID           string
	Organisation string // id
	Project      string // id of the one to which it belongs; "" for a set of the organisation
	Name         string
	Description  string
	Global       bool // it reaches all stacks of its project or organisation
	Priority     bool // its variables go before those of the stacks
	Created      time.Time
	Stacks       []string // ids of those to which it was applied
	Projects     []string // ids of those to which it was applied
	Variables    []string // ids
}

func (s VariableSet) scope() identity.Scope {
	return identity.Scope{Organisation: s.Organisation, Project: s.Project}
}

func variableSetCall(who identity.Principal, action string, needs identity.Permission, s VariableSet) call {
	return call{who: who, action: action, needs: needs, at: s.scope(), object: s.ID, detail: map[string]string{"name": s.Name}}
}

func (s VariableSet) check() error {
	if err := checkLabel("a variable set", s.Name); err != nil {
		return err
	}
	return checkDescription(s.Description)
}

const sqlInsertVariableSet = `
	INSERT INTO variable_sets (id, organisation, project, name, description, global, priority, created_at)
	VALUES (@id, @organisation, @project, @name, @description, @global, @priority, @at)`

// CreateVariableSet makes a set of an organisation, or of one of its projects. Of s
// it takes all but the id and the variables.
func (u *Update) CreateVariableSet(ctx context.Context, who identity.Principal, s VariableSet) (VariableSet, error) {
	if s.Project != "" {
		p, err := u.project(ctx, s.Project)
		if err != nil {
			return VariableSet{}, err
		}
		s.Organisation = p.Organisation
	}
	s.ID, s.Created, s.Variables = newID(variableSetID), u.at, nil
	err := u.guard(ctx, variableSetCall(who, "variable_set:create", identity.VariableWrite, s), func() error {
		if err := s.check(); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertVariableSet, pgx.NamedArgs{"id": s.ID, "organisation": s.Organisation, "project": null(s.Project),
			"name": s.Name, "description": s.Description, "global": s.Global, "priority": s.Priority, "at": u.at})
		if err != nil {
			return err
		}
		return u.reach(ctx, s, s.Stacks, s.Projects)
	})
	if err != nil {
		return VariableSet{}, err
	}
	return u.variableSet(ctx, s.ID)
}

const sqlApplyToStacks = `
	INSERT INTO variable_set_stacks (organisation, variable_set, stack)
	SELECT @organisation, @set, unnest(@ids::text[]) ON CONFLICT DO NOTHING`

const sqlApplyToProjects = `
	INSERT INTO variable_set_projects (organisation, variable_set, project)
	SELECT @organisation, @set, unnest(@ids::text[]) ON CONFLICT DO NOTHING`

// reach applies a set to stacks and projects. What belongs to another organisation
// does not exist here, and what is outside of the set's project it cannot reach.
func (u *Update) reach(ctx context.Context, s VariableSet, stacks, projects []string) error {
	for _, id := range stacks {
		k, err := u.stack(ctx, id)
		if err != nil {
			return err
		}
		if err := s.contains(k.scope()); err != nil {
			return err
		}
	}
	for _, id := range projects {
		p, err := u.project(ctx, id)
		if err != nil {
			return err
		}
		if err := s.contains(p.scope()); err != nil {
			return err
		}
	}
	if _, err := u.tx.Exec(ctx, sqlApplyToStacks, pgx.NamedArgs{"organisation": s.Organisation, "set": s.ID, "ids": stacks}); err != nil {
		return err
	}
	_, err := u.tx.Exec(ctx, sqlApplyToProjects, pgx.NamedArgs{"organisation": s.Organisation, "set": s.ID, "ids": projects})
	return err
}

func (s VariableSet) contains(place identity.Scope) error {
	switch {
	case place.Organisation != s.Organisation:
		return notFound()
	case !s.scope().Contains(place):
		return problem.New(api.Invalid, "the variable set belongs to another project").
			WithHint("make a set of the organisation, or one of that project")
	}
	return nil
}

const sqlRemoveFromStacks = `
	DELETE FROM variable_set_stacks WHERE variable_set = @set AND stack = ANY(@ids)`

const sqlRemoveFromProjects = `
	DELETE FROM variable_set_projects WHERE variable_set = @set AND project = ANY(@ids)`

// retire takes a set away from stacks and projects.
func (u *Update) retire(ctx context.Context, s VariableSet, stacks, projects []string) error {
	if _, err := u.tx.Exec(ctx, sqlRemoveFromStacks, pgx.NamedArgs{"set": s.ID, "ids": stacks}); err != nil {
		return err
	}
	_, err := u.tx.Exec(ctx, sqlRemoveFromProjects, pgx.NamedArgs{"set": s.ID, "ids": projects})
	return err
}

// ApplyVariableSet makes a set reach these stacks and projects as well.
func (u *Update) ApplyVariableSet(ctx context.Context, who identity.Principal, id string, stacks, projects []string) error {
	s, err := u.variableSet(ctx, id)
	if err != nil {
		return err
	}
	c := variableSetCall(who, "variable_set:apply", identity.VariableWrite, s)
	c.detail["to"] = strings.Join(slices.Concat(stacks, projects), " ")
	return u.guard(ctx, c, func() error { return u.reach(ctx, s, stacks, projects) })
}

// RemoveVariableSet takes a set away from these stacks and projects.
func (u *Update) RemoveVariableSet(ctx context.Context, who identity.Principal, id string, stacks, projects []string) error {
	s, err := u.variableSet(ctx, id)
	if err != nil {
		return err
	}
	c := variableSetCall(who, "variable_set:remove", identity.VariableWrite, s)
	c.detail["from"] = strings.Join(slices.Concat(stacks, projects), " ")
	return u.guard(ctx, c, func() error { return u.retire(ctx, s, stacks, projects) })
}

// A VariableSetChange is what of a set shall be another; nil leaves it.
type VariableSetChange struct {
	Name, Description *string
	Global, Priority  *bool
	Stacks, Projects  *[]string // all to which it shall be applied
}

const sqlChangeVariableSet = `
	UPDATE variable_sets SET name = @name, description = @description, global = @global, priority = @priority WHERE id = @id`

// ChangeVariableSet changes a set.
func (u *Update) ChangeVariableSet(ctx context.Context, who identity.Principal, id string, with VariableSetChange) (VariableSet, error) {
	s, err := u.variableSet(ctx, id)
	if err != nil {
		return VariableSet{}, err
	}
	err = u.guard(ctx, variableSetCall(who, "variable_set:change", identity.VariableWrite, s), func() error {
		change(&s.Name, with.Name)
		change(&s.Description, with.Description)
		change(&s.Global, with.Global)
		change(&s.Priority, with.Priority)
		if err := s.check(); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlChangeVariableSet, pgx.NamedArgs{"id": id, "name": s.Name, "description": s.Description,
			"global": s.Global, "priority": s.Priority})
		if err != nil {
			return err
		}
		return u.reachOnly(ctx, s, with)
	})
	if err != nil {
		return VariableSet{}, err
	}
	return u.variableSet(ctx, id)
}

// reachOnly makes a set reach just what the change says, if it says anything.
func (u *Update) reachOnly(ctx context.Context, s VariableSet, with VariableSetChange) error {
	if with.Stacks != nil {
		if err := u.retire(ctx, s, s.Stacks, nil); err != nil {
			return err
		}
		if err := u.reach(ctx, s, *with.Stacks, nil); err != nil {
			return err
		}
	}
	if with.Projects == nil {
		return nil
	}
	if err := u.retire(ctx, s, nil, s.Projects); err != nil {
		return err
	}
	return u.reach(ctx, s, nil, *with.Projects)
}

const sqlDeleteVariableSet = `
	DELETE FROM variable_sets WHERE id = @id`

// DeleteVariableSet deletes a set with its variables.
func (u *Update) DeleteVariableSet(ctx context.Context, who identity.Principal, id string) error {
	s, err := u.variableSet(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, variableSetCall(who, "variable_set:delete", identity.VariableWrite, s), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteVariableSet, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlVariableSet = `
	SELECT s.id, s.organisation, coalesce(s.project, ''), s.name, s.description, s.global, s.priority, s.created_at,
		ARRAY(SELECT stack FROM variable_set_stacks WHERE variable_set = s.id ORDER BY stack),
		ARRAY(SELECT project FROM variable_set_projects WHERE variable_set = s.id ORDER BY project),
		ARRAY(SELECT id FROM variables WHERE variable_set = s.id ORDER BY created_at, id)
	FROM variable_sets s WHERE s.id = @id`

// variableSet is the one with this id, for the guard to ask about.
func (v *View) variableSet(ctx context.Context, id string) (VariableSet, error) {
	rows, err := v.tx.Query(ctx, sqlVariableSet, pgx.NamedArgs{"id": id})
	if err != nil {
		return VariableSet{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[VariableSet])
}

// VariableSet is the one with this id.
func (v *View) VariableSet(ctx context.Context, who identity.Principal, id string) (VariableSet, error) {
	s, err := v.variableSet(ctx, id)
	if err != nil {
		return VariableSet{}, err
	}
	if err := v.permit(ctx, variableSetCall(who, "variable_set:read", identity.VariableRead, s)); err != nil {
		return VariableSet{}, err
	}
	return s, nil
}

const sqlVariableSets = `
	SELECT s.id, s.organisation, coalesce(s.project, ''), s.name, s.description, s.global, s.priority, s.created_at,
		ARRAY(SELECT stack FROM variable_set_stacks WHERE variable_set = s.id ORDER BY stack),
		ARRAY(SELECT project FROM variable_set_projects WHERE variable_set = s.id ORDER BY project),
		ARRAY(SELECT id FROM variables WHERE variable_set = s.id ORDER BY created_at, id)
	FROM variable_sets s WHERE s.organisation = @of ORDER BY lower(s.name)`

// VariableSets are those of an organisation and of its projects.
func (v *View) VariableSets(ctx context.Context, who identity.Principal, organisation string) ([]VariableSet, error) {
	at := identity.Scope{Organisation: organisation}
	if err := v.permit(ctx, call{who: who, action: "variable_set:read", needs: identity.VariableRead, at: at, object: organisation}); err != nil {
		return nil, err
	}
	return v.variableSets(ctx, sqlVariableSets, organisation)
}

const sqlVariableSetsOfStack = `
	SELECT s.id, s.organisation, coalesce(s.project, ''), s.name, s.description, s.global, s.priority, s.created_at,
		ARRAY(SELECT stack FROM variable_set_stacks WHERE variable_set = s.id ORDER BY stack),
		ARRAY(SELECT project FROM variable_set_projects WHERE variable_set = s.id ORDER BY project),
		ARRAY(SELECT id FROM variables WHERE variable_set = s.id ORDER BY created_at, id)
	FROM stacks k JOIN variable_sets s ON s.organisation = k.organisation AND (s.project IS NULL OR s.project = k.project)
	WHERE k.id = @of AND (s.global
		OR EXISTS (SELECT FROM variable_set_stacks WHERE variable_set = s.id AND stack = k.id)
		OR EXISTS (SELECT FROM variable_set_projects WHERE variable_set = s.id AND project = k.project))
	ORDER BY lower(s.name)`

const sqlVariableSetsOfProject = `
	SELECT s.id, s.organisation, coalesce(s.project, ''), s.name, s.description, s.global, s.priority, s.created_at,
		ARRAY(SELECT stack FROM variable_set_stacks WHERE variable_set = s.id ORDER BY stack),
		ARRAY(SELECT project FROM variable_set_projects WHERE variable_set = s.id ORDER BY project),
		ARRAY(SELECT id FROM variables WHERE variable_set = s.id ORDER BY created_at, id)
	FROM projects p JOIN variable_sets s ON s.organisation = p.organisation AND (s.project IS NULL OR s.project = p.id)
	WHERE p.id = @of AND (s.global OR s.project = p.id
		OR EXISTS (SELECT FROM variable_set_projects WHERE variable_set = s.id AND project = p.id))
	ORDER BY lower(s.name)`

// VariableSetsOf are those that reach a stack or a project. What else they reach is
// only for those who may see the sets themselves.
func (v *View) VariableSetsOf(ctx context.Context, who identity.Principal, of string) ([]VariableSet, error) {
	at, query := identity.Scope{}, sqlVariableSetsOfProject
	if identity.IsID(identity.StackID, of) {
		s, err := v.stack(ctx, of)
		if err != nil {
			return nil, err
		}
		at, query = s.scope(), sqlVariableSetsOfStack
	} else {
		p, err := v.project(ctx, of)
		if err != nil {
			return nil, err
		}
		at = p.scope()
	}
	if err := v.permit(ctx, call{who: who, action: "variable_set:read", needs: identity.VariableRead, at: at, object: of}); err != nil {
		return nil, err
	}
	all, err := v.variableSets(ctx, query, of)
	if err != nil {
		return nil, err
	}
	grants, err := v.grantsOf(ctx, who)
	for i := range all {
		if !identity.Allowed(grants, identity.VariableRead, all[i].scope()) {
			all[i].Stacks, all[i].Projects = nil, nil
		}
	}
	return all, err
}

func (v *View) variableSets(ctx context.Context, query, of string) ([]VariableSet, error) {
	rows, err := v.tx.Query(ctx, query, pgx.NamedArgs{"of": of})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[VariableSet])
}

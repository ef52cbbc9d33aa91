package postgres

import (
	"context"
	"regexp"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const variableID = "var_"

// NewVariableID is the id of a variable to come: its value is sealed for it.
func NewVariableID() string { return newID(variableID) }

// VariableValue is the column of values, as a place of secrets.
const VariableValue = "variables.value"

// A Variable is what a run of a stack is given by name.
type Variable struct {
	ID           string
	Organisation string // id
	Project      string // id of the one that its stack or set is in; "" for a set of the organisation
	Stack        string // id; or
	Set          string // id
	Category     string // "terraform": an input of the configuration; "env": of the environment
	Key          string
	Description  string
	HCL          bool   // the value is an expression, not a text
	Sensitive    bool   // the value is shown to nobody again
	Value        []byte // sealed (docs/secrets.md)
	Version      int64  // one more with every change
}

func (x Variable) scope() identity.Scope {
	return identity.Scope{Organisation: x.Organisation, Project: x.Project, Stack: x.Stack}
}

// variableOf is a variable with nothing but what it is of: a stack or a set.
func (v *View) variableOf(ctx context.Context, of string) (Variable, error) {
	if identity.IsID(identity.StackID, of) {
		s, err := v.stack(ctx, of)
		return Variable{Organisation: s.Organisation, Project: s.Project, Stack: of}, err
	}
	s, err := v.variableSet(ctx, of)
	return Variable{Organisation: s.Organisation, Project: s.Project, Set: of}, err
}

// variableCall is a call about a variable. Its value is none of the log's business.
func variableCall(who identity.Principal, action string, needs identity.Permission, x Variable) call {
	return call{who: who, action: action, needs: needs, at: x.scope(), object: x.ID,
		detail: map[string]string{"key": x.Key, "category": x.Category, "set": x.Set}}
}

// Lengths are counted elsewhere: a pattern that repeats a large class hundreds of times
// is compiled at every start, for longer than a small plan is judged.
var variableKey = regexp.MustCompile(`^[^\pC\s=]+$`)

// check refuses what the table would refuse less politely.
func (x Variable) check() error {
	switch {
	case !utf8.ValidString(x.Key) || utf8.RuneCountInString(x.Key) > 255 || !variableKey.MatchString(x.Key):
		return problem.New(api.Invalid, "the key of the variable is not one").
			WithHint("1 to 255 characters without white space and =")
	case x.Category != "terraform" && x.Category != "env":
		return problem.New(api.Invalid, "the category of the variable is not one").WithHint("terraform, or env")
	case x.Category == "env" && x.HCL:
		return problem.New(api.Invalid, "a variable of the environment is a text, and no expression")
	}
	return checkDescription(x.Description)
}

const sqlInsertVariable = `
	INSERT INTO variables (id, organisation, stack, variable_set, category, key, description, hcl, sensitive, value, version, created_at)
	VALUES (@id, @organisation, @stack, @set, @category, @key, @description, @hcl, @sensitive, @value, 1, @at)`

// CreateVariable sets a variable of a stack or of a set. Of x it takes all but
// where that is.
func (u *Update) CreateVariable(ctx context.Context, who identity.Principal, of string, x Variable) (Variable, error) {
	place, err := u.variableOf(ctx, of)
	if err != nil {
		return Variable{}, err
	}
	x.Organisation, x.Project, x.Stack, x.Set, x.Version = place.Organisation, place.Project, place.Stack, place.Set, 1
	err = u.guard(ctx, variableCall(who, "variable:create", identity.VariableWrite, x), func() error {
		if err := x.check(); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertVariable, pgx.NamedArgs{"id": x.ID, "organisation": x.Organisation, "stack": null(x.Stack),
			"set": null(x.Set), "category": x.Category, "key": x.Key, "description": x.Description, "hcl": x.HCL,
			"sensitive": x.Sensitive, "value": x.Value, "at": u.at})
		return err
	})
	return x, err
}

// A VariableChange is what of a variable shall be another; nil leaves it.
type VariableChange struct {
	Category, Key, Description *string
	HCL, Sensitive             *bool
	Value                      []byte // sealed
}

// apply is x with the changes. Nothing makes a secret readable again.
func (c VariableChange) apply(x Variable) (Variable, error) {
	if c.Sensitive != nil && !*c.Sensitive && x.Sensitive {
		return x, problem.New(api.Invalid, "a sensitive variable stays sensitive").
			WithHint("delete it, and set another one with this key")
	}
	change(&x.Category, c.Category)
	change(&x.Key, c.Key)
	change(&x.Description, c.Description)
	change(&x.HCL, c.HCL)
	change(&x.Sensitive, c.Sensitive)
	if c.Value != nil {
		x.Value = c.Value
	}
	x.Version++
	return x, x.check()
}

// change puts another value in place of one, if there is another.
func change[T any](it, with *T) {
	if with != nil {
		*it = *with
	}
}

const sqlChangeVariable = `
	UPDATE variables SET category = @category, key = @key, description = @description, hcl = @hcl, sensitive = @sensitive,
		value = @value, version = @version
	WHERE id = @id`

// ChangeVariable changes a variable of a stack or of a set.
func (u *Update) ChangeVariable(ctx context.Context, who identity.Principal, of, id string, c VariableChange) (Variable, error) {
	x, err := u.variable(ctx, of, id)
	if err != nil {
		return Variable{}, err
	}
	err = u.guard(ctx, variableCall(who, "variable:change", identity.VariableWrite, x), func() (err error) {
		if x, err = c.apply(x); err != nil {
			return err
		}
		_, err = u.tx.Exec(ctx, sqlChangeVariable, pgx.NamedArgs{"id": id, "category": x.Category, "key": x.Key, "description": x.Description,
			"hcl": x.HCL, "sensitive": x.Sensitive, "value": x.Value, "version": x.Version})
		return err
	})
	return x, err
}

const sqlDeleteVariable = `
	DELETE FROM variables WHERE id = @id`

// DeleteVariable deletes a variable of a stack or of a set.
func (u *Update) DeleteVariable(ctx context.Context, who identity.Principal, of, id string) error {
	x, err := u.variable(ctx, of, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, variableCall(who, "variable:delete", identity.VariableWrite, x), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteVariable, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlVariable = `
	SELECT v.id, v.organisation, coalesce(k.project, s.project, ''), coalesce(v.stack, ''), coalesce(v.variable_set, ''),
		v.category, v.key, v.description, v.hcl, v.sensitive, v.value, v.version
	FROM variables v LEFT JOIN stacks k ON k.id = v.stack LEFT JOIN variable_sets s ON s.id = v.variable_set
	WHERE v.id = @id AND coalesce(v.stack, v.variable_set) = @of`

// variable is the one with this id of a stack or of a set.
func (v *View) variable(ctx context.Context, of, id string) (Variable, error) {
	rows, err := v.tx.Query(ctx, sqlVariable, pgx.NamedArgs{"id": id, "of": of})
	if err != nil {
		return Variable{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Variable])
}

// Variable is the one with this id of a stack or of a set.
func (v *View) Variable(ctx context.Context, who identity.Principal, of, id string) (Variable, error) {
	x, err := v.variable(ctx, of, id)
	if err != nil {
		return Variable{}, err
	}
	if err := v.permit(ctx, variableCall(who, "variable:read", identity.VariableRead, x)); err != nil {
		return Variable{}, err
	}
	return x, nil
}

const sqlVariables = `
	SELECT v.id, v.organisation, coalesce(k.project, s.project, ''), coalesce(v.stack, ''), coalesce(v.variable_set, ''),
		v.category, v.key, v.description, v.hcl, v.sensitive, v.value, v.version
	FROM variables v LEFT JOIN stacks k ON k.id = v.stack LEFT JOIN variable_sets s ON s.id = v.variable_set
	WHERE coalesce(v.stack, v.variable_set) = @of ORDER BY v.created_at, v.id`

// Variables are those of a stack or of a set, in the order in which they were made.
func (v *View) Variables(ctx context.Context, who identity.Principal, of string) ([]Variable, error) {
	return v.variables(ctx, who, of, sqlVariables)
}

// sqlEffectiveVariables ranks what reaches a stack: a set reaches it because it was
// applied to it (1), to its project (2), or is global (3), where it belongs; its own
// variables are at 0. The nearest wins, but sets with priority go before all others,
// and of these the farthest. Of equals, the name decides.
const sqlEffectiveVariables = `
	WITH reach AS (
		SELECT s.id, s.name, min(by.rank) * CASE WHEN s.priority THEN -1 ELSE 1 END AS rank
		FROM stacks k JOIN variable_sets s ON s.organisation = k.organisation AND (s.project IS NULL OR s.project = k.project)
		JOIN LATERAL (
			SELECT 1 AS rank FROM variable_set_stacks WHERE variable_set = s.id AND stack = k.id
			UNION ALL SELECT 2 FROM variable_set_projects WHERE variable_set = s.id AND project = k.project
			UNION ALL SELECT 3 WHERE s.global
		) by ON true
		WHERE k.id = @of GROUP BY s.id, s.name, s.priority
	)
	SELECT DISTINCT ON (v.category, v.key) v.id, v.organisation, k.project, coalesce(v.stack, ''), coalesce(v.variable_set, ''),
		v.category, v.key, v.description, v.hcl, v.sensitive, v.value, v.version
	FROM stacks k JOIN (
		SELECT *, 0 AS rank, '' AS set_name FROM variables WHERE stack = @of
		UNION ALL SELECT v.*, r.rank, r.name FROM reach r JOIN variables v ON v.variable_set = r.id
	) v ON true
	WHERE k.id = @of
	ORDER BY v.category, v.key, v.rank, lower(v.set_name), v.variable_set`

// EffectiveVariables are those with which a stack is run: its own, and those of
// sets that reach it (docs/secrets.md, rule 8).
func (v *View) EffectiveVariables(ctx context.Context, who identity.Principal, stack string) ([]Variable, error) {
	return v.variables(ctx, who, stack, sqlEffectiveVariables)
}

func (v *View) variables(ctx context.Context, who identity.Principal, of, query string) ([]Variable, error) {
	place, err := v.variableOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, variableCall(who, "variable:read", identity.VariableRead, place)); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, query, pgx.NamedArgs{"of": of})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Variable])
}

const sqlVariableIDs = `
	SELECT id FROM variables WHERE coalesce(stack, variable_set) = @of ORDER BY created_at, id`

// VariableIDs are those of the variables of a stack or of a set, without what is in
// them.
func (v *View) VariableIDs(ctx context.Context, who identity.Principal, of string) ([]string, error) {
	place, err := v.variableOf(ctx, of)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, variableCall(who, "variable:read", identity.VariableRead, place)); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlVariableIDs, pgx.NamedArgs{"of": of})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

const descriptionMax = 512

// checkDescription refuses what is too long, or no text.
func checkDescription(text string) error {
	if utf8.RuneCountInString(text) > descriptionMax {
		return problem.New(api.Invalid, "the description is too long").WithHint("at most %d characters", descriptionMax)
	}
	return nil
}

var label = regexp.MustCompile(`^[^\pC]+$`)

// checkLabel refuses what cannot name a thing that is never in a path.
func checkLabel(what, name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > 90 || !label.MatchString(name) {
		return problem.New(api.Invalid, "the name of %s is not one", what).WithHint("1 to 90 characters, on one line")
	}
	return nil
}

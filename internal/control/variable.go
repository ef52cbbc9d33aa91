package control

import (
	"context"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/sealed"
)

// A Variable is a variable as it is shown: a value that is sensitive is not
// (docs/secrets.md, rule 6).
type Variable struct {
	postgres.Variable
	Shown string // the value, in the clear; "" for one that is sensitive
}

// show opens the values that are not sensitive. The others it does not even open.
func (c *Control) show(ctx context.Context, all ...postgres.Variable) ([]Variable, error) {
	shown := make([]Variable, 0, len(all))
	for _, x := range all {
		v := Variable{Variable: x}
		if !x.Sensitive {
			value, err := sealed.Open(ctx, c.keys, valueOf(x.ID), x.Value)
			if err != nil {
				return nil, err
			}
			v.Shown = string(value)
		}
		shown = append(shown, v)
	}
	return shown, nil
}

func valueOf(variable string) sealed.Place {
	return sealed.Place{ID: variable, Field: postgres.VariableValue}
}

// Variables are those of a stack or of a set.
func (c *Control) Variables(ctx context.Context, who identity.Principal, of string) ([]Variable, error) {
	var all []postgres.Variable
	err := c.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.Variables(ctx, who, of)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, all...)
}

// EffectiveVariables are those with which a stack is run (docs/secrets.md, rule 8).
func (c *Control) EffectiveVariables(ctx context.Context, who identity.Principal, stack string) ([]Variable, error) {
	var all []postgres.Variable
	err := c.View(ctx, func(v *postgres.View) (err error) {
		all, err = v.EffectiveVariables(ctx, who, stack)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.show(ctx, all...)
}

// Variable is one of a stack or of a set.
func (c *Control) Variable(ctx context.Context, who identity.Principal, of, id string) (Variable, error) {
	var x postgres.Variable
	err := c.View(ctx, func(v *postgres.View) (err error) {
		x, err = v.Variable(ctx, who, of, id)
		return err
	})
	return c.showOne(ctx, x, err)
}

func (c *Control) showOne(ctx context.Context, x postgres.Variable, err error) (Variable, error) {
	if err != nil {
		return Variable{}, err
	}
	shown, err := c.show(ctx, x)
	if err != nil {
		return Variable{}, err
	}
	return shown[0], nil
}

// CreateVariable sets a variable of a stack or of a set.
func (c *Control) CreateVariable(ctx context.Context, who identity.Principal, of string, x postgres.Variable, value string) (Variable, error) {
	x.ID = postgres.NewVariableID()
	var err error
	if x.Value, err = c.sealValue(ctx, x.ID, value); err != nil {
		return Variable{}, err
	}
	var made postgres.Variable
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		made, err = u.CreateVariable(ctx, who, of, x)
		return err
	})
	return c.showOne(ctx, made, err)
}

// ChangeVariable changes a variable of a stack or of a set; a value that is nil
// stays.
func (c *Control) ChangeVariable(ctx context.Context, who identity.Principal, of, id string, with postgres.VariableChange, value *string) (Variable, error) {
	if value != nil {
		var err error
		if with.Value, err = c.sealValue(ctx, id, *value); err != nil {
			return Variable{}, err
		}
	}
	var changed postgres.Variable
	err := c.Update(ctx, func(u *postgres.Update) (err error) {
		changed, err = u.ChangeVariable(ctx, who, of, id, with)
		return err
	})
	return c.showOne(ctx, changed, err)
}

// sealValue refuses what no program can be given as an argument or in its
// environment. The message does not repeat it.
func (c *Control) sealValue(ctx context.Context, variable, value string) ([]byte, error) {
	if strings.ContainsRune(value, 0) {
		return nil, problem.New(api.Invalid, "the value of the variable holds a zero byte")
	}
	return sealed.Seal(ctx, c.keys, valueOf(variable), []byte(value))
}

// CreateSSHKey keeps a private key for an organisation. Nobody is shown it again.
func (c *Control) CreateSSHKey(ctx context.Context, who identity.Principal, organisation, name, value string) (postgres.SSHKey, error) {
	k := postgres.SSHKey{ID: postgres.NewSSHKeyID(), Organisation: organisation, Name: name}
	if value == "" {
		return postgres.SSHKey{}, problem.New(api.Invalid, "the key is empty")
	}
	var err error
	if k.Value, err = sealed.Seal(ctx, c.keys, sealed.Place{ID: k.ID, Field: postgres.SSHKeyValue}, []byte(value)); err != nil {
		return postgres.SSHKey{}, err
	}
	err = c.Update(ctx, func(u *postgres.Update) (err error) {
		k, err = u.CreateSSHKey(ctx, who, k)
		return err
	})
	return k, err
}

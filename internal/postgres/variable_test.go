package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// parts are one of everything that a run of the world's stack is given.
type parts struct {
	variable, set, sshKey, source, trigger, pool, agentToken, configuration, secret string
}

// seal is text that a column of secrets takes; what stands in it is for others.
func seal(text string) []byte { return []byte("SEALED\x00" + text) }

func newVariable(key string) postgres.Variable {
	return postgres.Variable{ID: postgres.NewVariableID(), Category: "terraform", Key: key, Value: seal("a")}
}

func newParts(t *testing.T, store *postgres.Store, w world) (p parts) {
	t.Helper()
	ctx, org := t.Context(), w.org.Organisation
	update(t, store, func(u *postgres.Update) error {
		x, err1 := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable("region"))
		s, err2 := u.CreateVariableSet(ctx, w.owner, postgres.VariableSet{Organisation: org, Name: "a set"})
		k, err3 := u.CreateSSHKey(ctx, w.owner, postgres.SSHKey{ID: postgres.NewSSHKeyID(), Organisation: org, Name: "a key", Value: seal("k")})
		source, err4 := u.CreateStack(ctx, w.owner, postgres.Stack{Project: w.stack.Project, Name: "source"})
		r, err5 := u.CreateRunTrigger(ctx, w.owner, w.stack.ID, source.ID)
		pool, err6 := u.CreateAgentPool(ctx, w.owner, postgres.AgentPool{Organisation: org, Name: "a pool", ForAll: true})
		_, a, err7 := u.CreateAgentToken(ctx, w.owner, pool.ID, "of an agent")
		c, secret, err8 := u.CreateConfiguration(ctx, w.owner, w.stack.ID, postgres.Configuration{Source: "tfe-api"})
		p = parts{variable: x.ID, set: s.ID, sshKey: k.ID, source: source.ID, trigger: r.ID, pool: pool.ID, agentToken: a.ID, configuration: c.ID, secret: secret}
		return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8)
	})
	update(t, store, func(u *postgres.Update) error { // a newer one, so that the first can be archived
		c, _, err := u.CreateConfiguration(ctx, w.owner, w.stack.ID, postgres.Configuration{Source: "tfe-api"})
		if err != nil {
			return err
		}
		_, err = u.KeepConfiguration(ctx, w.owner, c.ID, anArchive)
		return err
	})
	return p
}

func (w world) variableCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	org, stacks := w.org.Organisation, []string{w.stack.ID}
	return map[string]func(*postgres.Update) error{
		"Variables":          func(u *postgres.Update) error { _, err := u.Variables(ctx, who, w.stack.ID); return err },
		"VariableIDs":        func(u *postgres.Update) error { _, err := u.VariableIDs(ctx, who, w.stack.ID); return err },
		"EffectiveVariables": func(u *postgres.Update) error { _, err := u.EffectiveVariables(ctx, who, w.stack.ID); return err },
		"Variable":           func(u *postgres.Update) error { _, err := u.Variable(ctx, who, w.stack.ID, w.variable); return err },
		"CreateVariable": func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, who, w.set, newVariable("zone"))
			return err
		},
		"ChangeVariable": func(u *postgres.Update) error {
			_, err := u.ChangeVariable(ctx, who, w.stack.ID, w.variable, postgres.VariableChange{})
			return err
		},
		"DeleteVariable": func(u *postgres.Update) error { return u.DeleteVariable(ctx, who, w.stack.ID, w.variable) },
		"VariableSet":    func(u *postgres.Update) error { _, err := u.VariableSet(ctx, who, w.set); return err },
		"VariableSets":   func(u *postgres.Update) error { _, err := u.VariableSets(ctx, who, org); return err },
		"VariableSetsOf": func(u *postgres.Update) error { _, err := u.VariableSetsOf(ctx, who, w.stack.ID); return err },
		"CreateVariableSet": func(u *postgres.Update) error {
			_, err := u.CreateVariableSet(ctx, who, postgres.VariableSet{Project: w.project.Project, Name: "of a project"})
			return err
		},
		"ChangeVariableSet": func(u *postgres.Update) error {
			_, err := u.ChangeVariableSet(ctx, who, w.set, postgres.VariableSetChange{})
			return err
		},
		"ApplyVariableSet":  func(u *postgres.Update) error { return u.ApplyVariableSet(ctx, who, w.set, stacks, nil) },
		"RemoveVariableSet": func(u *postgres.Update) error { return u.RemoveVariableSet(ctx, who, w.set, stacks, nil) },
		"DeleteVariableSet": func(u *postgres.Update) error { return u.DeleteVariableSet(ctx, who, w.set) },
		"SSHKey":            func(u *postgres.Update) error { _, err := u.SSHKey(ctx, who, w.sshKey); return err },
		"SSHKeys":           func(u *postgres.Update) error { _, err := u.SSHKeys(ctx, who, org); return err },
		"CreateSSHKey": func(u *postgres.Update) error {
			_, err := u.CreateSSHKey(ctx, who, postgres.SSHKey{ID: postgres.NewSSHKeyID(), Organisation: org, Name: "k", Value: seal("k")})
			return err
		},
		"RenameSSHKey": func(u *postgres.Update) error { _, err := u.RenameSSHKey(ctx, who, w.sshKey, "other"); return err },
		"DeleteSSHKey": func(u *postgres.Update) error { return u.DeleteSSHKey(ctx, who, w.sshKey) },
	}
}

func (w world) agentCalls(ctx context.Context, who identity.Principal) map[string]func(*postgres.Update) error {
	org := w.org.Organisation
	return map[string]func(*postgres.Update) error{
		"RunTrigger":  func(u *postgres.Update) error { _, err := u.RunTrigger(ctx, who, w.trigger); return err },
		"RunTriggers": func(u *postgres.Update) error { _, err := u.RunTriggers(ctx, who, w.stack.ID, false); return err },
		"CreateRunTrigger": func(u *postgres.Update) error {
			_, err := u.CreateRunTrigger(ctx, who, w.source, w.stack.ID)
			return err
		},
		"DeleteRunTrigger": func(u *postgres.Update) error { return u.DeleteRunTrigger(ctx, who, w.trigger) },
		"AgentPool":        func(u *postgres.Update) error { _, err := u.AgentPool(ctx, who, w.pool); return err },
		"AgentPools":       func(u *postgres.Update) error { _, err := u.AgentPools(ctx, who, org); return err },
		"CreateAgentPool": func(u *postgres.Update) error {
			_, err := u.CreateAgentPool(ctx, who, postgres.AgentPool{Organisation: org, Name: "p"})
			return err
		},
		"ChangeAgentPool": func(u *postgres.Update) error {
			_, err := u.ChangeAgentPool(ctx, who, w.pool, postgres.AgentPoolChange{})
			return err
		},
		"DeleteAgentPool":  func(u *postgres.Update) error { return u.DeleteAgentPool(ctx, who, w.pool) },
		"AgentToken":       func(u *postgres.Update) error { _, err := u.AgentToken(ctx, who, w.agentToken); return err },
		"AgentTokens":      func(u *postgres.Update) error { _, err := u.AgentTokens(ctx, who, w.pool); return err },
		"CreateAgentToken": func(u *postgres.Update) error { _, _, err := u.CreateAgentToken(ctx, who, w.pool, "t"); return err },
		"RevokeAgentToken": func(u *postgres.Update) error { return u.RevokeAgentToken(ctx, who, w.agentToken) },
	}
}

// TestGiven: an owner may all of it, what changes something stands in the audit
// log, and a reader may only see what is no variable.
func TestGiven(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	grant(t, store, w.owner, w.member.ID, identity.Reader, w.org)
	kinds := []func(context.Context, identity.Principal) map[string]func(*postgres.Update) error{w.variableCalls, w.agentCalls, w.configurationCalls}
	seen := []string{"RunTrigger", "RunTriggers", "AgentPool", "AgentPools", "Configuration", "Configurations", "CurrentConfiguration"}
	for _, calls := range kinds {
		all := calls(t.Context(), w.owner)
		// What deletes goes last, and what it deletes was there until then.
		names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return strings.Compare(order(a), order(b)) })
		for _, name := range names {
			if err := store.Update(t.Context(), calls(t.Context(), w.member)[name]); slices.Contains(seen, name) != (err == nil) || err != nil && problem.Code(err) != api.Forbidden {
				t.Errorf("%s by a reader: %v", name, err)
			}
			before := len(entries(t, store, w.owner, w.org.Organisation))
			if err := store.Update(t.Context(), all[name]); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			log := entries(t, store, w.owner, w.org.Organisation)[before:]
			if (order(name)[0] == '0') != (len(log) == 0) || len(log) > 0 && (len(log) > 1 || log[0].Outcome != "done") {
				t.Errorf("%s: entries %+v", name, log)
			}
		}
	}
}

// order puts reads first, and what ends something last; a set and a pool after
// what is in them.
func order(name string) string {
	for prefix, at := range map[string]string{"Create": "1", "Keep": "1", "Apply": "1", "Change": "2", "Rename": "2", "Archive": "3", "Remove": "3", "Revoke": "3", "Delete": "4"} {
		if strings.HasPrefix(name, prefix) {
			return at + name
		}
	}
	return "0" + name
}

// TestSealedColumns: no column of bytes takes a secret in the clear, and every one
// is rotated (docs/secrets.md, rules 1 and 5).
func TestSealedColumns(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	err := store.Update(t.Context(), func(u *postgres.Update) error {
		_, err := u.ChangeVariable(t.Context(), w.owner, w.stack.ID, w.variable, postgres.VariableChange{Value: []byte("in the clear")})
		return err
	})
	if problem.Code(err) != api.Invalid {
		t.Errorf("a value in the clear: %v", err)
	}
	rows, err := conn.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name NOT LIKE 'river%' ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		want = append(want, column)
	}
	if got := postgres.SecretColumns(); !cmp.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("secrets are rotated in %q, and there are %q", got, want)
	}
}

// TestRotateSecrets hands out every secret, one that cannot be opened stops no
// other, and what was set meanwhile stays.
func TestRotateSecrets(t *testing.T) {
	t.Parallel()
	store, conn := open(t)
	w := newWorld(t, store)
	update(t, store, func(u *postgres.Update) error {
		for i := range 250 {
			if _, err := u.CreateVariable(t.Context(), w.owner, w.set, newVariable(fmt.Sprint("key", i))); err != nil {
				return err
			}
		}
		return nil
	})
	broken, seen := errors.New("it does not open"), 0
	done, err := store.RotateSecrets(t.Context(), func(id, field string, sealed []byte) ([]byte, bool, error) {
		seen++
		switch {
		case id == w.sshKey:
			return nil, false, broken
		case id == w.variable:
			update(t, store, func(u *postgres.Update) error {
				_, err := u.ChangeVariable(t.Context(), w.owner, w.stack.ID, id, postgres.VariableChange{Value: seal("set meanwhile")})
				return err
			})
		}
		return append(sealed, field...), true, nil
	})
	if done != 250 || seen != 252 || !errors.Is(err, broken) {
		t.Errorf("%d of %d, %v", done, seen, err)
	}
	for value, want := range map[string]int{"avariables.value": 250, "set meanwhile": 1, "k": 1} {
		n := count(t, conn, "SELECT (SELECT count(*) FROM variables WHERE value = $1) + (SELECT count(*) FROM ssh_keys WHERE value = $1)", seal(value))
		if n != want {
			t.Errorf("%d secrets are %q, want %d", n, value, want)
		}
	}
}

// TestEffectiveVariables: which of several variables with one key reaches a stack
// (docs/secrets.md, rule 8).
func TestEffectiveVariables(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	ctx, org := t.Context(), w.org.Organisation
	// Each set has one variable for every key of those that it must win or lose.
	make := func(s postgres.VariableSet, keys string) {
		update(t, store, func(u *postgres.Update) error {
			s.Organisation = org
			made, err := u.CreateVariableSet(ctx, w.owner, s)
			if err != nil {
				return err
			}
			for _, key := range strings.Fields(keys) {
				x := newVariable(key)
				x.Description = s.Name
				if _, err := u.CreateVariable(ctx, w.owner, made.ID, x); err != nil {
					return err
				}
			}
			return nil
		})
	}
	update(t, store, func(u *postgres.Update) error {
		for _, key := range []string{"a", "b"} {
			x := newVariable(key)
			x.Description = "its own"
			if _, err := u.CreateVariable(ctx, w.owner, w.stack.ID, x); err != nil {
				return err
			}
		}
		return nil
	})
	here, home, elsewhere := []string{w.stack.ID}, []string{w.stack.Project}, []string{w.project.Project}
	make(postgres.VariableSet{Name: "priority, global", Priority: true, Global: true}, "a")
	make(postgres.VariableSet{Name: "priority, stack", Priority: true, Stacks: here}, "a c")
	make(postgres.VariableSet{Name: "stack, second", Stacks: here}, "b d e")
	make(postgres.VariableSet{Name: "stack, first", Stacks: here, Global: true}, "b d e")
	make(postgres.VariableSet{Name: "project", Projects: home}, "b c d f g")
	make(postgres.VariableSet{Name: "of the project", Project: w.stack.Project, Global: true}, "f h")
	make(postgres.VariableSet{Name: "global", Global: true}, "b c f g h i")
	make(postgres.VariableSet{Name: "of another project", Project: w.project.Project, Global: true, Priority: true}, "a b z")
	make(postgres.VariableSet{Name: "elsewhere", Projects: elsewhere, Priority: true}, "a b z")
	got := map[string]string{}
	view(t, store, func(v *postgres.View) error {
		all, err := v.EffectiveVariables(ctx, w.owner, w.stack.ID)
		for _, x := range all {
			got[x.Key] = x.Description
		}
		return err
	})
	want := map[string]string{"a": "priority, global", "b": "its own", "c": "priority, stack", "d": "stack, first", "e": "stack, first",
		"f": "project", "g": "project", "h": "global", "i": "global", "region": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestVariableRefused: what cannot be a variable, and what would show a secret.
func TestVariableRefused(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	yes, no := true, false
	ctx := t.Context()
	for name, do := range map[string]struct {
		want api.Code
		call func(u *postgres.Update) error
	}{
		"another with the key": {api.Conflict, func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable("region"))
			return err
		}},
		"no key": {api.Invalid, func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable(""))
			return err
		}},
		"a line in the key": {api.Invalid, func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable("a\nb"))
			return err
		}},
		"a key that is too long": {api.Invalid, func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable(strings.Repeat("é", 256)))
			return err
		}},
		"a name that is too long": {api.Invalid, func(u *postgres.Update) error {
			_, err := u.CreateVariableSet(ctx, w.owner, postgres.VariableSet{Organisation: w.org.Organisation, Name: strings.Repeat("é", 91)})
			return err
		}},
		"no text": {api.Invalid, func(u *postgres.Update) error {
			_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable("\xff"))
			return err
		}},
		"of a stack, looked for in a set": {api.NotFound, func(u *postgres.Update) error {
			_, err := u.Variable(ctx, w.owner, w.set, w.variable)
			return err
		}},
		"a secret made readable": {api.Invalid, func(u *postgres.Update) error {
			if _, err := u.ChangeVariable(ctx, w.owner, w.stack.ID, w.variable, postgres.VariableChange{Sensitive: &yes}); err != nil {
				return fmt.Errorf("it was not made one: %w", err)
			}
			_, err := u.ChangeVariable(ctx, w.owner, w.stack.ID, w.variable, postgres.VariableChange{Sensitive: &no})
			return err
		}},
		"a set applied to a stack of another project": {api.Invalid, func(u *postgres.Update) error {
			s, err := u.CreateVariableSet(ctx, w.owner, postgres.VariableSet{Project: w.project.Project, Name: "of one"})
			if err != nil {
				return fmt.Errorf("there is no set: %w", err)
			}
			return u.ApplyVariableSet(ctx, w.owner, s.ID, []string{w.stack.ID}, nil)
		}},
		"a set applied to nothing": {api.NotFound, func(u *postgres.Update) error {
			return u.ApplyVariableSet(ctx, w.owner, w.set, []string{"stk_0000000000000000000000"}, nil)
		}},
	} {
		if err := store.Update(ctx, do.call); problem.Code(err) != do.want {
			t.Errorf("%s: %v, want %s", name, err, do.want)
		}
	}
	update(t, store, func(u *postgres.Update) error {
		_, err := u.CreateVariable(ctx, w.owner, w.stack.ID, newVariable(strings.Repeat("é", 255)))
		return err
	})
}

// TestVariableOfAnotherOrganisation: nothing is applied, triggered or allotted across the
// border of an organisation, even by somebody who owns both.
func TestVariableOfAnotherOrganisation(t *testing.T) {
	t.Parallel()
	store, _ := open(t)
	w := newWorld(t, store)
	ctx := t.Context()
	var theirs postgres.Stack
	update(t, store, func(u *postgres.Update) error {
		o, err := u.CreateOrganisation(ctx, w.owner, "other")
		if err != nil {
			return err
		}
		p, err := u.CreateProject(ctx, w.owner, o.ID, "p")
		if err != nil {
			return err
		}
		theirs, err = u.CreateStack(ctx, w.owner, postgres.Stack{Project: p.ID, Name: "theirs"})
		return err
	})
	stacks, projects := []string{theirs.ID}, []string{theirs.Project}
	for name, do := range map[string]func(u *postgres.Update) error{
		"a set, to a stack":   func(u *postgres.Update) error { return u.ApplyVariableSet(ctx, w.owner, w.set, stacks, nil) },
		"a set, to a project": func(u *postgres.Update) error { return u.ApplyVariableSet(ctx, w.owner, w.set, nil, projects) },
		"a trigger": func(u *postgres.Update) error {
			_, err := u.CreateRunTrigger(ctx, w.owner, w.stack.ID, theirs.ID)
			return err
		},
		"a pool, for a stack": func(u *postgres.Update) error {
			_, err := u.ChangeAgentPool(ctx, w.owner, w.pool, postgres.AgentPoolChange{Allowed: &stacks})
			return err
		},
		"a pool, not for one": func(u *postgres.Update) error {
			_, err := u.ChangeAgentPool(ctx, w.owner, w.pool, postgres.AgentPoolChange{Excluded: &stacks})
			return err
		},
		"a pool, for a project": func(u *postgres.Update) error {
			_, err := u.ChangeAgentPool(ctx, w.owner, w.pool, postgres.AgentPoolChange{AllowedProjects: &projects})
			return err
		},
	} {
		if err := store.Update(ctx, do); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

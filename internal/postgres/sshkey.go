package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

const sshKeyID = "ssh_"

// NewSSHKeyID is the id of a key to come: its value is sealed for it.
func NewSSHKeyID() string { return newID(sshKeyID) }

// SSHKeyValue is the column of keys, as a place of secrets.
const SSHKeyValue = "ssh_keys.value"

// An SSHKey is a private key with which modules are fetched. It is shown to nobody.
type SSHKey struct {
	ID           string
	Organisation string // id
	Name         string
	Value        []byte // sealed (docs/secrets.md)
	Created      time.Time
}

func sshKeyCall(who identity.Principal, action string, needs identity.Permission, k SSHKey) call {
	return call{who: who, action: action, needs: needs, at: identity.Scope{Organisation: k.Organisation}, object: k.ID,
		detail: map[string]string{"name": k.Name}}
}

const sqlInsertSSHKey = `
	INSERT INTO ssh_keys (id, organisation, name, value, created_at) VALUES (@id, @organisation, @name, @value, @at)`

// CreateSSHKey keeps a key of an organisation.
func (u *Update) CreateSSHKey(ctx context.Context, who identity.Principal, k SSHKey) (SSHKey, error) {
	k.Created = u.at
	err := u.guard(ctx, sshKeyCall(who, "ssh_key:create", identity.VariableWrite, k), func() error {
		if err := checkLabel("a key", k.Name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlInsertSSHKey, pgx.NamedArgs{"id": k.ID, "organisation": k.Organisation, "name": k.Name, "value": k.Value, "at": u.at})
		return err
	})
	return k, err
}

const sqlRenameSSHKey = `
	UPDATE ssh_keys SET name = @name WHERE id = @id`

// RenameSSHKey gives a key another name.
func (u *Update) RenameSSHKey(ctx context.Context, who identity.Principal, id, name string) (SSHKey, error) {
	k, err := u.sshKey(ctx, id)
	if err != nil {
		return SSHKey{}, err
	}
	c := sshKeyCall(who, "ssh_key:rename", identity.VariableWrite, k)
	c.detail = map[string]string{"name": name, "was": k.Name}
	k.Name = name
	err = u.guard(ctx, c, func() error {
		if err := checkLabel("a key", name); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlRenameSSHKey, pgx.NamedArgs{"id": id, "name": name})
		return err
	})
	return k, err
}

const sqlDeleteSSHKey = `
	DELETE FROM ssh_keys WHERE id = @id`

// sqlUnassignSSHKey knows one word of settings that are otherwise for the callers: the
// one in which a client keeps the id of a key.
const sqlUnassignSSHKey = `
	UPDATE stacks SET settings = settings - 'ssh-key-id' WHERE organisation = @organisation AND settings->>'ssh-key-id' = @id`

// DeleteSSHKey deletes a key. Stacks that it was assigned to have none then: a key
// that became known must go at once, and where it is missing something fails with a
// reason (docs/protocol.md, rule 33).
func (u *Update) DeleteSSHKey(ctx context.Context, who identity.Principal, id string) error {
	k, err := u.sshKey(ctx, id)
	if err != nil {
		return err
	}
	c := sshKeyCall(who, "ssh_key:delete", identity.VariableWrite, k)
	return u.guard(ctx, c, func() error {
		tag, err := u.tx.Exec(ctx, sqlUnassignSSHKey, pgx.NamedArgs{"organisation": k.Organisation, "id": id})
		if err != nil {
			return err
		}
		c.detail["stacks"] = strconv.FormatInt(tag.RowsAffected(), 10)
		_, err = u.tx.Exec(ctx, sqlDeleteSSHKey, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlSSHKey = `
	SELECT id, organisation, name, value, created_at FROM ssh_keys WHERE id = @id`

// sshKey is the one with this id, for the guard to ask about.
func (v *View) sshKey(ctx context.Context, id string) (SSHKey, error) {
	rows, err := v.tx.Query(ctx, sqlSSHKey, pgx.NamedArgs{"id": id})
	if err != nil {
		return SSHKey{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[SSHKey])
}

// SSHKey is the one with this id.
func (v *View) SSHKey(ctx context.Context, who identity.Principal, id string) (SSHKey, error) {
	k, err := v.sshKey(ctx, id)
	if err != nil {
		return SSHKey{}, err
	}
	if err := v.permit(ctx, sshKeyCall(who, "ssh_key:read", identity.VariableRead, k)); err != nil {
		return SSHKey{}, err
	}
	return k, nil
}

const sqlSSHKeys = `
	SELECT id, organisation, name, value, created_at FROM ssh_keys WHERE organisation = @organisation ORDER BY lower(name)`

// SSHKeys are those of an organisation.
func (v *View) SSHKeys(ctx context.Context, who identity.Principal, organisation string) ([]SSHKey, error) {
	if err := v.permit(ctx, sshKeyCall(who, "ssh_key:read", identity.VariableRead, SSHKey{Organisation: organisation})); err != nil {
		return nil, err
	}
	rows, err := v.tx.Query(ctx, sqlSSHKeys, pgx.NamedArgs{"organisation": organisation})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[SSHKey])
}

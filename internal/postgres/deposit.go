package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
)

// A Deposit is what a client keeps on the server and gets back as it was: nothing
// else comes of it yet. Policies are deposits, modules, and the others of
// [DepositKind].
type Deposit struct {
	ID               string
	Organisation     string // id
	OrganisationName string
	Place            string // id of what it is in: the organisation, or what else its kind allows
	Name             string // "" for what needs none; unique in its place, whatever its case
	Settings         json.RawMessage
	Secrets          map[string][]byte   // by name, each sealed for this id and name
	Links            map[string][]string // ids by relation, in the order in which they were added
	Digest           string              // of the artifact that was uploaded; "" before
	Size             int64               // in bytes
	LinkedBy         int                 // how many links of others lead to it
	Changeable       bool                // by whoever read it
	Created          time.Time
	Updated          time.Time
}

// NewDeposit is a deposit of this kind that nobody has kept yet, with an id for
// which secrets can be sealed.
func NewDeposit(kind DepositKind, place string) Deposit {
	return Deposit{ID: newID(string(kind)), Place: place, Settings: json.RawMessage(`{}`),
		Secrets: map[string][]byte{}, Links: map[string][]string{}}
}

// depositCall is a call about a deposit.
func depositCall(who identity.Principal, verb string, needs identity.Permission, at identity.Scope, d Deposit) call {
	detail := map[string]string{"name": d.Name}
	if d.Place != at.Organisation {
		detail["of"] = d.Place
	}
	return call{who: who, action: kindOf(d.ID).noun() + ":" + verb, needs: needs, at: at, object: d.ID, detail: detail}
}

const sqlInsertDeposit = `
	INSERT INTO deposits (id, organisation, parent, project, stack, team, name, settings, created_at, updated_at)
	VALUES (@id, @organisation, @parent, @project, @stack, @team, @name, @settings, @at, @at)`

// CreateDeposit keeps a deposit, in the place that it says.
func (u *Update) CreateDeposit(ctx context.Context, who identity.Principal, d Deposit) (Deposit, error) {
	kind := kindOf(d.ID)
	at, err := u.place(ctx, d.Place)
	if err != nil {
		return Deposit{}, err
	}
	if !kind.goesInto(d.Place) {
		return Deposit{}, notFound()
	}
	d.Organisation = at.Organisation
	c := depositCall(who, "create", kind.change(), at, d)
	err = u.guard(ctx, c, func() error {
		if err := kind.checkName(d.Name); err != nil {
			return err
		}
		if _, err := u.tx.Exec(ctx, sqlInsertDeposit, d.args(u.at)); err != nil {
			return err
		}
		if err := errors.Join(u.relink(ctx, c, Deposit{}, d), u.conceal(ctx, c, Deposit{}, d)); err != nil {
			return err
		}
		d, _, err = u.deposit(ctx, kind, d.ID) // as it will be read
		d.Changeable = true
		return err
	})
	return d, err
}

// args are the columns of a new deposit. What it is in stands in the column of its sort.
func (d Deposit) args(at time.Time) pgx.NamedArgs {
	args := pgx.NamedArgs{"id": d.ID, "organisation": d.Organisation, "name": null(d.Name), "settings": d.Settings, "at": at,
		"parent": any(nil), "project": any(nil), "stack": any(nil), "team": any(nil)}
	switch {
	case identity.IsID(identity.OrganisationID, d.Place):
	case identity.IsID(identity.ProjectID, d.Place):
		args["project"] = d.Place
	case identity.IsID(identity.StackID, d.Place):
		args["stack"] = d.Place
	case identity.IsID(identity.TeamID, d.Place):
		args["team"] = d.Place
	default:
		args["parent"] = d.Place
	}
	return args
}

const sqlUpdateDeposit = `
	UPDATE deposits SET name = @name, settings = @settings, updated_at = @at WHERE id = @id`

// ChangeDeposit changes the name, the settings, the secrets and the links of a
// deposit by change, which may run several times.
func (u *Update) ChangeDeposit(ctx context.Context, who identity.Principal, kind DepositKind, id string, change func(*Deposit) error) (Deposit, error) {
	d, at, err := u.deposit(ctx, kind, id)
	if err != nil {
		return Deposit{}, err
	}
	was := d
	d.Links, d.Secrets, d.Changeable = maps.Clone(was.Links), maps.Clone(was.Secrets), true
	c := depositCall(who, "update", kind.change(), at, d)
	err = u.guard(ctx, c, func() error {
		if err := change(&d); err != nil {
			return err
		}
		if err := kind.checkName(d.Name); err != nil {
			return err
		}
		if d.Name != was.Name {
			c.detail["name"], c.detail["was"] = d.Name, was.Name
		}
		d.Updated = u.at
		if _, err := u.tx.Exec(ctx, sqlUpdateDeposit, pgx.NamedArgs{"id": id, "name": null(d.Name), "settings": d.Settings, "at": u.at}); err != nil {
			return err
		}
		return errors.Join(u.relink(ctx, c, was, d), u.conceal(ctx, c, was, d))
	})
	return d, err
}

const sqlKeepUpload = `
	UPDATE deposits SET digest = @digest, size = @size, updated_at = @at WHERE id = @id`

const sqlRefersToDeposit = `
	SELECT EXISTS (SELECT FROM deposits WHERE id = @owner AND digest = @digest)`

// KeepUpload says what was uploaded for a deposit, in place of what was before.
func (u *Update) KeepUpload(ctx context.Context, who identity.Principal, kind DepositKind, id string, a Archive) (Deposit, error) {
	d, at, err := u.deposit(ctx, kind, id)
	if err != nil {
		return Deposit{}, err
	}
	d.Digest, d.Size, d.Updated, d.Changeable = a.Digest, a.Size, u.at, true
	c := depositCall(who, "upload", kind.change(), at, d)
	c.detail["digest"] = a.Digest
	err = u.guard(ctx, c, func() error {
		if _, err := u.tx.Exec(ctx, sqlHoldArtifact, pgx.NamedArgs{"name": "deposit/" + id + "/" + a.Digest}); err != nil {
			return err
		}
		if err := a.Present(ctx); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlKeepUpload, pgx.NamedArgs{"id": id, "digest": a.Digest, "size": a.Size, "at": u.at})
		return err
	})
	return d, err
}

const sqlDeleteDeposit = `
	DELETE FROM deposits WHERE id = @id`

// DeleteDeposit deletes a deposit, and all that is in it.
func (u *Update) DeleteDeposit(ctx context.Context, who identity.Principal, kind DepositKind, id string) error {
	d, at, err := u.deposit(ctx, kind, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, depositCall(who, "delete", kind.change(), at, d), func() error {
		_, err := u.tx.Exec(ctx, sqlDeleteDeposit, pgx.NamedArgs{"id": id})
		return err
	})
}

const sqlDeposit = `
	SELECT id, organisation, place, coalesce(name, ''), settings, coalesce(digest, ''), coalesce(size, 0),
		(SELECT count(*) FROM deposit_links WHERE leads_to = deposits.id),
		(SELECT name FROM organisations o WHERE o.id = organisation), created_at, updated_at
	FROM deposits WHERE id = @id`

const sqlDeposits = `
	SELECT id, organisation, place, coalesce(name, ''), settings, coalesce(digest, ''), coalesce(size, 0),
		(SELECT count(*) FROM deposit_links WHERE leads_to = deposits.id),
		(SELECT name FROM organisations o WHERE o.id = organisation), created_at, updated_at
	FROM deposits WHERE place = @place AND kind || '_' = @kind ORDER BY created_at, id`

func scanDeposit(row pgx.CollectableRow) (Deposit, error) {
	d := Deposit{Secrets: map[string][]byte{}, Links: map[string][]string{}}
	err := row.Scan(&d.ID, &d.Organisation, &d.Place, &d.Name, &d.Settings, &d.Digest, &d.Size, &d.LinkedBy, &d.OrganisationName, &d.Created, &d.Updated)
	d.Created, d.Updated = d.Created.UTC(), d.Updated.UTC()
	return d, err
}

// deposits are those that a query finds, with their links and secrets.
func (v *View) deposits(ctx context.Context, query string, args pgx.NamedArgs) ([]Deposit, error) {
	rows, err := v.tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, scanDeposit)
	if err != nil {
		return nil, err
	}
	return all, errors.Join(v.putLinks(ctx, all), v.putSecrets(ctx, all))
}

// deposit is one, and where it is for the guard to ask about. Another kind of
// thing is none.
func (v *View) deposit(ctx context.Context, kind DepositKind, id string) (Deposit, identity.Scope, error) {
	if !identity.IsID(string(kind), id) {
		return Deposit{}, identity.Scope{}, notFound()
	}
	found, err := v.deposits(ctx, sqlDeposit, pgx.NamedArgs{"id": id})
	if err != nil {
		return Deposit{}, identity.Scope{}, err
	}
	if len(found) == 0 {
		return Deposit{}, identity.Scope{}, notFound()
	}
	at, err := v.place(ctx, found[0].Place)
	return found[0], at, err
}

// place is the scope of what a deposit can be in.
func (v *View) place(ctx context.Context, id string) (identity.Scope, error) {
	switch {
	case identity.IsID(identity.OrganisationID, id):
		return identity.Scope{Organisation: id}, nil
	case identity.IsID(identity.ProjectID, id):
		p, err := v.project(ctx, id)
		return p.scope(), err
	case identity.IsID(identity.StackID, id):
		s, err := v.stack(ctx, id)
		return s.scope(), err
	case identity.IsID(identity.TeamID, id):
		t, err := v.team(ctx, id)
		return identity.Scope{Organisation: t.Organisation}, err
	}
	_, at, err := v.deposit(ctx, kindOf(id), id)
	return at, err
}

// Deposit is the one of this kind with this id.
func (v *View) Deposit(ctx context.Context, who identity.Principal, kind DepositKind, id string) (Deposit, error) {
	d, at, err := v.deposit(ctx, kind, id)
	if err != nil {
		return Deposit{}, err
	}
	if err := v.permit(ctx, depositCall(who, "read", kind.read(), at, d)); err != nil {
		return Deposit{}, err
	}
	d.Changeable, err = v.allowed(ctx, who, kind.change(), at)
	return d, err
}

// DepositToChange is the one with this id, for somebody who may change it: asked
// before bytes are taken that only they may send.
func (v *View) DepositToChange(ctx context.Context, who identity.Principal, kind DepositKind, id string) (Deposit, error) {
	d, at, err := v.deposit(ctx, kind, id)
	if err != nil {
		return Deposit{}, err
	}
	d.Changeable = true
	return d, v.permit(ctx, depositCall(who, "update", kind.change(), at, d))
}

// Deposits are those of a kind in a place, the oldest first.
func (v *View) Deposits(ctx context.Context, who identity.Principal, kind DepositKind, place string) ([]Deposit, error) {
	at, err := v.place(ctx, place)
	if err != nil {
		return nil, err
	}
	c := call{who: who, action: kind.noun() + ":read", needs: kind.read(), at: at, object: place}
	if err := v.permit(ctx, c); err != nil {
		return nil, err
	}
	changeable, err := v.allowed(ctx, who, kind.change(), at)
	if err != nil {
		return nil, err
	}
	all, err := v.deposits(ctx, sqlDeposits, pgx.NamedArgs{"place": place, "kind": string(kind)})
	for i := range all {
		all[i].Changeable = changeable
	}
	return all, err
}

// allowed reports whether somebody may do something, without their having tried.
func (v *View) allowed(ctx context.Context, who identity.Principal, p identity.Permission, at identity.Scope) (bool, error) {
	grants, err := v.grantsOf(ctx, who)
	return identity.Allowed(grants, p, at), err
}

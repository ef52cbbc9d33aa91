package tfc

import (
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

// An accessKind is what teams may at one kind of place, as this protocol shows it: D
// is its document, W what a client wants it to be, and F the flags of which custom
// access there is made.
type accessKind[D, W, F any] struct {
	place  string // the relation to it, and what a list is asked for by
	level  identity.Level
	levels []level
	names  []string // of the attributes that hold flags

	// scope is the place with this id.
	scope func(r *request, v *postgres.View, id string) (identity.Scope, error)

	// wish is what a client has sent.
	wish func(*W) accessWish

	// flags are those of an access, which follow from a level that is not custom;
	// check refuses what they cannot be, and allow is what they let somebody do.
	flags func(postgres.Access) (F, error)
	check func(F) error
	allow func(F) []identity.Permission

	// show is the document of an access.
	show func(a postgres.Access, level string, flags F) *D
}

// An accessWish is what a client wants a team to have; what it does not name is nil.
type accessWish struct {
	level *string
	team  *teamRef
	place *string // id
	flags change
}

func (k accessKind[D, W, F]) decode(r *request) (accessWish, error) {
	var sent W
	flags, err := r.decodeChange(&sent)
	wish := k.wish(&sent)
	wish.flags = flags
	return wish, err
}

func (k accessKind[D, W, F]) doc(a postgres.Access) (*D, error) {
	flags, err := k.flags(a)
	return k.show(a, levelOf(k.levels, a), flags), err
}

// onto is the access that a team shall have in place of another. Flags that the
// client does not name stay what they were.
func (k accessKind[D, W, F]) onto(had postgres.Access, wish accessWish) (postgres.Access, error) {
	level := levelOf(k.levels, had)
	set(&level, wish.level)
	flags, err := k.flags(had)
	if err != nil {
		return had, err
	}
	if err := errorsOf(wish.flags.refuseFlags(level, k.names), wish.flags.onto(&flags), k.check(flags)); err != nil {
		return had, err
	}
	return grantAt(k.levels, level, flags, k.allow(flags), had.Holder, had.Scope)
}

func (k accessKind[D, W, F]) list(r *request) (answer, error) {
	p := r.paging()
	var docs []*D
	err := r.view(func(v *postgres.View) error {
		at, err := k.scope(r, v, r.URL.Query().Get("filter["+k.place+"][id]"))
		if err != nil {
			return err
		}
		all, err := v.Accesses(r.Context(), r.who, at)
		if err != nil {
			return err
		}
		docs, err = each(part(all, &p), k.doc)
		return err
	})
	return listed(docs, p), err
}

func (k accessKind[D, W, F]) add(r *request) (answer, error) {
	wish, err := k.decode(r)
	if err := errorsOf(err, must(wish.team, "team"), must(wish.place, k.place), must(wish.level, "access")); err != nil {
		return answer{}, err
	}
	var doc *D
	err = r.update(func(u *postgres.Update) error {
		at, err := k.scope(r, &u.View, *wish.place)
		if err != nil {
			return err
		}
		nothing := postgres.Access{Level: customLevel, Holding: postgres.Holding{Holder: wish.team.ID, Grant: identity.Grant{Scope: at}}}
		wanted, err := k.onto(nothing, wish)
		if err != nil {
			return err
		}
		made, err := u.AddAccess(r.Context(), r.who, wanted)
		if err != nil {
			return err
		}
		doc, err = k.doc(made)
		return err
	})
	return created(doc), err
}

// named is the access that the path names, if it is one of this kind.
func (k accessKind[D, W, F]) named(r *request, v *postgres.View) (postgres.Access, error) {
	a, err := v.Access(r.Context(), r.who, r.PathValue("access"))
	if err == nil && a.Scope.Level() != k.level {
		return postgres.Access{}, noSuchThing()
	}
	return a, err
}

func (k accessKind[D, W, F]) read(r *request) (answer, error) {
	var doc *D
	err := r.view(func(v *postgres.View) error {
		a, err := k.named(r, v)
		if err != nil {
			return err
		}
		doc, err = k.doc(a)
		return err
	})
	return ok(doc), err
}

func (k accessKind[D, W, F]) update(r *request) (answer, error) {
	wish, err := k.decode(r)
	if err != nil {
		return answer{}, err
	}
	var doc *D
	err = r.update(func(u *postgres.Update) error {
		had, err := k.named(r, &u.View)
		if err != nil {
			return err
		}
		wanted, err := k.onto(had, wish)
		if err != nil {
			return err
		}
		made, err := u.PutAccess(r.Context(), r.who, wanted)
		if err != nil {
			return err
		}
		doc, err = k.doc(made)
		return err
	})
	return ok(doc), err
}

func (k accessKind[D, W, F]) remove(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		a, err := k.named(r, &u.View)
		if err != nil {
			return err
		}
		return u.RemoveAccess(r.Context(), r.who, a.ID)
	})
}

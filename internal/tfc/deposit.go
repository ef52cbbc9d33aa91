package tfc

import (
	"encoding/json"
	"errors"
	"net/url"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// A noun is a kind of deposit as this protocol shows it: D is its document, in both
// directions, and S the settings that are kept of it, named as the attributes of
// the document are. What was sent of the settings replaces what was kept; all else
// that a noun has of its own is in two functions.
type noun[D, S any] struct {
	kind postgres.DepositKind

	// put puts what else a client has sent into a deposit, and refuses settings
	// that cannot be. It is told what they were; of a deposit that is new, that
	// is nothing. What the client has left out stays as it is.
	put func(r *request, d *postgres.Deposit, s *S, was S, sent *D) error

	// show is the document of a deposit.
	show func(r *request, v *postgres.View, d postgres.Deposit, s S) (*D, error)

	// fits reports whether the query of a list asks for a document; nil: always.
	fits func(q url.Values, doc *D) bool

	// whole lists are given as one when no page is asked for.
	whole bool
}

// A container finds the id of what deposits are in.
type container func(*request, *postgres.View) (string, error)

// inOrganisation is the organisation that the path names.
func inOrganisation(r *request, v *postgres.View) (string, error) {
	o, err := r.organisation(v)
	return o.ID, err
}

// in is the id that the path holds under this name.
func in(name string) container {
	return func(r *request, _ *postgres.View) (string, error) { return r.PathValue(name), nil }
}

// list answers with the deposits in a place.
func (n noun[D, S]) list(at container) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		p := r.paging()
		var docs []*D
		err := r.view(func(v *postgres.View) error {
			id, err := at(r, v)
			if err != nil {
				return err
			}
			all, err := n.all(r, v, id)
			docs = part(all, &p)
			return err
		})
		q := r.URL.Query()
		if n.whole && !q.Has("page[number]") && !q.Has("page[size]") {
			return listed(docs, p).unpaged(), err
		}
		return listed(docs, p), err
	}
}

// all are the documents in a place for which the query asks.
func (n noun[D, S]) all(r *request, v *postgres.View, at string) ([]*D, error) {
	found, err := v.Deposits(r.Context(), r.who, n.kind, at)
	if err != nil {
		return nil, err
	}
	var docs []*D
	for _, d := range found {
		doc, err := n.doc(r, v, d)
		if err != nil {
			return nil, err
		}
		if n.fits == nil || n.fits(r.URL.Query(), doc) {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// doc is the document of a deposit.
func (n noun[D, S]) doc(r *request, v *postgres.View, d postgres.Deposit) (*D, error) {
	var s S
	if err := json.Unmarshal(d.Settings, &s); err != nil {
		return nil, err
	}
	return n.show(r, v, d, s)
}

// create keeps what a client has sent in a place, and shows it.
func (n noun[D, S]) create(at container) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		var sent D
		settings, err := r.decodeChange(&sent)
		if err != nil {
			return answer{}, err
		}
		doc, err := n.keep(r, at, &sent, settings)
		return created(doc), err
	}
}

func (n noun[D, S]) keep(r *request, at container, sent *D, settings change) (doc *D, err error) {
	err = r.update(func(u *postgres.Update) error {
		id, err := at(r, &u.View)
		if err != nil {
			return err
		}
		d := postgres.NewDeposit(n.kind, id)
		if err := n.merge(r, &d, sent, settings); err != nil {
			return err
		}
		if d, err = u.CreateDeposit(r.Context(), r.who, d); err != nil {
			return err
		}
		doc, err = n.doc(r, &u.View, d)
		return err
	})
	return doc, err
}

// merge puts what was sent into a deposit.
func (n noun[D, S]) merge(r *request, d *postgres.Deposit, sent *D, settings change) error {
	var was, s S
	if err := errors.Join(json.Unmarshal(d.Settings, &was), json.Unmarshal(d.Settings, &s)); err != nil {
		return err
	}
	if err := settings.onto(&s); err != nil {
		return err
	}
	if err := n.put(r, d, &s, was, sent); err != nil {
		return err
	}
	var err error
	d.Settings, err = json.Marshal(s)
	return err
}

// read answers with the deposit that the path names by its id.
func (n noun[D, S]) read(r *request) (answer, error) {
	var doc *D
	err := r.view(func(v *postgres.View) error {
		d, err := n.named(r, v)
		if err != nil {
			return err
		}
		doc, err = n.doc(r, v, d)
		return err
	})
	return ok(doc), err
}

// named is the deposit that the path names by its id, and by that of what it is in
// where the path has both.
func (n noun[D, S]) named(r *request, v *postgres.View) (postgres.Deposit, error) {
	d, err := v.Deposit(r.Context(), r.who, n.kind, r.PathValue("id"))
	if at := r.PathValue("in"); err == nil && at != "" && at != d.Place {
		return postgres.Deposit{}, noSuchThing()
	}
	return d, err
}

// update changes a deposit by what a client has sent, and shows it.
func (n noun[D, S]) update(r *request) (answer, error) {
	return n.change(r, func(v *postgres.View) (string, error) {
		d, err := n.named(r, v)
		return d.ID, err
	})
}

// change is update of a deposit that is found in another way.
func (n noun[D, S]) change(r *request, find func(*postgres.View) (string, error)) (answer, error) {
	var sent D
	settings, err := r.decodeChange(&sent)
	if err != nil {
		return answer{}, err
	}
	var doc *D
	err = r.update(func(u *postgres.Update) error {
		id, err := find(&u.View)
		if err != nil {
			return err
		}
		d, err := u.ChangeDeposit(r.Context(), r.who, n.kind, id, func(d *postgres.Deposit) error { return n.merge(r, d, &sent, settings) })
		if err != nil {
			return err
		}
		doc, err = n.doc(r, &u.View, d)
		return err
	})
	return ok(doc), err
}

// remove deletes the deposit that the path names.
func (n noun[D, S]) remove(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		d, err := n.named(r, &u.View)
		if err != nil {
			return err
		}
		return u.DeleteDeposit(r.Context(), r.who, n.kind, d.ID)
	})
}

// link makes a deposit be about what the client sends, of this type, as well.
func (n noun[D, S]) link(relation, kind string) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		ids, err := r.references(kind)
		if err != nil {
			return answer{}, err
		}
		return noContent(), r.update(func(u *postgres.Update) error {
			return u.Link(r.Context(), r.who, n.kind, r.PathValue("id"), relation, ids)
		})
	}
}

// unlink ends that.
func (n noun[D, S]) unlink(relation, kind string) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		ids, err := r.references(kind)
		if err != nil {
			return answer{}, err
		}
		return noContent(), r.update(func(u *postgres.Update) error {
			return u.Unlink(r.Context(), r.who, n.kind, r.PathValue("id"), relation, ids)
		})
	}
}

// refs are references to ids, in their order.
func refs[T any](ids []string, ref func(id string) *T) []*T {
	all := make([]*T, 0, len(ids))
	for _, id := range ids {
		all = append(all, ref(id))
	}
	return all
}

// ids are what was sent, in place of what there is, when it was sent.
func ids[T any](is []string, sent []*T, id func(*T) string) []string {
	if sent == nil {
		return is
	}
	var all []string
	for _, ref := range sent {
		all = append(all, id(ref))
	}
	return all
}

// set puts what was sent, if it was, in the place of what there is.
func set[T any](to *T, sent *T) {
	if sent != nil {
		*to = *sent
	}
}

// invalid refuses what a client has sent.
func invalid(format string, args ...any) *problem.Error {
	return problem.New(api.Invalid, format, args...)
}

// ticketed is an address that anybody can use who has it, for an hour.
func (r *request) ticketed(use control.Use, id, file string) (string, error) {
	ticket, err := r.control.Ticket(r.Context(), r.who, use, id)
	return "/api/v2/object/" + id + "/" + ticket + file, err
}

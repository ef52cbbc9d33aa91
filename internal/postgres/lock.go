package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// A Lock is who may write a stack's state at this moment, and nobody else.
type Lock struct {
	ID       string
	Stack    string // id
	Holder   identity.Principal
	Team     string // id of the team whose token the holder is, or ""
	Reason   string
	Document json.RawMessage // as the tool wrote it that made the lock; nil for others
	Seen     string          // id of the version that the holder has read since then
	Since    time.Time
}

// Key is the id that the tool has given the lock, "" when it has given none.
func (l Lock) Key() string {
	var d struct{ ID string }
	_ = json.Unmarshal(l.Document, &d)
	return d.ID
}

// ShownKey is by what a tool that makes its own locks knows this one: its key, or
// its id when it was made otherwise.
func (l Lock) ShownKey() string {
	if key := l.Key(); key != "" {
		return key
	}
	return l.ID
}

// held reports whether who may use l: it is theirs, and where the tool made the
// lock itself they also show its key (docs/state.md, rule 2).
func (l *Lock) held(who identity.Principal, key string) bool {
	return l != nil && l.Holder.Kind == who.Kind && l.Holder.ID == who.ID && l.Key() == key
}

// A LockRequest is what a lock shall be.
type LockRequest struct {
	Reason   string
	Document json.RawMessage // an object with a member ID, from tools that make locks themselves
}

const reasonMax = 500 // bytes

const sqlLocks = `
	SELECT l.id, l.stack, l.holder_kind, l.holder_id, l.holder_name, l.holder_organisation, coalesce(t.team_id, ''),
		l.reason, l.document, coalesce(l.seen, ''), l.created_at
	FROM state_locks l LEFT JOIN tokens t ON l.holder_kind = 'token' AND t.id = l.holder_id
	WHERE l.stack = ANY(@stacks)`

// locks are those of stacks by the ids of these.
func (v *View) locks(ctx context.Context, stacks ...string) (map[string]*Lock, error) {
	rows, err := v.tx.Query(ctx, sqlLocks, pgx.NamedArgs{"stacks": stacks})
	if err != nil {
		return nil, err
	}
	return collectLocks(rows)
}

// collectLocks reads locks, of which each stack has one.
func collectLocks(rows pgx.Rows) (map[string]*Lock, error) {
	all := map[string]*Lock{}
	var l Lock
	_, err := pgx.ForEachRow(rows, []any{&l.ID, &l.Stack, &l.Holder.Kind, &l.Holder.ID, &l.Holder.Name, &l.Holder.Organisation,
		&l.Team, &l.Reason, &l.Document, &l.Seen, &l.Since}, func() error {
		one := l
		one.Since = l.Since.UTC()
		all[l.Stack] = &one
		return nil
	})
	return all, err
}

// lock is that of a stack, nil when it is not locked.
func (v *View) lock(ctx context.Context, stack string) (*Lock, error) {
	all, err := v.locks(ctx, stack)
	return all[stack], err
}

// StackLock is the lock of a stack, nil when it is not locked.
func (v *View) StackLock(ctx context.Context, who identity.Principal, stack string) (*Lock, error) {
	s, err := v.stackFor(ctx, who, stack)
	if err != nil {
		return nil, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return nil, err
	}
	return v.lock(ctx, stack)
}

const sqlInsertLock = `
	INSERT INTO state_locks (stack, id, holder_kind, holder_id, holder_name, holder_organisation, reason, document, created_at)
	VALUES (@stack, @id, @kind, @holder, @name, @organisation, @reason, @document, @at)`

// LockStack takes the lock of a stack. Whoever holds it already is told that it is
// locked too, unless it is the same lock by its key: two of their processes are two.
func (u *Update) LockStack(ctx context.Context, who identity.Principal, stack string, r LockRequest) (Lock, error) {
	d, err := u.desk(ctx, who, stack)
	if err != nil {
		return Lock{}, err
	}
	l := Lock{ID: newID(state.LockID), Stack: stack, Holder: who, Reason: clean(r.Reason), Document: r.Document, Since: u.at}
	c := stackCall(who, "state:lock", identity.StateLock, d.stack)
	c.detail["lock"], c.detail["reason"] = l.ID, l.Reason
	err = u.guard(ctx, c, func() error {
		if key := l.Key(); key != "" && d.lock.held(who, key) {
			l = *d.lock // it was asked for twice, because the first answer was lost
			return nil
		}
		if d.lock != nil {
			return lockedBy(d.lock)
		}
		u.tx.send(sqlInsertLock, pgx.NamedArgs{"stack": stack, "id": l.ID, "kind": string(who.Kind), "holder": who.ID,
			"name": who.Name, "organisation": who.Organisation, "reason": l.Reason, "document": nullable(r.Document), "at": u.at})
		return nil
	})
	return l, err
}

// clean is text that somebody sent, as it may be kept and shown.
func clean(text string) string {
	return cut(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"), reasonMax)
}

// cut is at most so many bytes of a text.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func nullable(document json.RawMessage) any {
	if len(document) == 0 || !utf8.Valid(document) {
		return nil
	}
	return document
}

// lockedBy is what is said of a lock that somebody else has. The clients look for
// the words in the middle of it (tfe-api, 0.4).
func lockedBy(l *Lock) *problem.Error {
	p := problem.New(api.Locked, "the stack %s %q since %s%s", byWhom(l.Holder.Kind), l.Holder.Name,
		l.Since.Format(time.RFC3339), because(l.Reason)).
		WithHint("wait until it is unlocked, or ask them; who may break it: assize stack unlock --force, or force-unlock of the tool")
	p.Cause = &Held{Lock: *l}
	return p
}

// Held is the cause of an error that says that a stack is locked: the lock.
type Held struct{ Lock Lock }

func (h *Held) Error() string { return "the lock " + h.Lock.ID }

func byWhom(kind identity.Kind) string {
	switch kind {
	case identity.Bearer:
		return "is locked by Team token"
	case identity.Runner:
		return "is locked by Run"
	}
	return "is locked by User"
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strconv.Quote(reason)
}

func unlocked() error {
	return problem.New(api.Conflict, "the stack is already unlocked").WithHint("nothing is to be done")
}

const sqlDeleteLock = `
	DELETE FROM state_locks WHERE stack = @stack`

// UnlockStack gives back one's own lock; key is what the tool has called it, ""
// for a lock without a key. A version whose bytes may still be on their way keeps
// it for a moment, and not for ever: after the grace it is given up
// (docs/state.md, rule 3).
func (u *Update) UnlockStack(ctx context.Context, who identity.Principal, stack, key string) error {
	d, err := u.desk(ctx, who, stack)
	if err != nil {
		return err
	}
	return u.guard(ctx, stackCall(who, "state:unlock", identity.StateLock, d.stack), func() error {
		switch {
		case d.lock == nil:
			return unlocked()
		case !d.lock.held(who, key):
			return lockedBy(d.lock)
		case !d.pending.IsZero() && u.at.Sub(d.pending) < pendingGrace:
			return stillPending()
		}
		u.release(d)
		return nil
	})
}

// pendingGrace is for how long a version without bytes keeps its lock.
const pendingGrace = 30 * time.Second

func stillPending() error {
	return problem.New(api.Unavailable, "the latest state version is still pending: its bytes have not come yet").
		WithHint("try again; after %v the version is given up", pendingGrace)
}

// release removes the lock, and with it the version that was begun under it.
func (u *Update) release(d desk) {
	u.discardPending(d)
	u.tx.send(sqlDeleteLock, pgx.NamedArgs{"stack": d.stack.ID})
}

// ForceUnlock breaks the lock of a stack, whoever holds it, and writes down who
// that was, and why it was broken if that was said. One's own lock anybody may give back in this way who could take it:
// a client that failed leaves its lock, and its user must get out by themselves.
func (u *Update) ForceUnlock(ctx context.Context, who identity.Principal, stack, why string) (Lock, error) {
	d, err := u.desk(ctx, who, stack)
	if err != nil {
		return Lock{}, err
	}
	l := d.lock
	c := stackCall(who, "state:force_unlock", identity.StateForceUnlock, d.stack)
	if why != "" {
		c.detail["why"] = clean(why)
	}
	if l != nil {
		if l.held(who, l.Key()) {
			c.needs = identity.StateLock
		}
		c.detail["lock"], c.detail["holder"], c.detail["holder_name"] = l.ID, l.Holder.ID, l.Holder.Name
		c.detail["since"], c.detail["reason"] = l.Since.Format(time.RFC3339), l.Reason
	}
	err = u.guard(ctx, c, func() error {
		if l == nil {
			return unlocked()
		}
		u.release(d)
		return nil
	})
	if err != nil {
		return Lock{}, err
	}
	return *l, nil
}

// A Setting is a stack with what is around it, for whoever sees the stack.
type Setting struct {
	Stack         Stack
	Organisation  Organisation
	Configuration string   // id of the newest one, or ""
	Variables     []string // ids, for who may read variables
}

const sqlOrganisationOf = `
	SELECT o.id, o.name, o.project, o.settings, o.created_at, o.user_tokens FROM organisations o JOIN stacks s ON s.organisation = o.id
	WHERE s.id = @stack`

// Setting is the one of a stack, in two questions.
func (v *View) Setting(ctx context.Context, who identity.Principal, stack string) (x Setting, err error) {
	var b pgx.Batch
	askPlace(&b, stack, &x.Stack)
	b.Queue(sqlOrganisationOf, pgx.NamedArgs{"stack": stack}).Query(func(rows pgx.Rows) (err error) {
		if rows.Next() {
			x.Organisation, err = scanOrganisation(rows)
		}
		return err
	})
	b.Queue(sqlNewestConfiguration, pgx.NamedArgs{"stack": stack, "uploaded": false}).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&x.Configuration}, func() error { return nil })
		return err
	})
	b.Queue(sqlVariableIDs, pgx.NamedArgs{"of": stack}).Query(into(&x.Variables, func(rows pgx.Rows) ([]string, error) {
		return pgx.CollectRows(rows, pgx.RowTo[string])
	}))
	v.askGrants(&b, who)
	if err := v.tx.ask(ctx, &b); err != nil || x.Stack.ID == "" {
		return x, cmp.Or(err, pgx.ErrNoRows)
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, x.Stack)); err != nil {
		return Setting{}, err
	}
	grants, err := v.grantsOf(ctx, who)
	if err != nil {
		return Setting{}, err
	}
	if !identity.Allowed(grants, identity.VariableRead, x.Stack.scope()) {
		x.Variables = nil
	}
	x.Stack, err = v.completed(ctx, x.Stack)
	return x, err
}

// stackFor is a stack, asked for with what the principal may do.
func (v *View) stackFor(ctx context.Context, who identity.Principal, id string) (Stack, error) {
	var b pgx.Batch
	var s Stack
	askPlace(&b, id, &s)
	v.askGrants(&b, who)
	if err := v.tx.ask(ctx, &b); err != nil || s.ID == "" {
		return s, cmp.Or(err, pgx.ErrNoRows)
	}
	return s, nil
}

// askPlace asks for a stack by its id, which stays "" when there is none.
func askPlace(b *pgx.Batch, id string, s *Stack) {
	b.Queue(sqlStack, pgx.NamedArgs{"id": id}).Query(func(rows pgx.Rows) (err error) {
		if rows.Next() {
			*s, err = scanStack(rows)
		}
		return err
	})
}

// askStack asks for its lock and its current version too.
func askStack(b *pgx.Batch, id string, s *Stack) {
	askPlace(b, id, s)
	b.Queue(sqlLocks, pgx.NamedArgs{"stacks": []string{id}}).Query(func(rows pgx.Rows) error {
		all, err := collectLocks(rows)
		s.Lock = all[id]
		return err
	})
	b.Queue(sqlCurrentStates, pgx.NamedArgs{"stacks": []string{id}}).Query(func(rows pgx.Rows) error {
		all, err := collectCurrents(rows)
		s.State = all[id]
		return err
	})
}

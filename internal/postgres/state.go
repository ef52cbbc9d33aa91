package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// A StateVersion is one version of the state of a stack. What is below Writer is
// known once it is finalized.
type StateVersion struct {
	ID           string
	Stack        string // id
	Status       state.Status
	Serial       int64
	Lineage      string
	MD5          string
	Forced       state.Reason // what it was forced over
	Intermediate bool         // another one of the same operation will follow
	CopyOf       string       // id of the version that somebody went back to, or ""
	Lock         string       // id of the lock under which it was begun
	Created      time.Time
	Writer       identity.Principal
	Finalized    time.Time
	Sequence     int64 // 1 for the first of the stack
	Kept
}

// Kept is where the bytes of a version are, by digest, and what is in them.
type Kept struct {
	Artifact  string // the bytes
	Size      int64
	Details   string // outputs and resources, or ""
	JSON      string // the same state in the tool's JSON for others, or ""
	Outputs   int    // how many
	Resources int
	Format    int
	Tool      string // version of the tool that wrote them
	Encrypted bool

	// Present asks whether the artifacts are there. It is called when nobody may
	// remove them any more (docs/artifacts.md, rule 11).
	Present func(context.Context) error `json:"-"`
}

func (v StateVersion) head() *state.Head {
	return &state.Head{Serial: v.Serial, Lineage: v.Lineage, MD5: v.MD5}
}

// A NewState is a version that somebody wants to write.
type NewState struct {
	state.Write
	Key          string // of the lock, if the tool has given it one
	Intermediate bool
	Outputs      int      // that were sent ahead, in Details
	Details      string   // digest, or ""
	Uploads      []Upload // what may still be sent
	Kept         *Kept    // when the bytes are here; else the version is pending
}

// An Upload lets whoever knows its secret send one body of one version.
type Upload struct {
	Digest  string // of the secret
	Body    string // "state" or "json"
	Expires time.Time
}

// scanState reads a version, and what else is in its row before it.
func scanState(row pgx.Row, before ...any) (StateVersion, error) {
	var v StateVersion
	err := row.Scan(append(before, &v.ID, &v.Stack, &v.Status, &v.Serial, &v.Lineage, &v.MD5, &v.Forced, &v.Intermediate, &v.CopyOf, &v.Lock, &v.Created,
		&v.Writer.Kind, &v.Writer.ID, &v.Writer.Name, &v.Writer.Organisation, &v.Finalized, &v.Sequence,
		&v.Artifact, &v.Size, &v.Details, &v.JSON, &v.Outputs, &v.Resources, &v.Format, &v.Tool, &v.Encrypted)...)
	v.Created, v.Finalized = v.Created.UTC(), v.Finalized.UTC()
	return v, err
}

const sqlState = `
	SELECT * FROM state_history WHERE id = @id`

// state is a version and the stack that it is of.
func (v *View) state(ctx context.Context, id string) (StateVersion, Stack, error) {
	version, err := scanState(v.tx.QueryRow(ctx, sqlState, pgx.NamedArgs{"id": id}))
	if err != nil {
		return StateVersion{}, Stack{}, err
	}
	s, err := v.stack(ctx, version.Stack)
	return version, s, err
}

const sqlCurrentStates = `
	SELECT current.* FROM unnest(@stacks::text[]) AS s (id), LATERAL (
		SELECT * FROM state_history WHERE stack = s.id AND sequence > 0 ORDER BY sequence DESC LIMIT 1) AS current`

// currents are the versions that count, by the ids of their stacks.
func (v *View) currents(ctx context.Context, stacks ...string) (map[string]*StateVersion, error) {
	rows, err := v.tx.Query(ctx, sqlCurrentStates, pgx.NamedArgs{"stacks": stacks})
	if err != nil {
		return nil, err
	}
	return collectCurrents(rows)
}

// collectCurrents reads versions, of which each stack has one.
func collectCurrents(rows pgx.Rows) (map[string]*StateVersion, error) {
	all := map[string]*StateVersion{}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (StateVersion, error) { return scanState(row) })
	for _, version := range found {
		all[version.Stack] = &version
	}
	return all, err
}

// current is the version that counts, nil when there is none yet.
func (v *View) current(ctx context.Context, stack string) (*StateVersion, error) {
	all, err := v.currents(ctx, stack)
	return all[stack], err
}

// State is the version with this id, without its bytes.
func (v *View) State(ctx context.Context, who identity.Principal, id string) (StateVersion, error) {
	version, s, err := v.state(ctx, id)
	if err != nil {
		return StateVersion{}, err
	}
	return version, v.permit(ctx, stateCall(who, "stack:read", identity.StackRead, s, version.ID))
}

// CurrentState is the version of a stack that counts, without its bytes.
func (v *View) CurrentState(ctx context.Context, who identity.Principal, stack string) (StateVersion, error) {
	s, err := v.stackFor(ctx, who, stack)
	if err != nil {
		return StateVersion{}, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return StateVersion{}, err
	}
	version, err := v.current(ctx, stack)
	if err != nil {
		return StateVersion{}, err
	}
	if version == nil {
		return StateVersion{}, noState()
	}
	return *version, nil
}

func noState() *problem.Error { return problem.New(api.NotFound, "the stack has no state yet") }

const sqlStates = `
	SELECT * FROM state_history WHERE stack = @stack ORDER BY created_at DESC, id DESC LIMIT @limit OFFSET @offset`

const sqlCountStates = `
	SELECT count(*) FROM state_versions WHERE stack = @stack`

// States is a part of the versions of a stack, the newest first, and how many
// there are.
func (v *View) States(ctx context.Context, who identity.Principal, stack string, offset, limit int) ([]StateVersion, int, error) {
	s, err := v.stack(ctx, stack)
	if err != nil {
		return nil, 0, err
	}
	if err := v.permit(ctx, stackCall(who, "stack:read", identity.StackRead, s)); err != nil {
		return nil, 0, err
	}
	var total int
	if err := v.tx.QueryRow(ctx, sqlCountStates, pgx.NamedArgs{"stack": stack}).Scan(&total); err != nil {
		return nil, 0, err
	}
	rows, err := v.tx.Query(ctx, sqlStates, pgx.NamedArgs{"stack": stack, "limit": limit, "offset": offset})
	if err != nil {
		return nil, 0, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (StateVersion, error) { return scanState(row) })
	return all, total, err
}

// ReadState is a version whose bytes the principal may read.
func (v *View) ReadState(ctx context.Context, who identity.Principal, id string) (StateVersion, error) {
	version, s, err := v.state(ctx, id)
	if err != nil {
		return StateVersion{}, err
	}
	return version, v.permit(ctx, stateCall(who, "state:read", identity.StateRead, s, version.ID))
}

// ReadOutputs is a version whose outputs the principal may read, and whether that
// is so for the sensitive ones too.
func (v *View) ReadOutputs(ctx context.Context, who identity.Principal, id string) (StateVersion, bool, error) {
	version, s, err := v.state(ctx, id)
	if err != nil {
		return StateVersion{}, false, err
	}
	if err := v.permit(ctx, stateCall(who, "state:outputs", identity.StateOutputs, s, version.ID)); err != nil {
		return StateVersion{}, false, err
	}
	grants, err := v.grantsOf(ctx, who)
	return version, identity.Allowed(grants, identity.StateRead, s.scope()), err
}

const sqlCurrentOutputs = `
	SELECT * FROM state_history WHERE stack = @stack AND sequence > 0 AND NOT intermediate ORDER BY sequence DESC LIMIT 1`

// CurrentOutputs is the version whose outputs count: one that an operation has
// left behind, not one from its middle.
func (v *View) CurrentOutputs(ctx context.Context, who identity.Principal, stack string) (StateVersion, error) {
	s, err := v.stack(ctx, stack)
	if err != nil {
		return StateVersion{}, err
	}
	if err := v.permit(ctx, stackCall(who, "state:outputs", identity.StateOutputs, s)); err != nil {
		return StateVersion{}, err
	}
	version, err := scanState(v.tx.QueryRow(ctx, sqlCurrentOutputs, pgx.NamedArgs{"stack": stack}))
	if errors.Is(err, pgx.ErrNoRows) {
		return StateVersion{}, noState()
	}
	return version, err
}

// stateCall is a call about a version.
func stateCall(who identity.Principal, action string, needs identity.Permission, s Stack, version string) call {
	c := stackCall(who, action, needs, s)
	c.detail["version"] = version
	return c
}

const sqlSeen = `
	UPDATE state_locks SET seen = @version WHERE stack = @stack AND id = @lock`

// SeeState is ReadState for somebody who may hold the lock: that they have read
// this version is noted with the lock (docs/state.md, rule 6). It is no change that
// anybody else sees, and stands in no audit log.
func (u *Update) SeeState(ctx context.Context, who identity.Principal, id string) (StateVersion, error) {
	version, s, err := u.state(ctx, id)
	if err != nil {
		return StateVersion{}, err
	}
	if err := u.permit(ctx, stateCall(who, "state:read", identity.StateRead, s, version.ID)); err != nil {
		return StateVersion{}, err
	}
	l, err := u.lock(ctx, version.Stack)
	if err != nil || l == nil || !l.held(who, l.Key()) || l.Seen == id {
		return version, err
	}
	_, err = u.tx.Exec(ctx, sqlSeen, pgx.NamedArgs{"version": id, "stack": version.Stack, "lock": l.ID})
	return version, err
}

// deletable refuses to lose what may still exist: of an encrypted state nobody
// here can say.
func (u *Update) deletable(ctx context.Context, stack string) error {
	l, err := u.lock(ctx, stack)
	if err != nil {
		return err
	}
	if l != nil {
		return lockedBy(l)
	}
	v, err := u.current(ctx, stack)
	switch {
	case err != nil || v == nil:
		return err
	case v.Encrypted:
		return problem.New(api.Conflict, "the state of this stack is encrypted, so it may still have resources").
			WithHint("destroy them first; then delete it by force")
	case v.Resources > 0:
		return problem.New(api.Conflict, "this stack still has %d resources", v.Resources).
			WithHint("destroy them first, or delete it by force and keep them")
	}
	return nil
}

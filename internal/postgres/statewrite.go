package postgres

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/state"
)

// A desk is what a write must fit to.
type desk struct {
	stack   Stack
	lock    *Lock
	current *StateVersion
	pending time.Time // when the version was begun that has no bytes yet, zero for none
}

const sqlPendingSince = `
	SELECT created_at FROM state_versions WHERE stack = @stack AND status = 'pending'`

// desk asks for all of it at once, and with it for what the principal may do: the guard
// will want to know.
func (u *Update) desk(ctx context.Context, who identity.Principal, stack string, more ...func(*pgx.Batch)) (d desk, err error) {
	var b pgx.Batch
	for _, chain := range u.likely {
		u.askHead(&b, chain)
	}
	for _, ask := range more {
		ask(&b)
	}
	askStack(&b, stack, &d.stack)
	b.Queue(sqlPendingSince, pgx.NamedArgs{"stack": stack}).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&d.pending}, func() error { return nil })
		return err
	})
	u.askGrants(&b, who)
	if err := u.tx.ask(ctx, &b); err != nil || d.stack.ID == "" {
		return d, cmp.Or(err, pgx.ErrNoRows)
	}
	d.lock, d.current = d.stack.Lock, d.stack.State
	return d, nil
}

func (d desk) head() *state.Head {
	if d.current == nil {
		return nil
	}
	return d.current.head()
}

// seen reports whether the holder of the lock has read the current version.
func (d desk) seen() bool {
	return d.lock != nil && d.current != nil && d.lock.Seen == d.current.ID
}

// writeCall is a call that makes a version, or begins one.
func (d desk) writeCall(who identity.Principal, action string, w state.Write, ruling state.Ruling, over state.Reason) call {
	c := stackCall(who, action, identity.StateWrite, d.stack)
	c.detail["serial"], c.detail["lineage"], c.detail["md5"] = strconv.FormatInt(w.Serial, 10), w.Lineage, w.MD5
	switch ruling {
	case state.Replay:
		c.detail["replay"] = "true"
	case state.Override:
		c.action, c.needs = "state:force_write", identity.StateRecover
		c.detail["over"] = string(over)
		c.detail["current"] = d.current.ID
	}
	return c
}

// MayWriteState asks whether somebody may write the state of a stack, before their
// bytes are read.
func (v *View) MayWriteState(ctx context.Context, who identity.Principal, stack string) error {
	s, err := v.stackFor(ctx, who, stack)
	if err != nil {
		return err
	}
	return v.permit(ctx, stackCall(who, "state:write", identity.StateWrite, s))
}

// WriteState begins a version, or makes it when its bytes are here already. What
// is there already is answered as it is (docs/state.md, rule 5).
func (u *Update) WriteState(ctx context.Context, who identity.Principal, stack string, n NewState) (StateVersion, error) {
	if n.Kept != nil {
		u.hold(stack, *n.Kept)
	}
	d, err := u.desk(ctx, who, stack)
	if err != nil {
		return StateVersion{}, err
	}
	ruling, reason := state.Refuse, state.Unheld
	if d.lock.held(who, n.Key) {
		ruling, reason = state.Judge(d.head(), n.Write, d.seen())
	}
	v := StateVersion{ID: newID(state.VersionID), Stack: stack, Status: state.Pending, Serial: n.Serial, Lineage: n.Next(d.head()),
		MD5: n.MD5, Intermediate: n.Intermediate, Created: u.at, Writer: who}
	c := d.writeCall(who, "state:write", n.Write, ruling, reason)
	c.detail["version"] = v.ID
	if ruling == state.Replay {
		c.detail["version"] = d.current.ID
	}
	err = u.guard(ctx, c, func() error {
		if err := n.Check(); err != nil {
			return err
		}
		switch {
		case reason == state.Unheld:
			return unheld(d.lock, who)
		case ruling == state.Refuse:
			return reason.Refusal(d.head(), n.Write)
		case ruling == state.Replay:
			v = *d.current
			u.allowUploads(stack, v.ID, n.Uploads)
			return nil
		case ruling == state.Override:
			v.Forced = reason
		}
		v.Lock, v.Details, v.Outputs = d.lock.ID, n.Details, n.Outputs
		if n.Kept != nil {
			v.Kept = *n.Kept
		}
		return u.insertState(ctx, d, &v, n.Uploads)
	})
	return v, err
}

// unheld is the refusal of a write without one's own lock.
func unheld(l *Lock, who identity.Principal) error {
	if l != nil && (l.Holder.Kind != who.Kind || l.Holder.ID != who.ID) {
		p := lockedBy(l)
		p.Cause = errors.Join(&state.Refused{Reason: state.Unheld}, p.Cause)
		return p
	}
	return state.Unheld.Refusal(nil, state.Write{})
}

// A version that was begun is nothing yet. What makes it one is safe on the disk only
// with all that was committed before, so its beginning need not be waited for.
const sqlSafeLater = `
	SET LOCAL synchronous_commit = off`

const sqlInsertState = `
	INSERT INTO state_versions (id, stack, status, serial, lineage, md5, forced, intermediate, copy_of, lock, created_at,
		writer_kind, writer_id, writer_name, writer_organisation, details, outputs, resources, format, tool, encrypted)
	VALUES (@id, @stack, 'pending', @serial, @lineage, @md5, @forced, @intermediate, nullif(@copy_of, ''), @lock, @at,
		@kind, @writer, @name, @organisation, nullif(@details, ''), @outputs, 0, 0, '', false)`

// insertState takes the place of the version that was begun before, and is whole
// at once when it has bytes.
func (u *Update) insertState(ctx context.Context, d desk, v *StateVersion, uploads []Upload) error {
	if v.Artifact != "" {
		if err := u.present(ctx, v.Kept); err != nil {
			return err
		}
	}
	u.discardPending(d)
	u.tx.send(sqlInsertState, pgx.NamedArgs{"id": v.ID, "stack": v.Stack, "serial": v.Serial, "lineage": v.Lineage,
		"md5": v.MD5, "forced": string(v.Forced), "intermediate": v.Intermediate, "copy_of": v.CopyOf, "lock": v.Lock, "at": v.Created,
		"kind": string(v.Writer.Kind), "writer": v.Writer.ID, "name": v.Writer.Name, "organisation": v.Writer.Organisation,
		"details": v.Details, "outputs": v.Outputs})
	if v.Artifact != "" {
		u.finalize(d, v)
	} else {
		u.allowUploads(v.Stack, v.ID, uploads)
		u.tx.send(sqlSafeLater, nil)
	}
	return nil
}

const sqlInsertUploads = `
	INSERT INTO state_uploads (digest, stack, version, body, expires_at)
	SELECT digest, @stack, @version, body, expires FROM unnest(@digests::text[], @bodies::text[], @expire::timestamptz[]) AS u (digest, body, expires)`

const sqlDeleteUploads = `
	DELETE FROM state_uploads WHERE stack = @stack AND expires_at < @before`

// allowUploads lets bytes come for a version, and forgets what has expired long ago.
func (u *Update) allowUploads(stack, version string, uploads []Upload) {
	u.tx.send(sqlDeleteUploads, pgx.NamedArgs{"stack": stack, "before": u.at.Add(-24 * time.Hour)})
	var digests, bodies []string
	var expire []time.Time
	for _, up := range uploads {
		digests, bodies, expire = append(digests, up.Digest), append(bodies, up.Body), append(expire, up.Expires)
	}
	u.tx.send(sqlInsertUploads, pgx.NamedArgs{"stack": stack, "version": version, "digests": digests, "bodies": bodies, "expire": expire})
}

const sqlDiscardPending = `
	UPDATE state_versions SET status = 'discarded' WHERE stack = @stack AND status = 'pending'`

// discardPending gives up the version of a stack that was begun, if there is one.
func (u *Update) discardPending(d desk) {
	if !d.pending.IsZero() {
		u.tx.send(sqlDiscardPending, pgx.NamedArgs{"stack": d.stack.ID})
	}
}

const sqlFinalize = `
	UPDATE state_versions SET status = 'finalized', finalized_at = @at, sequence = @sequence, previous_serial = @previous_serial,
		previous_lineage = @previous_lineage, artifact = @artifact, size = @size, details = nullif(@details, ''), json = nullif(@json, ''),
		outputs = @outputs, resources = @resources, format = @format, tool = @tool, encrypted = @encrypted
	WHERE id = @id`

// finalize makes a version the current one, whose artifacts are held and present. That
// it follows the one before it the table says too.
func (u *Update) finalize(d desk, v *StateVersion) {
	v.Status, v.Finalized, v.Sequence = state.Finalized, u.at, 1
	args := pgx.NamedArgs{"id": v.ID, "at": u.at, "artifact": v.Artifact, "size": v.Size, "details": v.Details, "json": v.JSON,
		"outputs": v.Outputs, "resources": v.Resources, "format": v.Format, "tool": v.Tool, "encrypted": v.Encrypted,
		"previous_serial": nil, "previous_lineage": nil}
	if d.current != nil {
		v.Sequence = d.current.Sequence + 1
		args["previous_serial"], args["previous_lineage"] = d.current.Serial, d.current.Lineage
	}
	args["sequence"] = v.Sequence
	u.tx.send(sqlFinalize, args)
}

// FinalizeState gives a version of a stack its bytes. Those of a version that has them
// already are the same, for their md5 is; one that was given up gets none.
func (u *Update) FinalizeState(ctx context.Context, who identity.Principal, stack, id string, k Kept) (StateVersion, error) {
	u.hold(stack, k)
	var v StateVersion
	d, err := u.desk(ctx, who, stack, func(b *pgx.Batch) {
		b.Queue(sqlState, pgx.NamedArgs{"id": id}).QueryRow(func(row pgx.Row) (err error) {
			v, err = scanState(row)
			return err
		})
	})
	if err == nil && v.Stack != stack {
		err = notFound() // it is another's
	}
	if err != nil {
		return StateVersion{}, err
	}
	c := stateCall(who, "state:finalize", identity.StateWrite, d.stack, id)
	c.detail["artifact"], c.detail["serial"] = k.Artifact, strconv.FormatInt(v.Serial, 10)
	err = u.guard(ctx, c, func() error {
		if v.Status == state.Finalized {
			return nil
		}
		if v.Status != state.Pending || d.lock == nil || d.lock.ID != v.Lock {
			return state.Late.Refusal(nil, state.Write{})
		}
		if k.JSON == "" && !k.Encrypted {
			k.JSON = v.JSON
		}
		if err := u.present(ctx, k); err != nil {
			return err
		}
		v.Kept = k
		u.finalize(d, &v)
		return nil
	})
	return v, err
}

const sqlSetStateJSON = `
	UPDATE state_versions SET json = @json WHERE id = @id AND json IS NULL AND NOT encrypted AND status IN ('pending', 'finalized')`

// SetStateJSON gives a version the tool's JSON for others, once. Of an encrypted
// state none is kept (docs/state.md, rule 11).
func (u *Update) SetStateJSON(ctx context.Context, who identity.Principal, id string, k Kept) error {
	_, s, err := u.state(ctx, id)
	if err != nil {
		return err
	}
	return u.guard(ctx, stateCall(who, "state:describe", identity.StateWrite, s, id), func() error {
		u.hold(s.ID, k)
		if err := u.present(ctx, k); err != nil {
			return err
		}
		_, err := u.tx.Exec(ctx, sqlSetStateJSON, pgx.NamedArgs{"id": id, "json": k.JSON})
		return err
	})
}

const sqlUpload = `
	SELECT u.body, u.expires_at, v.* FROM state_uploads u JOIN state_history v ON v.id = u.version WHERE u.digest = @digest`

// AuthenticateUpload is what may be sent of which version, by the digest of the secret
// in the address: who sends it acts as whoever has begun the version, and must be able
// to see it. Of an address that has expired all is known, with an error.
func (v *View) AuthenticateUpload(ctx context.Context, digest string) (StateVersion, string, error) {
	up := Upload{Digest: digest}
	var version StateVersion
	var b pgx.Batch
	b.Queue(sqlUpload, pgx.NamedArgs{"digest": digest}).Query(func(rows pgx.Rows) (err error) {
		if rows.Next() {
			version, err = scanState(rows, &up.Body, &up.Expires)
		}
		return err
	})
	if err := v.tx.ask(ctx, &b); err != nil || version.ID == "" {
		return StateVersion{}, "", cmp.Or(err, error(notFound()))
	}
	s, err := v.stackFor(ctx, version.Writer, version.Stack)
	if err == nil {
		err = v.permit(ctx, stateCall(version.Writer, "stack:read", identity.StackRead, s, version.ID))
	}
	if err != nil {
		return StateVersion{}, "", err
	}
	if !v.at.Before(up.Expires) {
		err = state.Late.Refusal(nil, state.Write{})
	}
	return version, up.Body, err
}

const sqlHoldArtifact = `
	SELECT pg_advisory_xact_lock_shared(hashtextextended('assize artifact ' || name, 0)) FROM unnest(@names::text[]) AS name`

// hold keeps the artifacts of a stack from being removed, from the next question on and
// until the transaction has ended (docs/artifacts.md, rule 11).
func (u *Update) hold(stack string, k Kept) {
	var names []string
	for kind, digest := range map[string]string{"state": k.Artifact, "details": k.Details, "json": k.JSON} {
		if digest != "" {
			names = append(names, kind+"/"+stack+"/"+digest)
		}
	}
	u.tx.send(sqlHoldArtifact, pgx.NamedArgs{"names": names})
}

// present asks whether the artifacts that are held are there.
func (u *Update) present(ctx context.Context, k Kept) error {
	if err := u.tx.flush(ctx); err != nil || k.Present == nil {
		return err
	}
	return k.Present(ctx)
}

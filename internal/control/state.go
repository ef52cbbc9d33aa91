package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// The kinds of artifacts that a state is made of. Their owner is the stack.
const (
	stateKind   = "state"
	detailsKind = "details"
	jsonKind    = "json"
)

const (
	// StateMax is the size of a state, in bytes.
	StateMax = 512 << 20
	// InlineMax is the size of a state that is sent in a document, in bytes: it is
	// in memory as a whole (docs/state.md, rule 8).
	InlineMax = 32 << 20
	// uploadTime is how long the address of an upload is good for.
	uploadTime = time.Hour
)

// A StateRequest is what a client says of a version that it wants to write.
type StateRequest struct {
	state.Write
	Key          string // of the lock, when the tool has given it one
	Intermediate bool
	Outputs      []byte // JSON, or nil
	JSON         []byte // the same state in the tool's JSON for others, or nil

	// FromContents says that serial, lineage and md5 were not said: they are those
	// of the bytes. An MD5 that was said is checked all the same.
	FromContents bool
}

// Uploads are the secrets in the addresses to which the bytes of a version may
// be sent. Only their digests are kept.
type Uploads struct{ State, JSON string }

// BeginState begins a version whose bytes will be uploaded. Of a version that is
// there already it allows them to be sent once more.
func (c *Control) BeginState(ctx context.Context, who identity.Principal, stack string, r StateRequest) (postgres.StateVersion, Uploads, error) {
	n := postgres.NewState{Write: r.Write, Key: r.Key, Intermediate: r.Intermediate}
	var err error
	if len(r.Outputs) > 0 { // of somebody who may not write nothing is kept
		if err = c.mayWrite(ctx, who, stack); err == nil {
			n.Details, n.Outputs, err = c.keepOutputs(ctx, stack, r.Outputs)
		}
	}
	if err != nil {
		return postgres.StateVersion{}, Uploads{}, err
	}
	secrets := Uploads{State: rand.Text() + rand.Text(), JSON: rand.Text() + rand.Text()}
	expires := time.Now().Add(uploadTime)
	n.Uploads = []postgres.Upload{
		{Digest: artifact.Digest([]byte(secrets.State)), Body: stateKind, Expires: expires},
		{Digest: artifact.Digest([]byte(secrets.JSON)), Body: jsonKind, Expires: expires},
	}
	var v postgres.StateVersion
	err = c.UpdateStack(ctx, stack, func(u *postgres.Update) (err error) {
		v, err = u.WriteState(ctx, who, stack, n)
		return err
	})
	return v, secrets, err
}

func (c *Control) mayWrite(ctx context.Context, who identity.Principal, stack string) error {
	return c.View(ctx, func(v *postgres.View) error { return v.MayWriteState(ctx, who, stack) })
}

// details are what is kept beside the bytes of a state, so that nobody has to read
// them for it.
type details struct {
	Outputs   []state.Output   `json:"outputs"`
	Resources []state.Resource `json:"resources"`
}

// keepOutputs keeps the outputs that a client sends ahead of a state: they hold
// secrets, and an artifact is encrypted.
func (c *Control) keepOutputs(ctx context.Context, stack string, text []byte) (digest string, count int, err error) {
	outputs, err := state.ParseOutputs(text)
	if err != nil {
		return "", 0, problem.New(api.Invalid, "the outputs that were sent are not an object of outputs, or too large")
	}
	digest, err = c.keepDetails(ctx, stack, details{Outputs: outputs})
	return digest, len(outputs), err
}

func (c *Control) keepDetails(ctx context.Context, stack string, d details) (string, error) {
	if len(d.Outputs) == 0 && len(d.Resources) == 0 {
		return "", nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "", problem.New(api.Invalid, "the outputs cannot be written down")
	}
	name := artifact.Name{Kind: detailsKind, Owner: stack, Digest: artifact.Digest(text)}
	_, err = c.artifacts.Put(ctx, name, bytes.NewReader(text))
	return name.Digest, err
}

// detailsOf are what is known of a version beside its bytes. Of a small state that was
// sent alone they are read out of them.
func (c *Control) detailsOf(ctx context.Context, v postgres.StateVersion) (details, error) {
	if v.Details != "" || v.Encrypted || v.Size > artifact.Small {
		return c.readDetails(ctx, v.Stack, v.Details)
	}
	r, err := c.open(ctx, artifact.Name{Kind: stateKind, Owner: v.Stack, Digest: v.Artifact})
	if err != nil {
		return details{}, err
	}
	defer r.Close()
	contents, err := state.Read(r)
	return details{Outputs: contents.Outputs, Resources: contents.Resources}, err
}

// readDetails reads an artifact that keepDetails has kept.
func (c *Control) readDetails(ctx context.Context, stack, digest string) (details, error) {
	var d details
	if digest == "" {
		return d, nil
	}
	r, err := c.open(ctx, artifact.Name{Kind: detailsKind, Owner: stack, Digest: digest})
	if err != nil {
		return d, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, problem.New(api.Internal, "the details of a state cannot be read")
	}
	return d, nil
}

// WriteState writes a version whose bytes are here. They are kept first, whatever
// becomes of them: when they are refused, as evidence (docs/state.md, rule 12).
func (c *Control) WriteState(ctx context.Context, who identity.Principal, stack string, r StateRequest, body io.Reader, most int64) (postgres.StateVersion, error) {
	var v postgres.StateVersion
	if err := c.mayWrite(ctx, who, stack); err != nil {
		return v, err
	}
	if err := r.Check(); err != nil && !r.FromContents {
		return v, err
	}
	got, err := c.receive(ctx, stack, body, most)
	if err != nil {
		return v, err
	}
	if r.FromContents {
		r.Write = got.claim(r.Write)
	}
	if reason := got.check(r.MD5); reason != state.Fits {
		return v, c.quarantine(ctx, who, stack, got, r.Write, reason.Refusal(nil, r.Write))
	}
	outputs, err := state.ParseOutputs(r.Outputs)
	if err != nil {
		return v, problem.New(api.Invalid, "the outputs that were sent are not an object of outputs, or too large")
	}
	kept, err := c.describe(ctx, stack, got, outputs)
	if err == nil && len(r.JSON) > 0 && !kept.Encrypted {
		kept.JSON, err = c.keepJSON(ctx, stack, r.JSON)
		kept = c.asking(stack, kept)
	}
	if err != nil {
		return v, err
	}
	err = c.UpdateStack(ctx, stack, func(u *postgres.Update) (err error) {
		v, err = u.WriteState(ctx, who, stack, postgres.NewState{Write: r.Write, Key: r.Key, Intermediate: r.Intermediate, Kept: &kept})
		return err
	})
	return v, c.quarantine(ctx, who, stack, got, r.Write, err)
}

func (c *Control) keepJSON(ctx context.Context, stack string, text []byte) (string, error) {
	name := artifact.Name{Kind: jsonKind, Owner: stack, Digest: artifact.Digest(text)}
	_, err := c.artifacts.Put(ctx, name, bytes.NewReader(text))
	return name.Digest, err
}

// describe keeps what is known of a state beside its bytes. Outputs that a client
// has sent come before those in the bytes, which may be encrypted; of those of an
// encrypted state the values are not kept (docs/state.md, rule 11).
func (c *Control) describe(ctx context.Context, stack string, got received, outputs []state.Output) (postgres.Kept, error) {
	d := details{Outputs: outputs, Resources: got.Resources}
	if len(outputs) == 0 {
		d.Outputs = got.Outputs
	}
	if got.Encrypted {
		d.Outputs = state.Conceal(d.Outputs)
	}
	var digest string
	var err error
	if len(outputs) > 0 || got.size > artifact.Small {
		digest, err = c.keepDetails(ctx, stack, d)
	}
	k := postgres.Kept{Artifact: got.digest, Size: got.size, Details: digest, Outputs: len(d.Outputs), Resources: got.Managed,
		Format: got.Format, Tool: got.Tool, Encrypted: got.Encrypted}
	return c.asking(stack, k), err
}

// asking is k with a Present that asks for what is in k.
func (c *Control) asking(stack string, k postgres.Kept) postgres.Kept {
	k.Present = func(ctx context.Context) error { return c.present(ctx, stack, k) }
	return k
}

// present asks whether the artifacts of a version are still there.
func (c *Control) present(ctx context.Context, stack string, k postgres.Kept) error {
	for kind, digest := range map[string]string{stateKind: k.Artifact, detailsKind: k.Details, jsonKind: k.JSON} {
		if digest == "" {
			continue
		}
		if err := c.still(ctx, artifact.Name{Kind: kind, Owner: stack, Digest: digest}); err != nil {
			return err
		}
	}
	return nil
}

// open begins to read an artifact to which the database refers. That it is not there is
// no answer to what a client has asked for: "not found" would be taken for "no state".
func (c *Control) open(ctx context.Context, name artifact.Name) (*artifact.Reader, error) {
	r, err := c.artifacts.Open(ctx, name)
	if problem.Code(err) != api.NotFound {
		return r, err
	}
	p := problem.New(api.Unavailable, "the bytes are not where they are kept").
		WithHint("tell who runs the server: the disk of the artifacts may not be mounted, or they were removed")
	p.Cause = err
	return nil, p
}

// still asks whether an artifact that was kept a moment ago is there.
func (c *Control) still(ctx context.Context, name artifact.Name) error {
	r, err := c.artifacts.Open(ctx, name)
	if problem.Code(err) == api.NotFound && err != nil {
		return problem.New(api.Unavailable, "the bytes were removed while they were being kept").WithHint("send them again")
	}
	if err != nil {
		return err
	}
	return r.Close()
}

// quarantine keeps the bytes of a write that was refused, and returns why it was.
// When they cannot be kept it says so too.
func (c *Control) quarantine(ctx context.Context, who identity.Principal, stack string, got received, w state.Write, refusal error) error {
	reason := refusedFor(refusal)
	if reason == state.Fits {
		return refusal
	}
	// The client may have gone away by now; its bytes are kept all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := c.Update(ctx, func(u *postgres.Update) error {
		_, err := u.Quarantine(ctx, who, postgres.Quarantined{Stack: stack, Artifact: got.digest, Size: got.size,
			Serial: &w.Serial, Lineage: w.Lineage, MD5: w.MD5, Reason: reason},
			func(ctx context.Context) error { return c.present(ctx, stack, postgres.Kept{Artifact: got.digest}) })
		return err
	})
	return errors.Join(refusal, err)
}

// refusedFor is why a write was refused, or that it was not.
func refusedFor(err error) state.Reason {
	var r *state.Refused
	switch {
	case err == nil:
		return state.Fits
	case errors.As(err, &r):
		return r.Reason
	case problem.Code(err) == api.Forbidden:
		return state.Denied // who may not write at all was turned away before
	}
	return state.Fits
}

// PutState takes the bytes that are sent to the address with this secret, and
// makes the version whole with them. When it returns, it is (docs/state.md, rule 7).
func (c *Control) PutState(ctx context.Context, secret string, body io.Reader) error {
	var v postgres.StateVersion
	var kind string
	late := c.View(ctx, func(view *postgres.View) (err error) {
		v, kind, err = view.AuthenticateUpload(ctx, artifact.Digest([]byte(secret)))
		return err
	})
	if v.ID == "" {
		return late
	}
	who := v.Writer
	if kind == jsonKind {
		if late != nil {
			return late
		}
		return c.putJSON(ctx, who, v, body)
	}
	got, err := c.receive(ctx, v.Stack, body, StateMax)
	if err != nil {
		return err
	}
	w := state.Write{Serial: v.Serial, Lineage: v.Lineage, MD5: v.MD5}
	if reason := got.check(v.MD5); reason != state.Fits {
		late = reason.Refusal(nil, w)
	}
	if late == nil {
		late = c.finalize(ctx, who, v, got)
	}
	return c.quarantine(ctx, who, v.Stack, got, w, late)
}

func (c *Control) finalize(ctx context.Context, who identity.Principal, v postgres.StateVersion, got received) error {
	d, err := c.readDetails(ctx, v.Stack, v.Details)
	if err != nil {
		return err
	}
	kept, err := c.describe(ctx, v.Stack, got, d.Outputs)
	if err != nil {
		return err
	}
	return c.UpdateStack(ctx, v.Stack, func(u *postgres.Update) error {
		_, err := u.FinalizeState(ctx, who, v.Stack, v.ID, kept)
		return err
	})
}

// putJSON takes the tool's JSON of a state. Of an encrypted state it is read and
// thrown away: it holds in clear what was to be kept from us.
func (c *Control) putJSON(ctx context.Context, who identity.Principal, v postgres.StateVersion, body io.Reader) error {
	limited := &limit{from: body, left: StateMax}
	if v.Encrypted || v.Status == state.Discarded {
		_, err := io.Copy(io.Discard, limited)
		return err
	}
	name, _, err := c.artifacts.Add(ctx, jsonKind, v.Stack, limited)
	if err != nil {
		return err
	}
	return c.UpdateStack(ctx, v.Stack, func(u *postgres.Update) error {
		return u.SetStateJSON(ctx, who, v.ID, c.asking(v.Stack, postgres.Kept{JSON: name.Digest}))
	})
}

// OpenState begins to read the bytes of a version. That who holds the lock has
// read them is noted with it (docs/state.md, rule 6).
func (c *Control) OpenState(ctx context.Context, who identity.Principal, id string) (postgres.StateVersion, *artifact.Reader, error) {
	var v postgres.StateVersion
	var lock *postgres.Lock
	err := c.View(ctx, func(view *postgres.View) (err error) {
		if v, err = view.ReadState(ctx, who, id); err != nil {
			return err
		}
		lock, err = view.StackLock(ctx, who, v.Stack)
		return err
	})
	if err != nil {
		return v, nil, err
	}
	if v.Status != state.Finalized {
		return v, nil, problem.New(api.NotFound, "the version has no bytes")
	}
	if lock != nil && lock.Holder.Kind == who.Kind && lock.Holder.ID == who.ID && lock.Seen != v.ID {
		err := c.Update(ctx, func(u *postgres.Update) error { _, err := u.SeeState(ctx, who, id); return err })
		if err != nil {
			return v, nil, err
		}
	}
	r, err := c.open(ctx, artifact.Name{Kind: stateKind, Owner: v.Stack, Digest: v.Artifact})
	return v, r, err
}

// OpenStateJSON begins to read the tool's JSON of a version.
func (c *Control) OpenStateJSON(ctx context.Context, who identity.Principal, id string) (*artifact.Reader, error) {
	var v postgres.StateVersion
	err := c.View(ctx, func(view *postgres.View) (err error) {
		v, err = view.ReadState(ctx, who, id)
		return err
	})
	if err == nil && v.JSON == "" {
		err = problem.New(api.NotFound, "the version has no JSON")
	}
	if err != nil {
		return nil, err
	}
	return c.open(ctx, artifact.Name{Kind: jsonKind, Owner: v.Stack, Digest: v.JSON})
}

// Outputs are those of a version, in the order of their names. Values that are
// sensitive only who may read the state gets.
func (c *Control) Outputs(ctx context.Context, who identity.Principal, id string) ([]state.Output, error) {
	outputs, all, err := c.outputs(ctx, who, id)
	for i := range outputs {
		if outputs[i].Sensitive && !all {
			outputs[i].Value = nil
		}
	}
	return outputs, err
}

// outputs also says whether the principal may see those that are sensitive.
func (c *Control) outputs(ctx context.Context, who identity.Principal, id string) (outputs []state.Output, all bool, err error) {
	var v postgres.StateVersion
	err = c.View(ctx, func(view *postgres.View) (err error) {
		v, all, err = view.ReadOutputs(ctx, who, id)
		return err
	})
	if err != nil || v.Status != state.Finalized {
		return nil, false, err
	}
	d, err := c.detailsOf(ctx, v)
	return d.Outputs, all, err
}

// Resources are what the current state of a stack has, as far as it could be read,
// and the version that this is.
func (c *Control) Resources(ctx context.Context, who identity.Principal, stack string) ([]state.Resource, postgres.StateVersion, error) {
	var v postgres.StateVersion
	err := c.View(ctx, func(view *postgres.View) (err error) {
		if v, err = view.CurrentState(ctx, who, stack); err == nil {
			v, err = view.ReadState(ctx, who, v.ID)
		}
		return err
	})
	if err != nil {
		return nil, v, err
	}
	d, err := c.detailsOf(ctx, v)
	return d.Resources, v, err
}

// Output is one output of a version, by its place in their order. Who may not see
// it is refused: no value would be taken for its value.
func (c *Control) Output(ctx context.Context, who identity.Principal, id string, place int) (state.Output, error) {
	outputs, all, err := c.outputs(ctx, who, id)
	if err != nil {
		return state.Output{}, err
	}
	if place >= len(outputs) {
		return state.Output{}, problem.New(api.NotFound, "there is no such output")
	}
	if outputs[place].Sensitive && !all {
		err = c.View(ctx, func(view *postgres.View) error { _, err := view.ReadState(ctx, who, id); return err })
	}
	if err != nil {
		return state.Output{}, err
	}
	return outputs[place], nil
}

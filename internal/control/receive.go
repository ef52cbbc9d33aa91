package control

import (
	"context"
	"crypto/md5" // what the protocol announces bytes by
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// received is a state whose bytes are kept, and what was read out of them.
type received struct {
	state.Contents
	digest string
	size   int64
	md5    string
	broken bool // it is no JSON object
}

// check says what is wrong with bytes that were announced by this md5, "" for none.
func (r received) check(announced string) state.Reason {
	switch {
	case announced != "" && announced != r.md5:
		return state.Hash
	case r.broken:
		return state.Content
	}
	return state.Fits
}

// claim is w with what the bytes say of themselves, for clients that say nothing.
// Bytes that do not say it, or that say what cannot be, are no state.
func (r *received) claim(w state.Write) state.Write {
	r.broken = r.broken || r.Serial == nil
	if r.Serial != nil {
		w.Serial = *r.Serial
	}
	if w.Lineage = r.Lineage; w.MD5 == "" {
		w.MD5 = r.md5
	}
	r.broken = r.broken || w.Check() != nil
	return w
}

// receive keeps a state as an artifact while it comes, reads on the way what is in
// it, and holds little of it in memory. Nothing refers to the artifact yet.
func (c *Control) receive(ctx context.Context, stack string, body io.Reader, most int64) (received, error) {
	sum := md5.New()
	read, write := io.Pipe()
	type skimmed struct {
		contents state.Contents
		err      error
	}
	done := make(chan skimmed, 1)
	go func() {
		contents, err := state.Read(read)
		_, _ = io.Copy(io.Discard, read) // the writer must not wait for us
		done <- skimmed{contents, err}
	}()
	name, size, err := c.artifacts.Add(ctx, stateKind, stack, io.TeeReader(&limit{from: body, left: most, over: TooLarge()}, io.MultiWriter(sum, write)))
	write.Close()
	s := <-done
	if err != nil {
		return received{}, err
	}
	return received{Contents: s.contents, digest: name.Digest, size: size, md5: hex.EncodeToString(sum.Sum(nil)), broken: s.err != nil}, nil
}

// TooLarge is the refusal of a state that is larger than is taken.
func TooLarge() error {
	return problem.New(api.TooLarge, "the state is larger than is taken: %d MiB, and %d inside of a request", StateMax>>20, InlineMax>>20).
		WithHint("upload it instead of sending it in a request; when it is larger still, split the stack")
}

const (
	// heavyMax is how many large requests may be in memory at once.
	heavyMax = 2
	// heavyTime is how long one more waits.
	heavyTime = 10 * time.Second
)

// Heavy waits until a large request may be read into memory; release lets the next
// one. Whoever waits too long is told to come again.
func (c *Control) Heavy(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, heavyTime)
	defer cancel()
	select {
	case c.heavy <- struct{}{}:
		return func() { <-c.heavy }, nil
	case <-ctx.Done():
		return nil, problem.New(api.Limited, "too many large requests at once").WithHint("try again, or upload the state instead of sending it in a request")
	}
}

// A limit reads so many bytes; one more is the error over, not the end. Its errors
// can be shown.
type limit struct {
	from io.Reader
	left int64
	over error
}

func (l *limit) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.over
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = problem.New(api.Invalid, "the bytes ended before their end; nothing was changed: %w", err).WithHint("send them again")
	}
	return n, err
}

package cli

import (
	"context"
	"crypto/md5" //nolint:gosec // what the server names versions by; it proves nothing
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/origin"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// An imported is what became of one state.
type imported struct {
	Stack   string `json:"stack"`
	Source  string `json:"source"`
	Outcome string `json:"outcome"` // imported, there already, none yet, would be imported, refused, failed
	Serial  int64  `json:"serial"`
	Lineage string `json:"lineage,omitempty"`
	Error   string `json:"error,omitempty"`
	err     error
}

// importAll imports states, some at a time, and says of each what became of it as
// soon as that is known. One that fails keeps no other from being imported.
func (g *Globals) importAll(ctx context.Context, im *importing, all []wanted) []imported {
	p := newProgress(g.Err, g.Out, "states")
	defer p.stop()
	bar := &importBar{total: len(all), show: p.count}
	p.step(bar.text())
	out := p.around(g.Out)
	results := make([]imported, len(all))
	slots := make(chan struct{}, im.parallel)
	var print sync.Mutex
	var running sync.WaitGroup
	for i, w := range all {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			results[i] = im.one(ctx, w, bar)
			bar.finish()
			if !im.json {
				print.Lock()
				defer print.Unlock()
				fmt.Fprintln(out, results[i].text())
			}
		})
	}
	running.Wait()
	return results
}

// An importBar is how far an import has come.
type importBar struct {
	total int
	done  atomic.Int64
	bytes atomic.Int64
	show  func(string)
}

// barWidth is how many characters the bar has.
const barWidth = 20

func (b *importBar) text() string {
	done := int(b.done.Load())
	full := barWidth * done / max(b.total, 1)
	return fmt.Sprintf("importing [%s%s] %d/%d, %.1f MB", strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		done, b.total, float64(b.bytes.Load())/1e6)
}

func (b *importBar) finish() {
	b.done.Add(1)
	b.show(b.text())
}

// Write counts bytes that were read.
func (b *importBar) Write(data []byte) (int, error) {
	b.bytes.Add(int64(len(data)))
	b.show(b.text())
	return len(data), nil
}

// one imports one state.
func (im *importing) one(ctx context.Context, w wanted, bar *importBar) imported {
	result := imported{Stack: w.stack, Source: w.Source}
	if err := ctx.Err(); err != nil {
		return result.failed(problem.New(api.Limited, "the import was interrupted").WithHint("run the same again"))
	}
	local, err := spool(ctx, w.State, bar)
	if errors.Is(err, origin.ErrNone) {
		result.Outcome = "none yet"
		return result
	}
	if err != nil {
		return result.failed(err)
	}
	defer local.file.Close()
	result.Serial, result.Lineage = local.Serial, local.Lineage
	if result.Outcome, err = im.settle(ctx, w, local); err != nil {
		return result.failed(err)
	}
	return result
}

func (i imported) failed(err error) imported {
	i.Outcome, i.Error, i.err = "failed", err.Error(), err
	if exitCodes[problem.Code(err)] == ExitRefused {
		i.Outcome = "refused"
	}
	return i
}

// A spooled is a state in a file that has no name any more, and what it says of itself.
type spooled struct {
	file *os.File
	state.Write
}

// spool reads a state to its end before anything is done with it: what breaks off
// is no state. It is never in memory as a whole.
func spool(ctx context.Context, s origin.State, bar *importBar) (spooled, error) {
	body, err := s.Open(ctx)
	if err != nil {
		return spooled{}, err
	}
	defer body.Close()
	file, err := os.CreateTemp("", "assize-import-*") // for nobody else to read
	if err != nil {
		return spooled{}, problem.New(api.Invalid, "there is no place for a temporary file: %w", err).WithHint("set TMPDIR")
	}
	_ = os.Remove(file.Name()) // gone with the process, whatever becomes of that
	sum := md5.New()           //nolint:gosec // see above
	if _, err := io.Copy(io.MultiWriter(file, sum, bar), body); err != nil {
		return spooled{}, errors.Join(problem.New(api.Unavailable, "%s broke off: %w", s.Source, err).WithHint("run the same again"), file.Close())
	}
	local := spooled{file: file, Write: state.Write{MD5: hex.EncodeToString(sum.Sum(nil))}}
	contents, err := local.read()
	if err != nil || contents.Serial == nil {
		return spooled{}, errors.Join(problem.New(api.Invalid, "%s is no state: it is no JSON object with a serial", s.Source).
			WithHint("name the file that the tool has written"), file.Close())
	}
	local.Serial, local.Lineage = *contents.Serial, contents.Lineage
	return local, nil
}

func (s spooled) read() (state.Contents, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return state.Contents{}, err
	}
	contents, err := state.Read(s.file)
	if err != nil {
		return contents, err
	}
	_, err = s.file.Seek(0, io.SeekStart)
	return contents, err
}

// settle makes a state the current one of its stack, or says what would become of it.
func (im *importing) settle(ctx context.Context, w wanted, local spooled) (outcome string, err error) {
	local.Force = im.force
	s, head, err := im.head(ctx, w.stack)
	if err != nil {
		return "", err
	}
	ruling, reason := state.Judge(head, local.Write, false)
	switch {
	case ruling == state.Replay:
		return "there already", nil
	case ruling == state.Refuse:
		refusal := reason.Refusal(head, local.Write)
		return "", problem.New(refusal.Code, "%s", refusal.Message).WithHint("look which of the two is the right one; to overwrite what is there: --force")
	case im.dryRun:
		return "would be imported", nil
	}
	if s.ID == "" {
		if s, err = im.make(ctx, w.stack); err != nil {
			return "", err
		}
	}
	var made v1.StateVersion
	err = im.Ask(ctx, v1.ImportState{Stack: s.ID, Source: w.Source, MD5: local.MD5, Force: im.force, Body: local.file}, &made)
	return "imported", err
}

// head is a stack and its current version; either may not be there yet.
func (im *importing) head(ctx context.Context, name string) (v1.Stack, *state.Head, error) {
	s, err := im.stack(ctx, name)
	if err != nil && problem.Code(err) == api.NotFound {
		return v1.Stack{}, nil, nil
	}
	if err != nil {
		return s, nil, err
	}
	var current v1.StateVersion
	err = im.Ask(ctx, v1.CurrentState{Stack: s.ID}, &current)
	if err != nil && problem.Code(err) == api.NotFound {
		return s, nil, nil
	}
	return s, &state.Head{Serial: current.Serial, Lineage: current.Lineage, MD5: current.MD5}, err
}

// make makes a stack, unless somebody else was faster.
func (im *importing) make(ctx context.Context, name string) (v1.Stack, error) {
	var s v1.Stack
	err := im.Ask(ctx, v1.CreateStack{Organisation: im.organisation, Name: name}, &s)
	if err != nil && problem.Code(err) == api.Conflict {
		return im.stack(ctx, name)
	}
	return s, err
}

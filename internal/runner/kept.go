package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// judgedName is where what a conditional plan said is kept in a stack's home.
const judgedName = "plan.judged.json"

// A judged is a conditional plan in its file, both texts as they are.
type judged struct {
	Warrant []byte `json:"warrant"`
	Plan    []byte `json:"plan"`
}

// Keep keeps what a conditional plan says, for the comparison with the plan
// that will be made once its upstreams have been applied. It is no plan that can
// be applied. warrant is the caller's own, and comes back with it. Both are in
// place or neither is, for their owner alone (docs/warrant.md, rule 19).
func (s *Stack) Keep(p *Planned, warrant []byte) error {
	text, err := json.Marshal(judged{Warrant: warrant, Plan: p.Plan.Raw})
	if err != nil {
		return problem.New(api.Internal, "the plan cannot be written: %w", err)
	}
	return place(bytes.NewReader(text), s.judgedFile())
}

// Kept returns what was kept: the plan's JSON, secrets in clear, and the warrant.
// The error has the code [api.NotFound] where nothing was.
func (s *Stack) Kept() (raw, warrant []byte, err error) {
	path := s.judgedFile()
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, problem.New(api.NotFound, "no conditional plan is kept: %s does not exist", path).WithHint("assize plan")
	}
	if err != nil {
		return nil, nil, unreadable(path, err)
	}
	defer f.Close()
	var j judged
	if err := json.NewDecoder(io.LimitReader(f, judgedMax)).Decode(&j); err != nil || len(j.Plan) == 0 || len(j.Warrant) == 0 {
		return nil, nil, problem.New(api.Stale, "%s is no plan that was kept", path).WithHint("assize plan") // what stands there may be a secret
	}
	return j.Plan, j.Warrant, nil
}

// judgedMax bounds what is read back: the plan and its third more as base64.
const judgedMax = 2 << 30

func (s *Stack) judgedFile() string { return filepath.Join(s.home(), judgedName) }

package control_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

// A step is something that one of several clients does.
type step struct {
	Do      string
	Client  int // 0 and 1 may recover, 2 may not
	Serial  int // above the current one
	Foreign bool
	Force   bool
	Same    bool // the text that is there
	Pick    int  // which of those before
}

// next is a step by chance: mostly of whoever holds the lock, and mostly one that fits.
func (m *model) next() step {
	what := []string{"lock", "lock", "lock", "unlock", "break", "read", "write", "write", "write", "write",
		"begin", "begin", "begin", "put", "put", "put", "put", "put wrong", "put half", "put killed", "put killed", "back"}
	s := step{Do: what[m.chance.IntN(len(what))], Client: m.chance.IntN(3), Serial: 1,
		Foreign: m.chance.IntN(10) == 0, Force: m.chance.IntN(10) == 0, Same: m.chance.IntN(5) == 0, Pick: m.chance.IntN(4)}
	if m.holder >= 0 && m.chance.IntN(4) > 0 {
		s.Client = m.holder
	}
	if m.chance.IntN(3) == 0 {
		s.Serial = []int{4, 0, 0, -1}[m.chance.IntN(4)]
	}
	return s
}

// A model is what the rules say of one stack.
type model struct {
	world
	chance  *rand.Rand
	clients []identity.Principal
	holder  int // -1: nobody
	seen    bool
	made    []made // in the order in which they became the current one
	begun   []begun
	texts   int
}

type made struct {
	id, text, lineage string
	serial            int64
}

// A begun version waits for its bytes, or does not any more.
type begun struct {
	made
	secret string
	open   bool
	whole  bool
}

func (m *model) head() *made {
	if len(m.made) == 0 {
		return nil
	}
	return &m.made[len(m.made)-1]
}

// write is what a step would write.
func (m *model) write(s step) (made, control.StateRequest) {
	m.texts++
	w := made{serial: int64(s.Serial), lineage: lineage}
	if h := m.head(); h != nil {
		w.serial, w.lineage = h.serial+int64(s.Serial), h.lineage
	}
	if w.serial < 0 {
		w.serial = 0
	}
	if s.Foreign {
		w.lineage = fmt.Sprint("foreign-", m.texts)
	}
	w.text = file(m.texts, "text")
	if h := m.head(); s.Same && h != nil {
		w.text = h.text
	}
	r := control.StateRequest{Write: state.Write{Serial: w.serial, Lineage: w.lineage, MD5: sum(w.text), Force: s.Force}}
	return w, r
}

// want is what the rules say about a write: the code of its refusal, "" for none,
// and whether it is there already.
func (m *model) want(s step, w made) (code api.Code, replay bool) {
	h := m.head()
	switch {
	case m.holder < 0:
		return api.Conflict, false
	case m.holder != s.Client:
		return api.Locked, false
	}
	fits := h == nil || w.lineage == h.lineage && w.serial > h.serial
	replay = h != nil && w.lineage == h.lineage && w.serial == h.serial && sum(w.text) == sum(h.text)
	over := !fits && !replay && (s.Force || m.seen)
	switch {
	case over && s.Client == 2:
		return api.Forbidden, false
	case fits || replay || over:
		return "", replay
	case w.lineage != h.lineage:
		return api.Conflict, false
	}
	return api.Stale, false
}

// close gives up what was begun.
func (m *model) close() {
	for i := range m.begun {
		m.begun[i].open = false
	}
}

// became is a version that is the current one now.
func (m *model) became(w made) {
	m.made, m.seen = append(m.made, w), false
}

// do does a step and checks its answer.
func (m *model) do(t *testing.T, s step) {
	t.Helper()
	who := m.clients[s.Client]
	var code api.Code
	var err error
	switch s.Do {
	case "lock":
		err = m.Update(t.Context(), func(u *postgres.Update) error {
			_, err := u.LockStack(t.Context(), who, m.stack, postgres.LockRequest{})
			return err
		})
		if code = api.Locked; m.holder < 0 {
			code, m.holder, m.seen = "", s.Client, false
		}
	case "unlock":
		err = m.Update(t.Context(), func(u *postgres.Update) error { return u.UnlockStack(t.Context(), who, m.stack, "") })
		switch {
		case m.holder < 0:
			code = api.Conflict
		case m.holder != s.Client:
			code = api.Locked
		case slices.ContainsFunc(m.begun, func(b begun) bool { return b.open }):
			code = api.Unavailable
		default:
			m.holder = -1
		}
	case "break":
		err = m.Update(t.Context(), func(u *postgres.Update) error { _, err := u.ForceUnlock(t.Context(), who, m.stack, ""); return err })
		switch {
		case s.Client == 2 && m.holder != 2:
			code = api.Forbidden
		case m.holder < 0:
			code = api.Conflict
		default:
			m.holder = -1
			m.close()
		}
	case "read":
		if h := m.head(); h != nil {
			m.readBack(t, who, *h)
			m.seen = m.seen || m.holder == s.Client
		}
	case "write":
		w, r := m.write(s)
		var replay bool
		code, replay = m.want(s, w)
		var v postgres.StateVersion
		v, err = m.inline(t, who, r, w.text)
		if w.id = v.ID; code == "" && !replay {
			m.close()
			m.became(w)
		} else if replay && v.ID != m.head().id {
			t.Errorf("the same once more is %s", v.ID)
		}
	case "begin":
		code, err = m.begin(t, s, who)
	case "back":
		code, err = m.back(t, s, who)
	default:
		m.put(t, s)
	}
	if err == nil && code != "" || err != nil && problem.Code(err) != code {
		t.Errorf("%+v: %v, want %q", s, err, code)
	}
}

func (m *model) begin(t *testing.T, s step, who identity.Principal) (api.Code, error) {
	w, r := m.write(s)
	code, replay := m.want(s, w)
	v, up, err := m.BeginState(t.Context(), who, m.stack, r)
	w.id = v.ID
	if code == "" {
		if !replay {
			m.close()
		}
		m.begun = append(m.begun, begun{made: w, secret: up.State, open: !replay, whole: replay})
	}
	return code, err
}

func (m *model) back(t *testing.T, s step, who identity.Principal) (code api.Code, err error) {
	if len(m.made) == 0 {
		return "", nil
	}
	old := m.made[s.Pick%len(m.made)]
	v, err := m.RollbackState(t.Context(), who, old.id, "")
	switch {
	case s.Client == 2:
		return api.Forbidden, err
	case m.holder < 0:
		return api.Conflict, err
	case m.holder != s.Client:
		return api.Locked, err
	}
	m.close()
	old.id = v.ID
	m.became(old)
	return "", err
}

// put sends bytes to one of the addresses that there were.
func (m *model) put(t *testing.T, s step) {
	t.Helper()
	if len(m.begun) == 0 {
		return
	}
	b := &m.begun[max(0, len(m.begun)-1-s.Pick/2)]
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var body io.Reader = strings.NewReader(b.text)
	var want []api.Code
	switch s.Do {
	case "put wrong":
		body, want = strings.NewReader(b.text+" "), []api.Code{api.Invalid}
	case "put half":
		body, want = strings.NewReader(b.text[:len(b.text)/2]), []api.Code{api.Invalid}
	case "put killed": // when all bytes are here, and nothing refers to them
		body = io.MultiReader(body, killer(kill))
	}
	err := m.PutState(ctx, b.secret, body)
	switch {
	case s.Do == "put killed" && err != nil && (b.open || b.whole):
		// Whoever was told that it failed finds nothing of it, unless they were
		// told that nobody knows.
		if errors.Is(err, postgres.ErrNotKnown) {
			t.Fatalf("the database is here, and nobody knows: %v", err)
		}
		return
	case len(want) > 0 || !b.open && !b.whole:
		if want = append(want, api.Conflict); err == nil || s.Do != "put killed" && !slices.Contains(want, problem.Code(err)) {
			t.Errorf("%+v: %v, want %v", s, err, want)
		}
	case err != nil:
		t.Errorf("%+v: %v", s, err)
	case b.open:
		b.open, b.whole = false, true
		m.became(b.made)
	}
}

// A killer ends a context when it is read.
type killer context.CancelFunc

func (k killer) Read([]byte) (int, error) {
	k()
	return 0, io.EOF
}

func (m *model) readBack(t *testing.T, who identity.Principal, want made) {
	t.Helper()
	v, r, err := m.OpenState(t.Context(), who, want.id)
	if err != nil {
		t.Fatalf("a version that was acknowledged: %v", err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil || string(text) != want.text || v.Serial != want.serial || v.Lineage != want.lineage {
		t.Errorf("%+v reads as %q, %v", v, text, err)
	}
}

// TestModel has clients do what they like with a stack. Nothing that was
// acknowledged is lost or doubled, and every answer is what the rules say.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range 8 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m := &model{world: w, chance: rand.New(rand.NewPCG(uint64(seed), 0)), holder: -1, clients: []identity.Principal{w.owner, w.member(t, "second", identity.Maintainer), w.member(t, "third", identity.Applier)}}
			defer func() { t.Logf("%d versions, %d begun", len(m.made), len(m.begun)) }()
			for i := range 120 {
				s := m.next()
				if m.do(t, s); t.Failed() {
					t.Fatalf("after step %d: %+v", i, s)
				}
				m.check(t)
			}
		})
	}
}

// check compares what is there with what was acknowledged.
func (m *model) check(t *testing.T) {
	t.Helper()
	var all []postgres.StateVersion
	err := m.View(t.Context(), func(v *postgres.View) (err error) {
		all, _, err = v.States(t.Context(), m.other, m.stack, 0, 100)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.DeleteFunc(all, func(v postgres.StateVersion) bool { return v.Status != state.Finalized })
	slices.SortFunc(whole, func(a, b postgres.StateVersion) int { return int(a.Sequence - b.Sequence) })
	if len(whole) != len(m.made) {
		t.Fatalf("%d versions are there, and %d were acknowledged", len(whole), len(m.made))
	}
	for i, v := range whole {
		if v.ID != m.made[i].id || v.Sequence != int64(i+1) || v.MD5 != sum(m.made[i].text) {
			t.Fatalf("version %d is %+v, want %+v", i+1, v, m.made[i])
		}
	}
	for _, one := range m.made[max(0, len(m.made)-2):] {
		m.readBack(t, m.other, one)
	}
}

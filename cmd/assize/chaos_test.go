package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
)

// TestChaos kills assize, the tool or a provider at random moments of an apply,
// and holds what assize says afterwards against the states and against a journal
// that every provisioner writes (docs/rollouts.md, rule 25). It goes on as the
// hints say, until all is applied. ROUNDS and SEED are those of `make chaos`.
func TestChaos(t *testing.T) {
	t.Parallel()
	rounds, seed := number(t, "ROUNDS", 8), number(t, "SEED", int(time.Now().UnixNano()%1e9))
	t.Logf("ROUNDS=%d SEED=%d", rounds, seed)
	g := newGround(t)
	for i := range rounds {
		t.Run(fmt.Sprintf("SEED=%d/%d", seed, i), func(t *testing.T) {
			t.Parallel()
			lots := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
			for !g.round(t, lots, chaosTasks[i%len(chaosTasks)]) { // it was over too soon
			}
		})
	}
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// A chaosTask is what is cut short.
type chaosTask struct {
	from     string // what has been done before: a directory of the ground
	args     []string
	destroys bool
}

var chaosTasks = []chaosTask{
	{"planned", []string{"apply"}, false},
	{"doomed", []string{"apply"}, true},
	{"planned", []string{"apply"}, false},
	{"planned", []string{"apply", "stacks/net"}, false},
	{"planned", []string{"apply", "--parallel", "1"}, false},
	{"applied", []string{"destroy", "--all", "--yes"}, true},
}

// A ground is where all rounds begin: the estate before the command that is cut
// short, once for each.
type ground struct {
	dir  string
	env  []string
	took time.Duration // a whole apply
}

func newGround(t *testing.T) *ground {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	if err != nil {
		t.Fatal(err)
	}
	g := &ground{dir: t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(g.dir, "bin", "assize"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(bin, "tofurc"), "CHECKPOINT_DISABLE=1", "GITHUB_ACTIONS=",
		"PATH="+strings.Join([]string{filepath.Join(g.dir, "bin"), bin, os.Getenv("PATH")}, string(os.PathListSeparator)))
	estate, err := filepath.Abs(filepath.Join("testdata", "chaos"))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		from, to string
		args     []string
	}{
		{estate, "planned", []string{"plan", "--all"}},
		{"planned", "applied", []string{"apply"}},
		{"applied", "doomed", []string{"plan", "--all", "--destroy"}},
	} {
		r := &round{T: t, g: g, dir: filepath.Join(g.dir, step.to)}
		r.copy(step.from)
		start := time.Now()
		if code := r.assize(step.args...); code != 0 {
			t.Fatalf("assize %s: exit %d\n%s", step.args, code, r.said.String())
		}
		if step.to == "applied" {
			g.took = time.Since(start)
		}
		if err := os.Remove(r.journalFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return g
}

// A round is one copy of the estate, and all that is done to it.
type round struct {
	*testing.T
	g    *ground
	task chaosTask
	lots *rand.Rand
	dir  string
	said bytes.Buffer // by every command
	last string       // by the last one
	base map[string]int
}

// round kills something at work on a fresh copy, and reports whether there was
// something to kill.
func (g *ground) round(t *testing.T, lots *rand.Rand, task chaosTask) bool {
	r := &round{T: t, g: g, task: task, lots: lots, dir: t.TempDir(), base: map[string]int{}}
	defer func() {
		if t.Failed() {
			record, _ := os.ReadFile(filepath.Join(r.dir, ".assize", "rollout.json"))
			journal, _ := os.ReadFile(r.journalFile())
			t.Logf("%s\nthe record:\n%s\nthe journal:\n%s", r.said.String(), record, journal)
		}
	}()
	r.copy(task.from)
	victim := r.cutShort()
	if victim == "" {
		r.settle()
		return t.Failed()
	}
	t.Logf("%s: %s was killed", strings.Join(task.args, " "), victim)
	if victim == "assize" && lots.IntN(2) == 0 { // the tool may be at work still
		r.assize("apply")
	}
	r.settle()
	r.check()
	r.goOn()
	r.finished()
	return true
}

func (r *round) copy(from string) {
	r.Helper()
	if !filepath.IsAbs(from) {
		from = filepath.Join(r.g.dir, from)
	}
	if out, err := exec.Command("cp", "-a", from+"/.", r.dir).CombinedOutput(); err != nil {
		r.Fatalf("%v\n%s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, ".git"), 0o700); err != nil { // a root of its own
		r.Fatal(err)
	}
}

func (r *round) journalFile() string { return filepath.Join(r.dir, "journal") }

// command is assize at the root of the estate. What it starts can be told by its
// environment.
func (r *round) command(out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(r.g.dir, "bin", "assize"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, out, out
	cmd.Env = append(slices.Clone(r.g.env), "JOURNAL="+r.journalFile())
	return cmd
}

// assize runs a command to its end, and returns its exit code.
func (r *round) assize(args ...string) int {
	r.Helper()
	var out bytes.Buffer
	err := r.command(&out, args...).Run()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		r.Fatal(err)
	}
	r.last = out.String()
	fmt.Fprintf(&r.said, "$ assize %s\n%s[exit %d]\n", strings.Join(args, " "), r.last, code)
	return code
}

// cutShort runs the command of the round, and returns the name of the process of it
// that was killed, "" when there was none any more.
func (r *round) cutShort() (victim string) {
	out, err := os.Create(filepath.Join(r.dir, "output")) // which the tool has for longer than a pipe
	if err != nil {
		r.Fatal(err)
	}
	defer out.Close()
	cmd := r.command(nil, r.task.args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	victim = r.strike(ended)
	<-ended
	text, _ := os.ReadFile(out.Name())
	fmt.Fprintf(&r.said, "$ assize %s\n%s[%s was killed]\n", strings.Join(r.task.args, " "), text, victim)
	return victim
}

// strike kills a process of the round at a moment of chance: any time, or shortly
// after something was made.
func (r *round) strike(ended <-chan struct{}) string {
	wanted := []string{"assize", "assize", "tofu", "tofu", ""}[r.lots.IntN(5)]
	moment := time.After(time.Duration(r.lots.Int64N(int64(r.g.took))))
	lines, soon := -1, time.Duration(r.lots.IntN(60))*time.Millisecond
	if r.lots.IntN(2) == 0 {
		lines, moment = r.lots.IntN(16), nil
	}
	for {
		select {
		case <-ended:
			return ""
		case <-moment:
			lines, soon = 0, 0
		case <-time.After(5 * time.Millisecond):
		}
		if lines < 0 || len(r.journal()) < lines {
			continue
		}
		time.Sleep(soon)
		soon = 0
		alive := slices.DeleteFunc(r.processes(), func(p process) bool { return wanted != "" && p.name != wanted })
		if len(alive) == 0 {
			continue
		}
		p := alive[r.lots.IntN(len(alive))]
		if syscall.Kill(p.id, syscall.SIGKILL) == nil {
			return p.name
		}
	}
}

type process struct {
	id   int
	name string
}

// processes are those of this round that live.
func (r *round) processes() (alive []process) {
	mark := []byte("JOURNAL=" + r.journalFile() + "\x00")
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if environ, err := os.ReadFile(path); err != nil || !bytes.Contains(environ, mark) {
			continue
		}
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		name, err := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if err == nil {
			alive = append(alive, process{id, strings.TrimSpace(string(name))})
		}
	}
	return alive
}

// settle waits until none lives: an apply ends by itself. A provider whose tool was
// killed does not, for nobody is left who would stop it; then this does.
func (r *round) settle() {
	r.Helper()
	provider := func(p process) bool { return p.name == "terraform-provi" } // as far as a kernel remembers
	for range 3000 {
		alive := r.processes()
		if len(alive) == 0 {
			return
		}
		if len(slices.DeleteFunc(slices.Clone(alive), provider)) == 0 {
			for _, p := range alive {
				_ = syscall.Kill(p.id, syscall.SIGKILL)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.Fatalf("still alive: %v", r.processes())
}

// journal are the lines that were written since the round began.
func (r *round) journal() []string {
	text, err := os.ReadFile(r.journalFile())
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

var planHint = regexp.MustCompile("assize (plan[^`;,\n]*)")

// goOn does what assize says has to be done, until an apply has done everything.
// What was applied is never applied again unless a plan has said so.
func (r *round) goOn() {
	r.Helper()
	if len(r.task.args) == 2 { // the stack by itself, as it was begun
		r.assize(r.task.args...)
		r.check()
	}
	for range 8 {
		rec, ok := r.record()
		if r.task.destroys && (!ok || rec.Kind != api.RolloutDestroy || len(rec.Stacks) == 0) {
			r.assize("destroy", "--all", "--yes") // it had not got as far as that, or its plans are gone
		}
		code := r.assize("apply")
		r.settle()
		r.check()
		if code == 0 {
			return
		}
		hints := planHint.FindAllStringSubmatch(r.last, -1)
		if len(hints) == 0 {
			r.Fatal("nothing says how to go on")
		}
		done := map[string]bool{}
		for _, hint := range hints {
			args := strings.Fields(hint[1])
			if done[hint[1]] {
				continue
			}
			done[hint[1]] = true
			if len(args) == 1 {
				r.Fatal("a hint names no stack")
			}
			r.assize(args...)
			r.planned(args[len(args)-1])
		}
	}
	r.Fatal("it comes to no end")
}

// planned notes what was made of a stack when somebody last saw what is left.
func (r *round) planned(key string) {
	name := strings.TrimPrefix(key, "stacks/")
	for _, line := range r.journal() {
		if _, address, ok := strings.Cut(line, " "); ok && strings.HasPrefix(address, name+".") {
			r.base[line] = r.count(line)
		}
	}
}

func (r *round) count(line string) (n int) {
	for _, l := range r.journal() {
		if l == line {
			n++
		}
	}
	return n
}

func (r *round) record() (rec api.Rollout, ok bool) {
	r.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, ".assize", "rollout.json"))
	if err == nil {
		err = json.Unmarshal(text, &rec)
	}
	if err != nil {
		r.Errorf("the record: %v", err)
	}
	return rec, err == nil
}

// check holds what assize says against what is so.
func (r *round) check() {
	r.Helper()
	for _, line := range r.journal() {
		if !strings.HasPrefix(line, "end ") && r.count(line)-r.base[line] > 1 {
			r.Errorf("%q %d times, of which a plan has seen %d", line, r.count(line), r.base[line])
		}
	}
	rec, ok := r.record()
	if !ok || r.task.destroys != (rec.Kind == api.RolloutDestroy) {
		return
	}
	if len(rec.Stacks) == 0 && r.task.destroys { // the plans did not all come about, and are gone
		return
	}
	if len(rec.Stacks) != 4 {
		r.Errorf("the record has %d stacks", len(rec.Stacks))
	}
	for _, s := range rec.Stacks {
		r.checkStack(s)
	}
}

func (r *round) checkStack(s api.StackResult) {
	r.Helper()
	name := strings.TrimPrefix(s.Stack, "stacks/")
	begun := r.since(name)
	warranted := r.warranted(s.Stack)
	if begun && warranted {
		r.Errorf("%s: an apply was begun, and its plan can be applied again", s.Stack)
	}
	switch s.Status {
	case api.StackApplied:
		if why := r.undone(name); why != "" {
			r.Errorf("%s is applied, the record says, and %s", s.Stack, why)
		}
	case api.StackPlanned, api.StackConditional, api.StackUnchanged, api.StackSkipped, api.StackBlocked:
		if begun {
			r.Errorf("%s is %s, the record says, and an apply was begun", s.Stack, s.Status)
		}
	case api.StackFailed, api.StackRefused:
		if s.Error == "" {
			r.Errorf("%s is %s, and nobody says why", s.Stack, s.Status)
		}
		if begun && strings.Contains(s.Error, "nothing was applied") {
			r.Errorf("%s: something was: %s", s.Stack, s.Error)
		}
		if has := len(r.resources(name)) > 0; strings.Contains(s.Error, "the state has not moved") && has != r.task.destroys {
			r.Errorf("%s: it has: %s", s.Stack, s.Error)
		}
	case api.StackApplying:
	default:
		r.Errorf("%s is %q", s.Stack, s.Status)
	}
}

// since reports whether something was made or unmade since the last plan.
func (r *round) since(name string) bool {
	return slices.ContainsFunc(r.journal(), func(line string) bool {
		_, address, _ := strings.Cut(line, " ")
		return strings.HasPrefix(address, name+".") && r.count(line) > r.base[line]
	})
}

// warranted reports whether a stack has a plan that can be applied.
func (r *round) warranted(key string) bool {
	path, instance, _ := strings.Cut(key, ":")
	home := filepath.Join(r.dir, filepath.FromSlash(path), ".assize")
	if instance != "" {
		home = filepath.Join(home, "instances", instance)
	}
	text, err := os.ReadFile(filepath.Join(home, "plan.warrant.json"))
	if err == nil && !json.Valid(text) {
		r.Errorf("the warrant of %s is cut short", key)
	}
	return err == nil
}

// resources are those in the state of a stack, and whether they are whole.
func (r *round) resources(name string) map[string]bool {
	r.Helper()
	path, instance, _ := strings.Cut(name, ":")
	text, err := os.ReadFile(filepath.Join(r.dir, "states", "stacks", path+"-"+instance+".tfstate"))
	if errors.Is(err, fs.ErrNotExist) || len(text) == 0 {
		return nil
	}
	var state struct {
		Resources []struct {
			Mode, Name string
			Instances  []struct{ Status string }
		}
	}
	if err := errors.Join(err, json.Unmarshal(text, &state)); err != nil {
		r.Errorf("the state of %s: %v", name, err)
	}
	found := map[string]bool{}
	for _, res := range state.Resources {
		if res.Mode == "managed" && len(res.Instances) == 1 {
			found[res.Name] = res.Instances[0].Status == ""
		}
	}
	return found
}

// undone says what is left to do in a stack, "" for nothing.
func (r *round) undone(name string) string {
	found := r.resources(name)
	if r.task.destroys {
		if len(found) > 0 {
			return fmt.Sprintf("there is still %v", found)
		}
		return ""
	}
	for _, res := range []string{"one", "two"} {
		if !found[res] {
			return res + " is not in the state"
		}
		if r.count("end "+name+"."+res) == 0 {
			return res + " was not made"
		}
	}
	return ""
}

// leftBehind is what processes leave that were killed.
var leftBehind = regexp.MustCompile(`/(tmp-|output-|\.assize-)|\.warrant\.json|\.tfplan|\.lock\.info$|/errored\.tfstate$`)

// finished wants everything to be as if nothing had happened.
func (r *round) finished() {
	r.Helper()
	for _, name := range []string{"net", "zone:blue", "zone:green", "app"} {
		if why := r.undone(name); why != "" {
			r.Errorf("in the end, of %s %s", name, why)
		}
	}
	// What was destroyed has drifted from its configuration, or reads what is gone;
	// what was left behind there is swept up all the same.
	if code := r.assize("drift", "--all"); code != 0 && !r.task.destroys {
		r.Errorf("assize drift ends with %d", code)
	}
	r.settle()
	rec, _ := r.record()
	err := filepath.WalkDir(r.dir, func(path string, _ fs.DirEntry, err error) error {
		saved := filepath.Base(path) == "plan.tfplan" || filepath.Base(path) == "plan.warrant.json"
		if saved && rec.Counts.Unchanged > 0 { // a plan that has nothing to do is not applied, and stays
			return err
		}
		if leftBehind.MatchString(strings.TrimPrefix(path, r.dir)) {
			r.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		r.Error(err)
	}
}

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestServerChaos kills the server, the Postgres below it and now and then a client, at
// random moments while real clients apply, and then holds what the clients were told against what
// is there: no version that was acknowledged is lost or there twice, every lock has
// a holder with a name, and a stack goes on (docs/state.md). ROUNDS is the number of
// applies; it and SEED are those of `make chaos`.
func TestServerChaos(t *testing.T) {
	t.Parallel()
	rounds, seed := number(t, "ROUNDS", 16), number(t, "SEED", int(time.Now().UnixNano()%1e9))
	t.Logf("ROUNDS=%d SEED=%d", rounds, seed)
	s := newSite(t)
	s.mayFail = true
	s.create(t, "chaos")
	var all []*chaosStack
	for _, tool := range []string{"tofu", "terraform"} {
		for _, block := range []string{"cloud", "remote"} {
			all = append(all, newChaosStack(t, client{site: s, tool: tool, block: block, organisation: "chaos"}))
		}
	}
	var working sync.WaitGroup
	for _, c := range all {
		working.Go(func() {
			for range (rounds + len(all) - 1) / len(all) {
				c.apply()
			}
		})
	}
	done := make(chan struct{})
	go func() { working.Wait(); close(done) }()
	killed := torment(t, all, rand.New(rand.NewPCG(uint64(seed), 0)), done)
	t.Logf("killed: %v", killed)
	for _, c := range all {
		c.recover()
		c.check()
		t.Logf("%s: %v", c.name, c.tally())
		if t.Failed() {
			t.Logf("%s %s:\n%s", c.tool, c.block, last(c.said.Bytes(), 16<<10))
		}
	}
	s.verify(t, "chaos")
}

// verify wants the audit log of an organisation to be whole, and every artifact.
func (s *site) verify(t *testing.T, organisation string) {
	t.Helper()
	export, err := s.do("GET", "/v1/organisations/"+organisation+"/audit/export", "")
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err == nil {
		err = os.WriteFile(file, export, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"audit", "verify", file},
		{"artifact", "verify", "--data", s.data, "--key-file", filepath.Join(s.data, "artifact-key")},
	} {
		if out, err := exec.Command("assize", args...).CombinedOutput(); err != nil {
			t.Errorf("assize %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
}

// torment kills something of the server, or a client, again and again until done, and
// starts the server anew where that is needed. It returns how often what was killed.
func torment(t *testing.T, all []*chaosStack, lots *rand.Rand, done <-chan struct{}) map[string]int {
	s, killed := all[0].site, map[string]int{}
	for {
		select {
		case <-done:
			return killed
		case <-time.After(time.Duration(200+lots.IntN(2500)) * time.Millisecond):
		}
		victim := []string{"server", "server", "postgres", "backend", "both", "client"}[lots.IntN(6)]
		killed[victim]++
		switch victim {
		case "client":
			if p := all[lots.IntN(len(all))].running.Load(); p != nil {
				_ = p.Kill()
			}
			continue
		case "backend": // Postgres comes back by itself, and the server stays
			s.strike(victim, lots)
			continue
		}
		s.strike(victim, lots)
		_ = s.wait() // without a Postgres it ends
		time.Sleep(time.Duration(lots.IntN(1500)) * time.Millisecond)
		if err := s.startAgain(); err != nil {
			t.Errorf("after %s was killed: %v", victim, err)
			return killed
		}
	}
}

// startAgain starts the server as a service manager does, which tries more than once:
// on a busy machine a Postgres that was killed may take longer to end than a start waits.
func (s *site) startAgain() (err error) {
	for range 3 {
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

// strike kills.
func (s *site) strike(victim string, lots *rand.Rand) {
	postmaster := s.postmaster()
	switch victim {
	case "server":
		_ = s.process.Process.Kill()
	case "postgres":
		_ = syscall.Kill(postmaster, syscall.SIGKILL)
	case "both":
		_ = syscall.Kill(postmaster, syscall.SIGKILL)
		_ = s.process.Process.Kill()
	case "backend":
		if backends := children(postmaster); len(backends) > 0 {
			_ = syscall.Kill(backends[lots.IntN(len(backends))], syscall.SIGKILL)
		}
	}
}

// postmaster is the process of the server's Postgres.
func (s *site) postmaster() int {
	text, _ := os.ReadFile(filepath.Join(s.data, "postgres", "data", "postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	id, err := strconv.Atoi(line)
	if err != nil || id < 2 {
		return 1 << 30 // nobody
	}
	return id
}

// children are the processes that one has started and that live.
func children(parent int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path)
		_, rest, _ := bytes.Cut(text, []byte(") "))
		if fields := bytes.Fields(rest); len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			all = append(all, id)
		}
	}
	return all
}

// A chaosStack is a workspace, and the client that applies to it: a number that
// becomes larger each time.
type chaosStack struct {
	*testing.T
	client
	name string
	dir  string
	env  []string
	said bytes.Buffer

	running atomic.Pointer[os.Process] // the client, while it runs

	number int
	told   map[int]string // what became of each number, as the client put it
}

// What a client has said of a number.
const (
	applied = "applied" // it is in the state
	pushed  = "pushed"  // it was kept in a file, and is in the state since
	unsaid  = "unsaid"  // the apply went wrong or was killed, and may have come to the state or not
)

const chaosConfig = `
variable "number" {}
resource "terraform_data" "a" {
  input = var.number
}
`

func newChaosStack(t *testing.T, c client) *chaosStack {
	t.Helper()
	k := &chaosStack{T: t, client: c, name: c.tool + "-" + c.block, dir: t.TempDir(), told: map[int]string{}}
	env, err := c.environment(k.dir)
	k.env = os.Environ()
	for name, value := range env {
		k.env = append(k.env, name+"="+value)
	}
	err = errors.Join(err,
		os.WriteFile(filepath.Join(k.dir, "block.tf"), c.text("name", []string{k.name}), 0o600),
		os.WriteFile(filepath.Join(k.dir, "main.tf"), []byte(chaosConfig), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if !k.run("init") {
		t.Fatal(k.said.String())
	}
	return k
}

// run runs the client and reports whether it said that it succeeded.
func (k *chaosStack) run(args ...string) bool {
	cmd := exec.Command(filepath.Join("..", "..", ".bin", k.tool), args...)
	cmd.Path, _ = filepath.Abs(cmd.Path)
	cmd.Dir, cmd.Env = k.dir, k.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	if err == nil {
		k.running.Store(cmd.Process)
		err = cmd.Wait()
		k.running.Store(nil)
	}
	fmt.Fprintf(&k.said, "%s $ %s %s\n%s[%v]\n", time.Now().Format("15:04:05.000"), k.tool, strings.Join(args, " "), out.String(), err)
	return err == nil
}

// apply applies the next number, and tidies up as a person would.
func (k *chaosStack) apply() {
	k.number++
	k.told[k.number] = unsaid
	if k.run("apply", "-auto-approve", "-var", fmt.Sprintf("number=%d", k.number)) {
		k.told[k.number] = applied
		return
	}
	k.recover()
}

// recover breaks the lock that an apply has left, if there is one, and pushes the
// state that the client could not save. It goes on until that worked.
func (k *chaosStack) recover() {
	kept := filepath.Join(k.dir, "errored.tfstate")
	for range 100 {
		locked, err := k.locked()
		switch _, errKept := os.Stat(kept); {
		case err != nil: // the server is down
		case locked:
			k.run("force-unlock", "-force", k.organisation+"/"+k.name)
			continue
		case errors.Is(errKept, fs.ErrNotExist):
			return
		case k.run("state", "push", "-force", kept):
			k.told[k.number] = pushed
			_ = os.Remove(kept)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	k.Errorf("%s does not recover", k.name)
}

// A chaosWorkspace is what is read of one.
type chaosWorkspace struct {
	Data struct {
		Attributes    struct{ Locked bool }
		Relationships struct {
			LockedBy struct {
				Data *struct{ ID, Type string }
			} `json:"locked-by"`
		}
	}
}

// locked reports whether the workspace is; whoever holds the lock must have a name.
func (k *chaosStack) locked() (bool, error) {
	answer, err := k.do("GET", "/api/v2/organizations/"+k.organisation+"/workspaces/"+k.name, "")
	var w chaosWorkspace
	if err == nil {
		err = json.Unmarshal(answer, &w)
	}
	if err != nil {
		return false, err
	}
	holder := w.Data.Relationships.LockedBy.Data
	if w.Data.Attributes.Locked && (holder == nil || holder.ID == "" || holder.Type != "users") {
		k.Errorf("%s is locked by nobody: %s", k.name, answer)
	}
	return w.Data.Attributes.Locked, nil
}

// A chaosVersion is a version of a state.
type chaosVersion struct {
	Serial   int
	Status   string
	Download string `json:"hosted-state-download-url"`
}

// versions are those that are whole, the oldest first.
func (k *chaosStack) versions() (all []chaosVersion) {
	k.Helper()
	for page := 1; ; page++ {
		answer, err := k.do("GET", fmt.Sprintf("/api/v2/state-versions?filter[organization][name]=%s&filter[workspace][name]=%s&page[size]=100&page[number]=%d",
			k.organisation, k.name, page), "")
		var list struct {
			Data []struct{ Attributes chaosVersion }
		}
		if err == nil {
			err = json.Unmarshal(answer, &list)
		}
		if err != nil {
			k.Fatal(err)
		}
		for _, v := range list.Data {
			if v.Attributes.Status == "finalized" {
				all = append(all, v.Attributes)
			}
		}
		if len(list.Data) < 100 {
			slices.Reverse(all)
			return all
		}
	}
}

// contents is what of a state is read.
type contents struct {
	Serial    int
	Lineage   string
	Resources []struct {
		Instances []struct {
			Attributes struct {
				Input struct{ Value string }
			}
		}
	}
}

// check holds what the client was told against what is there.
func (k *chaosStack) check() {
	k.Helper()
	times, serial, lineage, latest := map[int]int{}, -1, "", 0
	for _, v := range k.versions() {
		text, err := k.do("GET", v.Download, "")
		var c contents
		if err == nil {
			err = json.Unmarshal(text, &c)
		}
		if err != nil || len(c.Resources) != 1 || len(c.Resources[0].Instances) != 1 {
			k.Errorf("%s, serial %d: %v: %s", k.name, v.Serial, err, text)
			continue
		}
		if v.Serial <= serial || v.Serial != c.Serial || lineage != "" && c.Lineage != lineage {
			k.Errorf("%s: serial %d (in the file %d) of %s comes after serial %d of %s", k.name, v.Serial, c.Serial, c.Lineage, serial, lineage)
		}
		serial, lineage = v.Serial, c.Lineage
		latest, _ = strconv.Atoi(c.Resources[0].Instances[0].Attributes.Input.Value)
		times[latest]++
	}
	for number, told := range k.told {
		n := times[number]
		if told == applied && n != 1 || told == pushed && n < 1 || n > 2 {
			k.Errorf("%s: the client says of %d that it is %s, and it is there %d times", k.name, number, told, n)
		}
	}
	// And it goes on, with what is there.
	if !k.run("plan", "-detailed-exitcode", "-var", fmt.Sprintf("number=%d", latest)) {
		k.Errorf("%s is not as the last version says", k.name)
	}
	k.number++
	if !k.run("apply", "-auto-approve", "-var", fmt.Sprintf("number=%d", k.number)) {
		k.Errorf("%s does not go on", k.name)
	}
}

// tally is how often the client has said what.
func (k *chaosStack) tally() map[string]int {
	n := map[string]int{}
	for _, told := range k.told {
		n[told]++
	}
	return n
}

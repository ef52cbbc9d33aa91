package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// scanned makes a monorepo of n stacks and compares what it takes to find them,
// and those that a change affects.
func scanned(dir, bin string, n, runs int) (string, error) {
	root := filepath.Join(dir, fmt.Sprintf("estate-%d", n))
	defer os.RemoveAll(root)
	e := newEstate(n)
	if err := e.checkOut(root); err != nil {
		return "", err
	}
	all := e.programs(bin, root, filepath.Join(dir, "cache"))
	costs, err := compare(all, runs)
	if err != nil {
		return "", err
	}
	return e.table(all, costs), nil
}

// peersMax is the largest estate that the peers are asked about; of a larger one
// they would need hours.
const peersMax = 5000

// changed is the module that the branch changes.
const changed = 1

// checkOut makes the estate and commits it to main, and on another branch a
// change of one module.
func (e estate) checkOut(root string) error {
	if err := e.write(root); err != nil {
		return err
	}
	module := fmt.Sprintf("modules/m%04d/main.tf", changed)
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"commit", "--quiet", "--message=estate"},
		{"switch", "--quiet", "--create=change"}, nil, {"commit", "--quiet", "--all", "--message=change"},
	} {
		if args == nil {
			text, err := os.ReadFile(filepath.Join(root, module))
			if err == nil {
				err = os.WriteFile(filepath.Join(root, module), append(text, objects(1)...), 0o644)
			}
			if err != nil {
				return err
			}
			continue
		}
		args = append([]string{"-C", root, "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %q: %w\n%s", args, err, out)
		}
	}
	return nil
}

// programs are those that list the stacks in order, and those that say what the
// change affects.
func (e estate) programs(bin, root, cache string) []program {
	stacks, affected := e.places(func(int) bool { return true }), e.places(e.affected(changed))
	// terramate looks for calls beside its own file, where an instance has none.
	callers := e.places(func(i int) bool { return e.calls(changed)(i) && len(e.sites[i].instances) == 0 })
	assize := func(args ...string) []string {
		return append([]string{filepath.Join(bin, "assize"), args[0], "-C", root, "--format", "json"}, args[1:]...)
	}
	forget := func() error { return os.RemoveAll(cache) }
	env := []string{"XDG_CACHE_HOME=" + cache}
	all := []program{
		{name: "assize, cold", args: assize("stacks"), found: assizeStacks, want: stacks, env: env, before: forget},
		{name: "assize", args: assize("stacks"), found: assizeStacks, want: stacks, env: env},
		{name: "assize affected, cold", args: assize("affected", "--base", "main"), found: e.assizeAffected, want: affected, env: env, before: forget},
		{name: "assize affected", args: assize("affected", "--base", "main"), found: e.assizeAffected, want: affected, env: env},
	}
	for i := range all { // a cache is kept where its parent is
		before := all[i].before
		all[i].before = func() error {
			if before != nil {
				if err := before(); err != nil {
					return err
				}
			}
			return os.MkdirAll(cache, 0o700)
		}
	}
	mate, grunt := filepath.Join(bin, "terramate"), filepath.Join(bin, "terragrunt")
	if _, err := os.Stat(mate); err == nil && len(e.sites) <= peersMax {
		all = append(all,
			program{name: "terramate list", args: []string{mate, "-C", root, "list"}, found: lines, want: stacks},
			program{name: "terramate list --run-order", args: []string{mate, "-C", root, "list", "--run-order"}, found: e.ordered, want: stacks},
			program{name: "terramate list --changed", args: []string{mate, "-C", root, "list", "--changed", "--git-change-base", "main"}, found: lines, want: callers, once: true})
	}
	if _, err := os.Stat(grunt); err == nil && len(e.sites) <= peersMax {
		all = append(all, program{name: "terragrunt output-module-groups", args: []string{grunt, "output-module-groups", "--terragrunt-working-dir", root},
			found: func(out []byte) ([]string, error) { return e.terragruntGroups(root, out) }, want: stacks, once: true})
	}
	return all
}

// places are where the stacks of some sites are, sorted.
func (e estate) places(some func(i int) bool) (places []string) {
	for i, s := range e.sites {
		if some(i) {
			places = append(places, s.places()...)
		}
	}
	slices.Sort(places)
	return places
}

func (e estate) calls(module int) func(i int) bool {
	return func(i int) bool { return slices.Contains(e.sites[i].calls, module) }
}

// affected are the callers of a module and everything that depends on them.
func (e estate) affected(module int) func(i int) bool {
	in := make([]bool, len(e.sites))
	for i, s := range e.sites { // what a site depends on comes before it
		in[i] = e.calls(module)(i) || slices.ContainsFunc(s.after, func(a int) bool { return in[a] })
	}
	return func(i int) bool { return in[i] }
}

// place is that of a key of assize.
func place(key string) string { return strings.Replace(key, ":", "/env/", 1) }

func assizeStacks(stdout []byte) (found []string, err error) {
	var stacks []struct{ Key string }
	err = json.Unmarshal(stdout, &stacks)
	for _, s := range stacks {
		found = append(found, place(s.Key))
	}
	return found, err
}

func (e estate) assizeAffected(stdout []byte) (found []string, err error) {
	var a struct{ Waves [][]string }
	if err := json.Unmarshal(stdout, &a); err != nil {
		return nil, err
	}
	for _, wave := range a.Waves {
		for _, key := range wave {
			found = append(found, place(key))
		}
	}
	return found, e.inOrder(found)
}

func lines(stdout []byte) ([]string, error) { return strings.Fields(string(stdout)), nil }

func (e estate) ordered(stdout []byte) ([]string, error) {
	found := strings.Fields(string(stdout))
	return found, e.inOrder(found)
}

func (e estate) terragruntGroups(root string, stdout []byte) (found []string, err error) {
	var groups map[string][]string
	if err := json.Unmarshal(stdout, &groups); err != nil {
		return nil, err
	}
	for i := range len(groups) {
		for _, dir := range groups[fmt.Sprintf("Group %d", i+1)] {
			found = append(found, strings.TrimPrefix(dir, root+"/"))
		}
	}
	return found, e.inOrder(found)
}

// inOrder wants what a stack depends on to be found before it, if it is at all.
func (e estate) inOrder(found []string) error {
	at := map[string]int{}
	for i, name := range found {
		at[name] = i
	}
	for _, s := range e.sites {
		for _, name := range s.places() {
			for _, a := range s.after {
				before := last(e.sites[a].places())
				i, ok := at[before]
				if j, also := at[name]; ok && also && j < i {
					return fmt.Errorf("%s comes before %s, on which it depends", name, before)
				}
			}
		}
	}
	return nil
}

// table compares with a warm assize that does the same.
func (e estate) table(all []program, costs []cost) string {
	edges := 0
	for _, s := range e.sites {
		edges += len(s.places()) * (len(s.after) + len(s.calls))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %d stacks, %d modules, %d edges\n\n", len(e.places(func(int) bool { return true })), e.modules, edges)
	b.WriteString("| | CPU s | wall s | peak MB | CPU / assize | wall / assize |\n|---|---:|---:|---:|---:|---:|\n")
	for i, p := range all {
		c, own := costs[i], costs[1]
		if strings.Contains(p.name, "affected") || strings.Contains(p.name, "changed") {
			own = costs[3]
		}
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f | %.1f | %.1f |\n", p.name, c.cpu.Seconds(), c.wall.Seconds(), float64(c.peak)/1e6, ratio(c.cpu, own.cpu), ratio(c.wall, own.wall))
	}
	return b.String()
}

package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/tofu"
)

const providers = `
terraform {
  required_providers {
    local  = { source = "hashicorp/local" }
    random = { source = "hashicorp/random" }
  }
}
`

// cache is where the estate's stacks share providers.
func (e *estate) cache() string {
	for _, entry := range e.environ {
		if dir, ok := strings.CutPrefix(entry, "TF_PLUGIN_CACHE_DIR="); ok {
			return dir
		}
	}
	return ""
}

// shared fails unless every provider of a data directory leads into the cache,
// or to where the mirror has it, and is there.
func (e *estate) shared(dataDir string) {
	e.t.Helper()
	links, err := filepath.Glob(filepath.Join(dataDir, "providers", "*", "*", "*", "*", "*"))
	if err != nil || len(links) != 2 {
		e.t.Errorf("%s: %q, %v", dataDir, links, err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || strings.Contains(target, ".assize-") {
			e.t.Errorf("%s leads to %q, %v", link, target, err)
		}
		if programs, err := filepath.Glob(filepath.Join(link, "terraform-provider-*")); err != nil || len(programs) != 1 {
			e.t.Errorf("%s holds %q, %v", link, programs, err)
		}
	}
}

// settled fails unless the cache has the two packages and nothing on its way.
func (e *estate) settled() {
	e.t.Helper()
	left, _ := filepath.Glob(filepath.Join(e.cache(), ".assize-*-*"))
	packages, _ := filepath.Glob(filepath.Join(e.cache(), "*", "*", "*", "*", "*_*"))
	if len(left) > 0 || len(packages) != 2 {
		e.t.Errorf("left %q, cached %q", left, packages)
	}
}

// packed has the estate fetch providers from archives, as from a registry: they
// are unpacked into the cache and not linked.
func (e *estate) packed() {
	e.t.Helper()
	mirror := e.t.TempDir()
	if err := packMirror(mirror); err != nil {
		e.t.Fatal(err)
	}
	e.write("tofurc", fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	e.environ = append(e.environ, "TF_CLI_CONFIG_FILE="+e.path("tofurc"))
}

// The tools say that their cache does not stand several inits at once; ours
// does, with providers from archives and with linked ones, and with and without
// lock files.
func TestParallelInit(t *testing.T) {
	t.Parallel()
	const stacks = 8
	files := map[string]string{}
	for i := range stacks {
		files[fmt.Sprintf("s%d/main.tf", i)] = providers + `resource "random_pet" "x" {}`
	}
	for _, tc := range []struct {
		name   string
		packed bool
		rounds int
	}{{"archives", true, 2}, {"a mirror on disk", false, 2}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newEstate(t, files)
			if tc.packed {
				e.packed()
			}
			work := e.planned // and runs the providers while others still fetch theirs
			for range tc.rounds {
				e.empty(e.cache())
				var wg sync.WaitGroup
				for i := range stacks {
					dir := fmt.Sprintf("s%d", i)
					e.empty(e.path(dir + "/.terraform"))
					st := e.open(settings.Plan, settings.Effective{Path: dir})
					wg.Go(func() { work(st) })
				}
				wg.Wait()
				work = e.prepared // the lock files are there now
				for i := range stacks {
					e.shared(e.path(fmt.Sprintf("s%d/.terraform", i)))
				}
				e.settled()
			}
		})
	}
}

// Instances of one directory have one lock file and go at once.
func TestParallelInstances(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": providers + `
terraform {
  backend "local" {}
}
resource "random_pet" "x" {}
`})
	e.packed()
	for range 2 {
		e.empty(e.path("s/.assize"))
		var wg sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			st := e.open(settings.Plan, settings.Effective{Path: "s", Instance: name, BackendConfig: []string{"path=" + name}})
			wg.Go(func() { e.planned(st) })
		}
		wg.Wait()
		for _, name := range []string{"a", "b", "c"} {
			e.shared(e.path("s/.assize/instances/" + name + "/terraform"))
		}
		e.settled()
		if lock := e.read("s/.terraform.lock.hcl"); strings.Count(lock, "provider ") != 2 {
			t.Errorf("the lock file is %s", lock)
		}
	}
}

// planned prepares a stack and runs its providers.
func (e *estate) planned(st *opened) {
	p, err := st.Plan(context.Background(), runner.Options{})
	if err != nil {
		e.t.Errorf("%v\n%s", err, st.said)
		return
	}
	p.Close()
}

// prepared prepares a stack as for an apply.
func (e *estate) prepared(st *opened) {
	if err := st.Prepare(context.Background()); err != nil {
		e.t.Errorf("%v\n%s", err, st.said)
	}
}

// empty removes a directory and what it holds but leaves it there.
func (e *estate) empty(dir string) {
	e.t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		e.t.Fatal(err)
	}
}

// What is in the cache is not touched, for another stack may be running it; nor
// are links of a killed process left.
func TestCacheIsNeverChanged(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"a/main.tf": providers, "b/main.tf": providers})
	e.packed()
	e.planned(e.open(settings.Plan, settings.Effective{Path: "a"}))
	programs, _ := filepath.Glob(filepath.Join(e.cache(), "*", "*", "*", "*", "*", "terraform-provider-*"))
	var before []os.FileInfo
	for _, path := range programs {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, info)
	}
	if err := os.MkdirAll(filepath.Join(e.cache(), ".assize-shelf-dead"), 0o700); err != nil {
		t.Fatal(err)
	}
	e.planned(e.open(settings.Plan, settings.Effective{Path: "b"})) // it has no lock file, and fetches
	for i, path := range programs {
		info, err := os.Stat(path)
		if err != nil || !os.SameFile(before[i], info) || !info.ModTime().Equal(before[i].ModTime()) {
			t.Errorf("%s was changed (%v)", path, err)
		}
	}
	if e.settled(); len(programs) != 2 {
		t.Errorf("the cache has %q", programs)
	}
}

// A cache that cannot be written is none, and one that the tool's own
// configuration names is used.
func TestWhichCache(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": providers})
	dir := t.TempDir()
	e.write("with.tfrc", "plugin_cache_dir = \"$CACHES/x\"\nprovider_installation {}\n")
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	e.write("odd.tfrc", "# plugin_cache_dir is said elsewhere\n")
	for _, tc := range []struct {
		environ []string
		want    string
	}{
		{[]string{"TF_PLUGIN_CACHE_DIR=" + dir}, dir},
		{[]string{"TF_PLUGIN_CACHE_DIR=/nowhere"}, ""},
		{[]string{"TF_PLUGIN_CACHE_DIR=relative"}, ""},
		{[]string{"TF_PLUGIN_CACHE_DIR=", "CACHES=" + dir, "TF_CLI_CONFIG_FILE=" + e.path("with.tfrc")}, filepath.Join(dir, "x")},
		{[]string{"TF_PLUGIN_CACHE_DIR=", "TF_CLI_CONFIG_FILE=" + e.path("odd.tfrc")}, ""},
	} {
		if got := (tofu.Tool{Env: slices.Concat(e.environ, tc.environ)}).PluginCache(); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.environ, got, tc.want)
		}
	}
	st := e.open(settings.Plan, settings.Effective{Path: "s"})
	st.Session.Plugins = "/proc" // nobody may write there
	e.planned(st)
}

// Waiting for another process ends with an interrupt.
func TestInterruptedWhileWaiting(t *testing.T) {
	t.Parallel()
	e := newEstate(t, map[string]string{"s/main.tf": ""})
	home, err := runner.Private(e.path("s"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = e.open(settings.Plan, settings.Effective{Path: "s"}).Plan(ctx, runner.Options{})
	if !errors.Is(err, tofu.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}

package stack

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// TestSeed004Edges holds the graph against the sentences that demand it. A
// sentence without a source is of docs/stacks.md.
func TestSeed004Edges(t *testing.T) {
	tests := []struct {
		says     string
		scanned  Scanned
		want     string // edges
		warnings string
	}{
		{
			says:    "A stack key is path or path:instance; paths are relative, without ./ and without a trailing /",
			scanned: Scanned{Stacks: []Stack{st("infra/vpc"), st("infra/eks", "./infra/vpc/")}},
			want:    "infra/eks -depends_on-> infra/vpc",
		},
		{
			says: "resolves to the instance of the same name when the target has one",
			scanned: Scanned{Stacks: []Stack{
				st("net:prod"), st("net:staging"), st("app:prod", "net"), st("app:staging", "net")}},
			want: `app:prod -depends_on-> net:prod
				app:staging -depends_on-> net:staging`,
		},
		{
			says:    "else to the target's only stack when it has exactly one",
			scanned: Scanned{Stacks: []Stack{st("dns:shared"), st("app:prod", "dns"), st("app:staging", "dns"), st("plain"), st("x:y", "plain")}},
			want: `app:prod -depends_on-> dns:shared
				app:staging -depends_on-> dns:shared
				x:y -depends_on-> plain`,
		},
		{
			says:    "a depends_on entry that resolves to nothing is kept as written with a warning",
			scanned: Scanned{Stacks: []Stack{st("net:a"), st("net:b"), st("app:c", "net", "net:d", "nope")}},
			want: `app:c -depends_on-> net
				app:c -depends_on-> net:d
				app:c -depends_on-> nope`,
			warnings: `app:c depends on net, which has several instances and none of the same name: net:a, net:b
				app:c depends on net:d, which is not one of its instances: net:a, net:b
				app:c depends on nope, which is no stack here`,
		},
		{
			says:     "a prefix name never confuses",
			scanned:  Scanned{Stacks: []Stack{st("foo"), st("foobar"), st("fo", "foob"), st("x", "foo")}},
			want:     "fo -depends_on-> foob\nx -depends_on-> foo",
			warnings: "fo depends on foob, which is no stack here",
		},
		{
			says:     "an entry that is no key is kept as written with a warning",
			scanned:  Scanned{Stacks: []Stack{st("a", "/abs")}},
			want:     "a -depends_on-> /abs",
			warnings: `a depends on "/abs", which is no stack's key`,
		},
		{
			says:    "A cross-repository entry is kept as written; it names its instance itself",
			scanned: Scanned{Repo: "acme/infra", Stacks: []Stack{st("app:prod", "acme/network//tgw", "acme/network//dns:shared")}},
			want: `app:prod -depends_on-> acme/network//dns:shared
				app:prod -depends_on-> acme/network//tgw`,
		},
		{
			says:    "a dependency on this repository by its name is one on a stack of it",
			scanned: Scanned{Repo: "acme/infra", Stacks: []Stack{st("net:prod"), st("app:prod", "Acme/infra//net")}},
			want:    "app:prod -depends_on-> net:prod",
		},
		{
			says:    "reads_state: inferred where a state that is read is the state of a stack, per instance",
			scanned: Scanned{Stacks: []Stack{st("net:prod"), st("net:staging"), st("app:prod").reading(s3("net:prod"), s3("elsewhere"))}},
			want:    "app:prod -reads_state-> net:prod",
		},
		{
			says:    "a state that cannot be read from the code equals nothing",
			scanned: Scanned{Stacks: []Stack{st("net").at(State{}), st("app").at(State{}).reading(State{})}},
		},
		{
			says: "reads_state goes through the modules that the stack calls",
			scanned: Scanned{
				Stacks:  []Stack{st("net"), st("app").calling(local("modules/a"))},
				Modules: []Module{{Path: "modules/a", Calls: []Call{local("modules/b")}}, {Path: "modules/b", Reads: []State{s3("net")}}},
			},
			want: `app -uses_module-> modules/a
				app -reads_state-> net
				modules/a -uses_module-> modules/b`,
		},
		{
			says:     "A stack's ignore_inferred suppresses the edge with a warning",
			scanned:  Scanned{Stacks: []Stack{st("net:prod"), st("app:prod").reading(s3("net:prod")).ignoring("net", "nope")}},
			warnings: "app:prod reads the state of net:prod, and ignore_inferred says to leave that out of the order",
		},
		{
			says:    "an ignore_inferred entry that resolves to nothing suppresses nothing",
			scanned: Scanned{Stacks: []Stack{st("net:a"), st("net:b"), st("app").reading(s3("net:a")).ignoring("net", "/no key", "ne")}},
			want:    "app -reads_state-> net:a",
		},
		{
			says:    "an explicit depends_on to the same target replaces it",
			scanned: Scanned{Stacks: []Stack{st("net"), st("app", "net").reading(s3("net")).ignoring("net")}},
			want:    "app -depends_on-> net",
		},
		{
			says:     "two stacks that keep their state in the same place are a warning, two instances that render the same key included",
			scanned:  Scanned{Stacks: []Stack{st("a:x").at(s3("k")), st("a:y").at(s3("k")), st("b").reading(s3("k"))}},
			want:     "b -reads_state-> a:x\nb -reads_state-> a:y",
			warnings: "several stacks keep their state in the same place, s3 states/k: a:x, a:y",
		},
		{
			says:     "a stack that reads its own state does not depend on itself",
			scanned:  Scanned{Stacks: []Stack{st("a").reading(s3("a"))}},
			warnings: "a reads its own state, which orders nothing",
		},
		{
			says: "uses_module: the ref is part of what a module is; of a stack that is called, its calls",
			scanned: Scanned{Stacks: []Stack{
				st("a").calling(git("acme/modules//vpc", "v1"), local("b")),
				st("b").calling(git("acme/modules//vpc", "v2"))}},
			want: `a -uses_module-> acme/modules//vpc@v1
				a -uses_module-> b
				b -uses_module-> acme/modules//vpc@v2`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			g := build(t, tt.scanned)
			if diff := cmp.Diff(lines(tt.want), edgeTexts(g)); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(lines(tt.warnings), lines(strings.Join(g.Shape().Warnings, "\n"))); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSeed004Meta is "uses_module edge Meta always has ref (empty for local
// modules) and source (the raw spelling at that call)", "Inferred reads_state
// edges have Inferred: true and Meta bucket and key", and "a v1.Stack with
// External: true, Repo set, Path and Instance split out, and Key set to the
// qualified key".
func TestSeed004Meta(t *testing.T) {
	g := build(t, Scanned{
		Repo:    "acme/infra",
		Stacks:  []Stack{st("app", "acme/net//tgw:prod", "gone").reading(s3("net")).calling(git("acme/m", "v1"), local("modules/a")), st("net")},
		Modules: []Module{{Path: "modules/a", Reads: []State{s3("net"), s3("db")}}},
	})
	want := []api.Edge{
		{From: "app", To: "acme/m@v1", Kind: "uses_module", Source: "git::https://github.com/acme/m?ref=v1", Ref: "v1"},
		{From: "app", To: "acme/net//tgw:prod", Kind: "depends_on"},
		{From: "app", To: "gone", Kind: "depends_on"},
		{From: "app", To: "modules/a", Kind: "uses_module", Source: "../modules/a"},
		{From: "app", To: "net", Kind: "reads_state", Inferred: true, State: &api.StateRef{Type: "s3", ID: "states/net"}},
	}
	if diff := cmp.Diff(want, g.Shape().Edges); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	stacks := g.Shape().Stacks
	if diff := cmp.Diff(api.Stack{Key: "acme/net//tgw:prod", Repo: "acme/net", Path: "tgw", Instance: "prod", External: true}, stacks[0]); diff != "" {
		t.Errorf("external (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(api.Stack{Key: "gone", Path: "gone", Unknown: true}, stacks[2]); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	if a, err := Affected(g, Changes{All: true}); err != nil || len(a.Stacks) != 2 {
		t.Errorf("External stacks are never scheduled; got %v, %v", a.Stacks, err)
	}
}

// monorepo is what the tests of the affected set change something in.
func monorepo() Scanned {
	return Scanned{
		Repo: "acme/infra",
		Stacks: []Stack{
			st("net:prod").calling(local("modules/vpc")).watching("infra.tfbackend"),
			st("net:staging").calling(local("modules/vpc")),
			st("net/inner"),
			st("netting"),
			st("eks:prod").reading(s3("net:prod")).calling(git("acme/infra//modules/vpc", "v1")),
			st("apps:prod", "eks"),
			st("mon:prod", "apps", "net").reading(s3("eks:prod")),
			st("late", "gone", "acme/other//net"),
		},
		Modules: []Module{
			{Path: "modules/vpc", Calls: []Call{local("modules/tags")}},
			{Path: "modules/tags"},
			{Path: "modules/tagsoup"},
		},
	}
}

func TestSeed004Affected(t *testing.T) {
	tests := []struct {
		says string
		c    Changes
		want string
	}{
		{"nothing changed, nothing is affected", Changes{}, ""},
		{
			"a changed path belongs to the deepest enclosing stack directory only",
			Changes{Paths: []string{"net/inner/main.tf"}},
			"net/inner changed=net/inner/main.tf",
		},
		{
			"and affects every workspace of that directory; dependents follow, with the reason of the edge",
			Changes{Paths: []string{"net/main.tf"}},
			`apps:prod dependent=eks:prod
			eks:prod reads_state=net:prod
			mon:prod reads_state=eks:prod dependent=apps:prod dependent=net:prod
			net:prod changed=net/main.tf
			net:staging changed=net/main.tf`,
		},
		{
			"a prefix name never confuses",
			Changes{Paths: []string{"netting/a", "modules/tagsoup/a", "ne", "modules/tag", "net.tf", "net-x/a"}},
			"netting changed=netting/a",
		},
		{
			"paths under .terraform are ignored, the lock file is not under it",
			Changes{Paths: []string{"netting/.terraform/modules/a.tf", ".terraform/x", "netting/.terraform.lock.hcl"}},
			"netting changed=netting/.terraform.lock.hcl",
		},
		{
			"ignored paths affect nothing",
			Changes{Paths: []string{"netting/README.md", "modules/vpc/README.md"}, Ignore: func(p string) bool { return strings.HasSuffix(p, ".md") }},
			"",
		},
		{
			"A changed path equal to a stack's watch path affects that stack with reason watch_path",
			Changes{Paths: []string{"infra.tfbackend", "infra.tfbackend2"}, Only: true},
			"net:prod watch_path=infra.tfbackend",
		},
		{
			"a path in a local module affects its users, transitively through modules; git modules never match",
			Changes{Paths: []string{"modules/tags/a.tf"}, Only: true},
			"net:prod module=modules/tags\nnet:staging module=modules/tags",
		},
		{
			"the nearest changed module is named",
			Changes{Paths: []string{"modules/tags/a.tf", "modules/vpc/a.tf"}, Only: true},
			"net:prod module=modules/vpc\nnet:staging module=modules/vpc",
		},
		{
			"what is requested is alone: its dependents do not follow",
			Changes{Requested: keys("net:prod eks:prod")},
			"eks:prod requested=eks:prod\nnet:prod requested=net:prod",
		},
		{
			"reasons, in order: changed, watch_path, module, reads_state, dependent, requested",
			Changes{Paths: []string{"net/main.tf", "modules/vpc/a", "infra.tfbackend", "mon/x"}, Requested: keys("mon:prod net:prod")},
			`apps:prod dependent=eks:prod
			eks:prod reads_state=net:prod
			mon:prod changed=mon/x reads_state=eks:prod dependent=apps:prod dependent=net:prod requested=mon:prod
			net:prod changed=net/main.tf watch_path=infra.tfbackend module=modules/vpc requested=net:prod
			net:staging changed=net/main.tf module=modules/vpc`,
		},
		{
			"a changed directory, such as a submodule, changes all that is in it",
			Changes{Paths: []string{"net", "modules"}, Only: true},
			`net/inner changed=net
			net:prod changed=net module=modules/vpc
			net:staging changed=net module=modules/vpc`,
		},
		{
			"what declares a stack that is gone has changed under it",
			Changes{Paths: []string{"gone/main.tf"}, Deleted: keys("gone")},
			"late dependent=gone",
		},
		{
			"renamed directory: both",
			Changes{Renamed: []Rename{{"apps/a.tf", "eks/a.tf"}}, Only: true},
			"apps:prod changed=apps/a.tf\neks:prod changed=eks/a.tf",
		},
	}
	g := build(t, monorepo())
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			if diff := cmp.Diff(lines(tt.want), affectedText(t, g, tt.c)); diff != "" {
				t.Errorf("affected (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSeed004Elsewhere is "git and registry modules never match changed paths"
// (seed 004, "Identities and names"), however their keys are spelt.
func TestSeed004Elsewhere(t *testing.T) {
	for _, kind := range []SourceKind{GitModule, RegistryModule, ArchiveModule} {
		for _, key := range []string{"acme/infra//modules/vpc", "modules/vpc", "registry:acme/vpc/aws"} {
			g := build(t, Scanned{Repo: "acme/infra", Stacks: []Stack{st("net").calling(Call{Name: "m", Source: key, Kind: kind, Key: key, Ref: "v1"})}})
			for _, path := range []string{"modules/vpc/main.tf", "modules/vpc", key, key + "/main.tf", key + "@v1/main.tf"} {
				if got := affectedText(t, g, Changes{Paths: []string{path}}); got != "" {
					t.Errorf("%s module %s: %s affects %s", kind, key, path, got)
				}
			}
		}
	}
}

func TestRemoved(t *testing.T) {
	g := build(t, monorepo())
	a, err := Affected(g, Changes{
		Deleted: keys("old net net:dev gone lib/x apps:prod"),
		Renamed: []Rename{{"old/main.tf", "netting/main.tf"}, {"old/a.tf", "netting/a.tf"}, {"old/b.tf", "eks/b.tf"}, {"lib", "nowhere"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []api.RemovedStack{{Key: "gone"}, {Key: "lib/x"}, {Key: "net:dev"}, {Key: "old", RenamedTo: "netting"}}
	if diff := cmp.Diff(want, a.Removed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	text := strings.Join(a.Warnings, "\n")
	for _, want := range []string{"stack gone is gone from the repository", "run assize destroy net:dev", "stack old has moved to netting"} {
		if !strings.Contains(text, want) {
			t.Errorf("warnings do not say %q:\n%s", want, text)
		}
	}
}

func TestRenameCarry(t *testing.T) {
	for _, tt := range []struct{ from, to, dir, want string }{
		{"a", "b", "a", "b"},
		{"a", "b", "a/x", "b/x"},
		{"a", "b", "ab", ""},
		{"a/x/main.tf", "b/main.tf", "a/x", "b"},
		{"a/x/d/main.tf", "b/d/main.tf", "a/x", "b"},
		{"ax/main.tf", "b/main.tf", "a", ""},
	} {
		if got := (Rename{tt.from, tt.to}).carry(tt.dir); got != tt.want {
			t.Errorf("%s => %s carries %s to %q, want %q", tt.from, tt.to, tt.dir, got, tt.want)
		}
	}
}

func TestSeed004Waves(t *testing.T) {
	g := build(t, monorepo())
	tests := []struct{ says, keys, want string }{
		{"Waves are the longest-path layering of the affected subgraph", "net:prod eks:prod apps:prod mon:prod netting", "net:prod netting\neks:prod\napps:prod\nmon:prod"},
		{"an unaffected stack between two affected ones still orders them", "net:prod mon:prod", "net:prod\nmon:prod"},
		{"and takes no wave of its own", "apps:prod net:prod netting", "net:prod netting\napps:prod"},
		{"nothing has no waves", "", ""},
		{"what is no stack here is in no wave", "gone netting", "netting"},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			if diff := cmp.Diff(lines(tt.want), waveText(Waves(g, keys(tt.keys)))); diff != "" {
				t.Errorf("waves (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCycles(t *testing.T) {
	tests := []struct {
		says    string
		scanned Scanned
		want    string
	}{
		{"itself", Scanned{Stacks: []Stack{st("a", "a")}}, "a -> a"},
		{"an instance by the bare path", Scanned{Stacks: []Stack{st("a:x", "a"), st("a:y", "a:x")}}, "a:x -> a:x"},
		{"begins with the smallest, and is told once", Scanned{Stacks: []Stack{st("c", "a"), st("b", "c"), st("a", "b"), st("z", "a"), st("0"), st("d", "0")}}, "a -> b -> c -> a"},
		{"inferred edges too", Scanned{Stacks: []Stack{st("a").reading(s3("b")), st("b", "a")}}, "a -> b -> a"},
		{"the shortest first", Scanned{Stacks: []Stack{st("a", "b"), st("b", "c"), st("c", "a"), st("x", "y"), st("y", "x"), st("z", "z")}}, "z -> z\nx -> y -> x\na -> b -> c -> a"},
		{"every stack that is on one is told of", Scanned{Stacks: []Stack{st("a", "b"), st("b", "a", "c"), st("c", "b")}}, "a -> b -> a\nb -> c -> b"},
		{"what is between two cycles is on none", Scanned{Stacks: []Stack{st("a", "b", "m"), st("b", "a"), st("m", "x"), st("x", "y"), st("y", "x")}}, "a -> b -> a\nx -> y -> x"},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			_, err := Build(tt.scanned)
			var cycles *Cycles
			if !errors.As(err, &cycles) || problem.Code(err) != api.Invalid || problem.Hint(err) == "" {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, p := range cycles.Paths {
				got = append(got, strings.Join(p, " -> "))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("cycles (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the message does not spell them out: %v", err)
			}
		})
	}
}

func TestManyCycles(t *testing.T) {
	var s Scanned
	for i := range 60 {
		s.Stacks = append(s.Stacks, st("s"+string(rune('A'+i)), "s"+string(rune('A'+i))))
	}
	_, err := Build(s)
	var cycles *Cycles
	if !errors.As(err, &cycles) || len(cycles.Paths) != cyclesMax || !cycles.More || !strings.HasSuffix(err.Error(), "\nand more") {
		t.Errorf("got %v", err)
	}
}

func TestFind(t *testing.T) {
	g := build(t, monorepo())
	for _, tt := range []struct{ text, want, hint string }{
		{"netting", "netting", ""},
		{"./netting/", "netting", ""},
		{"ACME/infra//netting", "netting", ""},
		{"eks", "eks:prod", ""},
		{"net", "", "net has net:prod, net:staging"},
		{"net:dev", "", "net has net:prod, net:staging"},
		{"eks:dev", "", "eks has eks:prod"},
		{"nett", "", "assize stacks lists them all"},
		{"gone", "", "assize stacks lists them all"},
		{"acme/other//net", "", ""},
		{"/x", "", "write the path from the root of the repository, and :instance where the stack has instances"},
	} {
		s, err := g.Find(tt.text)
		if tt.want == "" && err == nil || tt.want != "" && s.Key.String() != tt.want || problem.Hint(err) != tt.hint {
			t.Errorf("Find(%q) = %v, %v (%s)", tt.text, s.Key, err, problem.Hint(err))
		}
	}
}

func TestReach(t *testing.T) {
	g := build(t, monorepo())
	for _, tt := range []struct {
		name string
		got  []Key
		want string
	}{
		{"dependents", g.Dependents(keys("net:prod eks:prod")...), "apps:prod mon:prod"},
		{"dependents of what is not here", g.Dependents(keys("gone")...), "late"},
		{"dependencies", g.Dependencies(keys("mon:prod")...), "apps:prod eks:prod net:prod"},
		{"dependencies that are not here", g.Dependencies(keys("late")...), ""},
		{"a directory", g.In("net"), "net:prod net:staging"},
		{"of nothing", g.Dependents(keys("nothing")...), ""},
	} {
		if diff := cmp.Diff(keys(tt.want), tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	_, err := Build(Scanned{Stacks: []Stack{st("a"), st("b"), st("a")}})
	if problem.Code(err) != api.Invalid || !strings.Contains(err.Error(), "two stacks are called a") {
		t.Errorf("two of one key: %v", err)
	}
	if _, err := Affected(build(t, monorepo()), Changes{Requested: keys("nope")}); problem.Code(err) != api.NotFound {
		t.Errorf("a stack that is not there: %v", err)
	}
	if _, err := Affected(build(t, monorepo()), Changes{Requested: keys("gone")}); problem.Code(err) != api.NotFound {
		t.Errorf("an unknown stack that a dependency names: %v", err)
	}
}

// TestManyInstances checks that a message does not list hundreds of them.
func TestManyInstances(t *testing.T) {
	var s Scanned
	for c := 'a'; c <= 'z'; c++ {
		s.Stacks = append(s.Stacks, st("net:"+string(c)).at(s3("one")))
	}
	g := build(t, s)
	want := "several stacks keep their state in the same place, s3 states/one: net:a, net:b, net:c, net:d, net:e, net:f, net:g, net:h, net:i, net:j and 16 more"
	if got := strings.Join(g.Shape().Warnings, "\n"); got != want {
		t.Errorf("got %s", got)
	}
}

// TestEmpty checks that an empty repository has lists and no nulls.
func TestEmpty(t *testing.T) {
	g := build(t, Scanned{})
	shape := g.Shape()
	a, err := Affected(g, Changes{Paths: []string{"a"}, All: true})
	if err != nil || shape.Stacks == nil || shape.Modules == nil || shape.Edges == nil || shape.Warnings == nil ||
		a.Stacks == nil || a.Waves == nil || a.Removed == nil || a.Warnings == nil || AllWaves(g) == nil {
		t.Errorf("a list is nil: %#v, %#v, %v", shape, a, err)
	}
}

// TestNested changes paths that belong to a stack and to a module at once.
func TestNested(t *testing.T) {
	g := build(t, Scanned{
		Stacks: []Stack{
			st("infra").calling(local("infra/modules/a")),
			st("modules/b/example").calling(local("modules/b")),
			st("user").calling(local("infra/modules/a"), local("called"), local("modules/b"), local("modules/missing")),
			st("called:x").calling(local("modules/b")).reading(s3("infra")), st("called:y"),
		},
		Modules: []Module{{Path: "infra/modules/a"}, {Path: "modules/b"}, {Path: "modules/b/inner"}},
	})
	for _, tt := range []struct{ says, path, want string }{
		{"a module in a stack's directory", "infra/modules/a/x", "infra changed=infra/modules/a/x module=infra/modules/a\nuser module=infra/modules/a"},
		{"a stack in a module's directory", "modules/b/example/x", "called:x module=modules/b\nmodules/b/example changed=modules/b/example/x module=modules/b\nuser module=modules/b"},
		{"a module in a module's directory", "modules/b/inner/x", ""},
		{"a stack that is called as a module", "called/x", "called:x changed=called/x\ncalled:y changed=called/x\nuser module=called"},
		{"a module that is called and gone", "modules/missing/x", "user module=modules/missing"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			if diff := cmp.Diff(lines(tt.want), affectedText(t, g, Changes{Paths: []string{tt.path}, Only: true})); diff != "" {
				t.Errorf("affected (-want +got):\n%s", diff)
			}
		})
	}
	if want := "user -reads_state-> infra\n"; !strings.Contains(edgeTexts(g), want) {
		t.Errorf("what a stack reads that is called as a module is not read by its caller:\n%s", edgeTexts(g))
	}
}

// TestRoot checks the stack that everything without another one belongs to.
func TestRoot(t *testing.T) {
	g := build(t, Scanned{Stacks: []Stack{st("."), st("a"), st("b", ".")}})
	want := ". changed=c/x changed=main.tf\na changed=a/x\nb dependent=.\n"
	if diff := cmp.Diff(want, affectedText(t, g, Changes{Paths: []string{"./main.tf", "c/x", "a/x"}})); diff != "" {
		t.Errorf("affected (-want +got):\n%s", diff)
	}
}

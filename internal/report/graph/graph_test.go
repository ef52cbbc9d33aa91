package graph_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/stack"
)

var update = flag.Bool("update", false, "write the golden files")

// estate is a repository of some twenty nodes: instances, nested modules, a
// state that is read, a stack of another repository and one that nobody knows.
func estate() (stack.Scanned, stack.Changes) {
	state := func(id string) stack.State { return stack.State{Type: "s3", ID: "states/" + id} }
	vpc := stack.Call{Name: "vpc", Source: "../modules/vpc", Kind: stack.LocalModule, Key: "infra/modules/vpc"}
	tags := stack.Call{Name: "tags", Source: "../tags", Kind: stack.LocalModule, Key: "infra/modules/tags"}
	eks := stack.Call{Name: "eks", Source: "terraform-aws-modules/eks/aws", Kind: stack.RegistryModule, Key: "registry:terraform-aws-modules/eks/aws", Ref: "21.0"}
	s := stack.Scanned{Repo: "acme/infra", Modules: []stack.Module{{Path: "infra/modules/vpc", Calls: []stack.Call{tags}}, {Path: "infra/modules/tags"}}}
	add := func(path, instance string, dependsOn []string, reads []string, calls ...stack.Call) {
		st := stack.Stack{
			Key: stack.Key{Path: path, Instance: instance}, Environment: instance, Tool: "tofu",
			State: state(path + "/" + instance), DependsOn: dependsOn, Calls: calls, Position: path + "/backend.tf:2",
		}
		for _, r := range reads {
			st.Reads = append(st.Reads, state(r))
		}
		s.Stacks = append(s.Stacks, st)
	}
	for _, env := range []string{"production", "staging"} {
		add("infra/network", env, []string{"acme/backbone//tgw:" + env}, nil, vpc)
		add("infra/dns", env, nil, []string{"infra/network/" + env})
		add("infra/cluster", env, []string{"infra/network"}, nil, eks)
		add("infra/database", env, nil, []string{"infra/network/" + env}, tags)
		add("apps/web", env, []string{"infra/cluster", "infra/dns"}, []string{"infra/database/" + env})
		add("apps/batch", env, []string{"infra/cluster"}, nil)
	}
	add("infra/audit", "", []string{"infra/logs"}, nil)
	return s, stack.Changes{Paths: []string{"infra/modules/tags/main.tf", "apps/batch/main.tf"}}
}

func build(t tb, s stack.Scanned) stack.Graph {
	t.Helper()
	g, err := stack.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func picture(t tb, g stack.Graph, c stack.Changes) graph.Picture {
	t.Helper()
	a, err := stack.Affected(g, c)
	if err != nil {
		t.Fatal(err)
	}
	return graph.Picture{Graph: g.Shape(), Waves: stack.AllWaves(g), Affected: &a}
}

func write(t tb, f graph.Format, p graph.Picture) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, p, page.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	s, c := estate()
	p := picture(t, build(t, s), c)
	whole := p
	whole.Affected = nil
	for _, f := range graph.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			golden(t, "estate."+f.Name, write(t, f, whole))
			if f.Name != "json" {
				golden(t, "affected."+f.Name, write(t, f, p))
			}
		})
	}
	t.Run("affected", func(t *testing.T) {
		var text, doc bytes.Buffer
		if err := graph.Affected(&text, *p.Affected, page.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := page.JSON(&doc, p.Affected); err != nil {
			t.Fatal(err)
		}
		golden(t, "affected.list", text.String())
		golden(t, "affected.json", doc.String())
		outputs, summary := handedOn(t, p)
		golden(t, "affected.outputs", outputs)
		golden(t, "affected.summary.md", summary)
	})
}

// TestEstatePage holds the golden page against what the page of any name must be.
func TestEstatePage(t *testing.T) {
	s, c := estate()
	assertHarmless(t, picture(t, build(t, s), c))
}

// TestSameBytes draws what was scanned in any other order (docs/stacks.md, rule
// 23), and what is handed to a job.
func TestSameBytes(t *testing.T) {
	bytesOf := func(t tb, s stack.Scanned, c stack.Changes) map[string]string {
		p := picture(t, build(t, s), c)
		out := map[string]string{}
		for _, f := range graph.Formats() {
			out[f.Name] = write(t, f, p)
		}
		out["outputs"], out["summary"] = handedOn(t, p)
		return out
	}
	s, c := ambiguous()
	want := bytesOf(t, s, c)
	rapid.Check(t, func(t *rapid.T) {
		s, c := ambiguous()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		shuffle(r, s.Stacks)
		shuffle(r, s.Modules)
		shuffle(r, s.Warnings)
		shuffle(r, c.Paths)
		for _, st := range s.Stacks {
			shuffle(r, st.DependsOn)
			shuffle(r, st.Reads)
			shuffle(r, st.Calls)
		}
		for _, m := range s.Modules {
			shuffle(r, m.Calls)
		}
		if diff := cmp.Diff(want, bytesOf(t, s, c)); diff != "" {
			t.Fatalf("(-want +shuffled):\n%s", diff)
		}
	})
}

func shuffle[E any](r *rand.Rand, list []E) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// ambiguous is the estate with calls of one module under several names, a state
// that two stacks write, and warnings of the scan: where an order could show.
func ambiguous() (stack.Scanned, stack.Changes) {
	s, c := estate()
	last := &s.Stacks[len(s.Stacks)-1]
	for _, source := range []string{"../modules/vpc", "./../modules/vpc", "../modules/vpc/"} {
		last.Calls = append(last.Calls, stack.Call{Name: "vpc" + source, Source: source, Kind: stack.LocalModule, Key: "infra/modules/vpc"})
	}
	for _, name := range []string{"infra/twin", "infra/other"} {
		s.Stacks = append(s.Stacks, stack.Stack{Key: stack.Key{Path: name}, State: stack.State{Type: "s3", ID: "states/twin"}, Tool: "tofu"})
	}
	last.Reads = []stack.State{{Type: "s3", ID: "states/twin"}, {Type: "s3", ID: "states/infra/dns/staging"}}
	s.Warnings = []string{"b", "a", "c"}
	c.Paths = append(c.Paths, "infra/twin/b.tf", "infra/twin/a.tf")
	return s, c
}

func TestEmpty(t *testing.T) {
	p := picture(t, build(t, stack.Scanned{}), stack.Changes{})
	for _, f := range graph.Formats() {
		if got := write(t, f, p); strings.Contains(got, "null") && f.Name != "html" {
			t.Errorf("%s: %q", f.Name, got)
		}
	}
	var b bytes.Buffer
	if err := graph.Affected(&b, *p.Affected, page.Options{}); err != nil || b.String() != "No stack is affected.\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// TestDeepTree checks that a long chain takes lines and not the square of them.
func TestDeepTree(t *testing.T) {
	var s stack.Scanned
	key := func(i int) stack.Key {
		return stack.Key{Path: "s" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)}
	}
	for i := range 200 {
		st := stack.Stack{Key: key(i)}
		if i > 0 {
			st.DependsOn = []string{key(i - 1).String()}
		}
		s.Stacks = append(s.Stacks, st)
	}
	got := write(t, graph.Formats()[0], picture(t, build(t, s), stack.Changes{}))
	for i := range 200 {
		if !strings.Contains(got, key(i).String()+"\n") {
			t.Errorf("%s is not drawn", key(i))
		}
	}
	if n := strings.Count(got, "\n"); n > 220 {
		t.Errorf("%d lines for 200 stacks", n)
	}
}

// nasty are names that would mean something to one of the formats.
var nasty = []string{
	`"]; x [`, `</script><script>alert(1)</script>`, "a\nb", "a\r\n::error::x", `\`, `\"`, `x\N`, "`x`", `"]`, "a-->b", "%%{init}%%",
	"##[group]x", "click s0 href", "end", "&quot;", "#quot;", "<!--", "]]>", "\u202eevil", "\x1b[31mred", "\u2028", "\xff", "{{.}}", "${x}", "'", "a|b", "<b>", "::warning::y", ";",
}

func hostile(t tb, name string) graph.Picture {
	key := func(prefix string) stack.Key { return stack.Key{Path: prefix + name, Instance: name} }
	call := stack.Call{Name: name, Source: name, Kind: stack.GitModule, Key: "m" + name, Ref: name}
	g := build(t, stack.Scanned{
		Repo: name, Warnings: []string{name},
		Stacks: []stack.Stack{
			{Key: key("a"), Environment: name, Workspace: name, Tool: name, State: stack.State{Type: name, ID: name}, Position: name, Calls: []stack.Call{call}},
			{Key: key("b"), Reads: []stack.State{{Type: name, ID: name}}, DependsOn: []string{"/" + name}},
		},
		Modules: []stack.Module{{Path: name}},
	})
	return picture(t, g, stack.Changes{Paths: []string{"a" + name + "/x"}, All: true, Deleted: []stack.Key{{Path: "z" + name}}})
}

// dotLine and mermaidLine are all that a line may be.
var (
	dotLine = regexp.MustCompile(`^(digraph stacks \{|\}|  rankdir=RL;|  node \[.*\];|  \{ rank=same;( s\d+;)+ \}|` +
		`  [sm]\d+ \[label="(\\.|[^"\\])*"(, \w+=(\w+|"(\\.|[^"\\])*"))*\];|  [sm]\d+ -> [sm]\d+( \[\w+=\w+(, \w+=\w+)*\])?;)$`)
	mermaidLine = regexp.MustCompile(`^(flowchart RL|  (s\d+\["[^"\]\[{}()<>&\x60]*"\]|m\d+\{\{"[^"\]\[{}()<>&\x60]*"\}\})|` +
		`  [sm]\d+ (-->|-\.->) [sm]\d+|  classDef \w+ [\w:#,\- ]+|  class [sm\d,]+ \w+)$`)
	runnerCommand = regexp.MustCompile(`(?m)^\s*::|##\w*\[`)
)

func assertHarmless(t tb, p graph.Picture) {
	t.Helper()
	var text, dot, mermaid, doc, web string
	for i, into := range []*string{&text, &dot, &mermaid, &doc, &web} {
		*into = write(t, graph.Formats()[i], p)
	}
	var list bytes.Buffer
	if err := graph.Affected(&list, *p.Affected, page.Options{}); err != nil {
		t.Fatal(err)
	}
	outputs, summary := handedOn(t, p)
	assertOutputs(t, outputs, p)
	assertSummary(t, summary, p)
	for name, got := range map[string]string{
		"text": text, "dot": dot, "mermaid": mermaid, "json": doc, "html": web, "list": list.String(), "outputs": outputs, "summary": summary,
	} {
		if m := runnerCommand.FindString(got); m != "" {
			t.Errorf("%s: %q is a command for a CI runner", name, m)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' || r == '\u202e' || r == '\u2028' {
				t.Errorf("%s: there is a %U in it", name, r)
			}
		}
	}
	for line := range strings.Lines(dot) {
		if !dotLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("dot: %q", line)
		}
	}
	if entity := regexp.MustCompile(`&[^;]*;`).FindString(strings.ReplaceAll(dot, "&amp;", "")); entity != "" {
		t.Errorf("dot: %q is an entity", entity)
	}
	for line := range strings.Lines(mermaid) {
		if !mermaidLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("mermaid: %q", line)
		}
	}
	var g api.Graph
	if err := json.Unmarshal([]byte(doc), &g); err != nil {
		t.Errorf("json: %v", err)
	}
	if n := strings.Count(text, "\n"); n > 3*(len(p.Graph.Stacks)+len(p.Graph.Modules)+len(p.Graph.Edges)+len(p.Graph.Warnings)) {
		t.Errorf("text: %d lines", n)
	}
	assertPage(t, web, p)
}

// element matches every tag that the page may have.
var (
	tag    = regexp.MustCompile(`<(/?\w+|!\w+)[^<>]*>`)
	tags   = strings.Fields("!DOCTYPE html head meta title style body header h1 div label input output span button main svg aside noscript p h2 ul li script")
	script = regexp.MustCompile(`(?s)<script( type="application/json" id="data")?>(.*?)</script>`)
	data   = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
	style  = regexp.MustCompile(`(?s)<style>.*?</style>`)
)

// assertPage checks that the page has its own elements and no others, one script
// and its data, that nothing in it leads out, and that the data is all there.
func assertPage(t tb, web string, p graph.Picture) {
	t.Helper()
	scripts := script.FindAllStringSubmatch(web, -1)
	if len(scripts) != 2 || strings.Count(web, "<script") != 2 || scripts[0][1] == "" || scripts[1][1] != "" {
		t.Fatalf("html: there are %d scripts", strings.Count(web, "<script"))
	}
	body := style.ReplaceAllString(script.ReplaceAllString(web, ""), "")
	for _, m := range tag.FindAllStringSubmatch(body, -1) {
		known := false
		for _, name := range tags {
			known = known || strings.TrimPrefix(m[1], "/") == name
		}
		if !known {
			t.Errorf("html: there is a %s", m[0])
		}
	}
	if rest := tag.ReplaceAllString(body, ""); strings.ContainsAny(rest, "<>") {
		t.Errorf("html: a loose bracket in %q", rest)
	}
	for _, out := range []string{"src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("} {
		if strings.Contains(style.FindString(web)+scripts[1][2]+tagsOf(body), out) {
			t.Errorf("html: there is a %s", out)
		}
	}
	var d struct {
		Nodes   []struct{ Name, Kind string }
		Edges   [][3]int
		Columns []struct{ Nodes []int }
	}
	if err := json.Unmarshal([]byte(data.FindStringSubmatch(web)[1]), &d); err != nil {
		t.Fatalf("html: the data: %v", err)
	}
	for i, s := range p.Graph.Stacks {
		if d.Nodes[i].Name != page.Visible(s.Key) {
			t.Errorf("html: node %d is %q, want %q", i, d.Nodes[i].Name, page.Visible(s.Key))
		}
		if !strings.Contains(html.UnescapeString(body), page.Visible(s.Key)) {
			t.Errorf("html: %q is not in the list for those without scripts", s.Key)
		}
	}
	column := map[int]int{}
	for c := range d.Columns {
		for _, i := range d.Columns[c].Nodes {
			column[i] = c
		}
	}
	for _, e := range d.Edges {
		if column[e[1]] >= column[e[0]] && d.Nodes[e[0]].Kind != "module" {
			t.Errorf("html: the edge from %q to %q goes to the right", d.Nodes[e[0]].Name, d.Nodes[e[1]].Name)
		}
	}
	if len(column) != len(d.Nodes) {
		t.Errorf("html: %d nodes of %d have a place", len(column), len(d.Nodes))
	}
	if len(d.Nodes) != len(p.Graph.Stacks)+len(p.Graph.Modules) || len(d.Edges) < len(p.Graph.Edges) {
		t.Errorf("html: %d nodes and %d edges", len(d.Nodes), len(d.Edges))
	}
}

func tagsOf(body string) string { return strings.Join(tag.FindAllString(body, -1), "") }

func TestHostileNames(t *testing.T) {
	for _, name := range nasty {
		assertHarmless(t, hostile(t, name))
	}
}

func TestAnyNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.SampledFrom([]rune("`:#[]|<>@\n\r\\ -*_%,!()&;\"'{}/\u202e\x1b")), 1, 30, -1)).Draw(t, "name")
		assertHarmless(t, hostile(t, name))
	})
}

// tb is what a test and a property have in common.
type tb interface {
	Helper()
	Errorf(string, ...any)
	Fatal(...any)
	Fatalf(string, ...any)
}

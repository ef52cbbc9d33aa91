// Command bench compares how much processor time and memory it takes to judge
// plans of 1,000 to 100,000 changes by the same ten rules: with assize in its
// three languages, with conftest and with opa, and beside them a bare decode of
// the same bytes. It makes the plans itself, makes sure that every program finds
// the same, and prints a table of medians and ratios in Markdown. It does the same
// with generated monorepos: which stacks are there, in which order, and which of
// them a change affects, beside terramate and terragrunt; with specifications; and
// with a server, beside the pg backend of OpenTofu: how fast it keeps states, and
// turns the pages of a long list.
//
// It must not be told apart from a user: it runs the programs that people run.
package main

import (
	"embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed policy
var policies embed.FS

// A section is one of the page, with a table for each size of what is measured.
type section struct {
	heading string
	sizes   *string // numbers, with commas between them; none leave the section as it is
	least   int
	table   func(dir, bin string, n, runs int) (string, error)
}

func main() {
	bin := flag.String("bin", ".bin", "`DIR` that holds assize and those it is compared with")
	runs := flag.Int("runs", 3, "how often each program does each thing")
	while := flag.Duration("while", 8*time.Second, "how long many clients do one thing")
	page := flag.String("page", "", "write the tables into `FILE`, between its two marks")
	path := flag.String("decode", "", "only decode `PLAN`: the baseline, in a process of its own")
	sections := []section{
		{"Plans", flag.String("sizes", "1000,10000,100000", "numbers of changes of plans"), len(resources), judged},
		{"Monorepos", flag.String("estates", "500,5000", "numbers of stacks of monorepos"), 100, scanned},
		{"Specifications", flag.String("specifications", "100,1000", "numbers of resources of specifications"), 1, specified},
		{"States on the server", flag.String("states", "10,10000", "sizes of states, in kilobytes"), 1,
			func(dir, bin string, n, runs int) (string, error) {
				return stored(dir, bin, n, runs, []int{1, 16, 64}, *while)
			}},
		{"Stacks on the server", flag.String("stacks", "50000", "numbers of stacks to list"), v2Page,
			func(dir, bin string, n, _ int) (string, error) { return listed(dir, bin, n, *while, time.Minute) }},
	}
	flag.Parse()
	var err error
	if *path != "" {
		err = decode(*path)
	} else {
		err = run(*bin, sections, *runs, *page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin string, sections []section, runs int, page string) error {
	dir, err := os.MkdirTemp("", "assize-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // root's Postgres runs as somebody else
		return err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if err := os.CopyFS(dir, policies); err != nil {
		return err
	}
	made := map[string]string{}
	for _, s := range sections {
		if *s.sizes == "" {
			continue
		}
		text, err := s.tables(dir, bin, runs)
		if err != nil {
			return err
		}
		made[s.heading] = text
	}
	if page == "" {
		return nil
	}
	return insert(page, sections, made)
}

// tables makes and prints the text of a section.
func (s section) tables(dir, bin string, runs int) (string, error) {
	text := "\n" + machine(runs)
	fmt.Printf("\n## %s\n%s", s.heading, text)
	for _, size := range strings.Split(*s.sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < s.least {
			return "", fmt.Errorf("%s: %q is no number of at least %d", strings.ToLower(s.heading), size, s.least)
		}
		one, err := s.table(dir, bin, n, runs)
		if err != nil {
			return "", err
		}
		fmt.Print(one)
		text += one
	}
	return text, nil
}

// judged makes a plan of n changes and compares what it takes to judge it.
func judged(dir, bin string, n, runs int) (string, error) {
	plan := filepath.Join(dir, "plan.json")
	bytes, err := makePlan(plan, n)
	if err != nil {
		return "", err
	}
	defer os.Remove(plan)
	all, err := programs(bin, filepath.Join(dir, "policy"), plan, n)
	if err != nil {
		return "", err
	}
	costs, err := compare(all, runs)
	if err != nil {
		return "", err
	}
	return table(n, bytes, all, costs), nil
}

// The tables stand between these two lines of the page.
const begin, end = "<!-- make bench writes from here -->\n", "<!-- to here -->\n"

// insert puts sections in the place of those of the same heading, and leaves others.
func insert(page string, sections []section, made map[string]string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	was, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s has no two lines %q and %q", page, begin, end)
	}
	kept := map[string]string{}
	for _, part := range strings.Split("\n"+was, "\n## ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		kept[heading] = strings.TrimSuffix(body, "\n")
	}
	maps.Copy(kept, made)
	var tables strings.Builder
	for _, s := range sections {
		if body := kept[s.heading]; body != "" {
			fmt.Fprintf(&tables, "\n## %s\n%s", s.heading, body)
		}
	}
	return os.WriteFile(page, []byte(head+begin+tables.String()+"\n"+end+tail), 0o644)
}

// machine says what the numbers depend on.
func machine(runs int) string {
	model := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo") // elsewhere the processor stays unknown
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	busy := ""
	load, _ := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(load)); len(fields) > 0 {
		busy = fmt.Sprintf(" The load of the machine was %s when this began.", fields[0])
	}
	return fmt.Sprintf("Medians of %d runs; %d processors (%s), %s/%s, %s.%s\n", runs, runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version(), busy)
}

func makePlan(path string, n int) (bytes int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := writePlan(f, n); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), f.Close()
}

// compare runs every program in turn, so that what else the machine does falls
// on all of them alike.
func compare(all []program, runs int) ([]cost, error) {
	each := make([][]cost, len(all))
	for run := range runs {
		for i, p := range all {
			if p.once && run > 0 {
				continue
			}
			c, found, err := p.run()
			if err != nil {
				return nil, err
			}
			if !slices.Equal(found, p.want) {
				return nil, fmt.Errorf("%s: it finds %d, and not the %d that it should: %.300q", p.name, len(found), len(p.want), found)
			}
			each[i] = append(each[i], c)
		}
	}
	costs := make([]cost, len(all))
	for i := range all {
		costs[i] = median(each[i])
	}
	return costs, nil
}

// table compares with the decode, the first of all, and with conftest.
func table(n int, bytes int64, all []program, costs []cost) string {
	decode := costs[0]
	peer := costs[slices.IndexFunc(all, func(p program) bool { return p.name == "conftest" })]
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %d changes, %.1f MB\n\n", n, float64(bytes)/1e6)
	b.WriteString("| | CPU s | wall s | peak MB | CPU / decode | conftest's CPU / this | conftest's memory / this |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for i, p := range all {
		c := costs[i]
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f | %.1f | %.1f | %.1f |\n", p.name, c.cpu.Seconds(), c.wall.Seconds(), float64(c.peak)/1e6,
			ratio(c.cpu, decode.cpu), ratio(peer.cpu, c.cpu), ratio(peer.peak, c.peak))
	}
	return b.String()
}

func ratio[T ~int64](a, b T) float64 { return float64(a) / float64(max(b, 1)) }

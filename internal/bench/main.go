// Command bench compares how much processor time and memory it takes to judge
// plans of 1,000 to 100,000 changes by the same ten rules: with assize in its
// three languages, with conftest and with opa, and beside them a bare decode of
// the same bytes. It makes the plans itself, makes sure that every program finds
// the same, and prints a table of medians and ratios in Markdown. It does the same
// with generated monorepos: which stacks are there, in which order, and which of
// them a change affects, beside terramate and terragrunt.
//
// It must not be told apart from a user: it runs the programs that people run.
package main

import (
	"embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

//go:embed policy
var policies embed.FS

func main() {
	bin := flag.String("bin", ".bin", "`DIR` that holds assize and those it is compared with")
	sizes := flag.String("sizes", "1000,10000,100000", "numbers of changes of plans")
	estates := flag.String("estates", "500,5000", "numbers of stacks of monorepos")
	runs := flag.Int("runs", 3, "how often each program judges each plan")
	page := flag.String("page", "", "write the tables into `FILE`, between its two marks")
	path := flag.String("decode", "", "only decode `PLAN`: the baseline, in a process of its own")
	flag.Parse()
	var err error
	if *path != "" {
		err = decode(*path)
	} else {
		err = run(*bin, *sizes, *estates, *runs, *page)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, sizes, estates string, runs int, page string) error {
	dir, err := os.MkdirTemp("", "assize-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	if err := os.CopyFS(dir, policies); err != nil {
		return err
	}
	tables := machine(runs)
	fmt.Print(tables)
	for _, what := range []struct {
		flag, sizes string
		least       int
		heading     string
		table       func(dir, bin string, n, runs int) (string, error)
	}{{"sizes", sizes, len(resources), "Plans", judged}, {"estates", estates, 100, "Monorepos", scanned}} {
		if what.sizes != "" {
			tables += "\n## " + what.heading + "\n"
		}
		for _, size := range strings.FieldsFunc(what.sizes, func(r rune) bool { return r == ',' }) {
			n, err := strconv.Atoi(size)
			if err != nil || n < what.least {
				return fmt.Errorf("-%s: %q is no number of at least %d", what.flag, size, what.least)
			}
			one, err := what.table(dir, bin, n, runs)
			if err != nil {
				return err
			}
			fmt.Print(one)
			tables += one
		}
	}
	if page == "" {
		return nil
	}
	return insert(page, tables)
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

func insert(page, tables string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		return fmt.Errorf("%s has no two lines %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(head+begin+"\n"+tables+"\n"+end+tail), 0o644)
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
	return fmt.Sprintf("Medians of %d runs; %d processors (%s), %s/%s, %s.\n", runs, runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
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

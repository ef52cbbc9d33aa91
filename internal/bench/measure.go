package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A program is one way to do what is compared.
type program struct {
	name string
	args []string // the first is the binary
	// found reads what is compared of the output, such as the addresses denied.
	found func(stdout []byte) ([]string, error)
	want  []string // what it must find, sorted

	env    []string     // besides that of this process
	before func() error // makes ready, and is not measured; nil is nothing to do
	once   bool         // it is too slow to run more than once
}

// A cost is what one run, or the median of several, took.
type cost struct {
	cpu  time.Duration // user and system, of the process and of those it started
	wall time.Duration
	peak int64 // bytes: the largest sum of what the process and its children held at once
}

// run runs a program once. That a policy spoke is no failure: such programs
// exit with 1.
func (p program) run() (cost, []string, error) {
	if p.before != nil {
		if err := p.before(); err != nil {
			return cost{}, nil, err
		}
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, nil, err
	}
	peak, done := make(chan int64), make(chan struct{})
	go func() { peak <- watch(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	c := cost{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	close(done)
	c.peak = <-peak
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		return c, nil, fmt.Errorf("%s: %w\n%s", p.name, err, stderr.Bytes())
	}
	found, err := p.found(stdout.Bytes())
	if err != nil {
		return c, nil, fmt.Errorf("%s: %w\n%s", p.name, err, stderr.Bytes())
	}
	slices.Sort(found) // CUE says what each branch of an alternative misses
	return c, slices.Compact(found), nil
}

// watch samples the resident memory of a process and its children until done,
// and returns the largest sum it saw.
func watch(pid int, done <-chan struct{}) (peak int64) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		peak = max(peak, resident(pid))
		select {
		case <-done:
			return peak
		case <-tick.C:
		}
	}
}

// held is the resident memory of a process by itself, and 0 when it has ended.
func held(pid int) int64 {
	statm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func resident(pid int) int64 {
	sum := held(pid)
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	for _, file := range threads {
		children, _ := os.ReadFile(file) // one that ended has none
		for _, child := range strings.Fields(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				sum += resident(n)
			}
		}
	}
	return sum
}

// median is that of each number by itself.
func median(costs []cost) cost {
	middle := func(of func(cost) int64) int64 {
		values := make([]int64, len(costs))
		for i, c := range costs {
			values[i] = of(c)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return cost{
		cpu:  time.Duration(middle(func(c cost) int64 { return int64(c.cpu) })),
		wall: time.Duration(middle(func(c cost) int64 { return int64(c.wall) })),
		peak: middle(func(c cost) int64 { return c.peak }),
	}
}

// programs are what is compared: assize with each language, the peers with the
// same Rego, and a bare decode of the same bytes.
func programs(bin, policies, plan string, n int) ([]program, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	assize, conftest, opa := filepath.Join(bin, "assize"), filepath.Join(bin, "conftest"), filepath.Join(bin, "opa")
	file := func(name string) string { return filepath.Join(policies, name) }
	check := func(flag, name string) []string {
		return []string{assize, "policy", "check", plan, "--format", "json", flag, file(name)}
	}
	var want []string
	for _, c := range changes(n)[n-len(resources):] {
		want = append(want, c.address())
	}
	slices.Sort(want)
	return []program{
		{name: "typed decode", args: []string{self, "-decode", plan}, found: nothing},
		{name: "assize, rules", args: check("--rules", "rules.yaml"), found: assizeFound, want: want},
		{name: "assize, Rego", args: check("--rego", "policy.rego"), found: assizeFound, want: want},
		{name: "assize, CUE", args: check("--cue", "policy.cue"), found: assizeFound, want: want},
		{name: "conftest", args: []string{conftest, "test", plan, "--policy", file("policy.rego"), "--output", "json"}, found: conftestFound, want: want},
		{name: "opa eval", args: []string{opa, "eval", "--format", "json", "--input", plan, "--data", file("policy.rego"), "data.main.deny"}, found: opaFound, want: want},
	}, nil
}

func nothing([]byte) ([]string, error) { return nil, nil }

func assizeFound(stdout []byte) ([]string, error) {
	var check struct {
		Outcome  string
		Findings []struct{ Level, Address string }
	}
	if err := json.Unmarshal(stdout, &check); err != nil {
		return nil, err
	}
	if check.Outcome != "failed" {
		return nil, fmt.Errorf("the outcome is %q: %.2000s", check.Outcome, stdout)
	}
	var found []string
	for _, f := range check.Findings {
		found = append(found, f.Address)
	}
	return found, nil
}

func conftestFound(stdout []byte) ([]string, error) {
	var files []struct {
		Failures []struct {
			Metadata struct{ Address string }
		}
	}
	if err := json.Unmarshal(stdout, &files); err != nil {
		return nil, err
	}
	var found []string
	for _, file := range files {
		for _, f := range file.Failures {
			found = append(found, f.Metadata.Address)
		}
	}
	return found, nil
}

func opaFound(stdout []byte) ([]string, error) {
	var answer struct {
		Result []struct {
			Expressions []struct {
				Value []struct{ Address string }
			}
		}
	}
	if err := json.Unmarshal(stdout, &answer); err != nil {
		return nil, err
	}
	var found []string
	for _, result := range answer.Result {
		for _, expression := range result.Expressions {
			for _, v := range expression.Value {
				found = append(found, v.Address)
			}
		}
	}
	return found, nil
}

// decode is the least that anybody who judges a plan has to do: read the bytes
// and decode the changes to types, with encoding/json, the attributes left as
// they are.
func decode(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var plan struct {
		ResourceChanges []struct {
			Address, Type string
			Change        struct {
				Actions                                                      []string
				Before, After, AfterUnknown, BeforeSensitive, AfterSensitive json.RawMessage
			}
		} `json:"resource_changes"`
	}
	return json.Unmarshal(raw, &plan)
}

// Command assize judges plans of OpenTofu and Terraform and applies exactly
// what was judged. This package wires the roles together; only it knows which
// engines exist.
package main

import (
	"context"
	"os"
	"time"

	"github.com/assize-iac/assize/internal/cli"
	"github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/policy"
	judging "github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regotest"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/spec"
)

// version is set when a release is built.
var version = "dev"

func main() {
	os.Exit(run(time.Now))
}

func run(now func() time.Time) int {
	// Rego and CUE cannot be bounded from inside; the child that evaluates them is
	// this same binary, so that what a laptop judged is what the gate judges.
	if len(os.Args) > 1 && os.Args[1] == confine.Argument {
		return confine.Child(map[string]confine.Work{judging.Work: judging.Judge(confined()), spec.Work: spec.Evaluate})
	}
	g := &cli.Globals{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Engines: engines(), Version: version, Now: now}
	return cli.Run(context.Background(), g, os.Args[1:])
}

// engines lists the languages of policies.
func engines() []policy.Engine {
	all := []policy.Engine{rules.Engine{}}
	for _, e := range confined() {
		all = append(all, judging.New(e, judging.Limits{}))
	}
	return all
}

// confined lists the engines that run in a child process.
func confined() []policy.Engine {
	return []policy.Engine{regotest.New(), cueengine.New()}
}

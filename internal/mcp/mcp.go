// Package mcp serves agents over the Model Context Protocol: they check, plan and
// apply through the commands of assize, under policies that were named when the
// server was started and that no argument can add to, remove or change. It decides
// nothing about infrastructure; each tool is one command in a process of its own.
//
// The idea to know: what an agent says is data. No word of it ever stands where a
// program could take it for a flag (docs/mcp.md, rules 4 to 6).
package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/assize-iac/assize/internal/problem"
)

// Options say what a server is bound to.
type Options struct {
	Program  string   // the assize that carries out the tools: its absolute path
	Dir      string   // absolute: where it works
	Policies []string // absolute paths; each is read once, when the server starts
	Version  string   // of assize

	// Usable refuses policies that could not be used, before any agent relies on
	// them. It is given the copies by which everything will be judged.
	Usable func(paths []string) error
}

// A server serves one agent.
type server struct {
	options  Options
	policies *pinned
	// working is held while something is planned or applied: an agent calls tools at
	// the same time, and a plan must not change under an apply.
	working sync.Mutex
}

// Serve serves an agent on standard input and output until it goes away.
func Serve(ctx context.Context, o Options) error {
	return serve(ctx, o, &mcp.StdioTransport{})
}

func serve(ctx context.Context, o Options, over mcp.Transport) error {
	p, err := pin(o.Policies)
	if err != nil {
		return err
	}
	defer p.close()
	s := &server{options: o, policies: p}
	if err := o.Usable(p.copies()); err != nil {
		return problem.New(problem.Code(err), "%s", p.shown(err.Error())).WithHint("%s", p.shown(problem.Hint(err)))
	}
	m := mcp.NewServer(&mcp.Implementation{Name: "assize", Version: o.Version}, &mcp.ServerOptions{Instructions: instructions(p)})
	s.register(m)
	return m.Run(ctx, over)
}

// instructions are what an agent is told first.
func instructions(p *pinned) string {
	text := "Plans and applies infrastructure. Plan first, read the plan, then apply that saved plan: nothing else can be applied. " +
		"Every plan is judged by the policies below; a plan that violates one is not saved and cannot be applied. " +
		"They were read when this server was started, and no tool changes them."
	for _, file := range p.files {
		text += "\n- " + file.name + " (" + file.digest + ")"
	}
	return text
}

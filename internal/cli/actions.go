package cli

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/repo"
	"github.com/assize-iac/assize/internal/report"
	drawing "github.com/assize-iac/assize/internal/report/board"
	"github.com/assize-iac/assize/internal/report/graph"
	"github.com/assize-iac/assize/internal/report/page"
)

// summarize adds what a rollout has come to to the summary of a step of GitHub
// Actions. Elsewhere it writes nothing.
func summarize(r api.Rollout) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if os.Getenv("GITHUB_ACTIONS") != "true" || path == "" {
		return nil
	}
	var summary bytes.Buffer
	if err := drawing.Summary(&summary, r); err != nil {
		return err
	}
	return repo.AppendFile(path, summary.Bytes())
}

// handOn gives what is affected to the other jobs of a workflow of GitHub
// Actions, and to whoever reads its summary (docs/stacks.md, rules 24 and 25).
// Elsewhere it writes nothing.
func (e *estate) handOn(g *Globals, a api.Affected) error {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	var problems []string
	for _, p := range e.scanned.Problems {
		problems = append(problems, p.Message)
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		var summary bytes.Buffer
		if err := graph.Summary(&summary, a, problems); err != nil {
			return err
		}
		if err := repo.AppendFile(path, summary.Bytes()); err != nil {
			return err
		}
	}
	path := os.Getenv("GITHUB_OUTPUT")
	if path == "" || len(problems) > 0 {
		return nil // half a matrix would leave out what nobody has looked at
	}
	if n := len(a.Stacks); n > graph.MatrixMax {
		report.Problem(g.Err, "warning", "the matrix has "+page.Plural(n, "job")+", and GitHub Actions makes at most "+strconv.Itoa(graph.MatrixMax)+" of one: split it by the waves")
	}
	var outputs bytes.Buffer
	if err := graph.Outputs(&outputs, a, e.own(), "assize-"+rand.Text()); err != nil {
		return err
	}
	return repo.AppendFile(path, outputs.Bytes())
}

package cli

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/settings"
)

const logHelp = `Show what was applied to a stack from here: who began which plan, when, why, with which
command and under which policies, and how it ended. Every apply of a saved plan is in
it, once when it begins and once when it has ended; one that was killed has only begun.
So are changes of the state alone: assize state mv and rm, and assize import.

The log is .assize/log of the stack. Each entry holds the digest of the one before, so
that nobody can change it unseen; this command refuses (exit 3) a log in which
something was changed.

  assize log
  assize log infra/network:prod --json
  assize audit verify .assize/log
`

func newLogCmd(g *Globals) *cobra.Command {
	var at where
	var json bool
	cmd := &cobra.Command{
		Use:   "log [STACK]",
		Short: "Show what was applied to a stack, by whom and why",
		Long:  logHelp + exitHelp,
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, stack, err := at.of(args).place(g, settings.Plan)
			if err != nil {
				return err
			}
			entries, err := stack.Entries()
			if err != nil {
				return err
			}
			return printLog(g, entries, json)
		},
	}
	cmd.Flags().StringVarP(&at.dir, "chdir", "C", ".", "work in `DIR`")
	cmd.Flags().BoolVar(&json, "json", false, "print the entries as they are, one a line")
	return cmd
}

func printLog(g *Globals, entries []identity.Entry, json bool) error {
	if len(entries) == 0 {
		fmt.Fprintln(g.Err, "Nothing has been applied to this stack from here.")
	}
	for _, e := range entries {
		if json {
			line, err := e.Encode()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(g.Out, "%s\n", line); err != nil {
				return err
			}
			continue
		}
		why := ""
		if reason := e.Detail["reason"]; reason != "" {
			why = ": " + reason
		}
		fmt.Fprintf(g.Out, "%s  %-6s  %s  %s%s\n", e.At.Format(time.RFC3339), e.Outcome, page.Visible(done(e)), page.Visible(e.Principal.Name), page.Visible(why))
	}
	return nil
}

// done is what was done: a plan that was applied is known by its run.
func done(e identity.Entry) string {
	if e.Action == "apply" {
		return e.Object
	}
	what := e.Action + " " + e.Object
	if to := e.Detail["to"]; to != "" {
		what += " to " + to
	}
	return what
}

// registerLabels takes the caller's words about a plan: no rule over them binds
// anything (seed 003, "What a policy does not guarantee").
func registerLabels(cmd *cobra.Command, l *plan.Labels) {
	cmd.Flags().StringVar(&l.Actor, "actor", "", "who does this, for the plan document and the log (default the user of this machine, in the log)")
	cmd.Flags().StringVar(&l.Reason, "reason", "", "why, for the plan document and the log")
	cmd.Flags().StringVar(&l.TraceID, "trace-id", "", "`ID` by which other systems know this, for the plan document and the log")
}

// A txn is one apply, for the log.
type txn identity.Entry

// transaction is the apply of a plan with this warrant.
func transaction(w api.Warrant, l plan.Labels, verdicts []api.Verdict) txn {
	detail := map[string]string{"plan": w.Binding.Plan, "warrant": w.Seal, "command": commandLine()}
	for name, text := range map[string]string{"commit": w.Binding.Commit, "reason": l.Reason, "trace": l.TraceID, "policies": judgedBy(verdicts)} {
		if text != "" {
			detail[name] = text
		}
	}
	return txn{Principal: caller(l), Action: "apply", Object: w.Run, Detail: detail}
}

// caller is who does it, as far as anybody says.
func caller(l plan.Labels) identity.Principal {
	who := l.Actor
	if u, err := user.Current(); err == nil && who == "" {
		who = u.Username
	}
	return identity.Principal{Kind: identity.Person, Name: who}
}

// judgedBy are the policies that judged, with the digests of their bytes.
func judgedBy(verdicts []api.Verdict) string {
	var all []string
	for _, v := range verdicts {
		all = append(all, fmt.Sprintf("%s (%s) %s", v.Path, v.Digest, v.Outcome))
	}
	return strings.Join(all, "; ")
}

func (t txn) begun() identity.Entry { return t.at("begun") }

func (t txn) ended(err error) identity.Entry {
	if err != nil {
		return t.at("failed")
	}
	return t.at("done")
}

func (t txn) at(outcome string) identity.Entry {
	t.Outcome = outcome
	return identity.Entry(t)
}

// commandLine is what was typed, without values that may be secrets.
func commandLine() string {
	var words []string
	hide := false
	for _, arg := range os.Args {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case hide:
			name, _, _ = strings.Cut(arg, "=")
			arg, hide = name+"=...", false
		case arg == "--var" || arg == "-var":
			hide = true
		case assigned && (name == "--var" || name == "-var"):
			variable, _, _ := strings.Cut(value, "=")
			arg = name + "=" + variable + "=..."
		}
		words = append(words, strings.TrimSpace(quoteAll(arg)))
	}
	return strings.Join(words, " ")
}

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

const auditVerifyHelp = `Verify an export of the audit log, without a server: nothing in it was changed,
removed, inserted or moved. FILE holds one entry a line, from the first entry on;
- is standard input.

No export can show by itself that its end was cut off. Note the head that this
command prints, somewhere else, and give it to --head the next time.

  assize audit verify audit.jsonl
  assize audit verify audit.jsonl --head sha256:9f2c...
`

// auditLineMax bounds one line of an export, which is a few hundred bytes
// (docs/audit.md, rule 3).
const auditLineMax = 1 << 20

func newAuditCmd(g *Globals) *cobra.Command {
	return group("audit", "Read what a server has written down of who did what, and verify it",
		newAuditListCmd(g), newAuditExportCmd(g), newAuditVerifyCmd(g))
}

func newAuditVerifyCmd(g *Globals) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify an export of the audit log",
		Long:  auditVerifyHelp + exitHelp,
		Args:  exactlyOne("export", "assize audit verify audit.jsonl"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("head") && !identity.IsDigest(head) {
				return problem.New(api.Invalid, "--head is no digest").WithHint("as the command has printed it: sha256: and 64 hex digits")
			}
			return runAuditVerify(g, args[0], head)
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "`DIGEST` of the head at an earlier time: an entry of it must be there")
	return cmd
}

// runAuditVerify verifies the export at path; head is that of an earlier time,
// or "" (docs/audit.md, rules 4 and 5).
func runAuditVerify(g *Globals, path, head string) error {
	in, shown, err := g.openExport(path)
	if err != nil {
		return err
	}
	defer in.Close()
	log, found, err := readExport(in, shown, head)
	if err != nil {
		return err
	}
	if log.Head.Sequence == 0 {
		return problem.New(api.Refused, "%s holds no entry: what was in it has been removed, or it is no export", shown).
			WithHint("export the audit log again")
	}
	if head != "" && !found {
		return problem.New(api.Refused, "%s does not hold the entry of --head: the log ends earlier than it did, or was made anew", shown).
			WithHint("compare with the export of which that was the head; keep both")
	}
	_, err = fmt.Fprintf(g.Out, "The audit log is whole.\n  entries  %d\n  first    %s\n  last     %s\n  head     %s\n",
		log.Head.Sequence, log.First.At.Format(time.RFC3339Nano), log.Head.At.Format(time.RFC3339Nano), log.Head.Digest)
	return err
}

// openExport opens a file, or standard input for -, and says how to call it.
func (g *Globals) openExport(path string) (in io.ReadCloser, shown string, err error) {
	if path == "-" {
		return io.NopCloser(g.In), "standard input", nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", problem.New(api.NotFound, "%s does not exist", path).WithHint("name an export of the audit log")
	}
	if err != nil {
		return nil, "", unreadExport(path, err)
	}
	return file, path, nil
}

// readExport reads entries as far as they hold together, a line at a time, for an
// export may be larger than memory. found says whether head is the digest of one.
func readExport(in io.Reader, shown, head string) (log identity.Log, found bool, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, auditLineMax)
	n := 0
	for lines.Scan() {
		n++
		e, err := identity.DecodeEntry(lines.Bytes())
		if err == nil {
			err = log.Read(e)
		}
		if err != nil {
			return log, false, problem.New(problem.Code(err), "%s, line %d: %w", shown, n, err).WithHint("%s", problem.Hint(err))
		}
		found = found || e.Digest == head
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return log, false, problem.New(api.Refused, "%s, line %d: this is no audit entry: it is longer than 1 MiB", shown, n+1).
			WithHint("the entries before it are whole")
	case err != nil:
		return log, false, unreadExport(shown, err)
	}
	return log, found, nil
}

// unreadExport leaves out what package os says before the cause: the path, again.
func unreadExport(shown string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return problem.New(api.Invalid, "%s cannot be read: %w", shown, err).
		WithHint("name an export of the audit log, which is a file, or - for standard input")
}

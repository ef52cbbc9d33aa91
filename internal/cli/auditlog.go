package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

func newAuditListCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var most int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what was done last",
		Long: `List the newest entries of the audit log of an organisation, the newest first.

  assize audit list --limit 200
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.auditList(cmd.Context(), r, most) },
	}
	r.flags(cmd)
	r.printing(cmd)
	cmd.Flags().IntVar(&most, "limit", 50, "at most so many entries; 0 for all")
	return cmd
}

func (g *Globals) auditList(ctx context.Context, r *remote, most int) error {
	if most < 0 {
		return problem.New(api.Invalid, "--limit is not negative").WithHint("--limit 200, or 0 for all")
	}
	in, err := r.in(ctx)
	if err != nil {
		return err
	}
	entries, err := gather[v1.AuditEntry](ctx, r, most, func(p v1.Paging) binding.Request {
		return v1.ListAudit{Organisation: in, Paging: p}
	})
	if err != nil {
		return err
	}
	return show(g, r, entries, "ENTRY,AT,WHO,ACTION,OUTCOME,OBJECT,DETAIL", func(e v1.AuditEntry) []string {
		return []string{fmt.Sprint(e.Sequence), moment(e.At), e.Principal.Name, e.Action, e.Outcome, e.Object, auditDetail(e.Detail)}
	})
}

// auditDetail is what a person wants to know of an entry beside its object: what that
// is called, then all else but digests.
func auditDetail(detail map[string]string) string {
	var words []string
	if name := detail["name"]; name != "" {
		words = append(words, name)
	}
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		switch value := detail[name]; {
		case name == "name" || name == "artifact" || name == "digest" || name == "md5" || value == "":
		case strings.ContainsAny(value, " \"="):
			words = append(words, name+"="+strconv.Quote(value))
		default:
			words = append(words, name+"="+value)
		}
	}
	return strings.Join(words, " ")
}

func newAuditExportCmd(g *Globals) *cobra.Command {
	r := &remote{g: g}
	var to string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Export the audit log of an organisation, verified on the way",
		Long: `Export the whole audit log of an organisation as JSON Lines. It is verified while it
comes, and what does not hold together is not taken for an export. Note the head
that is printed in the end somewhere else: with it, assize audit verify can tell
later that nothing was cut off.

  assize audit export -o audit.jsonl
  assize audit export | gzip > audit.jsonl.gz
` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.auditExport(cmd.Context(), r, to) },
	}
	r.flags(cmd)
	cmd.Flags().StringVarP(&to, "output", "o", "", "`FILE` to write, instead of standard output")
	return cmd
}

func (g *Globals) auditExport(ctx context.Context, r *remote, path string) error {
	in, err := r.in(ctx)
	if err != nil {
		return err
	}
	body, err := r.Open(ctx, v1.ExportAudit{Organisation: in})
	if err != nil {
		return err
	}
	defer body.Close()
	var head identity.Entry
	write := func(out io.Writer) (err error) {
		head, err = copyEntries(out, body)
		return err
	}
	if path == "" {
		err = write(g.Out)
	} else {
		err = writeWhole(path, 0o600, write)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(g.Err, "%d entries. Note the head elsewhere: %s\n", head.Sequence, head.Digest)
	return err
}

// copyEntries copies entries as long as they hold together, and returns the last.
func copyEntries(out io.Writer, in io.Reader) (identity.Entry, error) {
	var log identity.Log
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, auditLineMax)
	for lines.Scan() {
		e, err := identity.DecodeEntry(lines.Bytes())
		if err == nil {
			err = log.Read(e)
		}
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", lines.Bytes())
		}
		if err != nil {
			return identity.Entry{}, err
		}
	}
	if err := lines.Err(); err != nil {
		return identity.Entry{}, problem.New(api.Unavailable, "the export broke off: %w", err).WithHint("export it again")
	}
	return log.Head, nil
}

// writeWhole makes a file of what write writes, when all of it was written, and
// leaves what is there as it is otherwise.
func writeWhole(path string, mode os.FileMode, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".assize-*")
	if err != nil {
		return unwritten(path, err)
	}
	defer os.Remove(tmp.Name())
	if err := errors.Join(write(tmp), tmp.Chmod(mode), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return unwritten(path, err)
	}
	return nil
}

// Package parcel writes what a bundle is, for people and for programs.
package parcel

import (
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/report/page"
)

// Text writes what a bundle is, digests in full, so that they can be compared
// with those of a verdict.
func Text(w io.Writer, b api.Bundle) error {
	var text strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&text, "  %-12s %s\n", label, page.Visible(value))
		}
	}
	fmt.Fprintf(&text, "%s (%s)\n", page.Visible(b.Path), page.Plural(b.Size, "byte"))
	line("bundle", b.Digest)
	line("policy", b.Policy)
	line("language", string(b.Language))
	line("built by", builder(b))
	line("revision", otherThan(b.Policy, b.Revision))
	line("built-ins", b.Capabilities)
	line("roots", strings.Join(b.Roots, ", "))
	if c := b.Contract; c != nil {
		line("contract", c.Name+", "+c.EntryPoint)
		line("input", c.InputVersion)
	}
	if o := b.Options; o != nil {
		line("namespaces", namespaces(*o))
		line("input shape", o.InputShape)
	}
	fmt.Fprintf(&text, "\n%10s  %-12s  file\n", "bytes", "sha256")
	for _, f := range b.Files {
		fmt.Fprintf(&text, "%10d  %-12s  %s", f.Size, policy.Short(f.Digest), page.Visible(f.Path))
		if f.Name != "" {
			fmt.Fprintf(&text, " (--data %s)", page.Visible(f.Name))
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func builder(b api.Bundle) string {
	if b.Evaluator == "" {
		return "opa build; nothing says what checked it"
	}
	return "assize, checked by " + b.Evaluator
}

func otherThan(known, text string) string {
	if text == known {
		return ""
	}
	return text
}

func namespaces(o api.BundleOptions) string {
	if o.AllNamespaces {
		return "all"
	}
	return strings.Join(o.Namespaces, ", ")
}

// Package redact keeps known secrets out of a stream, however the stream is cut
// into pieces and however the secrets are written in it (seed 001, "Runner
// logs"; seed 004, "Instances"). It must not know where secrets come from, nor
// what streams.
//
// The idea to know: a byte is shown as soon as no secret that holds it can
// still come, and not before. What could be the beginning of one waits, so a
// [Writer] holds no more than the longest form of a secret.
//
// For the secrets of a plan in the texts of policies see internal/plan/secret,
// which sees a text as a whole and knows words.
package redact

import (
	"slices"
	"strings"
)

// secretMin is the length in bytes from which on a secret is looked for. What
// is shorter stands everywhere, and to hide it would leave nothing readable.
const secretMin = 4

// A Set is secrets, in every form in which they are looked for. It never
// changes, and may be used by many writers at once.
type Set struct {
	tree tree
	mask string // "" if whatever stands in place of a secret could form one
}

// New returns the set of these secrets. Ignored are those of fewer than four
// bytes without the white space around them, and true, false and null: they
// are found everywhere and tell nothing.
func New(secrets []string) *Set {
	var all []string
	for _, s := range secrets {
		for _, part := range parts(s) {
			all = append(all, formsOf(part)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return &Set{tree: grow(all), mask: maskFor(all)}
}

// Empty reports whether the set has nothing to look for, as that of nil.
func (s *Set) Empty() bool { return s == nil || len(s.tree.nodes) == 1 }

// parts are what is secret of a text: all of it, and each of its lines, because
// the tools indent what has several and draw a frame around it.
func parts(s string) []string {
	candidates := []string{s, strings.TrimSpace(s)}
	for line := range strings.Lines(s) {
		candidates = append(candidates, strings.TrimSpace(line))
	}
	return slices.DeleteFunc(candidates, func(c string) bool {
		bare := strings.TrimSpace(c)
		return len(bare) < secretMin || slices.Contains([]string{"true", "false", "null"}, strings.ToLower(bare))
	})
}

// maskFor chooses what stands in place of a secret: the first text that forms
// none together with what stands around it.
func maskFor(forms []string) string {
	for _, mask := range []string{"(sensitive)", "[redacted]", "***", "«secret»"} {
		if !slices.ContainsFunc(forms, func(form string) bool { return overlaps(form, mask) }) {
			return mask
		}
	}
	return ""
}

func overlaps(form, mask string) bool {
	for i := 1; i < len(mask); i++ {
		if strings.HasSuffix(form, mask[:i]) || strings.HasPrefix(form, mask[i:]) {
			return true
		}
	}
	return strings.Contains(mask, form) || strings.Contains(form, mask)
}

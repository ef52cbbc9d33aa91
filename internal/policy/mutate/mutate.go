// Package mutate weakens policies on purpose: it drops what a policy says,
// turns its comparisons round, widens what it allows, and points its paths at
// nothing, each time in one place. A weakened policy that no test tells from
// the policy itself is a mistake that nobody would notice (docs/testing.md,
// rules 9 to 12).
//
// It knows the syntax of the three languages and not what a policy means; most
// mutants say something else, and a few do not. It must not know how a policy
// is judged or tested.
package mutate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// A Mutant is a policy that differs from another one in one place.
type Mutant struct {
	api.Mutant
	Source policy.Source
}

// Of returns the mutants of a policy that can be used, in the order of its
// files. Tests in Rego stay as they are.
func Of(src policy.Source) ([]Mutant, error) {
	switch src.Language {
	case api.Rules:
		return ofRules(src)
	case api.Rego:
		return ofTexts(src, regoEdits)
	case api.CUE:
		return ofTexts(src, cueEdits)
	}
	return nil, fmt.Errorf("no mutants are known for %q", src.Language)
}

// Cut takes at most n mutants, spread evenly: what is said of a policy should
// not be about its first lines only.
func Cut(mutants []Mutant, n int) []Mutant {
	if n <= 0 || len(mutants) <= n {
		return mutants
	}
	out := make([]Mutant, 0, n)
	for i := range n {
		out = append(out, mutants[i*len(mutants)/n])
	}
	return out
}

// An edit replaces a part of a file: every byte outside of it stays, so that
// positions keep their lines and the reader of a survivor finds the place.
type edit struct {
	from, to int // offsets in bytes
	with     string
	line     int // from 1
	rule     string
	change   string
}

func (e edit) apply(text []byte) []byte {
	return slices.Concat(text[:e.from], []byte(e.with), text[e.to:])
}

// ofTexts makes mutants of the edits of every file. An edit that leaves the file
// as it was, or that another one has made, is left out.
func ofTexts(src policy.Source, edits func(policy.File) ([]edit, error)) ([]Mutant, error) {
	var out []Mutant
	for i, f := range src.Files {
		all, err := edits(f)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(all, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
		seen := map[string]bool{string(f.Data): true}
		for _, e := range all {
			text := e.apply(f.Data)
			if seen[string(text)] {
				continue
			}
			seen[string(text)] = true
			m := Mutant{Source: src}
			m.Source.Files = slices.Clone(src.Files)
			m.Source.Files[i].Data = text
			m.Position, m.Rule, m.Change = fmt.Sprintf("%s:%d", shown(src, f), e.line), e.rule, e.change
			m.Tell = telling(src.Language, e.change)
			out = append(out, m)
		}
	}
	return out, nil
}

// shown is a file's name as the user can open it.
func shown(src policy.Source, f policy.File) string {
	if f.Name == path.Base(src.Path) {
		return src.Path
	}
	return path.Join(src.Path, f.Name)
}

// opposite is the comparison that holds where another does not.
func opposite(op string) string {
	return map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "=~": "!~", "!~": "=~"}[op]
}

// misspelt adds a character inside the closing quote of a string as it is
// written, or to a bare word.
func misspelt(text string) string {
	if text != "" && strings.ContainsAny(text[len(text)-1:], "\"`'") {
		return text[:len(text)-1] + "_" + text[len(text)-1:]
	}
	return text + "_"
}

// telling is what plan tells a mutant from its policy, by what was done to it.
func telling(lang api.Language, change string) string {
	dropped, widened := strings.HasPrefix(change, "dropped "), strings.HasPrefix(change, "widened ")
	switch {
	case change == "dropped the rule" && lang == api.Rego:
		return "a plan in which this rule finds something that no other one finds"
	case change == "dropped the rule":
		return "a plan that breaks this rule"
	case lang == api.Rego && dropped:
		return "a plan in which the rule would find something, were it not for this condition"
	case lang == api.CUE && (dropped || widened):
		return "a plan that breaks this and nothing else"
	case lang == api.Rules && widened && !strings.Contains(change, "any source"):
		return "a plan in which something that the rule is not about would break it"
	case strings.HasPrefix(change, "turned the guard"):
		return "a plan to which the guard applies, and that breaks what it guards"
	}
	return "a plan for which this makes a difference: one that breaks the rule here, or one that just keeps to it"
}

// brief quotes a piece of a policy in one short line.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 60 {
		text = string(r[:59]) + "…"
	}
	return text
}

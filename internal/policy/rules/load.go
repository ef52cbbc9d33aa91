package rules

import (
	"cmp"
	"fmt"
	"path"

	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/strict"
)

// Load reads every rule of a policy, in the order of its files. What is wrong
// is reported all at once, with positions: a misspelt rule that loads is worse
// than none, because the green check then means something false (seed 002,
// step 2; docs/policy.md, rule 15).
func Load(src policy.Source) ([]Rule, error) {
	l := loader{ids: map[string]string{}}
	var loaded []Rule
	for _, f := range src.Files {
		loaded = append(loaded, l.file(shownName(src, f), f.Data)...)
	}
	if l.Len() == 0 && len(loaded) == 0 { // no file at all
		l.Add(src.Path, 1, 1, "no rules; a policy without rules would pass everything")
	}
	if err := l.Err("correct the file; `assize policy schema rules` prints a JSON Schema that lets an editor check it"); err != nil {
		return nil, err
	}
	return loaded, nil
}

// shownName is a file's name as the user can open it.
func shownName(src policy.Source, f policy.File) string {
	if f.Name == path.Base(src.Path) || f.Name == src.Path || src.Path == "" {
		return cmp.Or(src.Path, f.Name)
	}
	return path.Join(src.Path, f.Name)
}

// A loader collects what is wrong with a policy.
type loader struct {
	strict.Complaints
	ids map[string]string // where each id was used first
}

// file reads the rules of one file. $schema is where editors look for the
// schema of a file.
func (l *loader) file(name string, src []byte) []Rule {
	first := l.Len()
	root, ok := l.Read(name, src)
	if !ok {
		return nil
	}
	items, ok := l.Items(name, root, "rules", "$schema")
	if ok && len(items.Items) == 0 {
		l.Add(name, items.Line, items.Column, "no rules; a policy without rules would pass everything")
	}
	var loaded []Rule
	for i, n := range items.Items {
		r := ruleReader{strict.ObjectReader{Complaints: &l.Complaints, File: name, Called: fmt.Sprintf("rule %d", i+1), Start: n}, l.ids}
		loaded = append(loaded, r.rule(n))
	}
	l.Sort(first)
	return loaded
}

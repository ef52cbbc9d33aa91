package input

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan/mark"
	"github.com/assize-iac/assize/internal/problem"
)

// check holds a document against every rule that its type cannot express. It
// is asked of what is read and of what was built, so that a mistake of the
// projection is an error and not an input.
func (c Contract) check(d *api.PolicyInput) error {
	subject, other := d.Stack, d.Workspace
	if c.bare {
		subject, other = other, subject
	}
	switch {
	case d.Version != c.InputVersion:
		return invalid("version", "is not %s", c.InputVersion)
	case other != nil:
		return invalid("", "%s says %s, and nothing else, for what a plan is of", c.InputVersion, c.Subject)
	case subject == nil:
		return invalid(c.Subject, "is missing")
	case c.bare != (d.Plan == nil):
		return invalid("plan", "belongs to %s and to nothing else", Assize().InputVersion)
	case d.ResourceChanges == nil:
		return invalid("resource_changes", "is null; an empty plan has []")
	}
	for _, err := range []error{checkSource(d.Run.Kind, d.Source), c.checkSubject(subject), checkPlan(d.Plan)} {
		if err != nil {
			return err
		}
	}
	return c.checkChanges(d.ResourceChanges)
}

// invalid names the place and the rule. It takes no value of the document but
// addresses, which are shown everywhere: what is refused may hold anything.
func invalid(at, format string, args ...any) error {
	if at != "" {
		at += " "
	}
	return problem.New(api.Invalid, "policy input: %s%s", at, fmt.Sprintf(format, args...)).WithHint(hint)
}

// Ids end up in logs, headers and file names of whoever judges, so none has a
// space, a control character or more than one line. An abbreviated commit is no
// commit: two repositories, or one next year, may have several that begin so.
var (
	commit        = regexp.MustCompile(`^[0-9a-f]{40}$`)
	configuration = regexp.MustCompile(`^cfg_[0-9A-Za-z]{1,124}$`)
	identifier    = regexp.MustCompile(`^[!-~]{1,128}$`)
)

// checkSource holds source and kind against each other: a policy that trusts
// the commit of a tracked run must never be shown one that somebody typed in
// (docs/policy-input.md, rule 10).
func checkSource(kind api.RunKind, s api.InputSource) error {
	switch kind {
	case api.ManualRun:
		if s.CommitSHA != nil {
			return invalid("source.commit_sha", "is not null, and a manual run has no commit")
		}
		if !configuration.MatchString(s.RepositoryID) {
			return invalid("source.repository_id", "is no id of a configuration, cfg_..., which a manual run comes from")
		}
	case api.TrackedRun, api.SpeculativeRun:
		if s.CommitSHA == nil || !commit.MatchString(*s.CommitSHA) {
			return invalid("source.commit_sha", "is not 40 lower-case hexadecimal digits, and a %s run comes from one exact commit", kind)
		}
		// An upload may not pass for a repository, which policies may trust more.
		if !identifier.MatchString(s.RepositoryID) || strings.HasPrefix(s.RepositoryID, "cfg_") {
			return invalid("source.repository_id", "is no id of a repository, which a %s run comes from", kind)
		}
	default:
		return invalid("run.kind", "is none of manual, tracked, speculative")
	}
	// One directory has one spelling, so that a policy can compare it as text;
	// a backslash would be a separator to some and a letter to others.
	if !fs.ValidPath(s.WorkingDirectory) || strings.ContainsAny(s.WorkingDirectory, "\\\x00\n\r") {
		return invalid("source.working_directory", "is no path below the repository, such as . or infra/prod")
	}
	return nil
}

// checkSubject demands texts that survive being written: JSON would replace
// what is no UTF-8, and the digest would be of another stack.
func (c Contract) checkSubject(s *api.InputSubject) error {
	if s.ID == "" || len(s.ID) > 512 || !utf8.ValidString(s.ID) || strings.ContainsFunc(s.ID, isControl) {
		return invalid(c.Subject+".id", "is no id: 1 to 512 bytes without control characters")
	}
	if s.Metadata == nil {
		return invalid(c.Subject+".metadata", "is null; without any it is {}")
	}
	for k, v := range s.Metadata {
		if k == "" || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return invalid(c.Subject+".metadata", "has an empty key, or what is no UTF-8")
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// checkPlan is given nil under the contract that has no such member; that it is
// there exactly when it should be has been asked before.
func checkPlan(p *api.InputPlan) error {
	switch {
	case p == nil:
		return nil
	case p.Deferred < 0 || p.Targets == nil || p.Replace == nil:
		return invalid("plan", "has a negative number, or null for a list")
	case !utf8.ValidString(strings.Join(slices.Concat(p.Targets, p.Replace), "\n")):
		return invalid("plan", "has an address that is no UTF-8")
	}
	return nil
}

// checkChanges refuses what would let a policy judge one object in place of
// another (docs/policy-input.md, rule 7).
func (c Contract) checkChanges(changes []api.InputChange) error {
	type identity struct{ address, deposed string }
	known := map[identity]bool{}
	for i := range changes {
		ch := &changes[i]
		at := fmt.Sprintf("resource_changes[%d]", i)
		if err := c.checkChange(at, ch); err != nil {
			return err
		}
		id := identity{ch.Address, ch.Deposed}
		if known[id] && c.bare {
			return invalid(at, "repeats the address %s: %s cannot tell a deposed object from the current one", ch.Address, c.InputVersion)
		}
		if known[id] {
			return invalid(at, "repeats an address and deposed key: %s %s", ch.Address, ch.Deposed)
		}
		known[id] = true
	}
	return nil
}

// checkChange demands what policies select by. A change without type, mode or
// provider would be passed over by every rule that names one.
func (c Contract) checkChange(at string, ch *api.InputChange) error {
	more := ch.Deposed+ch.PreviousAddress+ch.Mode+ch.Type+ch.Name+ch.ActionReason != "" || ch.Importing || ch.Change.AfterUnknown != nil
	switch {
	case ch.Address == "":
		return invalid(at, "has no address")
	case ch.ProviderName == "":
		return invalid(at, "(%s) has no provider_name", ch.Address)
	case c.bare && more:
		return invalid(at, "has a field that %s does not have", c.InputVersion)
	case !c.bare && ch.Mode != "managed" && ch.Mode != "data" && ch.Mode != "ephemeral":
		return invalid(at+".mode", "is none of managed, data, ephemeral")
	case !c.bare && (ch.Type == "" || ch.Name == ""):
		return invalid(at, "(%s) has no type or no name", ch.Address)
	case !isTuple(ch.Change.Actions):
		return invalid(at+".change.actions", "is no known action (%s)", ch.Address)
	}
	return c.checkDelta(at+".change", &ch.Change)
}

// isTuple knows what both tools do to an object (docs/policy-input.md, rule 8).
func isTuple(actions []string) bool {
	switch strings.Join(actions, ",") {
	case "no-op", "create", "read", "update", "delete", "forget":
		return len(actions) == 1
	case "delete,create", "create,delete", "create,forget", "forget,create":
		return len(actions) == 2 // one element may hold a comma
	}
	return false
}

// checkDelta is where a mistake of the redactor would show: it asks again, in
// another way, whether what is marked is gone.
func (c Contract) checkDelta(at string, d *api.InputDelta) error {
	for _, side := range []struct {
		name         string
		value, marks any
	}{{"before", d.Before, d.BeforeSensitive}, {"after", d.After, d.AfterSensitive}} {
		_, object := side.value.(map[string]any)
		switch {
		case side.value != nil && !object:
			return invalid(at+"."+side.name, "is neither an object nor null")
		case !isMarks(side.marks):
			return invalid(at+"."+side.name+"_sensitive", "is no map of booleans")
		case !hidden(side.value, side.marks):
			return invalid(at+"."+side.name, "shows a value that %s_sensitive calls sensitive", side.name)
		}
	}
	if !c.bare && !isMarks(d.AfterUnknown) {
		return invalid(at+".after_unknown", "is no map of booleans")
	}
	return nil
}

// isMarks reports whether m consists of booleans, objects and lists alone. A
// text "true" or a null would be read differently by each policy.
func isMarks(m any) bool {
	switch m := m.(type) {
	case bool:
		return true
	case []any:
		for _, e := range m {
			if !isMarks(e) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, e := range m {
			if !isMarks(e) {
				return false
			}
		}
		return true
	}
	return false
}

// hidden reports whether v shows nothing where marks say true. Marks that do
// not fit the value could mean any of it (docs/policy-input.md, rule 3).
func hidden(v, marks any) bool {
	if v == nil || !mark.Any(marks) {
		return true
	}
	switch m := marks.(type) {
	case map[string]any:
		object, ok := v.(map[string]any)
		for k, e := range m {
			ok = ok && hidden(object[k], e)
		}
		return ok
	case []any:
		list, ok := v.([]any)
		if !ok || len(list) != len(m) {
			return false
		}
		for i, e := range m {
			ok = ok && hidden(list[i], e)
		}
		return ok
	}
	return false
}

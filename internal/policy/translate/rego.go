package translate

import (
	_ "embed" // for the helper rules
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/rules"
	"github.com/assize-iac/assize/internal/problem"
)

// helpers is what every generated file begins with, written by hand: the rules
// engine's questions in Rego. modules is the part that reads the
// configuration, which Assize does not decode for policies that do not.
//
//go:embed assize.rego
var helpers string

//go:embed modules.rego
var modules string

// Rego returns the rules as one file of the package pkg, in conftest's
// convention: a block for each rule, which adds to deny or to warn. The text is
// what `opa fmt` makes of it, and the same for the same rules.
func Rego(loaded []rules.Rule, pkg string) (string, error) {
	if err := checkPackage(pkg); err != nil {
		return "", err
	}
	var complaints []string
	blocks := []string{strings.TrimSuffix(strings.Replace(helpers, "package main", "package "+pkg, 1), "\n")}
	if slices.ContainsFunc(loaded, func(r rules.Rule) bool { return r.Check == rules.ModuleSource }) {
		blocks = append(blocks, strings.TrimSuffix(modules, "\n"))
	}
	for i := range loaded {
		if n := tooLarge(loaded[i].Value); n != "" {
			complaints = append(complaints, complaint(&loaded[i], "Rego has no number as large or as small as %s", n))
		}
		blocks = append(blocks, regoRule(&loaded[i]))
	}
	if len(complaints) > 0 {
		return "", refused("Rego", complaints)
	}
	return regoHeader + strings.Join(blocks, "\n\n") + "\n", nil
}

const regoHeader = "# Compiled from rules by `assize policy compile`. Change the rules and compile them again.\n"

// regoWords are those that a package cannot be called by: Rego's keywords, and
// the two documents that every policy can see.
const regoWords = " as contains data default else every false if import in input not null package set some true with "

var packageForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// checkPackage holds a name to what Rego takes for one. It goes into the file
// as it is, so anything else could write rules of its own there.
func checkPackage(pkg string) error {
	ok := packageForm.MatchString(pkg)
	for name := range strings.SplitSeq(pkg, ".") {
		ok = ok && !strings.Contains(regoWords, " "+name+" ")
	}
	if ok {
		return nil
	}
	return problem.New(api.Invalid, "%q is no name of a Rego package", pkg).
		WithHint("names are words joined by dots, such as main or policies.disks; conftest looks at main unless --namespace says otherwise")
}

// tooLarge returns the first number in v that OPA's parser refuses: beyond two
// to the power of 100,000. In a plan's one spelling only such numbers have an
// exponent that is so large (docs/policy.md, rule 3).
func tooLarge(v any) string {
	switch v := v.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(string(v), "e")
		if n, err := strconv.Atoi(exponent); err == nil && max(n, -n) > 30_000 {
			return string(v)
		}
	case []any:
		for _, e := range v {
			if n := tooLarge(e); n != "" {
				return n
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if n := tooLarge(v[k]); n != "" {
				return n
			}
		}
	}
	return ""
}

// regoRule is the block of one rule: the rule as data, what it selects, and
// what is wrong there. Everything that must be right of every rule is in the
// helpers, so that a block can be read by whoever knows the rule.
func regoRule(r *rules.Rule) string {
	thing, path, body := "rc", `""`, []string{"some rc in assize_selected(rule)"}
	switch r.Check {
	case "":
		path = "found.at"
		body = append(body, regoSteps(r.Path)...)
		body = append(body, "problem := assize_problem(rule, found)")
	case rules.MaxDeletes:
		thing, body = "{}", []string{"problem := assize_deletes(rule)"}
	case rules.ModuleSource:
		thing, body = "call", []string{"some call in assize_foreign(rule)", `problem := "its source matches none of the allowed regular expressions"`}
	case rules.ChecksPass:
		thing, body = "check", []string{"some check in assize_checks(rule)", "problem := assize_check_problem(rule, check.status)"}
	case rules.CompletePlan:
		thing, body = "{}", []string{
			"", // where the formatter puts one
			"# A plan's JSON does not show -target: only who made the plan knows. `assize plan` does.",
			`problem := concat(": ", ["the plan is not the whole change", assize_incomplete])`,
		}
	default:
		body = append(body, "problem := assize_event(rule, rc)")
	}
	lines := slices.Concat(
		[]string{"# rule: " + heading(r.ID), fmt.Sprintf("%s contains assize_finding(rule, %s, %s, problem) if {", r.Level, thing, path), "\trule := {"},
		indent("\t\t", regoData(r)), []string{"\t}"}, indent("\t", body), []string{"}"},
	)
	return strings.Join(lines, "\n")
}

// indent leaves no white space in empty lines, as formatters do.
func indent(by string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(by+line, "\t")
	}
	return out
}

// regoData is the rule as the members of an object. What the helpers would
// take for no restriction is left out.
func regoData(r *rules.Rule) []string {
	out := []string{}
	add := func(name string, value any) { out = append(out, fmt.Sprintf("%q: %s,", name, literal(value))) }
	add("id", r.ID)
	add("level", string(r.Level))
	add("message", r.Message)
	if len(r.Types) > 0 {
		add("type", texts(r.Types))
	}
	if len(r.Addresses) > 0 {
		add("address", texts(r.Addresses))
	}
	if r.Check != rules.ModuleSource && r.Check != rules.ChecksPass && r.Check != rules.CompletePlan {
		add("mode", texts(r.Modes))
	}
	if r.Op != "" {
		add("actions", texts(r.Actions))
		add("path", r.Path.String())
		add("op", string(r.Op))
	} else {
		add("check", string(r.Check))
	}
	if r.Value != nil {
		add("value", r.Value)
	}
	if r.Op != "" || r.Check == rules.ChecksPass {
		add("unknown", map[bool]string{true: "allow", false: "deny"}[r.AllowUnknown])
	}
	if text := regoProblem(r); text != "" {
		add("problem", text)
	}
	return out
}

// texts are words and globs as a list of texts.
func texts[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// regoProblem says what a value is that violates. It quotes the rule, but not
// where that would say what a secret is (docs/policy.md, rule 23).
func regoProblem(r *rules.Rule) string {
	form := map[rules.Op]string{
		rules.Eq:         "is not %s",
		rules.Ne:         "is what it must not be",
		rules.In:         "is none of %s",
		rules.NotIn:      "is one of those that it must not be",
		rules.Matches:    "does not match %s",
		rules.NotMatches: "matches what it must not, or is no string",
		rules.Lt:         "is no number below %s",
		rules.Lte:        "is no number up to %s",
		rules.Gt:         "is no number above %s",
		rules.Gte:        "is no number from %s on",
	}[r.Op]
	value := plan.Quote(r.Value)
	if len(value) > maxShown {
		value = "what the rule asks for"
	}
	return strings.Replace(form, "%s", value, 1)
}

// maxShown is how long a value may be that every message repeats.
const maxShown = 500

// regoSteps walk along the path, a line a step: Rego knows no recursion, so a
// path of any length has to be written out.
func regoSteps(path plan.Path) []string {
	var out []string
	from, whole, before := "assize_start(rc)", path.String(), ""
	for i, s := range path {
		to, at := fmt.Sprintf("step_%d", i+1), path[:i+1].String()
		call := fmt.Sprintf("assize_down(%s, %s, %s)", from, literal(keysOf(s)), quote(at[len(before):]))
		if s.Kind == plan.Each {
			call = fmt.Sprintf("assize_each(%s, %s)", from, quote(whole[len(before):]))
		}
		out = append(out, to+" := "+call)
		from, before = to, at
	}
	return append(out, fmt.Sprintf("some found in assize_found(%s)", from))
}

// keysOf is a step as the keys that it may be: a bare number leads into objects
// and lists (docs/policy.md, rule 11).
func keysOf(s plan.Step) []any {
	index := json.Number(strconv.Itoa(s.Index))
	if s.Kind == plan.Index {
		return []any{index}
	}
	if i, err := strconv.Atoi(s.Key); err == nil && i >= 0 && strconv.Itoa(i) == s.Key {
		return []any{s.Key, json.Number(s.Key)}
	}
	return []any{s.Key}
}

// literal writes a value as `opa fmt` leaves it. Keys are sorted, so that the
// same rules give the same text.
func literal(v any) string {
	switch v := v.(type) {
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			out[i] = literal(e)
		}
		return "[" + strings.Join(out, ", ") + "]"
	case map[string]any:
		var out []string
		for _, k := range sortedKeys(v) {
			out = append(out, quote(k)+": "+literal(v[k]))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case string:
		return quote(v)
	default: // null, a boolean, a number
		return plan.Quote(v)
	}
}

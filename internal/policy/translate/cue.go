package translate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy/rules"
)

const cueHeader = "// Compiled from rules by `assize policy compile --cue`. Change the rules and compile them again.\n"

// cueHelpers are private, so that they judge nothing. In every struct the mark
// of what is unknown is forbidden: an open struct would take it for a value
// like any other, and an unknown value would pass.
const cueHelpers = `// A text that does not look like JSON: CUE cannot look into one that does.
_text: =~#"^[\s\v\x{85}\p{Z}\x{feff}]*([^\s\v\x{85}\p{Z}\x{feff}{\[]|$)"#

// What has nothing below it.
_scalar: null | bool | number | _text

// What has fields. What is known only after apply is a struct in the plan document, too.
_struct: {"$unknown"?: _|_, ...}

// What may have elements.
_some: [_, ...] | _struct

// What is there.
_set: bool | number | string | [...] | _struct

// What has no unknown part.
_known: null | bool | number | string | [..._known] | {"$unknown"?: _|_, [string]: _known}
`

// CUE returns the rules as one file that the plan document must satisfy
// (docs/policy.md, rule 28). Every rule that CUE cannot say is an error:
// docs/compile.md lists them.
func CUE(loaded []rules.Rule) (string, error) {
	var complaints, blocks []string
	for i := range loaded {
		if why := beyondCUE(&loaded[i]); why != "" {
			complaints = append(complaints, complaint(&loaded[i], "%s", why))
			continue
		}
		blocks = append(blocks, "// rule: "+heading(loaded[i].ID)+"\n"+cueRule(&loaded[i]))
	}
	if len(complaints) > 0 {
		return "", refused("CUE", complaints)
	}
	body, imports := strings.Join(blocks, "\n"), ""
	if strings.Contains(body, "list.MaxItems(") { // an import that nothing uses does not compile
		imports = "\nimport \"list\"\n"
	}
	return cueHeader + imports + "\n" + cueHelpers + "\n" + body, nil
}

// Bounds of the text that one rule becomes: an index takes a word for every
// element before it, and a [*] says what follows twice.
const (
	maxIndex = 99
	maxSteps = 12
)

// beyondCUE is why CUE cannot say a rule, "" where it can. A rule is refused
// where its CUE would pass anything that the rule denies; where CUE can only be
// stricter, on values that the plan alone decides, docs/compile.md says so.
func beyondCUE(r *rules.Rule) string {
	path := func(is func(plan.Step) bool) bool { return slices.ContainsFunc(r.Path, is) }
	switch {
	case r.Level == api.Warn:
		return "it warns, and a CUE policy knows only denials"
	case slices.Contains(r.Actions, plan.NoOp):
		return "it judges no-ops, of which the plan document shows no values"
	case path(func(s plan.Step) bool { return s.Kind == plan.Key && s.Key == "$unknown" }):
		return `its path names "$unknown", which marks unknown values in the plan document`
	case path(func(s plan.Step) bool { i, _ := indexOf(s); return i > maxIndex }):
		return fmt.Sprintf("its path has an index above %d, and CUE counts the elements before it", maxIndex)
	case (r.Op == rules.Exists || r.AllowUnknown) && path(isBareNumber):
		return "its path has a bare number, which leads into objects and lists; write [0] for a list"
	case r.AllowUnknown && path(func(s plan.Step) bool { return s.Kind == plan.Each }):
		return "it allows unknown elements, which CUE cannot tell from empty ones"
	case len(r.Path) > maxSteps:
		return fmt.Sprintf("its path has more than %d steps, and each may double the text", maxSteps)
	case r.Check == rules.MaxDeletes && (len(r.Types)+len(r.Addresses) > 0 || !slices.Equal(r.Modes, []string{"managed"})):
		return "it counts some of the changes, and the plan document counts all of them"
	case tooLarge(r.Value) != "":
		return "its number is larger or smaller than CUE should be asked to hold"
	case r.Op != "" && slices.ContainsFunc(operands(r), isObject), (r.Op == rules.Ne || r.Op == rules.NotIn) && slices.ContainsFunc(operands(r), isContainer):
		return fmt.Sprintf("op %s compares with a list or an object, which CUE unifies instead", r.Op)
	}
	return ""
}

// isBareNumber finds steps that lead into objects and lists, which is two
// expressions in CUE and so no condition.
func isBareNumber(s plan.Step) bool {
	_, ok := indexOf(s)
	return ok && s.Kind == plan.Key
}

// isObject looks into lists: an object anywhere in them is unified as well.
func isObject(v any) bool {
	list, _ := v.([]any)
	_, is := v.(map[string]any)
	return is || slices.ContainsFunc(list, isObject)
}

func isContainer(v any) bool {
	_, isList := v.([]any)
	return isList || isObject(v)
}

// cueRule is the fields of the document that a rule looks at, and an error
// where it is violated. A constraint on the field itself would be shorter, but
// CUE says at length of each alternative why it does not hold, and nothing of a
// second rule over the same value.
func cueRule(r *rules.Rule) string {
	say := func(what string) string { return "error(" + cueText(r.ID+": "+r.Message+": "+what) + ")" }
	each := func(field string, body ...string) string {
		return field + ": [...{\n" + strings.Join(indent("\t", slices.Concat(declarations(r), body)), "\n") + "\n}]\n"
	}
	switch r.Check {
	case "":
		return each("changes", attribute(r, say)...)
	case rules.NoDelete:
		return each("changes", refuse(r, say("the plan would delete it"), alternatives("action", []string{"delete", "replace"})))
	case rules.NoReplace:
		return each("changes", refuse(r, say("the plan would destroy and recreate it"), `action == "replace"`))
	case rules.NoForget:
		return each("changes", refuse(r, say("the plan would forget it"), `action =~ "forget"`))
	case rules.NoImport:
		return each("changes", refuse(r, say("the plan would import it"), "importing != _|_"))
	case rules.MaxDeletes: // a loop over the changes would hide what other rules say of them
		return fmt.Sprintf("summary: destroy: <=%s | %s\n", r.Value, say(fmt.Sprintf("the plan destroys more than %s", r.Value)))
	case rules.ModuleSource:
		return each("modules?", refuse(r, say("its source matches none of the allowed regular expressions"),
			"source !~ "+cueText("(?:"+strings.Join(words(r.Value), ")|(?:")+")")))
	case rules.ChecksPass:
		bad := []string{`status != "pass"`}
		if r.AllowUnknown {
			bad = append(bad, `status != "unknown"`)
		}
		return each("checks?", refuse(r, say("the check does not pass"), bad...))
	default: // complete_plan
		return "complete?: true | " + say("the tool says that the plan is not complete") + "\n\n" +
			"deferred?: [] | " + say("changes are left for another plan") + "\n\n" +
			"targets?: [] | " + say("the plan was made with -target") + "\n"
	}
}

// refuse puts an error where a rule selects something and all of bad holds.
func refuse(r *rules.Rule, say string, bad ...string) string {
	return "if " + strings.Join(append(conditions(r), bad...), " && ") + " {" + say + "}"
}

// declarations are the fields that conditions read.
func declarations(r *rules.Rule) []string {
	var out [][2]string
	add := func(when bool, name, kind string) {
		if when {
			out = append(out, [2]string{name, kind})
		}
	}
	add(len(r.Addresses) > 0, "addr:", "string")
	add(len(r.Addresses) > 0 && ofChanges(r), "previous_addr:", `*"" | string`)
	add(ofChanges(r), "mode:", "string")
	add(len(r.Types) > 0, "type:", "string")
	add(ofChanges(r), "action:", "string")
	add(r.Check == rules.NoImport, "importing?:", "_")
	add(r.Check == rules.ModuleSource, "source:", "string")
	add(r.Check == rules.ChecksPass, "status:", "string")
	return aligned(out)
}

// aligned writes fields as CUE's formatter does.
func aligned(fields [][2]string) []string {
	width := 0
	for _, f := range fields {
		width = max(width, len(f[0]))
	}
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprintf("%-*s %s", width, f[0], f[1]))
	}
	return out
}

// words are the texts of a list, which module_source has for its value.
func words(v any) (out []string) {
	list, _ := v.([]any)
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out
}

// conditions are what a rule selects changes, module calls or checks by. CUE
// wants every field declared that a condition reads.
func conditions(r *rules.Rule) (out []string) {
	if len(r.Addresses) > 0 {
		address := oneOfGlobs("addr", r.Addresses)
		if ofChanges(r) { // what was moved is found under its previous address too
			address = "(" + address + " || " + oneOfGlobs("previous_addr", r.Addresses) + ")"
		}
		out = append(out, address)
	}
	if ofChanges(r) {
		out = append(out, alternatives("mode", r.Modes))
	}
	if len(r.Types) > 0 {
		out = append(out, oneOfGlobs("type", r.Types))
	}
	return out
}

// ofChanges reports whether a rule selects changes. Module calls and checks have
// neither mode, nor type, nor a previous address.
func ofChanges(r *rules.Rule) bool {
	return r.Check != rules.ModuleSource && r.Check != rules.ChecksPass
}

// alternatives is whether a field is one of some texts: a disjunction would have
// to be a constraint, and nothing may be constrained by what only selects.
func alternatives(field string, texts []string) string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = field + " == " + cueText(s)
	}
	if len(out) == 1 {
		return out[0]
	}
	return "(" + strings.Join(out, " || ") + ")"
}

// oneOfGlobs is one regular expression for all globs: * is any run of
// characters, ? is one, and the rest is literal (docs/policy.md, rule 13).
func oneOfGlobs(field string, globs []plan.Glob) string {
	out := make([]string, len(globs))
	for i, g := range globs {
		out[i] = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(g.String()))
	}
	return field + " =~ " + cueText("^(?s:"+strings.Join(out, "|")+")$")
}

// attribute refuses what stands at the rule's path after the change, and before
// it where nothing will be left (docs/policy.md, rule 16). That a value conflicts
// with what is allowed is a definite error, which a guard can see; what is only
// incomplete is none, so no alternative may add a field that is not there.
func attribute(r *rules.Rule, say func(string) string) (out []string) {
	isGone := func(a plan.Action) bool { return a == plan.Delete || a == plan.Forget }
	for _, gone := range []bool{false, true} {
		var actions []string
		for _, a := range r.Actions {
			if isGone(a) == gone {
				actions = append(actions, string(a))
			}
		}
		if len(actions) == 0 {
			continue
		}
		base := map[bool]string{false: "after", true: "before"}[gone]
		conditions := append(conditions(r), alternatives("action", actions))
		if r.AllowUnknown {
			conditions = append(conditions, known(r, base)...)
		}
		refuse := "{" + say(wanted(r)) + "}"
		statements := exists(base, r.Path, refuse)
		if r.Op != rules.Exists {
			statements = []string{fmt.Sprintf("if %s != _|_ if (%s & (%s)) == _|_ %s", base, base, values(r, r.Path), refuse)}
		}
		out = append(out, base+"?: _", "if "+strings.Join(conditions, " && ")+" {")
		out = append(append(out, indent("\t", statements)...), "}")
	}
	return out
}

// wanted says what a value that violates does not satisfy. Where that is to be
// something else, the rule's value would say what the secret is (docs/policy.md,
// rule 23).
func wanted(r *rules.Rule) string {
	what := fmt.Sprintf("%s does not satisfy %s", r.Path, r.Op)
	value := plan.Quote(r.Value)
	if r.Value == nil || len(value) > maxShown || slices.Contains([]rules.Op{rules.Ne, rules.NotIn, rules.NotMatches}, r.Op) {
		return what
	}
	return what + " " + value
}

// known are the conditions that nothing on the path is unknown, and no part of
// what is compared as a whole.
func known(r *rules.Rule, base string) []string {
	out := []string{base + `["$unknown"] == _|_`}
	for i := range r.Path {
		out = append(out, base+selectors(r.Path[:i+1])+`["$unknown"] == _|_`)
	}
	if slices.Contains([]rules.Op{rules.Eq, rules.Ne, rules.In, rules.NotIn}, r.Op) {
		value := base + selectors(r.Path)
		out = append(out, fmt.Sprintf("(%s == _|_ || (%s & _known) != _|_)", value, value))
	}
	return out
}

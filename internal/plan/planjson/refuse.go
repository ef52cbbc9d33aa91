package planjson

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Hint is how a plan that can be read is made.
const Hint = "make the plan's JSON with: tofu plan -out=plan.out, then tofu show -json plan.out > plan.json"

var (
	hclText  = regexp.MustCompile(`(?m)^\s*(terraform|resource|data|variable|output|module|provider|locals|moved|removed|import|check|ephemeral)\b[^\n:]*\{|\A\s*[\w-]+\s*=`)
	yamlText = regexp.MustCompile(`\A(#[^\n]*\n|\s)*(---|[\w.-]+:(\s|$)|- )`)
)

// refuseText refuses what is no JSON object, and says what it is instead: each
// of these mistakes has a way out of its own.
func refuseText(raw []byte) error {
	text := bytes.TrimLeft(raw, " \t\r\n")
	refusal := func(message string) *problem.Error { return problem.New(api.Invalid, "%s", message).WithHint(Hint) }
	switch {
	case len(raw) == 0:
		return refusal("the plan is empty: the command that should have written it may have stopped early")
	case len(text) == 0:
		return refusal("the plan holds nothing but white space")
	case bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")):
		return refusal("the plan begins with a byte-order mark, which JSON does not allow").
			WithHint("save it as UTF-8 without one")
	case bytes.HasPrefix(raw, []byte("\xff\xfe")), bytes.HasPrefix(raw, []byte("\xfe\xff")):
		return refusal("the plan is UTF-16 and begins with a byte-order mark; JSON is UTF-8").
			WithHint("in PowerShell: tofu show -json plan.out | Out-File -Encoding utf8NoBOM plan.json")
	case bytes.HasPrefix(raw, []byte("PK\x03\x04")):
		return refusal("this is a saved plan file, not the plan's JSON").
			WithHint("judge it with --show FILE, or convert it with: tofu show -json plan.out > plan.json")
	case text[0] == '{':
		return nil
	case jsontext.Value(text).IsValid():
		return refusal("this is JSON, but not an object, so it is no plan")
	case hclText.Match(text):
		return refusal("this is HCL, the configuration itself, not a plan of it")
	case yamlText.Match(text):
		return refusal("this is YAML, not a plan")
	default:
		return refusal("this is not JSON, so it is no plan")
	}
}

// refuseEarly refuses by a key that was just read what the rest of the text
// may not fit: the log of a run, whose lines are JSON, and another format. The
// minor version may grow, by what both tools promise.
func refuseEarly(key, format string) error {
	major, _, _ := strings.Cut(format, ".")
	switch {
	case key == "@level", key == "@message":
		return problem.New(api.Invalid, "this is the log that plan -json prints, not the plan").WithHint(Hint)
	case key == "format_version" && major != "" && major != "0" && major != "1":
		return problem.New(api.Invalid, "the plan has format version %q; this version of assize knows 0 and 1", format).
			WithHint("use a newer assize, or an older tool for the plan")
	}
	return nil
}

// refuseKind decides from the top-level keys what the object is. A state has
// no changes, so every rule would pass it (seed 002, step 1).
func refuseKind(seen map[string]bool, errored bool) error {
	isPlan := seen["resource_changes"] || seen["planned_values"]
	for _, key := range []string{"configuration", "output_changes", "prior_state", "resource_drift", "deferred_changes"} {
		isPlan = isPlan || seen[key] && !seen["values"]
	}
	switch {
	case isPlan && errored:
		return problem.New(api.Invalid, `the plan errored ("errored": true); a verdict on a failed plan means nothing`).
			WithHint("fix what the tool reported, then plan again")
	case isPlan:
		return nil
	case seen["lineage"], seen["serial"]:
		return problem.New(api.Invalid, "this is a state file, not a plan").WithHint(Hint)
	case seen["values"]:
		return problem.New(api.Invalid, "this is the state as show prints it without a plan file, not a plan").WithHint(Hint)
	default:
		return problem.New(api.Invalid, "this is a JSON object, but no plan: it has neither resource_changes nor planned_values").
			WithHint(Hint)
	}
}

// explain turns a syntax error into a problem. The decoder's own text is not
// used, for it quotes the input.
func explain(raw []byte, err error) error {
	var known *problem.Error
	var shape *jsonv2.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return problem.New(api.Invalid, "the plan says %q twice: which of the two counts is anybody's guess", syntax.JSONPointer).
			WithHint("no tool writes such a plan; %s", Hint)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem.New(api.Invalid, "the plan ends in the middle, at offset %d", len(raw)).
			WithHint("the command that wrote it may have been stopped, or the disk be full; %s", Hint)
	case invalidUTF8(raw) >= 0:
		return problem.New(api.Invalid, "the plan is not valid UTF-8 at offset %d", invalidUTF8(raw)).WithHint(Hint)
	case errors.As(err, &syntax) && syntax.Err != nil && syntax.Err.Error() == "exceeded max depth": // the library names no such error
		return problem.New(api.Invalid, "the plan is nested too deeply at offset %d", syntax.ByteOffset).
			WithHint("no tool writes such a plan; %s", Hint)
	case errors.As(err, &syntax):
		return problem.New(api.Invalid, "the plan is not valid JSON at offset %d", syntax.ByteOffset).WithHint(Hint)
	case errors.As(err, &shape):
		return problem.New(api.Invalid, "the plan is malformed at %q: %s is not what stands there", shape.JSONPointer, shape.JSONKind).WithHint(Hint)
	default:
		return problem.New(api.Invalid, "the plan cannot be read").WithHint(Hint)
	}
}

// invalidUTF8 is the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(raw []byte) int {
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

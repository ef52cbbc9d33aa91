// Package cuetext writes the parts of CUE that a conversion is made of.
package cuetext

import (
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// Field is a label as CUE writes it.
func Field(name string) string {
	if ast.IsValidIdent(name) && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#") && !token.Lookup(name).IsKeyword() {
		return name
	}
	return literal.String.Quote(name)
}

// Quoted is text as CUE, raw where that is easier to read.
func Quoted(s string) string {
	plain := literal.String.Quote(s)
	if raw := `#"` + s + `"#`; strings.Contains(plain, `\"`) {
		if back, err := literal.Unquote(raw); err == nil && back == s {
			return raw
		}
	}
	return plain
}

// Inner is text as it stands within the quotes.
func Inner(s string) string {
	quoted := literal.String.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// List is a list: on one line, if that is short.
func List(elements []string) string {
	if len(strings.Join(elements, ", ")) < 80 && !strings.Contains(strings.Join(elements, ""), "\n") {
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return "[\n" + strings.Join(elements, ",\n") + ",\n]"
}

// Struct is a struct: on one line, if that is short.
func Struct(fields []string) string {
	if len(fields) < 4 && len(strings.Join(fields, ", ")) < 80 && !strings.Contains(strings.Join(fields, ""), "\n") {
		return "{" + strings.Join(fields, ", ") + "}"
	}
	return "{\n" + strings.Join(fields, "\n") + "\n}"
}

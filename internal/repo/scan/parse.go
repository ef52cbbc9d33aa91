package scan

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
)

// parse reads one file of either syntax. The body is nil when nothing of it can
// be used.
func parse(data []byte, name string) (hcl.Body, hcl.Diagnostics) {
	if at, ok := tooDeep(data, name); ok {
		return nil, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "Nested too deep", Subject: &at}}
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if strings.HasSuffix(name, ".json") {
		file, diags = json.Parse(data, name)
	} else {
		file, diags = hclsyntax.ParseConfig(data, name, hcl.InitialPos)
	}
	if file == nil {
		return nil, diags
	}
	return file.Body, diags
}

// nestingMax bounds how deep brackets nest, and how many operators that nest by
// themselves stand in one expression. The parser calls itself for each, and a
// stack that overflows cannot be recovered from.
const nestingMax = 1000

// tooDeep finds what would exhaust the parser's stack. Only a file that could
// hold such a thing is looked at token by token.
func tooDeep(data []byte, name string) (hcl.Range, bool) {
	depth, row, line := 0, 0, 1
	for i, c := range data {
		switch c {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			depth = max(depth-1, 0)
		case '!', '-', '?', '%':
			row++
		case '\n':
			line++
		}
		if depth <= nestingMax && row <= nestingMax {
			continue
		}
		if !strings.HasSuffix(name, ".json") {
			return tokensTooDeep(data, name)
		}
		if depth > nestingMax {
			at := hcl.Pos{Line: line, Column: i - bytes.LastIndexByte(data[:i], '\n'), Byte: i}
			return hcl.Range{Filename: name, Start: at, End: at}, true
		}
	}
	return hcl.Range{}, false
}

// tokensTooDeep is the exact answer for the native syntax.
func tokensTooDeep(data []byte, name string) (hcl.Range, bool) {
	tokens, _ := hclsyntax.LexConfig(data, name, hcl.InitialPos)
	var open []hclsyntax.TokenType
	row := 0
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp:
			open = append(open, token.Type)
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd:
			open = open[:max(len(open)-1, 0)]
		case hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenQuestion:
			row++
		case hclsyntax.TokenTemplateControl: // an if in an if nests without a bracket
			open, row = append(open, token.Type), row+1
		case hclsyntax.TokenComma, hclsyntax.TokenEqual:
			row = 0
		case hclsyntax.TokenNewline:
			if len(open) == 0 || open[len(open)-1] == hclsyntax.TokenOBrace {
				row = 0
			}
		}
		if len(open) > nestingMax || row > nestingMax {
			return token.Range, true
		}
	}
	return hcl.Range{}, false
}

package scan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// OnlyMoves reports whether two versions of a configuration file differ in
// nothing but moved and removed blocks, comments and layout: such a change says
// where resources are now, and not what they are to be. It is false where one
// of them does not parse, and where they do not differ in such blocks. before is
// nil for a file that is new, after for one that is gone.
func OnlyMoves(name string, before, after []byte) bool {
	if extension(name) == "" {
		return false
	}
	was, wasMoves, ok := withoutMoves(name, before)
	is, isMoves, also := withoutMoves(name, after)
	return ok && also && was == is && wasMoves != isMoves
}

// withoutMoves splits a file into its moves and the rest, in a form that two
// versions can be compared in.
func withoutMoves(name string, data []byte) (rest, moves string, ok bool) {
	if strings.HasSuffix(name, ".json") {
		return withoutMovesJSON(data)
	}
	body, diags := parse(data, name)
	native, isNative := body.(*hclsyntax.Body)
	if diags.HasErrors() || !isNative {
		return "", "", false
	}
	var cut []hcl.Range
	for _, block := range native.Blocks {
		if block.Type == "moved" || block.Type == "removed" {
			cut = append(cut, block.Range())
		}
	}
	tokens, _ := hclsyntax.LexConfig(data, name, hcl.InitialPos)
	var kept, moved strings.Builder
	for _, token := range tokens {
		if token.Type == hclsyntax.TokenComment || token.Type == hclsyntax.TokenNewline || token.Type == hclsyntax.TokenEOF {
			continue
		}
		to := &kept
		if slices.ContainsFunc(cut, func(r hcl.Range) bool { return r.ContainsPos(token.Range.Start) }) {
			to = &moved
		}
		to.WriteString(string(rune(token.Type)) + string(token.Bytes) + "\x00")
	}
	return kept.String(), moved.String(), true
}

func withoutMovesJSON(data []byte) (rest, moves string, ok bool) {
	if data == nil {
		data = []byte("{}")
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return "", "", false
	}
	moved := map[string]json.RawMessage{}
	for _, name := range []string{"moved", "removed"} {
		if value, found := all[name]; found {
			moved[name] = value
			delete(all, name)
		}
	}
	return canonical(all), canonical(moved), true
}

// canonical is JSON without layout, its keys sorted.
func canonical(value map[string]json.RawMessage) string {
	data, _ := json.Marshal(value)
	var b bytes.Buffer
	_ = json.Compact(&b, data)
	return b.String()
}

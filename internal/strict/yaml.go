package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readYAML reads a file that holds one YAML document. The library only parses:
// what a plain scalar is gets decided here, by the core schema of YAML 1.2,
// where yes and no are strings, and from the text as it is written, because the
// library would round 9007199254740993 and reads 0777 as octal.
func readYAML(src []byte) (Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return Node{}, &misread{line: 1, column: 1, message: "the file is empty", empty: true}
	case err != nil:
		return Node{}, notYAML(err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return Node{}, misreadAt(second.Content[0], "a second document; a file has one")
	case !errors.Is(err, io.EOF):
		return Node{}, notYAML(err)
	}
	return fromYAML(first.Content[0])
}

// notYAML takes the line out of the library's errors, which have it in words
// only, and no column.
func notYAML(err error) error {
	line, message := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if n, _ := fmt.Sscanf(message, "line %d:", &line); n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return &misread{line: line, column: 1, message: "not YAML: " + message}
}

func misreadAt(y *yaml.Node, format string, args ...any) *misread {
	return &misread{line: y.Line, column: y.Column, message: fmt.Sprintf(format, args...)}
}

// fromYAML accepts what JSON can say. Anchors, aliases, merge keys and tags
// are refused: a file says what it means where it stands, and no alias can
// make a small file large.
func fromYAML(y *yaml.Node) (Node, error) {
	if y.Kind == yaml.AliasNode || y.Anchor != "" || y.Tag == "!!merge" || y.Style&yaml.TaggedStyle != 0 {
		return Node{}, misreadAt(y, "anchors, aliases, merge keys and tags are not read here; write the value out")
	}
	switch y.Kind {
	case yaml.MappingNode:
		return fromMapping(y)
	case yaml.ScalarNode:
		return fromScalar(y)
	}
	n := Node{Kind: List, Line: y.Line, Column: y.Column}
	for _, item := range y.Content {
		v, err := fromYAML(item)
		if err != nil {
			return Node{}, err
		}
		n.Items = append(n.Items, v)
	}
	return n, nil
}

func fromMapping(y *yaml.Node) (Node, error) {
	n := Node{Kind: Object, Line: y.Line, Column: y.Column}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := fromYAML(y.Content[i])
		if err != nil {
			return Node{}, err
		}
		if key.Kind != Text {
			return Node{}, misreadAt(y.Content[i], "a key is %s, want a string; put it in quotes", key.Kind)
		}
		value, err := fromYAML(y.Content[i+1])
		if err != nil {
			return Node{}, err
		}
		n.Members = append(n.Members, Member{Key: key, Value: value})
	}
	return n, nil
}

// The shapes of plain scalars. A number is what JSON calls one; a lookalike is
// what the core schema or YAML 1.1 reads as one too, and not always the same
// one: 0777 is 777 to the former and 511 to the latter.
var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	lookalike  = regexp.MustCompile(`^[-+]?(\.?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|\.(inf|Inf|INF))$|^\.(nan|NaN|NAN)$`)
)

func fromScalar(y *yaml.Node) (Node, error) {
	n := Node{Kind: Text, Text: y.Value, Line: y.Line, Column: y.Column}
	if y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n, nil
	}
	switch {
	case y.Value == "", y.Value == "~", y.Value == "null", y.Value == "Null", y.Value == "NULL":
		n.Kind = Null
	case y.Value == "true", y.Value == "True", y.Value == "TRUE":
		n.Kind, n.Truth = Boolean, true
	case y.Value == "false", y.Value == "False", y.Value == "FALSE":
		n.Kind = Boolean
	case jsonNumber.MatchString(y.Value):
		n.Kind = Number
	case lookalike.MatchString(y.Value):
		return Node{}, misreadAt(y, "%s can be read in more than one way; write a plain decimal number, or put it in quotes", y.Value)
	}
	return n, nil
}

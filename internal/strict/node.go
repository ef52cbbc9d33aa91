package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// A Node is one value of a file with its place. JSON and YAML are read into
// the same nodes, so that one loader is strict about both. Nothing is
// interpreted yet: duplicate members are still there to complain about, and
// numbers are text.
type Node struct {
	Kind    Kind
	Text    string // of a string; of a number as it is written
	Truth   bool   // of a boolean
	Items   []Node
	Members []Member // in the order of the file, duplicates included
	Line    int      // from 1
	Column  int      // from 1, in characters
}

// A Member is one field of an object.
type Member struct {
	Key   Node // a string
	Value Node
}

// A Kind is one of the six that JSON knows.
type Kind int

// The zero Kind is Null.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	List
	Object
)

// String names a kind for messages.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// A misread is why a file is not JSON or YAML that can be read.
type misread struct {
	line, column int
	message      string
	empty        bool // there is nothing in the file that could be wrong
}

func (e *misread) Error() string { return e.message }

// readJSON reads a file that holds one JSON value. JSON is not read as YAML,
// though it nearly is some: YAML would accept comments and unquoted text in a
// .json file, and refuses surrogate pairs, which is how many tools write emoji.
// The standard decoder says where each token ends, which is all that positions
// need.
func readJSON(src []byte) (Node, error) {
	var probe json.RawMessage
	if err := json.Unmarshal(src, &probe); err != nil {
		return Node{}, notJSON(src, err)
	}
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber() // 9007199254740993 must stay what it is
	r := jsonReader{src: src, dec: dec, line: 1, column: 1}
	return r.value(), nil
}

func notJSON(src []byte, err error) error {
	line, column := 1, 1
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		// Offset counts the bytes read, the offending one included.
		line, column = advance(1, 1, src[:max(0, min(int(e.Offset)-1, len(src)))])
	}
	return &misread{line: line, column: column, message: "not JSON: " + err.Error()}
}

// A jsonReader reads text that is known to be valid JSON, so that none of its
// steps can fail.
type jsonReader struct {
	src          []byte
	dec          *json.Decoder
	offset       int // of line and column, which only ever move forward
	line, column int
}

// next returns the next token and a node that stands at its start.
func (r *jsonReader) next() (json.Token, Node) {
	start := int(r.dec.InputOffset())
	start += len(r.src[start:]) - len(bytes.TrimLeft(r.src[start:], " \t\r\n,:"))
	r.line, r.column = advance(r.line, r.column, r.src[r.offset:start])
	r.offset = start
	tok, _ := r.dec.Token()
	return tok, Node{Line: r.line, Column: r.column}
}

func (r *jsonReader) value() Node {
	tok, n := r.next()
	switch tok := tok.(type) {
	case bool:
		n.Kind, n.Truth = Boolean, tok
	case json.Number:
		n.Kind, n.Text = Number, tok.String()
	case string:
		n.Kind, n.Text = Text, tok
	case json.Delim:
		n.Kind = List
		if tok == '{' {
			n.Kind = Object
		}
		for r.dec.More() {
			if n.Kind == List {
				n.Items = append(n.Items, r.value())
				continue
			}
			key := r.value()
			n.Members = append(n.Members, Member{Key: key, Value: r.value()})
		}
		r.next() // the closing delimiter
	}
	return n
}

// advance moves a position past src.
func advance(line, column int, src []byte) (int, int) {
	if n := bytes.Count(src, []byte{'\n'}); n > 0 {
		line += n
		column = 1
		src = src[bytes.LastIndexByte(src, '\n')+1:]
	}
	return line, column + utf8.RuneCount(src)
}

// encoded reports why src is no text that can be read. Decoders pass
// over a mark and replace a broken character; the one would become part of a
// key, the other of a value that then never matches.
func encoded(src []byte) error {
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		return &misread{line: 1, column: 1, message: "the file starts with a byte-order mark; save it as UTF-8 without one"}
	}
	if !utf8.Valid(src) {
		at := bytes.IndexFunc(src, func(r rune) bool { return r == utf8.RuneError })
		line, column := advance(1, 1, src[:at])
		return &misread{line: line, column: column, message: "the file is not UTF-8"}
	}
	if strings.TrimSpace(string(src)) == "" {
		return &misread{line: 1, column: 1, message: "the file is empty", empty: true}
	}
	return nil
}

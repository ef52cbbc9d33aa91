package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// A node is one value of a rules file with its place. JSON and YAML are read
// into the same nodes, so that one loader is strict about both. Nothing is
// interpreted yet: duplicate members are still there to complain about, and
// numbers are text.
type node struct {
	kind    kind
	text    string // of a string; of a number as it is written
	truth   bool
	items   []node
	members []member // in the order of the file, duplicates included
	line    int      // from 1
	column  int      // from 1, in characters
}

type member struct {
	key   node // a string
	value node
}

type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names a kind for messages.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// A misread is why a file is not JSON or YAML that can be a rules file.
type misread struct {
	line, column int
	message      string
}

func (e *misread) Error() string { return e.message }

// readJSON reads a file that holds one JSON value. JSON is not read as YAML,
// though it nearly is some: YAML would accept comments and unquoted text in a
// .json file, and refuses surrogate pairs, which is how many tools write emoji.
// The standard decoder says where each token ends, which is all that positions
// need.
func readJSON(src []byte) (node, error) {
	var probe json.RawMessage
	if err := json.Unmarshal(src, &probe); err != nil {
		return node{}, notJSON(src, err)
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
	return &misread{line, column, "not JSON: " + err.Error()}
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
func (r *jsonReader) next() (json.Token, node) {
	start := int(r.dec.InputOffset())
	start += len(r.src[start:]) - len(bytes.TrimLeft(r.src[start:], " \t\r\n,:"))
	r.line, r.column = advance(r.line, r.column, r.src[r.offset:start])
	r.offset = start
	tok, _ := r.dec.Token()
	return tok, node{line: r.line, column: r.column}
}

func (r *jsonReader) value() node {
	tok, n := r.next()
	switch tok := tok.(type) {
	case bool:
		n.kind, n.truth = boolean, tok
	case json.Number:
		n.kind, n.text = number, tok.String()
	case string:
		n.kind, n.text = text, tok
	case json.Delim:
		n.kind = list
		if tok == '{' {
			n.kind = object
		}
		for r.dec.More() {
			if n.kind == list {
				n.items = append(n.items, r.value())
				continue
			}
			key := r.value()
			n.members = append(n.members, member{key: key, value: r.value()})
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

// encoded reports why src is no text that a rules file can be. Decoders pass
// over a mark and replace a broken character; the one would become part of a
// key, the other of a value that then never matches.
func encoded(src []byte) error {
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		return &misread{1, 1, "the file starts with a byte-order mark; save it as UTF-8 without one"}
	}
	if !utf8.Valid(src) {
		at := bytes.IndexFunc(src, func(r rune) bool { return r == utf8.RuneError })
		line, column := advance(1, 1, src[:at])
		return &misread{line, column, "the file is not UTF-8"}
	}
	if strings.TrimSpace(string(src)) == "" {
		return &misread{1, 1, "the file is empty"}
	}
	return nil
}

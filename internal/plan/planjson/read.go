package planjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Read reads the text of one plan and refuses what is none. Its errors are
// problems with a hint each, and quote no value of the plan.
//
// The text is walked once and never copied. Of planned values, prior state
// and of actions nothing is kept: conceal is called with each value there that has marks of
// sensitivity, and with the marks.
func Read(raw []byte, conceal func(value, marks any)) (*Plan, error) {
	if err := refuseText(raw); err != nil {
		return nil, err
	}
	r, p := newReader(raw), &Plan{}
	r.conceal = conceal
	seen, err := r.topLevel(p)
	if err != nil {
		return nil, explain(raw, err)
	}
	return p, refuseKind(seen, p.Errored)
}

// Parse reads a JSON value that stands alone, as strictly as a plan. The value
// is nil, bool, json.Number in the spelling of [Number], string, []any or
// map[string]any.
func Parse(text string) (any, error) {
	r := newReader([]byte(text))
	v, err := r.parse()
	if err == nil && r.more() {
		err = problem.New(api.Invalid, "more than one value")
	}
	return v, err
}

// Inner parses a text of a plan that holds a JSON object or list itself, as IAM
// policies do. A text that looks like one but is malformed, or says a thing
// twice, is an error; one that does not holds nothing.
func Inner(text string) (v any, holds bool, err error) {
	// More than JSON allows: what hides the first brace hides nothing from the
	// service that reads the text leniently.
	text = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
	if text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false, nil
	}
	v, err = Parse(text)
	return v, err == nil, err
}

// Encode writes a value of a plan as one line of JSON with nothing escaped for
// HTML. A value that JSON cannot hold did not come from a plan.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A reader walks the text of a plan once. It refuses duplicate names and
// invalid UTF-8 wherever they stand, in what is skipped too.
type reader struct {
	raw     []byte
	dec     *jsontext.Decoder
	conceal func(value, marks any)
	// names holds each name once, by its quoted form. A large plan repeats a few
	// hundred of them a million times.
	names map[string]string
	// twin is the text of the last object that was long, and twinValue what it
	// decodes to. They halve what before and after take.
	twin      []byte
	twinValue any
}

func newReader(raw []byte) *reader {
	r := &reader{raw: raw, names: map[string]string{}}
	// The decoder reads a Buffer in place, and never writes to it. The functions
	// hold for everything below the types that are decoded; any must not be
	// left to the library, which would make floats of numbers.
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(raw), jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(func(_ *jsontext.Decoder, v *any) (err error) { *v, err = r.value(); return err }),
		jsonv2.UnmarshalFromFunc(func(_ *jsontext.Decoder, s *span) (err error) { *s, err = r.span(); return err }),
		jsonv2.UnmarshalFromFunc(func(_ *jsontext.Decoder, _ *concealed) error { return r.concealed() }),
		jsonv2.UnmarshalFromFunc(func(_ *jsontext.Decoder, o *typed) (err error) { *o, err = r.typed(); return err }),
	)))
	return r
}

// topLevel reads the whole text, key by key, and returns the keys it has: what
// the text is follows from them, and an empty or null one counts.
func (r *reader) topLevel(p *Plan) (seen map[string]bool, err error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	seen, fields := map[string]bool{}, p.fields()
	for r.dec.PeekKind() != '}' {
		key, err := r.name()
		if err != nil {
			return nil, err
		}
		seen[key] = true
		if into, ok := fields[key]; ok {
			err = jsonv2.UnmarshalDecode(r.dec, into)
		} else {
			err = r.dec.SkipValue()
		}
		if err == nil {
			err = refuseEarly(key, p.FormatVersion)
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err = r.dec.ReadToken(); err == nil && r.more() {
		err = problem.New(api.Invalid, "there is more after the plan, from offset %d", r.next()).
			WithHint("a plan is one JSON object; %s", Hint)
	}
	return seen, err
}

// typed reads an output of a state.
func (r *reader) typed() (typed, error) {
	var o struct {
		Value     span `json:"value"`
		Sensitive span `json:"sensitive"`
		Type      any  `json:"type"`
	}
	if err := jsonv2.UnmarshalDecode(r.dec, &o); err != nil {
		return typed{}, err
	}
	return typed{o.Type, o.Value, o.Sensitive}, r.mark(o.Value, o.Sensitive)
}

// concealed reads a resource of a state, or an action.
func (r *reader) concealed() error {
	var o struct {
		Values          span `json:"values"`
		SensitiveValues span `json:"sensitive_values"`
		Config          span `json:"config_values"`
		SensitiveConfig span `json:"config_sensitive"`
	}
	if err := jsonv2.UnmarshalDecode(r.dec, &o); err != nil {
		return err
	}
	return errors.Join(r.mark(o.Values, o.SensitiveValues), r.mark(o.Config, o.SensitiveConfig))
}

// mark hands on what is secret of a value. It is decoded only if something marks
// it, which is nearly nowhere.
func (r *reader) mark(value, sensitive span) error {
	if len(value) == 0 || !bytes.Contains(sensitive, []byte("true")) {
		return nil
	}
	v, err := Parse(string(value))
	if err != nil {
		return err
	}
	marks, err := Parse(string(sensitive))
	if err != nil {
		return err
	}
	r.conceal(v, marks)
	return nil
}

// A span is the text of a value, which is valid JSON once it was read. It is
// what is kept of a value that will hardly ever be decoded.
type span []byte

func (r *reader) span() (span, error) {
	v, err := r.dec.ReadValue()
	end := r.dec.InputOffset()
	return r.raw[end-int64(len(v)) : end], err
}

// value reads any value. In every no-op, which most changes of a large plan
// are, before and after are one text: then one value stands for both.
func (r *reader) value() (any, error) {
	start := r.next()
	if r.twin != nil && bytes.HasPrefix(r.raw[start:], r.twin) {
		return r.twinValue, r.dec.SkipValue()
	}
	v, err := r.parse()
	if err != nil {
		return nil, err
	}
	// Only an object ends where its text does: 1 is also how 12 begins.
	if text := r.raw[start:r.dec.InputOffset()]; len(text) > 100 && text[0] == '{' {
		r.twin, r.twinValue = text, v
	}
	return v, nil
}

// parse reads a value token by token. Lists and objects are never nil, so that
// [] and {} are not taken for null.
func (r *reader) parse() (any, error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		object := map[string]any{}
		for r.dec.PeekKind() != '}' {
			name, err := r.name()
			if err != nil {
				return nil, err
			}
			if object[name], err = r.parse(); err != nil {
				return nil, err
			}
		}
		_, err = r.dec.ReadToken()
		return object, err
	case '[':
		list := []any{}
		for r.dec.PeekKind() != ']' {
			v, err := r.parse()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = r.dec.ReadToken()
		return list, err
	case '"':
		return tok.String(), nil
	case '0':
		return r.number(tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	}
	return nil, nil
}

func (r *reader) number(text string) (any, error) {
	n, err := Number(text)
	if err != nil {
		return nil, problem.New(api.Invalid, "%s at %q", err.Error(), r.dec.StackPointer()).
			WithHint("no tool writes such a number; %s", Hint)
	}
	return n, nil
}

// name reads the name of a member. The decoder has checked that it is the only
// one of its object.
func (r *reader) name() (string, error) {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if s, ok := r.names[string(quoted)]; ok {
		return s, nil
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	s := string(plain)
	r.names[string(quoted)] = s
	return s, err
}

// next is where the next value begins.
func (r *reader) next() int {
	i := int(r.dec.InputOffset())
	for i < len(r.raw) && bytes.IndexByte([]byte(" \t\r\n:,"), r.raw[i]) >= 0 {
		i++
	}
	return i
}

// more reports whether anything stands after the value that was read.
func (r *reader) more() bool { return len(bytes.Trim(r.raw[r.dec.InputOffset():], " \t\r\n")) > 0 }

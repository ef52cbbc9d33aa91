package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/gowebpki/jcs"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An Entry is one line of the audit log: who did what to what, where and with
// what outcome. It holds the digest of the entry before it, so that none can be
// changed, taken out, put in or moved without all later ones showing it
// (docs/audit.md). It must hold no secret: it is exported and kept for years.
type Entry struct {
	Sequence  int64             `json:"sequence"` // 1 for the first
	At        time.Time         `json:"at"`       // UTC, to the microsecond, as databases keep it
	Principal Principal         `json:"principal"`
	Scope     Scope             `json:"scope,omitzero"` // where it happened; empty for what is of no organisation
	Action    string            `json:"action"`         // a permission's word, or one such as "session:start"
	Object    string            `json:"object"`         // id of what it was done to
	Outcome   string            `json:"outcome"`        // such as "done" and "forbidden"
	Detail    map[string]string `json:"detail,omitempty"`
	Previous  string            `json:"previous"` // digest of the entry before; "" for the first
	Digest    string            `json:"digest"`   // of the RFC 8785 form of the rest: "sha256:" and 64 hex digits
}

// Chain is next as the entry that follows previous, or as the first one when
// previous is the zero Entry. It sets the sequence and both digests, and brings
// next to the one form that a database and JSON both keep.
func Chain(previous, next Entry) Entry {
	next.Sequence = previous.Sequence + 1
	next.Previous = previous.Digest
	next = next.normal()
	next.Digest = next.digest()
	return next
}

// normal is e with times and text as they come back from where they are kept.
func (e Entry) normal() Entry {
	e.At = e.At.UTC().Truncate(time.Microsecond)
	var detail map[string]string
	for key, value := range e.Detail {
		if detail == nil {
			detail = map[string]string{}
		}
		detail[plain(key)] = plain(value)
	}
	e.Detail = detail
	for _, text := range []*string{
		(*string)(&e.Principal.Kind), &e.Principal.ID, &e.Principal.Name, &e.Principal.Organisation,
		&e.Scope.Organisation, &e.Scope.Project, &e.Scope.Stack, &e.Action, &e.Object, &e.Outcome,
	} {
		*text = plain(*text)
	}
	return e
}

// plain is text without what Postgres refuses or JSON replaces.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// digest is that of e without its own. It is "", which no entry may have, for
// what has no JSON: a year of five digits.
func (e Entry) digest() string {
	e.At = e.At.UTC() // a database gives it back in a zone of its own
	body, err := canonical(struct {
		Entry
		Digest string `json:"digest,omitempty"` // hides the entry's own
	}{Entry: e})
	if err != nil {
		return ""
	}
	return digestOf(body)
}

// digestOf is how a digest is written, of an entry as of a token.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

const digestPrefix = "sha256:"

// IsDigest reports whether text is written as a digest.
func IsDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, digestPrefix)
	return ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == ""
}

// canonical is the RFC 8785 form of a value.
func canonical(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(body)
}

// Encode is e as one line of an export, without its end.
func (e Entry) Encode() ([]byte, error) {
	e.At = e.At.UTC()
	line, err := canonical(e)
	if err != nil {
		return nil, problem.New(api.Internal, "audit entry %d cannot be written: %w", e.Sequence, err)
	}
	return line, nil
}

// DecodeEntry reads one line of an export. What was read must be, in RFC 8785
// form, what this build would write of it: a field that is doubled or unknown
// would be shown by another reader and covered by no digest
// (docs/audit.md, rule 2).
func DecodeEntry(line []byte) (Entry, error) {
	var e Entry
	if json.Unmarshal(line, &e) != nil {
		return Entry{}, broken("this is no audit entry")
	}
	want, errWant := e.Encode()
	got, errGot := jcs.Transform(line)
	if errWant != nil || errGot != nil || !bytes.Equal(got, want) {
		return Entry{}, broken("a field is missing, unknown, doubled, or not spelt as Assize spells it")
	}
	return e, nil
}

// A Log is what is known of a chain of entries, read from its first.
type Log struct {
	First, Head Entry // the zero Entry before anything is read
}

// Read takes the next entry, or says why it cannot be that. After an error
// nothing more of the log can be believed.
func (l *Log) Read(e Entry) error {
	want := l.Head.Sequence + 1
	switch {
	case e.Digest == "" || e.Digest != e.digest():
		return broken("entry %d has been changed: it is not what its digest says", e.Sequence)
	case e.Sequence > want:
		return broken("entry %d stands where entry %d should: what was between has been removed or moved", e.Sequence, want)
	case e.Sequence < want:
		return broken("entry %d stands where entry %d should: an entry has been inserted, doubled or moved", e.Sequence, want)
	case e.Previous != l.Head.Digest:
		return broken("entry %d does not follow the entry before it: one of them has been replaced or inserted", e.Sequence)
	}
	if want == 1 {
		l.First = e
	}
	l.Head = e
	return nil
}

// Verify checks a whole chain from its first entry and names the first one that
// breaks it. That nothing was cut off at the end, no chain can say: compare the
// digest of the head with one that was noted elsewhere (docs/audit.md, rule 5).
func Verify(entries iter.Seq[Entry]) error {
	var log Log
	for e := range entries {
		if err := log.Read(e); err != nil {
			return err
		}
	}
	return nil
}

func broken(format string, args ...any) *problem.Error {
	return problem.New(api.Refused, "the audit log is broken: "+format, args...).
		WithHint("compare with an earlier export; what comes before that entry is whole")
}

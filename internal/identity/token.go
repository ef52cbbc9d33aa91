package identity

import (
	"cmp"
	"crypto/subtle"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A TokenKind says whose a token is.
type TokenKind string

// The kinds of tokens. Any may expire: that is kept with it, not in it.
const (
	UserToken         TokenKind = "user"
	TeamToken         TokenKind = "team"
	OrganisationToken TokenKind = "organisation"
	AgentToken        TokenKind = "agent" // nothing can be done with it yet
)

// letters are how a kind stands in a token.
var letters = map[TokenKind]string{UserToken: "u", TeamToken: "t", OrganisationToken: "o", AgentToken: "a"}

// The parts of a token: assize_u_, the secret, the checksum. A scanner finds one
// with assize_[utoa]_[0-9A-Za-z]{49} (docs/identity.md, rule 7).
const (
	tokenPrefix    = "assize_"
	secretDigits   = 43 // so many hold 256 bits in base 62
	checksumDigits = 6  // and these the 32 bits of a CRC
)

// A Token is the secret that its bearer shows. It prints as its kind alone, so
// that no log or message can hold it by accident.
type Token struct {
	kind TokenKind
	text *string // a pointer: package fmt asks no unexported field for its String
}

// NewToken is a token of this kind; where the bytes come from is for the caller.
// The zero Token is what an unknown kind gets.
func NewToken(kind TokenKind, random [32]byte) Token {
	letter, ok := letters[kind]
	if !ok {
		return Token{}
	}
	text := tokenPrefix + letter + "_" + base62(random[:], secretDigits)
	text += checksum(text)
	return Token{kind: kind, text: &text}
}

// ParseToken reads a token that somebody shows. It accepts the form that [NewToken]
// makes and nothing else; no error repeats any of the text. The checksum proves
// nothing: it tells a slip of the hand, and a scanner's find, from a token that
// has been revoked, without asking a database.
func ParseToken(text string) (Token, error) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	if !ok {
		return Token{}, noToken("it is none of Assize")
	}
	letter, digits, _ := strings.Cut(rest, "_")
	kind := kindOf(letter)
	switch {
	case kind == "":
		return Token{}, noToken("it is of a kind that this version does not know")
	case len(digits) != secretDigits+checksumDigits:
		return Token{}, noToken("it is too short or too long")
	case strings.Trim(digits, digits62) != "":
		return Token{}, noToken("it holds something else than letters and digits")
	}
	body := text[:len(text)-checksumDigits]
	if checksum(body) != text[len(body):] {
		return Token{}, noToken("a character of it is wrong")
	}
	text = strings.Clone(text) // it must not keep a whole request alive
	return Token{kind: kind, text: &text}, nil
}

// kindOf is the kind with this letter, or "".
func kindOf(letter string) TokenKind {
	for kind, l := range letters {
		if l == letter {
			return kind
		}
	}
	return ""
}

// checksum is the CRC-32 of text.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	return base62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checksumDigits)
}

func noToken(why string) *problem.Error {
	return problem.New(api.Unauthenticated, "the token is not valid: %s", why).
		WithHint("copy the whole token again, or log in again; a token begins with %s and is shown only once", tokenPrefix)
}

// Kind is the kind of a token, "" for none.
func (t Token) Kind() TokenKind { return t.kind }

// Reveal is the token itself, to be shown to its owner once; "" for none.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String is the kind of the token, never the token.
func (t Token) String() string {
	if t.text == nil {
		return "(no token)"
	}
	return "(" + string(t.kind) + " token)"
}

// GoString is String, for %#v.
func (t Token) GoString() string { return t.String() }

// Digest is all of a token that is kept: "sha256:" and 64 hex digits, "" for no
// token. Nobody can guess 256 bits, so they need neither salt nor a slow hash.
func (t Token) Digest() string {
	if t.text == nil {
		return ""
	}
	return digestOf([]byte(*t.text))
}

// Is reports whether digest is that of the token, in a time that does not tell
// how much of it is right. No token is none of any digest.
func (t Token) Is(digest string) bool {
	return t.text != nil && subtle.ConstantTimeCompare([]byte(t.Digest()), []byte(digest)) == 1
}

// Need refuses a token that is of none of these kinds.
func (t Token) Need(kinds ...TokenKind) error {
	if slices.Contains(kinds, t.kind) {
		return nil
	}
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return problem.New(api.Forbidden, "this cannot be done with the token of %s", whose(t.kind)).
		WithHint("use a token of this kind: %s", strings.Join(words, " or "))
}

func whose(kind TokenKind) string {
	switch kind {
	case UserToken:
		return "a user"
	case TeamToken:
		return "a team"
	case OrganisationToken:
		return "an organisation"
	case AgentToken:
		return "an agent"
	}
	return "nobody"
}

// A Credential is what is known of a token: all but the token.
type Credential struct {
	ID           string    `json:"id"`
	Kind         TokenKind `json:"kind"`
	Owner        string    `json:"owner"`                  // id of the user, team or organisation
	Organisation string    `json:"organisation,omitempty"` // id; "" for a user's
	Description  string    `json:"description"`
	Created      time.Time `json:"created"`
	Expires      time.Time `json:"expires,omitzero"`     // zero: it does not
	CreatedBy    string    `json:"created_by,omitempty"` // id of a user, or of the team or organisation whose token did it
	Used         time.Time `json:"used,omitzero"`        // last, to the minute; zero: never
	Single       bool      `json:"single,omitempty"`     // the one of its owner that has no name of its own; making it again replaces it
	Digest       string    `json:"-"`                    // of the token; leaves the database never
}

// Check refuses a token that is not the one of c, or not at this moment. Which of
// the two it was is safe to say: only who has the token learns that it expired.
func (c Credential) Check(t Token, at time.Time) error {
	switch {
	case !t.Is(c.Digest) || t.kind != c.Kind:
		return noToken("it is unknown or has been revoked")
	case !c.Expires.IsZero() && !at.Before(c.Expires):
		return noToken("it expired at " + c.Expires.UTC().Format(time.RFC3339))
	}
	return nil
}

// Principal is who acts with the token of c: the user, by this name, or the token
// itself, by its description or its id: whoever holds a lock has a name.
func (c Credential) Principal(user string) Principal {
	if c.Kind == UserToken {
		return Principal{Kind: Person, ID: c.Owner, Name: user}
	}
	return Principal{Kind: Bearer, ID: c.ID, Name: cmp.Or(c.Description, c.ID), Organisation: c.Organisation}
}

// Package identity decides who may do what, and what is written down about it:
// principals and ids, permissions and roles, teams, tokens, names, and the
// chain of audit entries. It is values in, values out: bytes of randomness and
// moments of time are handed to it, and it must not know where anything is kept.
package identity

import (
	"math/big"
	"strings"
)

// A Kind says what sort of principal acts.
type Kind string

// The kinds of principals.
const (
	Person Kind = "person"
	Bearer Kind = "token" // the token of a team or an organisation; that of a person acts as the person
	Runner Kind = "runner"
	Job    Kind = "job"    // of somebody's CI, known by its OpenID Connect token
	Server Kind = "server" // the server itself, for what nobody asked for; no token is of this kind
)

// A Principal is who acts.
type Principal struct {
	Kind         Kind   `json:"kind"`
	ID           string `json:"id"`
	Name         string `json:"name"`
	Organisation string `json:"organisation,omitempty"` // id; "" for a person of several
}

// The prefixes of ids say what an id is of (docs/identity.md, rule 1).
const (
	OrganisationID = "org_"
	ProjectID      = "prj_"
	StackID        = "stk_"
	UserID         = "usr_"
	TeamID         = "team_"
	MembershipID   = "mem_"
	GrantID        = "grt_"
	TokenID        = "tok_"
)

// idDigits are so many that they hold the 128 bits of an id in base 62.
const idDigits = 22

// NewID is an id with this prefix; where the bytes come from is for the caller.
func NewID(prefix string, random [16]byte) string { return prefix + base62(random[:], idDigits) }

// IsID reports whether text is an id with this prefix. It is no proof that
// there is such a thing.
func IsID(prefix, text string) bool {
	rest, ok := strings.CutPrefix(text, prefix)
	return ok && len(rest) == idDigits && !strings.ContainsFunc(rest, notBase62)
}

func notBase62(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// digits62 are the digits of base 62 in the order of [big.Int.Text], letters and
// digits only: a double click selects such a word whole, and no URL changes it.
const digits62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// base62 is data as one number of this many digits.
func base62(data []byte, width int) string {
	text := new(big.Int).SetBytes(data).Text(62)
	return strings.Repeat("0", width-len(text)) + text
}

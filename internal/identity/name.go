package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Naming is what the name of one sort of thing may be.
type Naming struct {
	what    string
	longest int
	spaces  bool // between other characters
}

// OrganisationName is the naming of organisations. What the clients of
// Terraform Cloud and go-tfe's tests call things fits in all four namings: there
// an organisation's name stands in URLs as its id, "foo-" and a UUID name a
// project, and "foo bar" is a team (docs/identity.md, rule 6).
func OrganisationName() Naming { return Naming{what: "an organisation", longest: 40} }

// ProjectName is the naming of projects.
func ProjectName() Naming { return Naming{what: "a project", longest: 40, spaces: true} }

// StackName is the naming of stacks, which the clients know as workspaces.
func StackName() Naming { return Naming{what: "a stack", longest: 90} }

// TeamName is the naming of teams.
func TeamName() Naming { return Naming{what: "a team", longest: 90, spaces: true} }

// PolicyName is the naming of policies that a client keeps on the server.
func PolicyName() Naming { return Naming{what: "a policy", longest: 90} }

// PolicySetName is the naming of sets of them.
func PolicySetName() Naming { return Naming{what: "a policy set", longest: 90} }

// Check refuses a name. What it lets pass is one element of any path or URL and
// means nothing else there, cannot be taken for a flag, and has no letter of
// another alphabet that looks like one of ours.
func (n Naming) Check(name string) error {
	switch {
	case name == "":
		return n.refuse("is empty")
	case len(name) > n.longest:
		return n.refuse("is too long")
	case strings.Trim(name, n.alphabet()) != "":
		return n.refuse("holds another character")
	case name[0] == '-':
		return n.refuse("begins with -")
	case strings.TrimSpace(name) != name || strings.Contains(name, "  "):
		return n.refuse("begins or ends with a space, or has two in a row")
	}
	return nil
}

func (n Naming) alphabet() string {
	if n.spaces {
		return digits62 + "-_ "
	}
	return digits62 + "-_"
}

// refuse does not repeat the name, which may be of any length and hold anything.
func (n Naming) refuse(why string) *problem.Error {
	also := "- and _"
	if n.spaces {
		also = "-, _ and single spaces between words"
	}
	return problem.New(api.Invalid, "the name of %s %s", n.what, why).
		WithHint("1 to %d letters (a to z, A to Z), digits, %s; not - at the beginning", n.longest, also)
}

// Lengths of tags, in bytes.
const (
	tagKeyLongest   = 128
	tagValueLongest = 256
)

// CheckTag refuses the key or the value of a tag. A key can stand in a list that is
// separated by commas, and a value is one line of text (docs/protocol.md, rule 13).
func CheckTag(key, value string) error {
	const more = "-_.:/=+@ "
	switch {
	case key == "" || len(key) > tagKeyLongest || strings.Trim(key, digits62+more) != "" || strings.TrimSpace(key) != key:
		return problem.New(api.Invalid, "the key of a tag is empty, too long, or holds another character").
			WithHint("1 to %d letters (a to z, A to Z), digits and any of %s", tagKeyLongest, strings.TrimSpace(more))
	case len(value) > tagValueLongest || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return problem.New(api.Invalid, "the value of a tag is too long or not one line of text").
			WithHint("at most %d bytes", tagValueLongest)
	}
	return nil
}

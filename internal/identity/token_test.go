package identity

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

var tokenKinds = []TokenKind{UserToken, TeamToken, OrganisationToken, AgentToken}

// found is the expression of docs/identity.md for scanners.
var found = regexp.MustCompile(`^assize_[utoa]_[0-9A-Za-z]{49}$`)

// reasons are all that is ever said of what is no token: none holds a part of it.
var reasons = regexp.MustCompile(`^the token is not valid: (it is none of Assize|it is of a kind that this version does not know|` +
	`it is too short or too long|it holds something else than letters and digits|a character of it is wrong)$`)

func tokens() *rapid.Generator[Token] {
	return rapid.Custom(func(t *rapid.T) Token {
		return NewToken(rapid.SampledFrom(tokenKinds).Draw(t, "kind"), [32]byte(random(32).Draw(t, "random")))
	})
}

func TestTokensComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token := tokens().Draw(t, "token")
		back, err := ParseToken(token.Reveal())
		if err != nil || back.Kind() != token.Kind() || back.Reveal() != token.Reveal() || !back.Is(token.Digest()) {
			t.Fatalf("%v came back as %v, %v", token, back, err)
		}
		if !found.MatchString(token.Reveal()) {
			t.Fatal("no scanner would find it")
		}
		if other := tokens().Draw(t, "other"); (other.Reveal() == token.Reveal()) != other.Is(token.Digest()) {
			t.Fatal("two tokens have one digest")
		}
	})
}

// TestNoSlipOfTheHand changes one character, or exchanges two, or loses one: a
// CRC-32 finds all of it.
func TestNoSlipOfTheHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := tokens().Draw(t, "token").Reveal()
		slip := []byte(text)
		i := rapid.IntRange(0, len(slip)-2).Draw(t, "at")
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			slip[i] = rapid.Byte().Draw(t, "character")
		case 1:
			slip[i], slip[i+1] = slip[i+1], slip[i]
		case 2:
			slip = append(slip[:i], slip[i+1:]...)
		}
		if _, err := ParseToken(string(slip)); err == nil && string(slip) != text {
			t.Fatalf("%s passes for %s", slip, text)
		}
	})
}

func TestTokensThatAreNone(t *testing.T) {
	good := NewToken(UserToken, [32]byte{1, 2, 3}).Reveal()
	for name, text := range map[string]string{
		"none of Assize":              "ghp_" + good,
		"none of Assize (2)":          "",
		"of a kind that this version": "assize_x_" + good[len("assize_u_"):],
		"of a kind":                   "assize_",
		"too short or too long":       good[:20],
		"too short or too long (2)":   good + "\n",
		"letters and digits":          good[:20] + "-" + good[21:],
		"a character of it is wrong":  "assize_t_" + good[len("assize_u_"):],
	} {
		_, err := ParseToken(text)
		want, _, _ := strings.Cut(name, " (")
		if err == nil || problem.Code(err) != api.Unauthenticated || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenIsNotPrinted(t *testing.T) {
	token := NewToken(TeamToken, [32]byte{9, 9, 9})
	secret := token.Reveal()[len("assize_t_"):]
	held := struct{ token Token }{token}
	body, err := json.Marshal(struct{ Token Token }{token})
	if err != nil {
		t.Fatal(err)
	}
	said := []string{string(body), fmt.Sprintln(token, held, []Token{token}), token.Need(UserToken).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		said = append(said, fmt.Sprintf(verb, token), fmt.Sprintf(verb, held), fmt.Sprintf(verb, &held), fmt.Sprintf(verb, map[string]any{"t": token}))
	}
	for _, text := range said {
		if strings.Contains(text, secret[:8]) || strings.Contains(text, fmt.Sprintf("%x", secret[:8])) {
			t.Errorf("it is in %q", text)
		}
	}
	if token.String() != "(team token)" || (Token{}).String() != "(no token)" {
		t.Errorf("%v, %v", token, Token{})
	}
}

func TestTheZeroTokenIsNone(t *testing.T) {
	none := NewToken("root", [32]byte{1})
	if none != (Token{}) || none.Reveal() != "" || none.Digest() != "" || none.Is("") || none.Is(none.Digest()) {
		t.Error("a token of an unknown kind is one")
	}
	if none.Need(tokenKinds...) == nil {
		t.Error("no token is of a kind")
	}
}

func TestNeed(t *testing.T) {
	token := NewToken(OrganisationToken, [32]byte{1})
	if err := token.Need(UserToken, OrganisationToken); err != nil {
		t.Error(err)
	}
	err := token.Need(UserToken, TeamToken)
	if problem.Code(err) != api.Forbidden || err.Error() != "this cannot be done with the token of an organisation" || problem.Hint(err) != "use a token of this kind: user or team" {
		t.Errorf("%v (%s)", err, problem.Hint(err))
	}
}

func TestCredentials(t *testing.T) {
	token := NewToken(TeamToken, [32]byte{1})
	end := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	forever := Credential{Kind: TeamToken, Digest: token.Digest()}
	ending := forever
	ending.Expires = end
	for name, c := range map[string]struct {
		kept Credential
		show Token
		at   time.Time
		want string
	}{
		"good":             {forever, token, end, ""},
		"just in time":     {ending, token, end.Add(-1), ""},
		"expired":          {ending, token, end, "the token is not valid: it expired at 2026-12-01T12:00:00Z"},
		"another":          {forever, NewToken(TeamToken, [32]byte{2}), end, "the token is not valid: it is unknown or has been revoked"},
		"another, expired": {ending, NewToken(TeamToken, [32]byte{2}), end, "the token is not valid: it is unknown or has been revoked"},
		"of another kind":  {Credential{Kind: UserToken, Digest: token.Digest()}, token, end, "the token is not valid: it is unknown or has been revoked"},
		"nothing is kept":  {Credential{}, Token{}, end, "the token is not valid: it is unknown or has been revoked"},
	} {
		err := c.kept.Check(c.show, c.at)
		if got := fmt.Sprint(err); err != nil && got != c.want || err == nil && c.want != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	body, err := json.Marshal(ending)
	if err != nil || strings.Contains(string(body), "sha256") {
		t.Errorf("a credential is shown as %s, %v", body, err)
	}
}

func TestWhoActsWithAToken(t *testing.T) {
	user := Credential{ID: "tok_1", Kind: UserToken, Owner: "usr_1", Description: "laptop"}
	if got := user.Principal("Ada"); got != (Principal{Kind: Person, ID: "usr_1", Name: "Ada"}) {
		t.Errorf("%+v", got)
	}
	team := Credential{ID: "tok_2", Kind: TeamToken, Owner: "team_1", Organisation: "org_1", Description: "nightly"}
	if got := team.Principal(""); got != (Principal{Kind: Bearer, ID: "tok_2", Name: "nightly", Organisation: "org_1"}) {
		t.Errorf("%+v", got)
	}
}

// FuzzParseToken checks that what is no token is refused without being repeated,
// and that what passes is read as it stands.
func FuzzParseToken(f *testing.F) {
	for _, kind := range tokenKinds {
		f.Add(NewToken(kind, [32]byte{7}).Reveal())
	}
	f.Add("")
	f.Add("assize_u_")
	f.Add("xxxxxxxxxxxxxx.atlasv1.zzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil {
			if token.Reveal() != text || !found.MatchString(text) || token.Kind() == "" {
				t.Errorf("%q was read as %v", text, token)
			}
			return
		}
		if token != (Token{}) || problem.Code(err) != api.Unauthenticated {
			t.Errorf("%q: %v, %v", text, token, err)
		}
		if !reasons.MatchString(err.Error()) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

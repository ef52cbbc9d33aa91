package sealed

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/problem"
)

func ring(t interface{ Fatal(...any) }, keys ...string) *artifact.Ring {
	r, err := artifact.ParseRing(strings.Join(keys, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSealed: whatever the secret and the place, it opens there with the key that
// is current or was, and nowhere else (docs/secrets.md, rules 1 and 2).
func TestSealed(t *testing.T) {
	t.Parallel()
	a, b := artifact.NewKey(), artifact.NewKey()
	keys, both, other := ring(t, a), ring(t, b, a), ring(t, b)
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "secret")
		place := rapid.Custom(func(t *rapid.T) Place {
			return Place{ID: rapid.StringMatching(`[a-z0-9:/_.]{0,8}`).Draw(t, "id"), Field: rapid.StringMatching(`[a-z0-9:/_.]{0,8}`).Draw(t, "field")}
		})
		at, elsewhere := place.Draw(t, "at"), place.Draw(t, "elsewhere")
		text, err := Seal(t.Context(), keys, at, secret)
		if err != nil {
			t.Fatal(err)
		}
		if len(secret) > 3 && bytes.Contains(text, secret) {
			t.Fatal("the secret is in it")
		}
		if again, _ := Seal(t.Context(), keys, at, secret); bytes.Equal(text, again) {
			t.Fatal("two seals of one secret are the same, so who sees them knows that the secrets are")
		}
		for _, k := range []artifact.Keys{keys, both} {
			if got, err := Open(t.Context(), k, at, text); err != nil || !bytes.Equal(got, secret) {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if got, err := Open(t.Context(), keys, elsewhere, text); elsewhere != at && !errors.Is(err, artifact.ErrDamaged) {
			t.Fatalf("it opens at %+v as well: %q, %v", elsewhere, got, err)
		}
		_, err = Open(t.Context(), other, at, text)
		if problem.Code(err) != api.Unavailable || errors.Is(err, artifact.ErrDamaged) {
			t.Fatalf("a key that is not there: %v", err)
		}
	})
}

// TestOneBit: whichever bit is flipped, and wherever it is cut or grows, it does not
// open; and nothing is said of the secret.
func TestOneBit(t *testing.T) {
	t.Parallel()
	keys, at := ring(t, artifact.NewKey()), Place{ID: "var_1", Field: "variables.value"}
	const secret = "canary-4f1e"
	text, err := Seal(t.Context(), keys, at, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	broken := [][]byte{append(bytes.Clone(text), 0), nil}
	for i := range text {
		broken = append(broken, text[:i])
		for bit := range 8 {
			flipped := bytes.Clone(text)
			flipped[i] ^= 1 << bit
			broken = append(broken, flipped)
		}
	}
	inKeyID := func(b []byte) bool { // then it is one of another key, which is not there
		box, err := decode(b)
		return err == nil && box.keyID != keys.Current()
	}
	for _, b := range broken {
		got, err := Open(t.Context(), keys, at, b)
		if err == nil || !errors.Is(err, artifact.ErrDamaged) && !inKeyID(b) {
			t.Errorf("%x opens: %q, %v", b, got, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the secret is in %v", err)
		}
	}
}

// TestRotate: after a rotation the old key is not needed any more, and the bodies
// are what they were (docs/secrets.md, rule 5).
func TestRotate(t *testing.T) {
	t.Parallel()
	a, b := artifact.NewKey(), artifact.NewKey()
	old, both, anew := ring(t, a), ring(t, b, a), ring(t, b)
	at := Place{ID: "var_1", Field: "variables.value"}
	text, err := Seal(t.Context(), old, at, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if _, changed, err := Rotate(t.Context(), old, at, text); changed || err != nil {
		t.Errorf("nothing to do, and it changed: %v, %v", changed, err)
	}
	if _, _, err := Rotate(t.Context(), both, Place{ID: "var_2", Field: at.Field}, text); !errors.Is(err, artifact.ErrDamaged) {
		t.Errorf("a secret of another place was rotated: %v", err)
	}
	rotated, changed, err := Rotate(t.Context(), both, at, text)
	if !changed || err != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	if got, err := Open(t.Context(), anew, at, rotated); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Open(t.Context(), old, at, rotated); problem.Code(err) != api.Unavailable {
		t.Errorf("the old key alone: %v", err)
	}
	before, _ := decode(text)
	after, _ := decode(rotated)
	if !bytes.Equal(before.body, after.body) {
		t.Error("the rotation has written the body anew")
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	keys := ring(t, artifact.NewKey())
	if _, err := Seal(t.Context(), keys, Place{}, make([]byte, Max)); err != nil {
		t.Error(err)
	}
	if _, err := Seal(t.Context(), keys, Place{}, make([]byte, Max+1)); problem.Code(err) != api.TooLarge {
		t.Error(err)
	}
}

// away are keys of a service that does not answer.
type away struct{ artifact.Keys }

func (away) Unwrap(context.Context, string, []byte, []byte) ([]byte, error) {
	return nil, problem.New(api.Unavailable, "the keys do not answer")
}

// TestAway: that nobody can tell is not damage.
func TestAway(t *testing.T) {
	t.Parallel()
	keys, at := ring(t, artifact.NewKey()), Place{ID: "var_1", Field: "variables.value"}
	text, err := Seal(t.Context(), keys, at, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), away{keys}, at, text); problem.Code(err) != api.Unavailable || errors.Is(err, artifact.ErrDamaged) {
		t.Error(err)
	}
}

// TestFormat opens what an earlier assize has sealed.
func TestFormat(t *testing.T) {
	t.Parallel()
	keys, err := artifact.ReadRing(filepath.Join("..", "..", "testdata", "artifacts", "artifacts.key"))
	if err != nil {
		t.Fatal(err)
	}
	at := Place{ID: "var_0000000000000000000000", Field: "variables.value"}
	path := filepath.Join("testdata", "sealed.hex")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Open(t.Context(), keys, at, sealed); err != nil || string(got) != "a secret of version 1" {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzDecode: of whatever stands in a column, what is read is all of it and nothing else.
func FuzzDecode(f *testing.F) {
	keys := ring(f, artifact.NewKey())
	text, err := Seal(f.Context(), keys, Place{ID: "var_1", Field: "variables.value"}, []byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(magic + "\x01\x01k\x00\x01w"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if b, err := decode(text); err == nil && !bytes.Equal(b.encode(), text) {
			t.Errorf("%x is read as %x", text, b.encode())
		}
		if secret, err := Open(t.Context(), keys, Place{ID: "var_2", Field: "variables.value"}, text); err == nil {
			t.Errorf("%x opens as %q", text, secret)
		}
	})
}

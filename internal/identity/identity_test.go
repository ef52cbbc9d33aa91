package identity

import (
	"testing"

	"pgregory.net/rapid"
)

func TestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := random(16).Draw(t, "a"), random(16).Draw(t, "b")
		one, two := NewID(StackID, [16]byte(a)), NewID(StackID, [16]byte(b))
		if !IsID(StackID, one) || IsID(ProjectID, one) {
			t.Fatalf("%s is no id of a stack, or one of a project", one)
		}
		if (string(a) == string(b)) != (one == two) {
			t.Fatal("two ids are one")
		}
	})
	for _, bad := range []string{"", "stk_", "stk_1", id(StackID, 1) + "0", id(StackID, 1)[1:], "stk_../../../etc/passwd00", " " + id(StackID, 1), id(StackID, 1)[:25] + "é"} {
		if IsID(StackID, bad) {
			t.Errorf("%q passes for an id", bad)
		}
	}
}

// random draws bytes as a source of randomness gives them, extremes included.
func random(n int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), n, n) }

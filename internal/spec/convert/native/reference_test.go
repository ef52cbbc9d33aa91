package native_test

import (
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/spec/convert/native"
)

// TestLongest: a reference is left out where another goes on from it, and only there.
func TestLongest(t *testing.T) {
	t.Parallel()
	got := native.Longest([]string{"a.b.id", "a.b", "a.bc", "a.b[0]", "var.x", "var.x"})
	if want := "a.b.id a.bc a.b[0] var.x"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

package planjson_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan/planjson"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.0", "0"}, {"-0.000e-7", "0"}, {"0e999999999999999999999", "0"},
		{"1", "1"}, {"1.0", "1"}, {"1e0", "1"}, {"1E+0", "1"}, {"10e-1", "1"}, {"0.1e1", "1"}, {"-1.00", "-1"},
		{"100", "100"}, {"1e2", "100"}, {"1.5e1", "15"}, {"12.340", "12.34"}, {"-0.10", "-0.1"}, {"1e-3", "0.001"}, {"120e-1", "12"},
		{"9007199254740993", "9007199254740993"}, {"9223372036854775808", "9223372036854775808"},
		{"1e30", "1000000000000000000000000000000"}, {"123456789012345678901234567890.10", "123456789012345678901234567890.1"},
		{"1e399", "1" + strings.Repeat("0", 399)}, {"1e400", "1e400"}, {"1" + strings.Repeat("0", 400), "1e400"}, {"12e400", "1.2e401"},
		{"1e-400", "0." + strings.Repeat("0", 399) + "1"}, {"1e-401", "1e-401"}, {"-1.25e-500", "-1.25e-500"},
		{"1e99999", "1e99999"}, {"1e-99999", "1e-99999"},
		{"1e100000", ""}, {"1e-100000", ""}, {"1e99999999999999999999", ""}, {"1e-99999999999999999999", ""}, {"10e99999", ""},
		{"", ""}, {"-", ""}, {"+1", ""}, {"01", ""}, {"-01", ""}, {"1.", ""}, {".5", ""}, {"1e", ""}, {" 1", ""}, {"1 ", ""}, {"0x10", ""}, {"NaN", ""}, {"Infinity", ""}, {"true", ""}, {`"1"`, ""}, {"1,000", ""}, {"1_000", ""},
	}
	for _, tt := range tests {
		got, err := planjson.Number(tt.text)
		if string(got) != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%q: got %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

// TestNumberIsExact compares with exact rationals: the spelling has the same
// value, two spellings of one value are one text, and a text stays as it is.
func TestNumberIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "number")
		want, _ := new(big.Rat).SetString(text)
		n, err := planjson.Number(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := new(big.Rat).SetString(string(n)); !ok || got.Cmp(want) != 0 {
			t.Fatalf("%s became %s", text, n)
		}
		if again, err := planjson.Number(string(n)); err != nil || again != n {
			t.Fatalf("%s became %s, then %s (%v)", text, n, again, err)
		}
		shift := rapid.IntRange(-20, 20).Draw(t, "shift")
		moved := new(big.Rat).Set(want)
		for range shift {
			moved.Mul(moved, big.NewRat(10, 1))
		}
		for range -shift {
			moved.Mul(moved, big.NewRat(1, 10))
		}
		other, err := planjson.Number(fmt.Sprintf("%se%d", moved.FloatString(1100), -shift))
		if err != nil || other != n {
			t.Fatalf("%s is %s, spelled otherwise %s (%v)", text, n, other, err)
		}
	})
}

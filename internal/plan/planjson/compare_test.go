package planjson_test

import (
	"encoding/json"
	"math/big"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/plan/planjson"
)

// TestCompare agrees with exact fractions on every pair of numbers.
func TestCompare(t *testing.T) {
	t.Parallel()
	number := rapid.Custom(func(t *rapid.T) json.Number {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?(e-?[0-9]{1,2})?`).Draw(t, "number")
		n, err := planjson.Number(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(string(a))
		y, _ := new(big.Rat).SetString(string(b))
		if got, ok := planjson.Compare(a, b); !ok || got != x.Cmp(y) {
			t.Fatalf("%s and %s: %d, %v; want %d", a, b, got, ok, x.Cmp(y))
		}
	})
}

// TestCompareIsFast: a number of a few bytes must not be written out.
func TestCompareIsFast(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for i := range 100_000 {
		a := json.Number("1e-" + strconv.Itoa(90_000+i%9_000))
		if got, ok := planjson.Compare(a, "1e-99999"); !ok || got != 1 {
			t.Fatalf("%s: %d, %v", a, got, ok)
		}
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("100,000 comparisons took %v", took)
	}
}

package planjson

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const (
	// maxPlain is how many digits a number may have and still be written out.
	// It is above what a float64 needs (309), and bounds what an exponent of a
	// few bytes can blow up to.
	maxPlain = 400
	// maxExponent is where a number stops being one: beyond it, evaluators of
	// policies disagree or give up, and an infrastructure has no such quantity.
	maxExponent = 99_999
)

// Number returns the one spelling that a JSON number has in a plan: 1.0, 1e0
// and 1 are all 1, and -0 is 0. It is exact, so equal texts are equal numbers
// and different texts are different ones. A number of more than 400 digits has
// an exponent: 1e99999. It is an error for text to be no JSON number, or to be
// beyond 1e99999 in either direction.
func Number(text string) (json.Number, error) {
	if isPlainInteger(text) {
		return json.Number(text), nil
	}
	if v := jsontext.Value(text); v.Kind() != '0' || !v.IsValid() || strings.TrimSpace(text) != text {
		return "", problem.New(api.Invalid, "not a JSON number")
	}
	digits, exp, err := significant(strings.TrimPrefix(text, "-"))
	if err != nil {
		return "", err
	}
	if digits == "" {
		return "0", nil
	}
	if strings.HasPrefix(text, "-") {
		return json.Number("-" + spell(digits, exp)), nil
	}
	return json.Number(spell(digits, exp)), nil
}

// Parsing by hand keeps the work linear in the text: a library for decimals
// would take a megabyte of digits for something to calculate with.

// isPlainInteger accepts what is in the one spelling already, without work:
// nearly every number of a plan.
func isPlainInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > maxPlain || digits[0] == '0' && text != "0" {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// significant takes an unsigned number apart: it is digits times ten to the
// power of exp, and digits neither begins nor ends with 0 ("" for zero).
func significant(text string) (digits string, exp int, err error) {
	mantissa, exponent := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], strings.TrimPrefix(text[i+1:], "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "", 0, nil
	}
	if exponent != "" {
		exp, err = strconv.Atoi(exponent)
	}
	exp -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	if first := len(trimmed) + exp - 1; err != nil || first > maxExponent || first < -maxExponent {
		return "", 0, problem.New(api.Invalid, "a number beyond 1e%d", maxExponent)
	}
	return trimmed, exp, nil
}

func spell(digits string, exp int) string {
	point := len(digits) + exp // how many digits stand before the decimal point
	switch {
	case point > maxPlain || -exp > maxPlain:
		return withPoint(digits) + "e" + strconv.Itoa(point-1)
	case exp >= 0:
		return digits + strings.Repeat("0", exp)
	case point > 0:
		return digits[:point] + "." + digits[point:]
	default:
		return "0." + strings.Repeat("0", -point) + digits
	}
}

// Spellings lists the ways in which tools and evaluators of policies write n,
// itself first: exactly or as the nearest float, with an exponent or without.
func Spellings(n json.Number) []string {
	texts := []string{string(n)}
	d, ok := decimalOf(n)
	if !ok || d.sign == 0 {
		return texts
	}
	unsigned := []string{withPoint(d.digits) + "e" + strconv.Itoa(d.point-1)}
	// It is 0 or infinite for a number that is no float.
	if f, err := n.Float64(); err == nil && f != 0 {
		unsigned = append(unsigned, strconv.FormatFloat(math.Abs(f), 'e', -1, 64))
		texts = append(texts, strconv.FormatFloat(f, 'f', -1, 64))
	}
	for _, text := range unsigned {
		mantissa, exponent, _ := strings.Cut(text, "e")
		power, _ := strconv.Atoi(exponent)
		for _, format := range []string{"%se%d", "%sE%d", "%se%+d", "%sE%+d", "%se%+03d", "%sE%+03d"} {
			text := fmt.Sprintf(format, mantissa, power)
			if d.sign < 0 {
				text = "-" + text
			}
			texts = append(texts, text)
		}
	}
	slices.Sort(texts[1:])
	return slices.Compact(texts)
}

// withPoint writes digits with a point behind the first.
func withPoint(digits string) string {
	if len(digits) == 1 {
		return digits
	}
	return digits[:1] + "." + digits[1:]
}

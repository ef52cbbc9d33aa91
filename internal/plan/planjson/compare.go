package planjson

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// Compare orders two numbers in the spelling of [Number] exactly; ok is false
// where one is no number. It reads digits and writes none out: a
// number of a few bytes may have a hundred thousand of them.
func Compare(a, b json.Number) (order int, ok bool) {
	x, okA := decimalOf(a)
	y, okB := decimalOf(b)
	switch {
	case !okA || !okB:
		return 0, false
	case x.sign != y.sign:
		return cmp.Compare(x.sign, y.sign), true
	}
	return x.sign * cmp.Or(cmp.Compare(x.point, y.point), strings.Compare(x.digits, y.digits)), true
}

// A decimal is sign times 0.digits times ten to the power of point. Digits
// neither begin nor end with 0, so they order as text.
type decimal struct {
	sign, point int
	digits      string
}

func decimalOf(n json.Number) (d decimal, ok bool) {
	text, negative := strings.CutPrefix(string(n), "-")
	mantissa, exponent, hasExponent := strings.Cut(text, "e")
	if hasExponent {
		var err error
		if d.point, err = strconv.Atoi(exponent); err != nil {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal{}, false
	}
	significant := strings.TrimLeft(whole+fraction, "0")
	if d.digits = strings.TrimRight(significant, "0"); d.digits == "" {
		return decimal{}, true
	}
	d.point += len(significant) - len(fraction)
	d.sign = 1
	if negative {
		d.sign = -1
	}
	return d, true
}

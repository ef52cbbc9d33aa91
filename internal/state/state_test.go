package state

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

var digest = strings.Repeat("0123456789abcdef", 2)

// other is an md5 that no head here has.
var other = strings.Repeat("f", 32)

// TestJudge is the table of docs/state.md, rules 4 to 6.
func TestJudge(t *testing.T) {
	t.Parallel()
	head := &Head{Serial: 5, Lineage: "l", MD5: digest}
	for name, c := range map[string]struct {
		head   *Head
		w      Write
		seen   bool
		ruling Ruling
		reason Reason
	}{
		"the first":                     {nil, Write{Serial: 7, Lineage: "any", MD5: other}, false, Accept, Fits},
		"the first by force":            {nil, Write{Serial: 0, MD5: other, Force: true}, false, Accept, Fits},
		"the next":                      {head, Write{Serial: 6, Lineage: "l", MD5: other}, false, Accept, Fits},
		"the next, by force":            {head, Write{Serial: 6, Lineage: "l", MD5: other, Force: true}, false, Accept, Fits},
		"one that leaves some out":      {head, Write{Serial: 60, Lineage: "l", MD5: other}, false, Accept, Fits},
		"one without a lineage":         {head, Write{Serial: 6, MD5: other}, false, Accept, Fits},
		"the same":                      {head, Write{Serial: 5, Lineage: "l", MD5: digest}, false, Replay, Fits},
		"the same by force":             {head, Write{Serial: 5, Lineage: "l", MD5: digest, Force: true}, false, Replay, Fits},
		"the same, read before":         {head, Write{Serial: 5, Lineage: "l", MD5: digest}, true, Replay, Fits},
		"the same serial":               {head, Write{Serial: 5, Lineage: "l", MD5: other}, false, Refuse, Serial},
		"a lower serial":                {head, Write{Serial: 4, Lineage: "l", MD5: digest}, false, Refuse, Serial},
		"another lineage":               {head, Write{Serial: 6, Lineage: "m", MD5: other}, false, Refuse, Lineage},
		"the same bytes of another":     {head, Write{Serial: 5, Lineage: "m", MD5: digest}, false, Refuse, Lineage},
		"a lower serial by force":       {head, Write{Serial: 4, Lineage: "l", MD5: other, Force: true}, false, Override, Serial},
		"another lineage by force":      {head, Write{Serial: 6, Lineage: "m", MD5: other, Force: true}, false, Override, Lineage},
		"a lower serial, read before":   {head, Write{Serial: 4, Lineage: "l", MD5: other}, true, Override, Serial},
		"another lineage, read before":  {head, Write{Serial: 6, Lineage: "m", MD5: other}, true, Override, Lineage},
		"the next of nobody's lineage":  {&Head{Serial: 5, MD5: digest}, Write{Serial: 6, Lineage: "l", MD5: other}, false, Accept, Fits},
		"the same of nobody's lineage ": {&Head{Serial: 5, MD5: digest}, Write{Serial: 5, Lineage: "l", MD5: digest}, false, Replay, Fits},
	} {
		if ruling, reason := Judge(c.head, c.w, c.seen); ruling != c.ruling || reason != c.reason {
			t.Errorf("%s: %s %s, want %s %s", name, ruling, reason, c.ruling, c.reason)
		}
	}
}

// TestNothingSlipsThrough: what is accepted without force follows the head, and what
// is refused is refused with a reason and a code.
func TestNothingSlipsThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"", "l", "m"})
		sums := rapid.SampledFrom([]string{digest, other})
		serials := rapid.Int64Range(0, 3)
		head := &Head{Serial: serials.Draw(t, "head"), Lineage: words.Draw(t, "head's"), MD5: sums.Draw(t, "its md5")}
		w := Write{Serial: serials.Draw(t, "serial"), Lineage: words.Draw(t, "lineage"), MD5: sums.Draw(t, "md5"), Force: rapid.Bool().Draw(t, "force")}
		seen := rapid.Bool().Draw(t, "seen")
		ruling, reason := Judge(head, w, seen)
		same := head.Lineage == "" || w.Next(head) == head.Lineage
		switch ruling {
		case Accept:
			if w.Serial <= head.Serial || !same {
				t.Fatal("it does not follow")
			}
		case Replay:
			if w.Serial != head.Serial || w.MD5 != head.MD5 || !same {
				t.Fatal("it is not the same")
			}
		case Override:
			if reason == Fits || !w.Force && !seen || reason != w.Over(head) {
				t.Fatal("nobody wanted that")
			}
		case Refuse:
			var refused *Refused
			err := reason.Refusal(head, w)
			if !errors.As(err, &refused) || refused.Reason != reason || err.Hint == "" {
				t.Fatalf("%v", err)
			}
			if code := problem.Code(err); code != api.Stale && code != api.Conflict {
				t.Fatalf("%v is %s", err, code)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]Write{
		"negative serial":       {Serial: -1, MD5: digest},
		"no md5":                {Serial: 1},
		"md5 in capitals":       {MD5: strings.ToUpper(digest)},
		"a long lineage":        {MD5: digest, Lineage: strings.Repeat("l", 256)},
		"a lineage with a line": {MD5: digest, Lineage: "a\nb"},
		"a lineage with a zero": {MD5: digest, Lineage: "a\x00b"},
		"a lineage of no text":  {MD5: digest, Lineage: "a\xff"},
	} {
		if err := w.Check(); problem.Code(err) != api.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Write{Serial: 0, MD5: digest, Lineage: "8094ef40-1dbd-95cd-1f60-bb25d84d883b"}).Check(); err != nil {
		t.Error(err)
	}
}

package identity

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// events draws what somebody hands to Chain: any text, any zone, any precision.
func events() *rapid.Generator[Entry] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\x00b", "\xff\xfe", "</script>", "\u2028", "😀", "\\ud800"}))
	zone := rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", 7200), time.FixedZone("", -16200)})
	return rapid.Custom(func(t *rapid.T) Entry {
		return Entry{
			At:        time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(zone.Draw(t, "zone")),
			Principal: Principal{Kind: Person, ID: text.Draw(t, "id"), Name: text.Draw(t, "name")},
			Scope:     scopes().Draw(t, "scope"),
			Action:    text.Draw(t, "action"), Object: text.Draw(t, "object"), Outcome: text.Draw(t, "outcome"),
			Detail: rapid.MapOfN(text, text, 0, 3).Draw(t, "detail"),
		}
	})
}

func chains() *rapid.Generator[[]Entry] {
	return rapid.Custom(func(t *rapid.T) []Entry {
		return chained(rapid.SliceOfN(events(), 1, 8).Draw(t, "events"))
	})
}

func chained(events []Entry) []Entry {
	var head Entry
	var all []Entry
	for _, e := range events {
		head = Chain(head, e)
		all = append(all, head)
	}
	return all
}

// TestAChainHolds, also when it comes out of a database, in its time zone, and
// out of an export.
func TestAChainHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain := chains().Draw(t, "chain")
		stored, exported := slices.Clone(chain), []Entry{}
		for i, e := range chain {
			stored[i].At = e.At.In(time.FixedZone("", 3600))
			line, err := stored[i].Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := DecodeEntry(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if diff := cmp.Diff(e, again); diff != "" {
				t.Fatal(diff)
			}
			exported = append(exported, again)
		}
		for _, entries := range [][]Entry{chain, stored, exported} {
			if err := Verify(slices.Values(entries)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestNothingIsChangedUnseen does to a chain what somebody with the database
// could do, with and without mending digests. Either an entry at or right after
// the place is named, or the head is another.
func TestNothingIsChangedUnseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain := chains().Draw(t, "chain")
		i := rapid.IntRange(0, len(chain)-1).Draw(t, "at")
		forged := slices.Clone(chain)
		switch rapid.SampledFrom([]string{"change", "mend", "insert", "remove", "double", "swap"}).Draw(t, "what") {
		case "change":
			forged[i].Outcome += "!"
		case "mend":
			forged[i].Outcome += "!"
			forged[i].Digest = forged[i].digest()
		case "insert":
			var before Entry
			if i > 0 {
				before = chain[i-1]
			}
			forged = slices.Insert(forged, i, Chain(before, events().Draw(t, "event")))
		case "remove":
			forged = slices.Delete(forged, i, i+1)
		case "double":
			forged = slices.Insert(forged, i, chain[i])
		case "swap":
			j := rapid.IntRange(0, len(chain)-1).Draw(t, "with")
			forged[i], forged[j] = forged[j], forged[i]
			i = min(i, j)
		}
		if cmp.Equal(chain, forged) {
			return // a swap with itself
		}
		var log Log
		for _, e := range forged {
			if err := log.Read(e); err == nil {
				continue
			}
			if n := log.Head.Sequence; n < int64(i) || n > int64(i)+1 {
				t.Fatalf("entry %d was forged, and what follows %d is named", i+1, n)
			}
			return
		}
		if log.Head.Digest == chain[len(chain)-1].Digest {
			t.Fatal("nobody would see it")
		}
	})
}

// TestBroken holds what is said of each way to break a chain.
func TestBroken(t *testing.T) {
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	chain := chained([]Entry{{At: at, Action: "a"}, {At: at, Action: "b"}, {At: at, Action: "c"}, {At: at, Action: "d"}})
	for name, c := range map[string]struct {
		forge func([]Entry) []Entry
		want  string
	}{
		"changed": {func(e []Entry) []Entry { e[1].Action = "x"; return e }, "entry 2 has been changed: it is not what its digest says"},
		"digest":  {func(e []Entry) []Entry { e[1].Digest = ""; return e }, "entry 2 has been changed: it is not what its digest says"},
		"removed": {func(e []Entry) []Entry { return slices.Delete(e, 1, 2) }, "entry 3 stands where entry 2 should: what was between has been removed or moved"},
		"first":   {func(e []Entry) []Entry { return e[1:] }, "entry 2 stands where entry 1 should: what was between has been removed or moved"},
		"doubled": {func(e []Entry) []Entry { return slices.Insert(e, 1, e[1]) }, "entry 2 stands where entry 3 should: an entry has been inserted, doubled or moved"},
		"moved":   {func(e []Entry) []Entry { e[1], e[2] = e[2], e[1]; return e }, "entry 3 stands where entry 2 should: what was between has been removed or moved"},
		"mended": {func(e []Entry) []Entry { e[1] = Chain(e[0], Entry{At: at, Action: "x"}); return e },
			"entry 3 does not follow the entry before it: one of them has been replaced or inserted"},
		"zero":  {func(e []Entry) []Entry { return []Entry{{}} }, "entry 0 has been changed: it is not what its digest says"},
		"empty": {func([]Entry) []Entry { return nil }, ""},
		"whole": {func(e []Entry) []Entry { return e }, ""},
	} {
		err := Verify(slices.Values(c.forge(slices.Clone(chain))))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || err.Error() != "the audit log is broken: "+c.want || problem.Code(err) != api.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDigestIsFixed pins the form: an export of years ago must verify.
func TestDigestIsFixed(t *testing.T) {
	e := Chain(Entry{}, Entry{
		At:        time.Date(2026, 12, 1, 13, 0, 0, 123456789, time.FixedZone("", 3600)),
		Principal: Principal{Kind: Person, ID: "usr_1", Name: "Ada"},
		Scope:     Scope{Organisation: "org_1"},
		Action:    "state:write", Object: "stk_1", Outcome: "done", Detail: map[string]string{"serial": "4"},
	})
	line, err := e.Encode()
	want := `{"action":"state:write","at":"2026-12-01T12:00:00.123456Z","detail":{"serial":"4"},` +
		`"digest":"DIGEST","object":"stk_1","outcome":"done","previous":"",` +
		`"principal":{"id":"usr_1","kind":"person","name":"Ada"},"scope":{"organisation":"org_1"},"sequence":1}`
	want = strings.Replace(want, "DIGEST", "sha256:b5275fb6e4587c5cb3d92fe2058ca8c002e840e6414d44aeb771842613ef4de5", 1)
	if err != nil || string(line) != want {
		t.Errorf("the form is\n%s, want\n%s (%v)", line, want, err)
	}
}

func TestNoEntry(t *testing.T) {
	line, err := Chain(Entry{}, Entry{Action: "a", Detail: map[string]string{"k": "v"}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(line)
	for name, text := range map[string]string{
		"nothing":        "",
		"null":           "null",
		"a list":         "[]",
		"two":            good + good,
		"half":           good[:len(good)/2],
		"a new field":    strings.Replace(good, `{"action"`, `{"approved":true,"action"`, 1),
		"a field twice":  strings.Replace(good, `{"action":"a"`, `{"action":"b","action":"a"`, 1),
		"another case":   strings.Replace(good, `"action"`, `"Action"`, 1),
		"a field less":   strings.Replace(good, `"object":"",`, ``, 1),
		"another zone":   strings.Replace(good, `"0001-01-01T00:00:00Z"`, `"0001-01-01T00:00:00+00:00"`, 1),
		"detail doubled": strings.Replace(good, `{"k":"v"}`, `{"k":"w","k":"v"}`, 1),
		"a half letter":  strings.Replace(good, `"a"`, `"\ud800"`, 1),
	} {
		if _, err := DecodeEntry([]byte(text)); err == nil || problem.Code(err) != api.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	spaced := strings.Replace(good, `"action":"a"`, "\t\"action\" : \"\\u0061\"", 1)
	if _, err := DecodeEntry([]byte(spaced)); err != nil {
		t.Errorf("white space matters: %v", err)
	}
}

// TestNoJSON is of what cannot be written: it has no digest, so nothing follows it.
func TestNoJSON(t *testing.T) {
	e := Chain(Entry{}, Entry{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if _, err := e.Encode(); err == nil || Verify(slices.Values([]Entry{e})) == nil {
		t.Errorf("the year 10000 is written as %+v", e)
	}
}

// FuzzDecodeEntry checks that a line that passes is one that Assize writes.
func FuzzDecodeEntry(f *testing.F) {
	line, err := Chain(Entry{}, Entry{Action: "a", Detail: map[string]string{"k": "v"}}).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(`{"sequence":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEntry(line)
		if err != nil {
			return
		}
		var got, want any
		again, err := e.Encode()
		if err != nil || json.Unmarshal(line, &got) != nil || json.Unmarshal(again, &want) != nil || !cmp.Equal(got, want) {
			t.Errorf("%s was read as %s, %v", line, again, err)
		}
	})
}

package runner

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/spec"
)

// complaint is what tofu prints to a terminal and to a pipe.
const complaint = "  # random_pet.planned will be created\n" +
	"\x1b[31m╷\x1b[0m\x1b[0m\n" +
	"\x1b[31m│\x1b[0m \x1b[0m\x1b[1m\x1b[31mError: \x1b[0m\x1b[0m\x1b[1minvalid length\x1b[0m\n" +
	"\x1b[31m│\x1b[0m \x1b[0m\x1b[0m  with random_pet.web--front,\n" +
	"\x1b[31m│\x1b[0m \x1b[0m\x1b[0m  on main.tf.json line 30, in resource.random_pet.web--front:\n" +
	"\nWarning: it is old\n\n  with random_pet.warned,\n" +
	"\nError: it is so\n\n  on main.tf.json line 34, in data.forge_image.base:\n  34:       }\n\n" +
	"  with random_pet.other,\nrandom_pet.web--front.id is wrong\nResource instance random_pet.last has prevent_destroy set"

// TestHeeded: however the output is cut, all of it is passed on, and each thing is
// noted once.
func TestHeeded(t *testing.T) {
	t.Parallel()
	places := map[string]spec.Place{
		"random_pet.web--front": {Path: "web.front", File: "estate.cue", Line: 12},
		"data.forge_image.base": {Path: "base", File: "more.cue", Line: 3},
		"random_pet.last":       {Path: "last"},
		"random_pet.planned":    {Path: "planned"},
		"random_pet.warned":     {Path: "warned"},
	}
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		h := &heeded{to: &out, places: places}
		for rest := []byte(complaint); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "n")
			passed := out.Len()
			if got, err := h.Write(rest[:n]); got != n || err != nil || out.Len() != passed+n {
				t.Fatalf("%d of %d bytes, %v", got, n, err)
			}
			rest = rest[n:]
		}
		if out.String() != complaint {
			t.Fatalf("%q", out.String())
		}
		out.Reset()
		h.write()
		const want = "assize: note: random_pet.web--front is web.front, estate.cue:12\n" +
			"assize: note: data.forge_image.base is base, more.cue:3\n" +
			"assize: note: random_pet.last is last\n"
		if out.String() != want {
			t.Fatalf("%s", out.String())
		}
	})
}

// TestHeededLongLines: what has no end takes no memory.
func TestHeededLongLines(t *testing.T) {
	t.Parallel()
	h := &heeded{to: &bytes.Buffer{}}
	for range 100 {
		if _, err := h.Write(slices.Repeat([]byte("x"), 1000)); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.line) > lineMax {
		t.Errorf("%d bytes", len(h.line))
	}
}

package artifact

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the artifacts of testdata anew")

// kept is what the artifacts of testdata say.
var kept = map[Name]string{
	state("{\"version\": 4}\n"): "{\"version\": 4}\n",
	state(""):                   "",
	{Kind: "plan", Owner: "run_1", Digest: Digest(content(10_000))}:      string(content(10_000)),
	{Kind: "state", Owner: "stk_inside", Digest: Digest(content(9_000))}: string(content(9_000)),
}

// TestFormat reads artifacts that an earlier assize has kept, whatever has
// become of the code since. A format that is not read any more loses states.
func TestFormat(t *testing.T) {
	data := filepath.Join("..", "..", "testdata", "artifacts")
	keyFile, dir := filepath.Join(data, "artifacts.key"), filepath.Join(data, "data", "artifacts")
	if *update {
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		text := "# Opens the artifacts beside it, which are for tests, and nothing else.\n" + keyPrefix + strings.Repeat("test", 10) + "teE\n"
		if err := os.WriteFile(keyFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := ReadRing(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenTree(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range kept {
		if *update {
			if s.small = -1; name.Owner == "stk_inside" {
				s.small = Small
			}
			if _, err := s.Put(t.Context(), name, strings.NewReader(want)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := get(t, s, name); err != nil || got != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

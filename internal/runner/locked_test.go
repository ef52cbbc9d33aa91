package runner

import "testing"

func TestGained(t *testing.T) {
	t.Parallel()
	block := func(name, version string) string {
		return "provider \"registry.opentofu.org/" + name + "\" {\n  version = \"" + version + "\"\n  hashes = [\n    \"h1:x\",\n  ]\n}\n"
	}
	const head = "# This file is maintained automatically by \"tofu init\".\n"
	a, b, newer := block("x/a", "1"), block("x/b", "1"), block("x/a", "2")
	for name, c := range map[string]struct{ was, now, want string }{
		"first":    {"", head + "\n" + a, head + "\n" + a},
		"the same": {head + "\n" + a, head + "\n" + a, head + "\n" + a},
		"dropped":  {head + "\n" + a + "\n" + b, head + "\n" + a, head + "\n" + a + "\n" + b},
		"newer":    {head + "\n" + a + "\n" + b, head + "\n" + newer, head + "\n" + newer + "\n" + b},
		"added":    {head + "\n" + a, head + "\n" + b, head + "\n" + b + "\n" + a},
	} {
		if got := string(gained([]byte(c.was), []byte(c.now))); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

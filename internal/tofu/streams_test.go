package tofu_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/redact"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

// TestSecrets keeps what the environment calls a secret out of what is shown,
// and leaves what is for the program as it is (docs/warrant.md, rule 17).
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter-two"
	says := tofutest.Fault{Out: "out hunter-two hunter-\n", Err: "err hunter-two hunt"}
	failed := says
	failed.Exit = 1
	const out, errs = "out (sensitive) hunter-\n", "err (sensitive) hunt"
	for _, tc := range []struct {
		name   string
		script tofutest.Script
		run    func(*stage) error
		out    string
		err    string
	}{
		{"init", tofutest.Script{Faults: map[string]tofutest.Fault{"init": says}}, func(st *stage) error { return st.Init(t.Context()) }, out, errs},
		{"plan", tofutest.Script{Faults: map[string]tofutest.Fault{"plan": says}}, func(st *stage) error {
			_, err := st.Plan(t.Context(), filepath.Join(st.Dir, "p"), nil)
			return err
		}, out, errs},
		{"apply", tofutest.Script{Faults: map[string]tofutest.Fault{"apply": says}}, func(st *stage) error { return st.Apply(t.Context(), "p") }, out, errs},
		{"a complaint", tofutest.Script{Faults: map[string]tofutest.Fault{"show": failed}}, func(st *stage) error {
			if err := os.WriteFile(filepath.Join(st.Dir, "p"), nil, 0o600); err != nil {
				return err
			}
			if _, err := st.Show(t.Context(), "p"); err == nil {
				t.Error("it did not fail")
			}
			return nil
		}, "", errs},
		{"the plan document", tofutest.Script{Plan: secret}, func(st *stage) error {
			if err := os.WriteFile(filepath.Join(st.Dir, "p"), []byte("plan\n"+secret), 0o600); err != nil {
				return err
			}
			raw, err := st.Show(t.Context(), "p")
			if string(raw) != secret {
				t.Errorf("got %q", raw)
			}
			return err
		}, "", ""},
	} {
		for _, kind := range []string{"a writer", "a pipe", "one pipe for both"} {
			t.Run(tc.name+", "+kind, func(t *testing.T) {
				t.Parallel()
				st := newStage(t, tc.script)
				st.Secrets = redact.New([]string{secret})
				gotOut, gotErr := func() string { return st.out.String() }, func() string { return st.err.String() }
				switch kind {
				case "a pipe":
					st.Out, gotOut = pipe(t)
					st.Err, gotErr = pipe(t)
				case "one pipe for both":
					st.Out, gotOut = pipe(t)
					st.Err, gotErr = st.Out, nil
				}
				if err := tc.run(st); err != nil {
					t.Fatal(err)
				}
				if gotErr == nil {
					if got := gotOut(); strings.Contains(got, secret) || strings.Count(got, "(sensitive)") != strings.Count(tc.out+tc.err, "(sensitive)") {
						t.Errorf("got %q", got)
					}
					return
				}
				if got := gotOut(); got != tc.out {
					t.Errorf("standard output: got %q, want %q", got, tc.out)
				}
				if got := gotErr(); got != tc.err {
					t.Errorf("standard error: got %q, want %q", got, tc.err)
				}
			})
		}
	}
}

// TestSecretsInFile leaves a file to the tool: an apply writes to it when this
// process is gone.
func TestSecretsInFile(t *testing.T) {
	t.Parallel()
	st := newStage(t, tofutest.Script{Faults: map[string]tofutest.Fault{"apply": {Out: "hunter-two"}}})
	st.Secrets = redact.New([]string{"hunter-two"})
	file, err := os.Create(filepath.Join(st.Dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	st.Out = file
	if err := st.Apply(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || string(text) != "hunter-two" {
		t.Errorf("got %q, %v", text, err)
	}
}

// pipe returns the end to write to, and what has been written once that is over.
func pipe(t *testing.T) (*os.File, func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return w, func() string {
		w.Close()
		var b bytes.Buffer
		if _, err := io.Copy(&b, r); err != nil {
			t.Error(err)
		}
		return b.String()
	}
}

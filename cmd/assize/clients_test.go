package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClients runs sessions of the real tofu and terraform against a real server:
// every script with both, and with both blocks that lead to it.
//
// In a script, TOOL is the program, `block name NAME` writes the block, and [tofu],
// [terraform], [cloud] and [remote] say which it is.
func TestClients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, tool := range []string{"tofu", "terraform"} {
		for _, block := range []string{"cloud", "remote"} {
			t.Run(tool+"/"+block, func(t *testing.T) {
				c := client{site: s, tool: tool, block: block, organisation: tool + "-" + block, tagValues: tagValues(t)}
				s.create(t, c.organisation)
				testscript.Run(t, testscript.Params{
					Dir:                 filepath.Join("testdata", "clients"),
					RequireExplicitExec: true,
					RequireUniqueNames:  true,
					UpdateScripts:       *update,
					Condition:           c.condition,
					Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "block": c.write, "stack": c.stack, "lock": c.lock, "unlock": c.unlock, "download": c.download},
					Setup:               c.setup,
				})
			})
		}
	}
}

// tagValues reports whether the terraform that is here has tags with values.
func tagValues(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", ".bin", "terraform"), "version", "-json")
	cmd.Env = []string{"CHECKPOINT_DISABLE=1", "HOME=" + t.TempDir()}
	out, err := cmd.Output()
	var is struct {
		Version string `json:"terraform_version"`
	}
	if err = errors.Join(err, json.Unmarshal(out, &is)); err != nil {
		t.Fatalf("the clients need the pinned tools; run `make tools` (%v)", err)
	}
	major, minor := 0, 0
	_, err = fmt.Sscanf(is.Version, "%d.%d", &major, &minor)
	return err == nil && (major > 1 || minor >= 10)
}

// A client is one tool with one kind of block.
type client struct {
	*site
	tool, block, organisation string

	tagValues bool // this terraform has tags with values
}

func (c client) setup(e *testscript.Env) error {
	env, err := c.environment(e.WorkDir)
	for name, value := range env {
		e.Setenv(name, value)
	}
	return err
}

// environment is what a client runs with that is at home in a directory.
func (c client) environment(home string) (map[string]string, error) {
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	if err != nil {
		return nil, err
	}
	mirror, err := os.ReadFile(filepath.Join(bin, "tofurc"))
	if err != nil {
		return nil, fmt.Errorf("the clients need the pinned tools; run `make tools` (%w)", err)
	}
	settings := filepath.Join(home, ".terraformrc")
	return map[string]string{
		"PATH": bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME": home, "TF_CLI_CONFIG_FILE": settings, "CHECKPOINT_DISABLE": "1",
		"TF_CLI_ARGS": "-no-color", "TF_INPUT": "0", "TF_IN_AUTOMATION": "1", "SSL_CERT_FILE": c.ca,
		"TOOL": c.tool, "BLOCK": c.block, "HOST": c.host, "TOKEN": c.token, "ORG": c.organisation,
	}, os.WriteFile(settings, fmt.Appendf(nil, "%s\ncredentials %q {\n  token = %q\n}\n", mirror, c.host, c.token), 0o600)
}

func (c client) condition(word string) (bool, error) {
	switch word {
	case "tofu", "terraform":
		return word == c.tool, nil
	case "cloud", "remote":
		return word == c.block, nil
	case "tag-values":
		return c.tool == "terraform" && c.block == "cloud" && c.tagValues, nil
	}
	return false, fmt.Errorf("no such condition: %s", word)
}

// write writes block.tf: block name NAME, block prefix PREFIX, or block tags TAG...,
// where each TAG may have a value: TAG="VALUE".
func (c client) write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: block name|prefix|tags WORD...")
	}
	ts.Check(os.WriteFile(ts.MkAbs("block.tf"), c.text(args[0], args[1:]), 0o644))
}

// text is a block that leads to workspaces by a name, a prefix or tags.
func (c client) text(by string, words []string) []byte {
	head := "cloud"
	if c.block == "remote" {
		head = `backend "remote"`
	}
	value := fmt.Sprintf("%q", words[0])
	switch {
	case by == "tags" && strings.Contains(words[0], "="):
		value = "{" + strings.Join(words, ", ") + "}" // TAG="VALUE"
	case by == "tags":
		value = `["` + strings.Join(words, `", "`) + `"]`
	}
	return fmt.Appendf(nil, `terraform {
  %s {
    hostname     = %q
    organization = %q
    workspaces {
      %s = %s
    }
  }
}
`, head, c.host, c.organisation, by, value)
}

// workspace is the one with this name.
func (c client) workspace(ts *testscript.TestScript, name string) string {
	doc, err := c.document("/api/v2/organizations/" + c.organisation + "/workspaces/" + name)
	ts.Check(err)
	return "/api/v2/workspaces/" + doc.Data.ID
}

// stack makes a workspace: stack NAME.
func (c client) stack(ts *testscript.TestScript, neg bool, args []string) {
	_, err := c.do("POST", "/api/v2/organizations/"+c.organisation+"/workspaces",
		fmt.Sprintf(`{"data":{"type":"workspaces","attributes":{"name":%q}}}`, args[0]))
	ts.Check(err)
}

// lock locks a workspace, as a client that dies afterwards: lock NAME.
func (c client) lock(ts *testscript.TestScript, neg bool, args []string) {
	_, err := c.do("POST", c.workspace(ts, args[0])+"/actions/lock", `{"data":{"type":"","attributes":{"reason":"Maintenance"}}}`)
	ts.Check(err)
}

// unlock gives that lock back: unlock NAME.
func (c client) unlock(ts *testscript.TestScript, neg bool, args []string) {
	_, err := c.do("POST", c.workspace(ts, args[0])+"/actions/unlock", "")
	ts.Check(err)
}

// download writes the current state, byte for byte, to stdout: download NAME.
func (c client) download(ts *testscript.TestScript, neg bool, args []string) {
	doc, err := c.document(c.workspace(ts, args[0]) + "/current-state-version")
	ts.Check(err)
	state, err := c.do("GET", doc.Data.Attributes.Download, "")
	ts.Check(err)
	_, err = ts.Stdout().Write(state)
	ts.Check(err)
}

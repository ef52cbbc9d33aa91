package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// processes compares whole processes of OpenTofu that push and pull one state, to
// the server and to the pg backend on the server's Postgres.
func (s *server) processes(dir, bin string, text stateText, runs int) (string, error) {
	database, err := s.database(pgDatabase)
	if err != nil {
		return "", err
	}
	address, err := url.Parse(s.url)
	if err != nil {
		return "", err
	}
	settings := filepath.Join(dir, "tofurc") // not those of whoever runs this
	if err := os.WriteFile(settings, []byte("disable_checkpoint = true\n"), 0o600); err != nil {
		return "", err
	}
	env := []string{"SSL_CERT_FILE=" + s.authority(), fmt.Sprintf("TF_TOKEN_%s=%s", address.Host, s.token), "TF_CLI_CONFIG_FILE=" + settings}
	// The first push of a state gets another lineage with a cloud block: one is there.
	if err := s.begin(database, text); err != nil {
		return "", err
	}
	var all []program
	for _, at := range []struct{ name, block string }{
		{"cloud, assize", fmt.Sprintf("  cloud {\n    hostname     = %q\n    organization = %q\n    workspaces {\n      name = \"pushed\"\n    }\n  }\n", address.Host, organisation)},
		{"backend pg", fmt.Sprintf("  backend \"pg\" {\n    conn_str = %q\n  }\n", database)},
	} {
		home, err := os.MkdirTemp(dir, "push-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(home)
		if err := os.WriteFile(filepath.Join(home, "main.tf"), []byte("terraform {\n"+at.block+"}\n"), 0o600); err != nil {
			return "", err
		}
		tofu := filepath.Join(bin, "tofu")
		init := exec.Command(tofu, "-chdir="+home, "init", "-input=false")
		init.Env = append(os.Environ(), env...)
		if out, err := init.CombinedOutput(); err != nil {
			return "", fmt.Errorf("tofu init with %s: %w\n%s", at.name, err, out)
		}
		serial, next := int64(1), filepath.Join(home, "next.tfstate")
		all = append(all, program{name: "tofu state push, " + at.name, args: []string{tofu, "-chdir=" + home, "state", "push", next}, env: env, found: nothing,
			before: func() error { serial += 2; return os.WriteFile(next, text.text(serial), 0o600) }},
			program{name: "tofu state pull, " + at.name, args: []string{tofu, "-chdir=" + home, "state", "pull"}, env: env,
				found: func(stdout []byte) ([]string, error) { return nil, text.same(stdout, serial) }})
	}
	costs, err := compare(all, runs)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n| | CPU s | wall s | peak MB | wall / assize |\n|---|---:|---:|---:|---:|\n")
	for i, p := range all {
		c := costs[i]
		fmt.Fprintf(&b, "| %s | %.2f | %.2f | %.0f | %.2f |\n", p.name, c.cpu.Seconds(), c.wall.Seconds(), float64(c.peak)/1e6, ratio(c.wall, costs[i%2].wall))
	}
	return b.String(), nil
}

// begin writes a first version to both.
func (s *server) begin(database string, text stateText) error {
	c := s.client()
	stack, err := c.stack(organisation, "pushed")
	if err != nil {
		return err
	}
	if err := c.write(stack, text, 1); err != nil {
		return err
	}
	ctx := context.Background()
	t, err := openTable(ctx, database)
	if err != nil {
		return err
	}
	defer t.conn.Close(ctx)
	return t.put(ctx, "default", text.text(1))
}

// same wants a state that a tool has written anew to have this serial, and the same
// resources. With a cloud block the tool counts a push itself.
func (s stateText) same(text []byte, serial int64) error {
	var got struct {
		Serial    int64
		Lineage   string
		Resources []json.RawMessage
	}
	if err := json.Unmarshal(text, &got); err != nil {
		return err
	}
	if want := bytes.Count(s.head, []byte(`"mode":"managed"`)); got.Serial-serial > 1 || got.Serial < serial || got.Lineage != lineage || len(got.Resources) != want {
		return fmt.Errorf("pulled serial %d of %s with %d resources, and %d with %d was pushed", got.Serial, got.Lineage, len(got.Resources), serial, want)
	}
	return nil
}

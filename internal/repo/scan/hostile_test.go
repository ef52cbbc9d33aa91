package scan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/settings"
)

const head = "terraform {\n  backend \"local\" {}\n}\n"

func one(name, text string) fstest.MapFS {
	return fstest.MapFS{name: &fstest.MapFile{Data: []byte(text)}}
}

// TestTooDeep: what nests without end is refused with its position before the
// parser calls itself as often; what only looks like it is read.
func TestTooDeep(t *testing.T) {
	const n = 1 << 18
	for name, text := range map[string]string{
		"brackets":    "x = " + strings.Repeat("[", n),
		"parens":      "x = " + strings.Repeat("(\n", n),
		"blocks":      strings.Repeat("a {\n", n),
		"not":         "x = " + strings.Repeat("!", n) + "true",
		"minus":       "x = (" + strings.Repeat("-\n", n) + "1)",
		"conditional": "x = (" + strings.Repeat("a\n?a:", n) + "1)",
		"templates":   "x = " + strings.Repeat("\"${", n),
		"directives":  "x = \"" + strings.Repeat("%{ if true }", n) + "\"",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := scan.Scan(one("a/main.tf", text), scan.Options{})
			if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "Nested too deep") {
				t.Fatal(err, r.Problems)
			}
		})
	}
	r, err := scan.Scan(one("a/main.tf.json", `{"locals": `+strings.Repeat("[", n)), scan.Options{})
	if err != nil || len(r.Problems) != 1 {
		t.Fatal(err, r.Problems)
	}
	for name, text := range map[string]string{
		"comment": "# " + strings.Repeat("-", n) + "\n",
		"heredoc": "locals {\n  x = <<EOT\n" + strings.Repeat("| - | [ ! ? \n", n/100) + "EOT\n}\n",
		"numbers": "locals {\n  x = [" + strings.Repeat("-1,\n", n/100) + "]\n}\n",
		"objects": "locals {\n" + strings.Repeat("  x = { a = -1 }\n", 1) + strings.Repeat("# ((\n", n/100) + "}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := scan.Scan(one("a/main.tf", head+text), scan.Options{})
			if err != nil || len(r.Problems) != 0 || len(r.Stacks) != 1 {
				t.Fatal(err, r.Problems)
			}
		})
	}
}

// TestExpansion: what grows without end when it is evaluated is not constant.
func TestExpansion(t *testing.T) {
	var b strings.Builder
	b.WriteString("locals {\n  l0 = \"0123456789\"\n")
	for i := 1; i < 60; i++ {
		n, m := "l"+string(rune('0'+i/10))+string(rune('0'+i%10)), "l"+string(rune('0'+(i-1)/10))+string(rune('0'+(i-1)%10))
		if i == 1 {
			m = "l0"
		}
		b.WriteString("  " + n + " = \"${local." + m + "}${local." + m + "}\"\n")
	}
	read := func(key string) string {
		return head + b.String() + "}\ndata \"terraform_remote_state\" \"x\" {\n  backend = \"s3\"\n  config = { bucket = \"b\", key = " + key + " }\n}\n"
	}
	grow := `"0123456789"`
	for range 12 {
		grow = `replace("aaaaaaaaaa", "a", ` + grow + `)`
	}
	for name, key := range map[string]string{
		"locals": "local.l59", "functions": grow,
		"loops": `join("", ` + strings.Repeat("flatten([for a in range(1000) : ", 8) + "a" + strings.Repeat("])", 8) + ")",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := scan.Scan(one("a/main.tf", read(key)), scan.Options{})
			if err != nil || len(r.Problems) != 0 || len(r.Warnings) != 1 || len(r.Stacks[0].Reads) != 0 {
				t.Fatal(err, r.Problems, r.Warnings)
			}
		})
	}
}

// TestLocals: a chain of locals that fork takes time in proportion to it.
func TestLocals(t *testing.T) {
	var b strings.Builder
	b.WriteString("data \"terraform_remote_state\" \"x\" {\n  backend = \"s3\"\n  config = { bucket = \"b\", key = local.a0 }\n}\nlocals {\n")
	for i := range 200 {
		n := strconv.Itoa(i + 1)
		for _, name := range []string{"a", "b"} {
			b.WriteString("  " + name + strconv.Itoa(i) + " = [local.a" + n + ", local.b" + n + "][0]\n")
		}
	}
	for tail, reads := range map[string]int{"a200 = \"x\"\n  b200 = \"y\"\n": 1, "a200 = local.b0\n  b200 = local.a0\n": 0} {
		r, err := scan.Scan(one("a/main.tf", head+b.String()+tail+"}\n"), scan.Options{})
		if err != nil || len(r.Problems) != 0 || len(r.Stacks[0].Reads) != reads {
			t.Fatal(err, r.Problems, r.Warnings, r.Stacks)
		}
	}
}

// TestNames: a path is anything but a slash and a zero byte, and a message
// stays one line.
func TestNames(t *testing.T) {
	for _, dir := range []string{"a b", "-x", "--help", "a\nb", "\x1b[31m", "ü", "a:b", "$(id)", "a//b"[:1], "*", "{a,b}"} {
		files := one(dir+"/main.tf", head)
		files["broken-"+dir+"/main.tf"] = &fstest.MapFile{Data: []byte("x {")}
		r, err := scan.Scan(files, scan.Options{})
		if err != nil || len(r.Stacks) != 1 || r.Stacks[0].Key.Path != dir || len(r.Problems) != 1 {
			t.Fatalf("%q: %v %v %v", dir, err, r.Stacks, r.Problems)
		}
		if strings.ContainsAny(r.Problems[0].Message, "\n\x1b") {
			t.Errorf("%q: %q", dir, r.Problems[0].Message)
		}
	}
}

// TestTreeHash: the same for the same content in any order and place, another
// for anything that a stack is made of: "TreeHash covers *.tfvars, *.tfvars.json
// and *.tfbackend files, and every backend config file, var file and
// from_var_files match the scan read, whatever its name" (seed 004, "Scan and
// graph").
func TestTreeHash(t *testing.T) {
	base := func() fstest.MapFS {
		files := fstest.MapFS{}
		for name, text := range map[string]string{
			"a/main.tf": head + "module \"m\" {\n  source = \"../m\"\n}\n", "a/x.auto.tfvars": "", "a/.terraform.lock.hcl": "",
			"a/.assize.yaml": "", "a/notes.txt": "", "m/main.tf": "module \"n\" {\n  source = \"../n\"\n}\n", "n/main.tf": "",
			"common.tfvars": "", "state.tfbackend": "", "b/main.tf": head,
			"a/x.tfvars.json": "{}", "a/x.tfbackend": "", "a/named": "", "backend.hcl": "",
		} {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return files
	}
	hash := func(files fstest.MapFS, e settings.Effective) string {
		e.BackendConfig = append(e.BackendConfig, "state.tfbackend", "backend.hcl")
		e.VarFiles = append(e.VarFiles, "../common.tfvars", "named")
		r, err := scan.Scan(files, scan.Options{Instances: func(dir string) ([]settings.Effective, []string, error) {
			return []settings.Effective{e}, nil, nil
		}})
		if err != nil || len(r.Problems) > 0 || len(r.Stacks) != 2 {
			t.Fatal(err, r.Problems, r.Stacks)
		}
		return r.Stacks[0].TreeHash
	}
	want := hash(base(), settings.Effective{})
	if want != "sha256:4f37a5dccb7aef89aad94596b591b3dca0d89be97b7433e03162e85ae326afc0" {
		t.Errorf("it is %s: a change of what it covers wants a new number in treeHash", want)
	}
	for name, changes := range map[string]bool{
		"a/main.tf": true, "a/x.auto.tfvars": true, "a/.terraform.lock.hcl": true, "a/.assize.yaml": true,
		"m/main.tf": true, "n/main.tf": true, "common.tfvars": true, "state.tfbackend": true,
		"a/x.tfvars.json": true, "a/x.tfbackend": true, "a/named": true, "backend.hcl": true,
		"a/notes.txt": false, "b/main.tf": false,
	} {
		files := base()
		files[name] = &fstest.MapFile{Data: append([]byte("# changed\n"), files[name].Data...)}
		if got := hash(files, settings.Effective{}); (got != want) != changes {
			t.Errorf("%s: changes it %t, want %t", name, got != want, changes)
		}
	}
	for name, e := range map[string]settings.Effective{
		"workspace": {Workspace: "blue"}, "tool": {Tool: "terraform"}, "version": {ToolVersion: "1.9.0"},
		"backend": {BackendConfig: []string{"path=x"}},
	} {
		if hash(base(), e) == want {
			t.Errorf("%s does not change it", name)
		}
	}
}

// FuzzScan: whatever a file holds, the scan ends, and a file that does not parse
// leaves the stack beside it alone.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		head, "x {", "path = local.a\nkey = var.b\nlocals {\n}\n", "locals {\n  a = local.b\n  b = local.a\n}\n", `module "m" { source = "./${local.a}" }`,
		`data "terraform_remote_state" "x" { backend = "s3"` + "\n" + `config = { bucket = "b", workspaces = [] } }`,
		"terraform {\n  cloud {\n    workspaces { tags = [1] }\n  }\n}\n", `{"terraform": [{"backend": {"s3": [{"bucket": null}]}}]}`,
		`{"data": {"terraform_remote_state": {"x": {"backend": "${1}", "for_each": "${toset([null])}", "config": "${local}"}}}}`,
		"b = { x = [null], key = 1 }\nvariable \"b\" {\n  type = object({ bucket = optional(string, \"b\"), key = any })\n}\ndata \"terraform_remote_state\" \"x\" {\n  backend = \"s3\"\n  config = var.b\n}\n",
		`{"b": {"key": "k"}, "variable": {"b": {"type": "map(string)", "default": {"bucket": "b", "key": null}}}, "data": {"terraform_remote_state": {"x": {"backend": "s3", "config": "${var.b}"}}}}`,
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, json bool) {
		name := "a/main.tf"
		if json {
			name += ".json"
		}
		files := one(name, string(data))
		files["good/main.tf"] = &fstest.MapFile{Data: []byte(head)}
		files["a/terraform.tfvars.json"], files["good/x.tfvars"] = &fstest.MapFile{Data: data}, &fstest.MapFile{Data: data}
		given := string(data)
		files["good/b.tfbackend"] = &fstest.MapFile{Data: data}
		r, err := scan.Scan(files, scan.Options{Instances: func(dir string) ([]settings.Effective, []string, error) {
			if dir == "a" {
				return []settings.Effective{
					{BackendConfig: []string{"good/b.tfbackend"}, Workspace: "w", Env: map[string]settings.PerMode{"TF_VAR_b": {Plan: &given}}},
					{Instance: "x", VarFiles: []string{"../good/x.tfvars"}},
				}, nil, nil
			}
			return []settings.Effective{{}}, nil, nil
		}})
		if err != nil || len(r.Stacks)+len(r.Broken) == 0 {
			t.Fatal(err)
		}
	})
}

// TestNoUTF8: a directory that cannot be opened is a problem, and the others
// are read.
func TestNoUTF8(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a", "caf\xe9"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
		must(t, os.WriteFile(filepath.Join(root, dir, "main.tf"), []byte(head), 0o644))
	}
	files, err := scan.Checkout(root)
	must(t, err)
	r, err := scan.Scan(files, scan.Options{})
	if err != nil || len(r.Stacks) != 1 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, `"caf\xe9" has a name`) {
		t.Error(err, r.Stacks, r.Problems)
	}
	r, err = scan.Scan(files, scan.Options{Rules: scan.Rules{Exclude: []string{"caf*"}}})
	if err != nil || len(r.Stacks) != 1 || len(r.Problems) != 0 {
		t.Error(err, r.Stacks, r.Problems)
	}
}

// TestManyErrors: a file that is no configuration does not fill the log.
func TestManyErrors(t *testing.T) {
	r, err := scan.Scan(one("a/main.tf", strings.Repeat("\x00", 1<<12)), scan.Options{})
	if err != nil || len(r.Problems) > 11 || len(r.Broken) != 1 || !strings.Contains(fmt.Sprint(r.Problems), "more errors") {
		t.Error(err, len(r.Problems), r.Broken)
	}
}

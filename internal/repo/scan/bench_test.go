package scan_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/internal/repo/scan"
)

// BenchmarkScan reads a monorepo of 5,000 stacks and 500 modules with 20,000
// edges: each stack calls two modules and reads two states (issue 4: cold under
// two seconds on two cores).
func BenchmarkScan(b *testing.B) {
	for _, stacks := range []int{500, 5000} {
		b.Run(fmt.Sprint(stacks), func(b *testing.B) {
			files := monorepo(b, stacks, stacks/10)
			for b.Loop() {
				r, err := scan.Scan(files, scan.Options{})
				if err != nil || len(r.Stacks) != stacks || len(r.Problems) > 0 {
					b.Fatal(err, len(r.Stacks), r.Problems)
				}
			}
		})
	}
}

func monorepo(b *testing.B, stacks, modules int) fs.FS {
	b.Helper()
	root := b.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range modules {
		write(fmt.Sprintf("modules/m%d/main.tf", i), resources(5))
		write(fmt.Sprintf("modules/m%d/variables.tf", i), variables(5))
	}
	for i := range stacks {
		dir := fmt.Sprintf("live/team%d/s%d", i%50, i)
		text := fmt.Sprintf("terraform {\n  required_version = \">= 1.6\"\n  backend \"s3\" {\n    bucket = \"states\"\n    key    = \"s%d.tfstate\"\n  }\n}\n", i)
		for j := range 2 {
			text += fmt.Sprintf("module \"m%d\" {\n  source = \"../../../modules/m%d\"\n  name   = \"x\"\n}\n", j, (i*2+j)%modules)
			if read := i - 1 - 7*j; read >= 0 {
				text += fmt.Sprintf("data \"terraform_remote_state\" \"r%d\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"states\"\n    key    = \"s%d.tfstate\"\n  }\n}\n", j, read)
			}
		}
		write(dir+"/main.tf", text+resources(5))
		write(dir+"/variables.tf", variables(3))
	}
	files, err := scan.Checkout(root)
	if err != nil {
		b.Fatal(err)
	}
	return files
}

func resources(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("resource \"aws_instance\" \"r%d\" {\n  ami  = var.v%d\n  tags = { name = \"x-${var.v0}\", owner = \"team\" }\n}\n", i, i)
	}
	return text
}

func variables(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("variable \"v%d\" {\n  type        = string\n  description = \"the variable\"\n}\n", i)
	}
	return text
}

// BenchmarkScanSpecifications reads 5,000 stacks that are specifications, each of
// which imports a component and reads the state of the one before.
func BenchmarkScanSpecifications(b *testing.B) {
	root := b.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write("cue.mod/module.cue", "module: \"example.com/infra\"\n")
	write("lib/net/net.cue", `package net

import tf "terraform.io/builtin/terraform"

#Net: {
	#tf:    tf.#Provider
	stack!: string
	state:  #tf.#Data.terraform_remote_state & {backend: "s3", config: {bucket: "states", key: "\(stack).tfstate"}}
}
`)
	for i := range 5000 {
		text := fmt.Sprintf(`package estate

import (
	tf "terraform.io/builtin/terraform"
	rnd "registry.opentofu.org/hashicorp/random"
	"example.com/infra/lib/net"
)

$tf:     tf.#Provider
$random: rnd.#Provider

$settings: state: s3: {bucket: "states", key: "s%d.tfstate"}
before: net.#Net & {#tf: $tf, stack: "s%d"}
`, i, i-1)
		for j := range 20 {
			text += fmt.Sprintf("pet%d: $random.#Resource.random_pet & {length: 2, prefix: \"web-\\(before.state.outputs.name)\", keepers: owner: \"team-%d\"}\n", j, j)
		}
		write(fmt.Sprintf("live/team%d/s%d/estate.cue", i%50, i), text)
	}
	files, err := scan.Checkout(root)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := scan.Scan(files, scan.Options{})
		if err != nil || len(r.Stacks) != 5000 || len(r.Problems) > 0 || len(r.Warnings) > 0 || len(r.Stacks[7].Reads) != 1 {
			b.Fatal(err, len(r.Stacks), r.Problems, r.Warnings)
		}
	}
}

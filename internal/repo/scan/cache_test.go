package scan_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assize-iac/assize/internal/repo/scan"
	"github.com/assize-iac/assize/internal/stack"
)

// cacheHome makes a directory for caches, and returns it.
func cacheHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	return home
}

// kept are the files of caches below a home.
func kept(t *testing.T, home string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(home, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

// TestCacheCases scans every case three times with a cache: nothing is kept yet,
// all is, and all is again after a save that had nothing to add.
func TestCacheCases(t *testing.T) {
	cacheHome(t)
	cases, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	for _, name := range cases {
		c := readTree(t, name)
		for range 3 {
			c.options.Cache = scan.OpenCache("/" + name)
			if got := show(t, c.memory(), c.options); got != c.want {
				t.Errorf("%s: (-want +got)\n%s", name, cmp.Diff(c.want, got))
			}
			must(t, c.options.Cache.Save())
		}
	}
}

// said are files of configuration that say the same thing in ways that a fact
// has to tell apart, or that none can be made of.
var said = []string{
	"", "# nothing\n", "terraform {\n", "locals {\n  a = \"x\"\n  w = terraform.workspace\n}\n",
	"terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n  }\n}\n",
	"terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"j\"\n  }\n}\n",
	"\nterraform {\n  backend \"s3\" {\n    bucket = local.a\n    key = \"${local.w}/k\"\n  }\n}\n",
	"terraform {\n  backend \"local\" {\n    path = \"${path.module}/s\"\n  }\n}\n",
	"terraform {\n  backend \"pg\" {\n    conn_str = \"postgres://u:p@h/d\"\n  }\n}\n",
	"terraform {\n  cloud {\n    organization = \"o\"\n    workspaces {\n      tags = [\"t\"]\n    }\n  }\n}\n",
	"module \"m\" {\n  source = \"../b\"\n}\n", "module \"m\" {\n  source = \"./c\"\n}\nmodule \"n\" {\n  source = var.x\n}\n",
	"module \"m\" {\n  source = \"git::https://u:p@h/r.git?ref=v1\"\n}\n",
	"data \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = \"j\"\n    region = var.r\n  }\n}\n",
	"data \"terraform_remote_state\" \"r\" {\n  for_each = toset([\"k\", \"j\"])\n  backend = \"s3\"\n  config = {\n    bucket = local.a\n    key = each.value\n  }\n}\n",
	"data \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  workspace = terraform.workspace\n  config = merge({ bucket = \"b\" }, { key = var.k })\n}\n",
	"data \"terraform_remote_state\" \"r\" {\n  backend = \"remote\"\n  config = {\n    organization = \"o\"\n    workspaces = { name = \"w-${terraform.workspace}\" }\n  }\n}\n",
	"variable \"e\" {\n  default = \"k\"\n}\ndata \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = var.e\n  }\n}\n",
	"resource \"a\" \"b\" {\n}\n", "variable \"e\" {\n  type = number\n}\n", "e = \"j\"\n", "e = 1\n",
	"data \"terraform_remote_state\" \"r\" {\n  backend = \"local\"\n  config = {\n    path = \"${path.module}/../b/terraform.tfstate\"\n  }\n}\n",
}

// TestCacheProperty edits a tree at random, and wants of a scan with a cache,
// every time, what a scan without one says. Sizes and times of files are kept
// where that is possible: a cache that trusted them would be found out.
func TestCacheProperty(t *testing.T) {
	cacheHome(t)
	rapid.Check(t, func(r *rapid.T) {
		root := t.TempDir()
		cacheRoot := filepath.Join(t.TempDir(), "root") // a new cache each time
		files, err := scan.Checkout(root)
		must(t, err)
		dirs := []string{"a", "b", "a/c", "d"}
		names := []string{"main.tf", "main.tofu", "override.tf", "x.tf", ".terraform.lock.hcl", "assize.yaml", "x.cue", "terraform.tfvars", "x.auto.tfvars"}
		when := time.Now().Add(-time.Hour).Truncate(time.Second)
		in, err := os.OpenRoot(root) // the links lead out of it, and edits must not
		must(t, err)
		defer in.Close()
		for range rapid.IntRange(1, 12).Draw(r, "edits") {
			dir := rapid.SampledFrom(dirs).Draw(r, "dir")
			name := dir + "/" + rapid.SampledFrom(names).Draw(r, "name")
			_ = in.MkdirAll(dir, 0o755) // what is there may be no directory
			switch rapid.IntRange(0, 9).Draw(r, "edit") {
			case 0:
				_ = in.Remove(name)
			case 1:
				_ = in.Rename(dir, rapid.SampledFrom(dirs).Draw(r, "to"))
			case 2:
				_ = in.RemoveAll(dir)
				_ = in.Symlink(rapid.SampledFrom([]string{"b", "../b", "../..", "gone"}).Draw(r, "target"), dir)
			case 3:
				_ = in.Remove(name)
				_ = in.Symlink(rapid.SampledFrom([]string{"../b/main.tf", "x.tf", "../../../x.tf"}).Draw(r, "target"), name)
			default:
				_ = in.WriteFile(name, []byte(rapid.SampledFrom(said).Draw(r, "text")), 0o644)
				_ = in.Chtimes(name, when, when)
			}
			tool := rapid.SampledFrom([]string{"tofu", "terraform"}).Draw(r, "tool")
			cache := scan.OpenCache(cacheRoot)
			want := show(t, files, scan.Options{Tool: tool}) + hashes(t, files, scan.Options{Tool: tool})
			got := show(t, files, scan.Options{Tool: tool, Cache: cache}) + hashes(t, files, scan.Options{Tool: tool, Cache: cache})
			if got != want {
				r.Fatalf("(-cold +with a cache)\n%s", cmp.Diff(want, got))
			}
			must(t, cache.Save())
		}
	})
}

func hashes(t *testing.T, files fs.FS, o scan.Options) (text string) {
	r, err := scan.Scan(files, o)
	if err != nil {
		return err.Error()
	}
	for _, s := range r.Stacks {
		text += s.TreeHash + "\n"
	}
	return text + fmt.Sprint(r.Called, r.Stateless, r.Foreign)
}

// TestCacheHoldsNoSecret: what is kept has no text of a file that could be one,
// and is nobody else's to read.
func TestCacheHoldsNoSecret(t *testing.T) {
	home := cacheHome(t)
	const secret = "canary-4f1e"
	tree := &tree{files: map[string]string{
		"a/main.tf":          strings.ReplaceAll("terraform {\n  backend \"pg\" {\n    conn_str = \"postgres://u:X@h/d\"\n  }\n}\n", "X", secret),
		"b/main.tf":          strings.ReplaceAll("terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n    key = \"k\"\n    secret_key = \"X\"\n  }\n}\nlocals {\n  p = \"X\"\n}\nresource \"a\" \"b\" {\n  p = \"X\"\n}\n", "X", secret),
		"c/main.tf":          strings.ReplaceAll("terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = \"git::https://u:X@h/r.git\"\n}\n", "X", secret),
		"d/main.tf":          strings.ReplaceAll("terraform {\n  backend \"local\" {}\n}\ndata \"terraform_remote_state\" \"r\" {\n  backend = \"http\"\n  config = {\n    address = \"https://u:X@h/${terraform.workspace}\"\n  }\n}\n", "X", secret),
		"e/main.tf":          strings.ReplaceAll("terraform {\n  backend \"local\" {}\n}\ndata \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  config = merge({ secret_key = \"X\", bucket = \"b\" }, { key = terraform.workspace })\n}\n", "X", secret),
		"g/main.tf":          "terraform {\n  backend \"local\" {}\n}\nvariable \"e\" {\n  default = \"dev\"\n}\nvariable \"p\" {\n  default = \"" + secret + "\"\n}\ndata \"terraform_remote_state\" \"r\" {\n  backend = \"s3\"\n  config = {\n    bucket = \"b\"\n    key = var.e\n    secret_key = var.p\n  }\n}\n",
		"g/x.auto.tfvars":    "e = \"" + secret + "\"\n",
		"f/main.tf":          "terraform {\n  backend \"local\" {}\n}\n",
		"f/terraform.tfvars": "p = \"" + secret + "\"\n",
	}}
	cache := scan.OpenCache("/root")
	if r, err := scan.Scan(tree.memory(), scan.Options{Cache: cache}); err != nil || len(r.Stacks) != 7 || len(r.Problems) > 0 {
		t.Fatal(err, len(r.Stacks), r.Problems)
	}
	must(t, cache.Save())
	names := kept(t, home)
	if len(names) != 1 {
		t.Fatalf("%q are kept, want one file", names)
	}
	text, err := os.ReadFile(names[0])
	must(t, err)
	if strings.Contains(string(text), secret) {
		t.Errorf("the secret is kept:\n%s", text)
	}
	if n := strings.Count(string(text), "\n"); n != 4 { // a line of its own, b, f and g
		t.Errorf("%d lines, want 4:\n%s", n, text)
	}
	info, err := os.Stat(names[0])
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
}

// TestCacheDamaged: what is not whole, of another version, or writable by others
// counts for nothing.
func TestCacheDamaged(t *testing.T) {
	home := cacheHome(t)
	files := one("a/main.tf", said[4])
	want := show(t, files, scan.Options{})
	fill := func() string {
		cache := scan.OpenCache("/root")
		show(t, files, scan.Options{Cache: cache})
		must(t, cache.Save())
		return kept(t, home)[0]
	}
	name := fill()
	whole, err := os.ReadFile(name)
	must(t, err)
	lie := strings.Replace(string(whole), `"t":"k"`, `"t":"x"`, 1)
	if lie == string(whole) {
		t.Fatalf("the test lies about nothing:\n%s", whole)
	}
	for what, text := range map[string]string{
		"a bit": lie, "half": string(whole[:len(whole)/2]), "nothing": "", "no line": "x", "another version": "x" + string(whole),
	} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
		if got := show(t, files, scan.Options{Cache: scan.OpenCache("/root")}); got != want {
			t.Errorf("%s: (-want +got)\n%s", what, cmp.Diff(want, got))
		}
	}
	must(t, os.Remove(name))
	must(t, os.Symlink("/dev/zero", name))
	if got := show(t, files, scan.Options{Cache: scan.OpenCache("/root")}); got != want {
		t.Errorf("a link: (-want +got)\n%s", cmp.Diff(want, got))
	}
	must(t, os.Remove(name))
	fill()
	must(t, os.Chmod(name, 0o666))
	if got := show(t, files, scan.Options{Cache: scan.OpenCache("/root")}); got != want {
		t.Errorf("anybody's: (-want +got)\n%s", cmp.Diff(want, got))
	}
}

// TestCacheBounds: nothing is written into the checkout, nor where there is no
// home, and only so many roots are kept.
func TestCacheBounds(t *testing.T) {
	home := cacheHome(t)
	if scan.OpenCache(home) != nil || scan.OpenCache(filepath.Join(home, "cache")) != nil {
		t.Error("a cache would lie in the checkout")
	}
	files := one("a/main.tf", said[4])
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			cache := scan.OpenCache(fmt.Sprintf("/root%d", i%40))
			if _, err := scan.Scan(files, scan.Options{Cache: cache}); err != nil {
				t.Error(err)
			}
			if err := cache.Save(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(kept(t, home)); n == 0 || n > 40 {
		t.Errorf("%d files are kept", n)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "no", "home"))
	cache := scan.OpenCache("/root")
	if _, err := scan.Scan(files, scan.Options{Cache: cache}); err != nil {
		t.Fatal(err)
	}
	if cache.Save() == nil {
		t.Error("a home was made")
	}
}

// TestCacheOfTools: the tools read the same files differently.
func TestCacheOfTools(t *testing.T) {
	cacheHome(t)
	files := one("a/main.tf", said[4])
	files["a/main.tofu"] = one("", said[5])[""]
	for range 2 {
		for tool, want := range map[string]string{"tofu": "b/j", "terraform": "b/k"} {
			cache := scan.OpenCache("/root")
			r, err := scan.Scan(files, scan.Options{Tool: tool, Cache: cache})
			if err != nil || len(r.Stacks) != 1 || r.Stacks[0].State != (stack.State{Type: "s3", ID: want}) {
				t.Errorf("%s: %v %v", tool, err, r.Stacks)
			}
			must(t, cache.Save())
		}
	}
}

package estate_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/assize-iac/assize/internal/repo/estate"
)

// A tree is the files of a txtar archive.
type tree map[string]string

func treeOf(text string) tree {
	t := tree{}
	for _, f := range txtar.Parse([]byte(text)).Files {
		t[f.Name] = string(f.Data)
	}
	return t
}

func (t tree) List(dir string) (names []string) {
	for name := range t {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names
}

func (t tree) Read(name string) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (t tree) Real(dir string) (string, bool) { return dir, true }

// said is what a specification says, as lines.
func said(s *estate.Specification) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	value := func(v estate.Value) string {
		if !v.Known {
			return "?"
		}
		return v.Text
	}
	where := func(w estate.Where) string {
		text := value(w.Kind)
		for _, name := range slices.Sorted(func(yield func(string) bool) {
			for name := range w.Values {
				if !yield(name) {
					return
				}
			}
		}) {
			text += " " + name + "=" + value(w.Values[name])
		}
		if w.Open {
			text += " ..."
		}
		return text
	}
	add("state %s", where(s.State))
	for _, r := range s.Reads {
		text := where(r.Config)
		if r.Workspace != nil {
			text += " in " + value(*r.Workspace)
		}
		add("%s %s %s: %s", r.At, r.Path, r.Kind, text)
	}
	for _, v := range s.Vague {
		add("%s ?", v)
	}
	for _, p := range s.Packages[1:] {
		add("package %s:%s", p.Dir, p.Name)
	}
	return lines
}

const head = `package estate
import "list"
import lib "example.com/infra/lib/net:net"
import tf "terraform.io/builtin/terraform"
import tofu "terraform.io/builtin/functions"
$tf: tf.#Provider
`

// TestParse shows what is found out, from a text that is a reading of its own.
func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, want string }{
		"nothing is said": {"-- a/estate.cue --\npackage estate\n", "state local"},
		"a backend": {"-- a/estate.cue --\npackage estate\n$settings: state: s3: {bucket: \"b\", key: \"k\", _x: 1}\n",
			"state s3 bucket=b key=k"},
		"of constants": {`-- a/estate.cue --
package estate
_team: "shop"
let what = "web"
$settings: state: s3: {bucket: "\(_team)-states", key: "\(what)/" + _names.env}
-- a/names.cue --
package estate
_names: env: "prod"
`, "state s3 bucket=shop-states key=web/prod"},
		"not constant": {"-- a/estate.cue --\npackage estate\nimport \"strings\"\n$settings: state: s3: {bucket: strings.ToLower(\"B\"), key: \"k\"}\n",
			"state s3 bucket=? key=k"},
		"a read": {"-- a/estate.cue --\n" + head + `net: $tf.#Data.terraform_remote_state & {
	backend: "local"
	config: path: "\(tofu.#root)/../net/terraform.tfstate"
	outputs: vpc: string
}
web: $tf.#Resource.terraform_data & {input: net.outputs.vpc}
`, `state local
a/estate.cue:7:6 net terraform_remote_state: local path=../../../net/terraform.tfstate`},
		"in two files, under a default": {"-- a/estate.cue --\n" + head + `up: net: $tf.#Data.terraform_remote_state & {backend: *"s3" | "gcs", config: bucket: "b"}
-- a/more.cue --
package estate
up: net: {config: key: "k", workspace: "prod"}
`, `state local
a/estate.cue:7:10 up.net terraform_remote_state: s3 bucket=b key=k in prod`},
		"a component of another package": {`-- cue.mod/module.cue --
module: "example.com/infra@v0"
-- lib/net/net.cue --
package net
import tf "terraform.io/builtin/terraform"
#Net: {
	#tf: tf.#Provider
	stack!: string
	state: #tf.#Data.terraform_remote_state & {backend: "s3", config: {bucket: "b", key: "\(stack)/x"}}
}
#Unused: {#tf: tf.#Provider, state: #tf.#Data.terraform_remote_state & {backend: "s3"}}
-- a/estate.cue --
` + head + `for env in ["dev", "prod"] {(env): lib.#Net & {#tf: $tf, stack: "net-\(env)"}}
`, `state local
lib/net/net.cue:6:9 dev.state terraform_remote_state: s3 bucket=b key=net-dev/x
lib/net/net.cue:6:9 prod.state terraform_remote_state: s3 bucket=b key=net-prod/x
package lib/net:net`},
		"a list, a condition, a constraint": {"-- a/estate.cue --\n" + `package estate
import tf "terraform.io/builtin/terraform"
#Platform: tf.#Provider & {#Data: terraform_remote_state: {backend: "gcs", config: bucket: "b"}}
$tf: #Platform
_prod: true
all: [for n in _names {$tf.#Data.terraform_remote_state & {config: prefix: n}}]
_names: ["x", "y"]
if _prod {more: $tf.#Data["terraform_remote_state"] & {config: prefix: "z"}}
if !_prod {no: $tf.#Resource.terraform_data & {}}
`, `state local
a/estate.cue:6:23 all.0 terraform_remote_state: gcs bucket=b prefix=x
a/estate.cue:6:23 all.1 terraform_remote_state: gcs bucket=b prefix=y
a/estate.cue:8:17 more terraform_remote_state: gcs bucket=b prefix=z`},
		"a loop over what is not known": {"-- a/estate.cue --\n" + head + `for i in list.Range(0, 3, 1) {"net\(i)": #Net & {_n: i}}
for i in list.Range(0, 3, 1) {"web\(i)": $tf.#Resource.terraform_data & {input: last.outputs.x}}
#Net: {_n: int, $tf.#Data.terraform_remote_state & {backend: "s3"}}
last: $tf.#Data.terraform_remote_state & {backend: "s3", config: {bucket: "b", key: "k"}}
`, `state local
a/estate.cue:10:7 last terraform_remote_state: s3 bucket=b key=k
a/estate.cue:7:1 ?`},
		"by a name that is made": {"-- a/estate.cue --\n" + head + `_kind: "terraform_" + "remote_state"
net: $tf.#Data[_kind] & {backend: "s3"}
other: $tf.#Data[_what] & {backend: "s3"}
_what: "terraform_remote_state" | "x"
`, `state local
a/estate.cue:8:6 net terraform_remote_state: s3
a/estate.cue:9:8 ?`},
		"of Terraform Cloud": {`-- a/estate.cue --
package estate
import tfe "registry.opentofu.org/hashicorp/tfe"
$tfe: tfe.#Provider & {hostname: "tfe.example", organization: "acme"}
net: $tfe.#Data.tfe_outputs & {workspace: "net"}
dns: $tfe.#Data.tfe_outputs & {workspace: "dns", organization: "other"}
$settings: state: remote: {hostname: "tfe.example", organization: "acme", workspaces: name: "app"}
`, `state remote hostname=tfe.example organization=acme workspaces.name=app
a/estate.cue:4:6 net tfe_outputs: remote hostname=tfe.example organization=acme in net
a/estate.cue:5:6 dns tfe_outputs: remote hostname=tfe.example organization=other in dns`},
		"a module that begins outside of the tree": {`-- a/estate.cue --
package estate
import (
	rnd "registry.opentofu.org/hashicorp/random"
	"example.com/infra/lib/net"
)
$random: rnd.#Provider
up: net.#Net & {which: "x"}
`, `state local
a/estate.cue:7:5 ?`},
		"further up in the module": {`-- cue.mod/module.cue --
module: "example.com/infra"
-- common.cue --
package estate
_bucket: "b"
-- stacks/a/estate.cue --
package estate
$settings: state: s3: {bucket: _bucket, key: "a"}
`, "state s3 bucket=b key=a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := "a"
			if strings.Contains(c.files, "stacks/a/") {
				dir = "stacks/a"
			}
			s, err := estate.Parse(treeOf(c.files), dir)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), said(s)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

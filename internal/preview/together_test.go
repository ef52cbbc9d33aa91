package preview_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/preview"
)

// TestTogether plans several stacks at the same time with one provider.
func TestTogether(t *testing.T) {
	t.Parallel()
	const stacks = 4
	e := newEstate(t, network)
	e.init("net")
	up := e.net()
	dirs, envs := make([]string, stacks), make([][]string, stacks)
	for i := range stacks {
		name := fmt.Sprintf("app%d", i)
		e.write(name+"/main.tf", `
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
`)
		dirs[i], envs[i] = e.mirror(name, up)
	}
	var group sync.WaitGroup
	said, failed := make([]string, stacks), make([]error, stacks)
	for i := range stacks {
		group.Go(func() {
			for range 3 {
				text, err := e.tofu(dirs[i], envs[i], "plan", "-input=false", "-no-color", "-lock=false", "-out=p")
				said[i], failed[i] = said[i]+text, errors.Join(failed[i], err)
			}
		})
	}
	group.Wait()
	for i := range stacks {
		if failed[i] != nil {
			t.Errorf("%s: %v\n%s", dirs[i], failed[i], said[i])
		}
	}
}

// TestKilled kills the tool at many moments: the user's tree stays as it is, and
// a plan in it reads what is there.
func TestKilled(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- app/main.tf --
data "terraform_remote_state" "net" {
  backend = "local"
  config  = { path = "../net/terraform.tfstate" }
}
resource "terraform_data" "this" { input = data.terraform_remote_state.net.outputs.name }
output "name" { value = data.terraform_remote_state.net.outputs.name }
`)
	e.init("net", "app")
	e.apply("net")
	e.apply("app")
	before := e.tree()
	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin", "tofu"))
	e.check(err)
	for delay := time.Duration(0); delay < 200*time.Millisecond; delay += 20 * time.Millisecond {
		dir, env := e.mirror("app", e.net("-var=n=y"))
		cmd := exec.Command(bin, "plan", "-input=false", "-lock=false", "-out="+filepath.Join(dir, "p"))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		e.check(cmd.Start())
		time.Sleep(delay)
		e.check(cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	if diff := cmp.Diff(before, e.tree()); diff != "" {
		t.Errorf("the user's tree has changed:\n%s", diff)
	}
	e.wants(e.plan("app"), map[string]string{"name": `"net-x"`})
}

// TestOwnOverride refuses a file of the user that would be in the way, and lets
// others be.
func TestOwnOverride(t *testing.T) {
	t.Parallel()
	e := newEstate(t, network+`
-- app/main.tf --
data "terraform_remote_state" "net" {
  backend = "s3"
}
output "name" { value = data.terraform_remote_state.net.outputs.name }
-- app/z_override.tf --
data "terraform_remote_state" "net" {
  backend  = "local"
  config   = { path = "../net/terraform.tfstate" }
  defaults = { name = "z" }
}
`)
	e.init("net", "app")
	e.wants(e.preview("app", e.net()), map[string]string{"name": `"net-x"`})
	if e.mirrored("app") != nil {
		t.Errorf("%v", e.mirrored("app"))
	}
	e.write("app/assize_preview_override.tofu", "")
	if err := e.mirrored("app"); err == nil {
		t.Error("the user's file is in the way, and the mirror is made")
	}
}

// mirrored makes a mirror and says whether it can be made.
func (e *estate) mirrored(name string) error {
	e.Helper()
	_, _, err := preview.Mirror(preview.Mirroring{
		Root: e.root, Into: filepath.Join(e.TempDir(), "mirror"), Path: name, Tool: "tofu", DataDir: filepath.Join(e.root, name, ".terraform"),
		Reading: e.reading(name, ""), Upstreams: e.net(),
	})
	return err
}

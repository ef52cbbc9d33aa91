package settings_test

import (
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/settings/template"
)

// located: a problem names its file and says what to do.
func located(t *testing.T, file string, err error) {
	if err == nil {
		return
	}
	if !strings.HasPrefix(err.Error(), file+":") || problem.Hint(err) == "" {
		t.Errorf("a problem without place or hint: %q", err)
	}
}

// FuzzParseRoot: no bytes are read without being understood, and what was
// understood can be resolved, or says where it cannot.
func FuzzParseRoot(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := settings.ParseRoot("assize.yaml", data)
		if (root == nil) == (err == nil) {
			t.Fatalf("%v and %v", root, err)
		}
		located(t, "assize.yaml", err)
		if err != nil {
			return
		}
		resolves(t, root, &settings.Directory{}, "assize.yaml")
		for _, p := range root.Policies {
			if p.Path == "" || p.Enforcement == "" {
				t.Errorf("a policy that judges nothing: %+v", p)
			}
			p.Binds("infra/prod")
		}
	})
}

// FuzzParseDirectory is the same for the file of a directory.
func FuzzParseDirectory(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		dir, err := settings.ParseDirectory(".assize.yaml", data)
		if (dir == nil) == (err == nil) {
			t.Fatalf("%v and %v", dir, err)
		}
		located(t, ".assize.yaml", err)
		if err != nil {
			return
		}
		resolves(t, &settings.Root{}, dir, ".assize.yaml")
	})
}

// resolves: what was parsed has instances and resolves for each, or says where
// it does not; nothing that it renders is too long.
func resolves(t *testing.T, root *settings.Root, dir *settings.Directory, file string) {
	all, _, err := settings.Instances(root, "infra/prod", dir, []string{"a.tfvars", "b.c.tfvars"})
	located(t, file, err)
	for _, in := range all {
		e, err := settings.Resolve(root, "infra/prod", dir, in.Name, in.VarFile)
		located(t, file, err)
		if err == nil && e.Environment == "" {
			t.Errorf("no environment: %+v", e)
		}
		for name, v := range e.Env {
			for _, value := range []*string{v.Plan, v.Apply, v.Drift} {
				if value != nil && len(*value) > max(template.Max, 1<<16) {
					t.Errorf("%s has %d bytes", name, len(*value))
				}
			}
		}
	}
}

package tofu_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/internal/tofu"
)

// The cache of the user is one directory for all; a user without a home gets
// none.
func TestPluginCacheOfTheUser(t *testing.T) {
	home := t.TempDir()
	for _, tc := range []struct {
		home string
		made bool
	}{{home, true}, {filepath.Join(home, "gone"), false}} {
		t.Setenv("HOME", tc.home)
		t.Setenv("XDG_CACHE_HOME", "")
		dir := tofu.Tool{Env: []string{"HOME=" + tc.home}}.PluginCache()
		if (dir != "") != tc.made {
			t.Errorf("%s: got %q", tc.home, dir)
		}
		if info, err := os.Stat(dir); tc.made && (err != nil || info.Mode().Perm() != 0o700) {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "gone")); err == nil {
		t.Error("a home was made")
	}
}

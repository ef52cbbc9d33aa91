package confine_test

import (
	"os"
	"testing"

	process "github.com/assize-iac/assize/internal/confine"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/policy/confine"
	"github.com/assize-iac/assize/internal/policy/cueengine"
	"github.com/assize-iac/assize/internal/policy/regotest"
)

// engines are those of a child: the real ones, and one that misbehaves.
var engines = []policy.Engine{cueengine.New(), regotest.New(), bomb{}}

// TestMain makes the test binary its own judging process, as main does for the
// program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.Argument {
		if os.Getenv(bombMarker) != "" {
			os.Exit(3) // the environment got through
		}
		os.Exit(process.Child(map[string]process.Work{confine.Work: confine.Judge(engines)}))
	}
	if len(os.Args) > 1 && os.Args[1] == parentArgument {
		os.Exit(waitForChild())
	}
	os.Exit(m.Run())
}

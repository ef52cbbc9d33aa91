package runner

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// arguments are the flags as the tool takes them and a warrant keeps them.
func arguments(f plan.Flags) []string {
	args := []string{}
	if f.Destroy {
		args = append(args, "-destroy")
	}
	if f.RefreshOnly {
		args = append(args, "-refresh-only")
	}
	for _, address := range f.Targets {
		args = append(args, "-target="+address)
	}
	for _, address := range f.Replace {
		args = append(args, "-replace="+address)
	}
	return args
}

// FlagsOf reads the flags of a binding back. One that is not known is refused,
// for it may be what makes the plan less than the whole change.
func FlagsOf(b api.Binding) (plan.Flags, error) {
	var f plan.Flags
	for _, arg := range b.Flags {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "-destroy":
			f.Destroy = true
		case "-refresh-only":
			f.RefreshOnly = true
		case "-target":
			f.Targets = append(f.Targets, value)
		case "-replace":
			f.Replace = append(f.Replace, value)
		default:
			return plan.Flags{}, problem.New(api.Stale, "the warrant names a flag that this version does not know: %s", name).
				WithHint("assize plan")
		}
	}
	return f, nil
}

// reserved are names that would not stay a plan: the tools read or write them,
// or they are those of a warrant.
var reserved = []string{"*.warrant.json", ".gitignore", "*.tf", "*.tofu", "*.tf.json", "*.tofu.json", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*", lockFileName}

// savable refuses a place for a plan before anything is made that could not be
// put there.
func (s *Stack) savable(file string) error {
	if file == "" {
		return nil
	}
	if strings.HasPrefix(file, "-") {
		return problem.New(api.Invalid, "--out %s looks like a flag", file).WithHint("write ./%s", file)
	}
	plan, _ := s.Files(file)
	name := strings.ToLower(filepath.Base(plan)) // some file systems make no difference
	for _, pattern := range reserved {
		if ok, _ := path.Match(pattern, name); ok {
			return problem.New(api.Invalid, "--out %s: a plan cannot have the name of a %s file", file, strings.TrimPrefix(pattern, "*")).
				WithHint("such as --out review.tfplan")
		}
	}
	dir := filepath.Dir(plan)
	if dir == s.home() || dir == filepath.Join(s.Dir(), dirName) { // made when it is needed
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return problem.New(api.NotFound, "--out %s: there is no directory %s", file, dir).WithHint("create it first")
	}
	return nil
}

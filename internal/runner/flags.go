package runner

import (
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

package cli

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/strict"
)

// variables are the ones that this version reads.
var variables = []string{
	"ASSIZE_ARTIFACT_KEY", "ASSIZE_BACKEND_CONFIG", "ASSIZE_TERRAFORM_BIN", "ASSIZE_TOFU_BIN", "ASSIZE_TOOL", "ASSIZE_TOOL_VERSION",
}

// forHooks are the ones that hooks are told things by. A hook may call assize,
// and is not to be warned of what it did not set.
var forHooks = []string{
	"ASSIZE_INSTANCE", "ASSIZE_PLAN_FILE", "ASSIZE_PLAN_JSON", "ASSIZE_RUN_ID", "ASSIZE_STACK", "ASSIZE_STACK_PATH",
}

// warnUnknown says which variables of ours mean nothing (docs/configuration.md,
// rule 20): whoever misspells ASSIZE_TOOL_VERSION believes that a version is
// pinned. An empty one is as good as none. It shows no value.
func (g *Globals) warnUnknown(environ []string) {
	var unknown []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && strings.HasPrefix(name, "ASSIZE_") && !slices.Contains(variables, name) && !slices.Contains(forHooks, name) {
			unknown = append(unknown, name+strict.Near(name, variables))
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.Sort(unknown)
	report.Problem(g.Err, "warning", "nothing reads "+strings.Join(unknown, ", ")+"; known are "+strings.Join(variables, ", "))
}

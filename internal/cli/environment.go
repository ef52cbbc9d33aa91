package cli

import (
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/report"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/strict"
)

// variables are the ones that the commands of this version read.
var variables = []string{
	serverToken, "ASSIZE_ARTIFACT_KEY", "ASSIZE_BACKEND_CONFIG", serverCA, "ASSIZE_IMPORT_TOKEN", serverOrganisation, serverURL, "ASSIZE_TERRAFORM_BIN", "ASSIZE_TOFU_BIN", "ASSIZE_TOOL", "ASSIZE_TOOL_VERSION",
}

// forServer are the ones that a server reads; docs/server.md lists them.
func forServer() []string {
	names := []string{"ASSIZE_POSTGRES_BIN"}
	for _, s := range (&serve.Settings{}).Table() {
		names = append(names, s.Variable)
	}
	return names
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
	known := slices.Concat(variables, forHooks, forServer())
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && strings.HasPrefix(name, "ASSIZE_") && !slices.Contains(known, name) {
			unknown = append(unknown, name+strict.Near(name, slices.Concat(variables, forServer())))
		}
	}
	if len(unknown) == 0 {
		return
	}
	slices.Sort(unknown)
	report.Problem(g.Err, "warning", "nothing reads "+strings.Join(unknown, ", ")+"; known are "+strings.Join(variables, ", ")+", and those of `assize server --help`")
}

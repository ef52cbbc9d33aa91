package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/policy"
)

// Compare lists everything that a plan was made from and that has moved since.
// It leaves out Document, which is known only once the plan may be shown, and
// what is not compared at all: the commit, and the words the caller chose.
func Compare(was, now api.Binding) []api.Refusal {
	refusals := append(Still(was, now), Configuration(was, now)...)
	if now.Tool.Name == was.Tool.Name && moved(was.Tool.Version, now.Tool.Version) {
		refusals = append(refusals, refusal("tool",
			fmt.Sprintf("the plan was made with %s %s, this is %s", was.Tool.Name, was.Tool.Version, orNone(now.Tool.Version)), planAgain))
	}
	// Two backends may hold copies of one state, so its lineage and serial do
	// not tell them apart.
	if moved(was.Backend, now.Backend) {
		refusals = append(refusals, refusal("backend",
			"the backend is not that of the plan: its settings, or variables in the environment that steer it, are others", planAgain))
	}
	return append(refusals, compareState(was.State, now.State)...)
}

// Configuration is the part of [Compare] that holds only after init, which
// finds the local modules.
func Configuration(was, now api.Binding) []api.Refusal {
	if !moved(was.Configuration, now.Configuration) {
		return nil
	}
	message := "the configuration has changed since the plan was made"
	if which := touched(was.Files, now.Files); which != "" {
		message += ": " + which
	}
	return []api.Refusal{refusal("configuration", message, planAgain)}
}

// touched names the first of the files that are not as they were; "" where it is not
// known which. The digest over all of them decides, and this only explains it.
func touched(was, now map[string]string) string {
	if len(was) == 0 || len(now) == 0 {
		return ""
	}
	both := maps.Clone(was)
	maps.Copy(both, now)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, old := was[name]
		after, is := now[name]
		shown := name
		if !plain(name) {
			shown = strconv.QuoteToASCII(name)
		}
		switch {
		case !old:
			names = append(names, shown+" added")
		case !is:
			names = append(names, shown+" removed")
		case before != after:
			names = append(names, shown+" changed")
		}
	}
	if more := len(names) - touchedMax; more > 0 {
		names = append(names[:touchedMax], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// touchedMax is how many files a refusal names.
const touchedMax = 3

// Still is the part of [Compare] that needs no run of the tool: what stands in
// files and in the environment.
func Still(was, now api.Binding) []api.Refusal {
	var refusals []api.Refusal
	add := func(what, message, hint string) { refusals = append(refusals, refusal(what, message, hint)) }
	if moved(was.Plan, now.Plan) {
		add("plan", "the plan file is not the one that was judged", planAgain)
	}
	refusals = append(refusals, compareTool(was.Tool, now.Tool)...)
	if was.LockFile != now.LockFile {
		add("lock_file", "the lock file .terraform.lock.hcl "+change(was.LockFile, now.LockFile)+" since the plan was made", planAgain)
	}
	if moved(was.Variables, now.Variables) {
		add("variables", "the variables have changed since the plan was made (in their files, or TF_VAR_* in the environment)", planAgain)
	}
	if moved(was.Settings, now.Settings) {
		add("settings", "the settings of the stack in assize.yaml or .assize.yaml have changed since the plan was made", planAgain)
	}
	if moved(was.Workspace, now.Workspace) {
		add("workspace", fmt.Sprintf("the workspace is %q, and the plan was made in %q", now.Workspace, was.Workspace),
			fmt.Sprintf("select the workspace %s (TF_WORKSPACE=%s), or run assize plan", was.Workspace, was.Workspace))
	}
	return append(refusals, compareProvenance(was.Provenance, now.Provenance)...)
}

// Unsafe reports whether one of the refusals is about something without which
// the tool must not even be started: it would be another program, install
// other providers, be given another backend, or create another workspace
// (docs/warrant.md, rule 4).
func Unsafe(refusals []api.Refusal) bool {
	for _, r := range refusals {
		switch r.What {
		case "warrant", "plan", "tool", "lock_file", "settings", "workspace":
			return true
		}
	}
	return false
}

// compareTool says one thing: of another program, that its version differs as
// well is no news.
func compareTool(was, now api.Tool) []api.Refusal {
	switch {
	case moved(was.Name, now.Name):
		return []api.Refusal{refusal("tool",
			fmt.Sprintf("the plan was made with %s %s, this is %s", was.Name, was.Version, orNone(now.Name)),
			fmt.Sprintf("set ASSIZE_TOOL=%s, or run assize plan", was.Name))}
	case moved(was.Digest, now.Digest):
		return []api.Refusal{refusal("tool",
			fmt.Sprintf("%s is another program than the one that made the plan (sha256:%s, now sha256:%s)",
				was.Name, policy.Short(was.Digest), policy.Short(now.Digest)), planAgain)}
	}
	return nil
}

// compareProvenance names what the applier says otherwise. Policies have seen
// it, so a plan from elsewhere was not judged, whatever it would change
// (docs/warrant.md, rule 15). Values of metadata are not shown.
func compareProvenance(was, now api.Provenance) []api.Refusal {
	var refusals []api.Refusal
	add := func(message string) {
		refusals = append(refusals, refusal("provenance", message, "leave out what the warrant says already, or run assize plan"))
	}
	for _, c := range []struct{ what, was, now string }{
		{"kind", string(was.Kind), string(now.Kind)},
		{"commit", deref(was.Source.CommitSHA), deref(now.Source.CommitSHA)},
		{"repository", was.Source.RepositoryID, now.Source.RepositoryID},
		{"working directory", was.Source.WorkingDirectory, now.Source.WorkingDirectory},
		{"stack id", was.Subject.ID, now.Subject.ID},
	} {
		if c.was != c.now {
			add(fmt.Sprintf("the %s is %q, and the plan was judged with %q", c.what, c.now, c.was))
		}
	}
	if !maps.Equal(was.Subject.Metadata, now.Subject.Metadata) {
		add("the metadata is not that which the plan was judged with")
	}
	return refusals
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// compareState knows that a lineage is whatever somebody wrote into a state, so
// it is quoted.
func compareState(was, now api.State) []api.Refusal {
	const what = "state"
	switch {
	case was == now:
		return nil
	case was.Lineage == "":
		return []api.Refusal{refusal(what, "there is a state now; when the plan was made there was none", planAgain)}
	case now.Lineage == "":
		return []api.Refusal{refusal(what, "the state that the plan was made from is gone", planAgain)}
	case was.Lineage != now.Lineage:
		return []api.Refusal{refusal(what, fmt.Sprintf("the state is another one: lineage %q, now %q", was.Lineage, now.Lineage), planAgain)}
	case was.Serial > now.Serial:
		return []api.Refusal{refusal(what, fmt.Sprintf("the state has gone back: serial %d, now %d", was.Serial, now.Serial), planAgain)}
	}
	return []api.Refusal{refusal(what, fmt.Sprintf("the state has moved on: serial %d, now %d", was.Serial, now.Serial), planAgain)}
}

// moved compares what every plan has: where either side is unknown, it counts
// as moved.
func moved(was, now string) bool { return was == "" || now == "" || was != now }

func change(was, now string) string {
	switch {
	case was == "":
		return "has come into being"
	case now == "":
		return "has gone"
	}
	return "has changed"
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

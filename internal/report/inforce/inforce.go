// Package inforce says what is in force for a stack and where it came from, for
// people and for programs. It shows no secret, and must not know how a setting
// came about beyond what its package says of it.
package inforce

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/stack"
)

// mask stands where a secret would.
const mask = "(sensitive)"

// secretMin is the length, in bytes, from which on a secret is also looked for
// in other values: what is shorter stands everywhere.
const secretMin = 4

// List says what holds for a stack and where it came from. Values whose names
// look like those of secrets are masked, wherever they stand
// (docs/configuration.md, rule 22).
func List(root *settings.Root, panels []settings.Panel, e settings.Effective, warnings []string) api.Config {
	l := lister{e: e, secrets: secrets(e)}
	l.one("tool", e.Tool)
	l.one("tool_version", e.ToolVersion)
	l.one("workspace", e.Workspace)
	l.one("environment", e.Environment)
	l.list("backend_config", e.BackendConfig)
	for _, entry := range e.ExtraBackendConfig {
		l.add("backend_config", entry, "ASSIZE_BACKEND_CONFIG")
	}
	l.list("var_files", e.VarFiles)
	l.env()
	l.list("depends_on", e.DependsOn)
	l.list("ignore_inferred", e.IgnoreInferred)
	l.one("plan_output", e.PlanOutput)
	l.root(root)
	for _, panel := range panels {
		l.panel(panel)
	}
	key := stack.Key{Path: e.Path, Instance: e.Instance}
	return api.Config{
		Stack: key.String(), Path: e.Path, Instance: e.Instance,
		Settings: l.out, Warnings: append([]string{}, warnings...),
	}
}

type lister struct {
	e       settings.Effective
	secrets []string
	out     []api.Setting
}

func (l *lister) root(root *settings.Root) {
	a, p, d := root.Apply, root.Propagate, root.Drift
	l.add("apply.mode", a.Mode.Value, a.Mode.At.String())
	l.add("apply.require_approvals", a.RequireApprovals.Value, a.RequireApprovals.At.String())
	l.add("apply.require_codeowner_review", a.RequireCodeownerReview.Value, a.RequireCodeownerReview.At.String())
	l.list("apply.allowed_teams", l.e.AllowedTeams)
	l.add("apply.four_eyes", a.FourEyes.Value, a.FourEyes.At.String())
	l.add("apply.from_plan", a.FromPlan.Value, a.FromPlan.At.String())
	l.add("apply.max_parallel", a.MaxParallel.Value, a.MaxParallel.At.String())
	l.add("propagate.dependents", p.Dependents.Value, p.Dependents.At.String())
	l.add("propagate.cross_repo", p.CrossRepo.Value, p.CrossRepo.At.String())
	l.add("drift.schedule", d.Schedule.Value, d.Schedule.At.String())
	l.add("drift.open_issue", d.OpenIssue.Value, d.OpenIssue.At.String())
}

func (l *lister) panel(p settings.Panel) {
	for _, policy := range p.Policies {
		l.add("policies", policy.Path, policy.At.String())
		l.out[len(l.out)-1].Enforcement = policy.Enforcement
	}
	if file := p.Exceptions; file.Value != "" {
		l.add("exceptions", file.Value, file.At.String())
	}
}

// origin is where an entry of a list, or the only value, came from.
func (l *lister) origin(key string, i int) string {
	if origins := l.e.Origins[key]; i < len(origins) {
		return origins[i]
	}
	return "default"
}

func (l *lister) one(key, value string) { l.add(key, value, l.origin(key, 0)) }

func (l *lister) list(key string, values []string) {
	for i, value := range values {
		l.add(key, value, l.origin(key, i))
	}
}

func (l *lister) env() {
	for _, name := range slices.Sorted(maps.Keys(l.e.Env)) {
		key, v := "env."+name, l.e.Env[name]
		if v.Plan != nil && v.Plan == v.Apply && v.Plan == v.Drift {
			l.one(key, *v.Plan)
			continue
		}
		for _, mode := range []settings.Mode{settings.Plan, settings.Apply, settings.Drift} {
			if value := v.For(mode); value != nil {
				l.one(key, *value)
				l.out[len(l.out)-1].Mode = string(mode)
			}
		}
	}
}

func (l *lister) add(key string, value any, from string) {
	s := api.Setting{Key: key, Value: value, From: from}
	if text, ok := value.(string); ok {
		shown := l.masked(key, text)
		s.Value, s.Sensitive = shown, shown != text
	}
	l.out = append(l.out, s)
}

func (l *lister) masked(key, text string) string {
	if name, ok := strings.CutPrefix(key, "env."); ok && settings.IsSecret(name) && text != "" {
		return mask
	}
	if name, value, ok := secretAttribute(text); ok && key == "backend_config" && value != "" {
		return fmt.Sprintf("%s=%s", name, mask)
	}
	for _, secret := range l.secrets {
		text = strings.ReplaceAll(text, secret, mask)
	}
	return text
}

// secretAttribute reads an entry of backend_config that sets a secret.
func secretAttribute(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	return name, value, ok && settings.IsSecret(name)
}

// secrets are the values of what is called like a secret, the longest first: one
// may hold another.
func secrets(e settings.Effective) []string {
	var out []string
	for name, v := range e.Env {
		for _, value := range []*string{v.Plan, v.Apply, v.Drift} {
			if settings.IsSecret(name) && value != nil {
				out = append(out, *value)
			}
		}
	}
	for _, entry := range slices.Concat(e.BackendConfig, e.ExtraBackendConfig) {
		if _, value, ok := secretAttribute(entry); ok {
			out = append(out, value)
		}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < secretMin })
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(out)
}

// Text writes the settings for people, one a line.
func Text(w io.Writer, c api.Config) error {
	p := page.New(page.Options{})
	p.Line(0, page.Visible(c.Stack))
	rows := make([][2]string, len(c.Settings))
	keys, values := 0, 0
	for i, s := range c.Settings {
		rows[i] = [2]string{label(s), shown(s)}
		keys = max(keys, utf8.RuneCountInString(rows[i][0]))
		values = max(values, min(utf8.RuneCountInString(rows[i][1]), valuesMax))
	}
	for i, s := range c.Settings {
		p.Line(2, fmt.Sprintf("%-*s  %-*s  %s", keys, rows[i][0], values, rows[i][1], page.Visible(s.From)))
	}
	_, err := p.WriteTo(w)
	return err
}

// valuesMax bounds the column of values: one long value must not push the origin
// of every other out of sight.
const valuesMax = 60

func label(s api.Setting) string {
	if s.Mode != "" {
		return page.Visible(s.Key) + " (" + s.Mode + ")"
	}
	return page.Visible(s.Key)
}

func shown(s api.Setting) string {
	text := page.Visible(fmt.Sprint(s.Value))
	switch {
	case s.Enforcement != "":
		return text + " (" + string(s.Enforcement) + ")"
	case text == "" && s.Key == "tool":
		return "tofu where it is installed, else terraform"
	case text == "":
		return "-"
	}
	return text
}

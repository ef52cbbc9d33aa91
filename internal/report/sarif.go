package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homepage     = "https://github.com/assize-iac/assize"
)

// The parts of SARIF 2.1.0 that are written here; names and required members
// are those of the specification.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		Name             string       `json:"name"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifMessage       `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Properties   sarifProperties    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifSuppression struct {
		Kind   string `json:"kind"`
		Status string `json:"status"`

		Justification string `json:"justification,omitempty"`
	}
	sarifProperties struct {
		Policy    string   `json:"policy"`
		Engine    string   `json:"engine"`
		Action    string   `json:"action,omitempty"`
		Deposed   string   `json:"deposed,omitempty"`
		Path      string   `json:"path,omitempty"`
		Positions []string `json:"positions,omitempty"`
	}
)

// SARIF writes a result for code-scanning dashboards. What could not be judged
// is a failed invocation: a dashboard shows an empty list of results as clean
// (docs/report.md, rule 10).
func SARIF(w io.Writer, c api.Check, o Options) error {
	rules, index := sarifRules(c)
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "assize", Version: o.Version, InformationURI: homepage, Rules: rules}},
		Invocations: []sarifInvocation{invocation(c)},
		Results:     []sarifResult{},
	}
	// The order of the result is kept: indices into it may be compared with JSON.
	weight, seen := weigh(c), map[string]int{}
	for _, f := range c.Findings {
		r := sarifFinding(c, f, weight)
		r.RuleIndex = index[r.RuleID]
		print := fingerprint(c, f)
		seen[print]++ // what differs in its message alone is told apart by order
		r.Fingerprints = map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", print, seen[print])}
		run.Results = append(run.Results, r)
	}
	return page.JSON(w, sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}})
}

// sarifRules lists every rule that judged, those without a finding as well, so
// that a dashboard can close what they reported before.
func sarifRules(c api.Check) ([]sarifRule, map[string]int) {
	rules, index := []sarifRule{}, map[string]int{}
	add := func(policy, rule string) {
		id := ruleID(policy, rule)
		if _, ok := index[id]; ok {
			return
		}
		index[id] = len(rules)
		text := fmt.Sprintf("rule %s of policy %s", rule, policy)
		rules = append(rules, sarifRule{ID: id, Name: page.Visible(rule), ShortDescription: sarifText(text)})
	}
	for _, v := range c.Policies {
		for _, r := range v.Rules {
			add(v.Path, r.Rule)
		}
	}
	for _, f := range c.Findings {
		add(f.Policy, f.Rule)
	}
	return rules, index
}

// ruleID must stay the same from run to run, whatever other policies there are.
// It holds the policy, for two policies may have a rule of one name.
func ruleID(policy, rule string) string { return page.Visible(policy) + ":" + page.Visible(rule) }

// sarifFinding is one result. The address is there byte for byte as a logical
// location; what people read is in the message.
func sarifFinding(c api.Check, f api.Finding, weight weight) sarifResult {
	r := sarifResult{
		RuleID:    ruleID(f.Policy, f.Rule),
		Level:     "warning",
		Message:   sarifText(where(f) + ": " + said(f)),
		Locations: []sarifLocation{at(planPath(c, f.Plan))},
		Properties: sarifProperties{
			Policy: f.Policy, Engine: string(f.Engine), Action: f.Action,
			Deposed: f.Deposed, Path: f.Path, Positions: f.Positions,
		},
	}
	if f.Address != "" {
		r.Locations[0].Logical = []sarifLogical{{FullyQualifiedName: f.Address, Kind: kind(f)}}
	}
	if f.Excepted {
		r.Suppressions = []sarifSuppression{{Kind: "external", Status: "accepted", Justification: page.Visible(excused(f))}}
	} else if f.Level == api.Deny && weight.blocks(f) {
		r.Level = "error"
	}
	return r
}

// kind is one of the words that SARIF lists for logical locations.
func kind(f api.Finding) string {
	if f.Action == "config" {
		return "module"
	}
	return "resource"
}

// invocation says whether judging worked, and what a rule that looked at
// nothing would otherwise hide: a dashboard shows its silence as a pass.
func invocation(c api.Check) sarifInvocation {
	inv := sarifInvocation{ExecutionSuccessful: judged(outcome(c)), Notifications: []sarifNotification{}}
	for _, f := range failures(c) {
		inv.Notifications = append(inv.Notifications, notification("error", f.advice(), planPath(c, f.plan)))
	}
	for _, v := range c.Policies {
		for _, note := range v.Notes {
			text := "policy " + v.Path + ": " + note
			inv.Notifications = append(inv.Notifications, notification("note", text, planPath(c, v.Plan)))
		}
	}
	return inv
}

func notification(level, text, plan string) sarifNotification {
	return sarifNotification{Level: level, Message: sarifText(text), Locations: []sarifLocation{at(plan)}}
}

// sarifText is a message in which nobody else's brackets make a link; SARIF
// knows [text](target) even in plain text.
func sarifText(text string) sarifMessage {
	return sarifMessage{strings.ReplaceAll(lines(text), "](", "] (")}
}

// planPath is the plan a finding stands in: with one plan it need not say so.
func planPath(c api.Check, path string) string {
	if path == "" && len(c.Plans) == 1 {
		return c.Plans[0].Path
	}
	return path
}

// at locates a finding in a plan. The tools print a plan as one line, and
// GitHub wants a line with every result.
func at(plan string) sarifLocation {
	return sarifLocation{Physical: sarifPhysical{sarifArtifact{artifactURI(plan)}, sarifRegion{StartLine: 1}}}
}

// artifactURI is a valid URI for every path, the bytes of broken UTF-8
// included, for the schema demands one. Plans on standard input have no path.
func artifactURI(path string) string {
	switch {
	case path == "" || path == "-":
		return "stdin"
	case strings.HasPrefix(path, "/"):
		return (&url.URL{Scheme: "file", Path: path}).String()
	}
	return (&url.URL{Path: path}).String()
}

// fingerprint recognises a finding in the next run. The message is no part of
// it: it quotes values. A single plan's path is none either: pipelines write
// plans to temporary files.
func fingerprint(c api.Check, f api.Finding) string {
	plan := f.Plan
	if len(c.Plans) < 2 {
		plan = ""
	}
	// Marshalling strings cannot fail, and no two lists have one encoding.
	key, _ := json.Marshal([]string{plan, f.Policy, f.Rule, f.Address, f.Deposed, f.Path})
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

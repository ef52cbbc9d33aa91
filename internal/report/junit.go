package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// The JUnit dialect that CI systems have in common: one failure at most in a
// test case, counts in attributes.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Skipped  int           `xml:"skipped,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a result for CI systems that show tests: a suite for each plan
// and policy, a case for each rule that found nothing and for each finding.
// A result that is no pass has at least one failure or error in it, and a pass
// at least one case (docs/report.md, rule 11).
func JUnit(w io.Writer, c api.Check, _ Options) error {
	doc := junitSuites{Name: "assize"}
	weight := weigh(c)
	for _, f := range failures(c) {
		if f.policy == "" {
			doc.Suites = append(doc.Suites, &junitSuite{Name: orElse(page.Visible(f.plan), "assize"), Cases: []junitCase{f.testcase()}})
		}
	}
	for _, s := range sections(c) {
		doc.Suites = append(doc.Suites, s.suites(weight)...)
	}
	doc.count()
	// Green is decided by the absence of failures, so there must be one.
	if c.Outcome != api.Passed && doc.Failures+doc.Errors == 0 {
		problem := &junitProblem{Message: summary(c), Type: "deny"}
		doc.Suites = append(doc.Suites, &junitSuite{Name: "assize", Cases: []junitCase{{Name: "outcome", Class: "assize", Failure: problem}}})
		doc.count()
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err = w.Write(bytes.Join([][]byte{[]byte(xml.Header), page.DisarmXML(text), []byte("\n")}, nil))
	return err
}

// suites are those of one plan, one for each policy, in the order in which the
// policies were named. Their counts are filled in when all cases are there.
func (s section) suites(weight weight) []*junitSuite {
	var out []*junitSuite
	at := map[string]*junitSuite{}
	suite := func(policy string) *junitSuite {
		if at[policy] == nil {
			name := strings.Trim(page.Visible(s.plan.Path)+": "+page.Visible(policy), ": ")
			at[policy] = &junitSuite{Name: orElse(name, "assize")}
			out = append(out, at[policy])
		}
		return at[policy]
	}
	reported := map[[2]string]bool{}
	for _, v := range s.verdicts {
		suite(v.Path) // keeps the order of the policies
	}
	for _, g := range s.groups {
		for _, f := range g.findings {
			reported[[2]string{f.Policy, f.Rule}] = true
			to := suite(f.Policy)
			to.Cases = append(to.Cases, findingCase(f, weight))
		}
	}
	for _, v := range s.verdicts {
		to := suite(v.Path)
		// A decision is one rule, and its findings have ids of their own: beside one
		// of them there is no test that passed.
		if v.Contract != nil && judged(v.Outcome) && len(to.Cases) > 0 {
			continue
		}
		to.Cases = append(to.Cases, verdictCases(s, v, reported)...)
	}
	return out
}

// verdictCases are those of a policy that no finding stands for. A suite without
// a case says nothing, and a policy of which nothing is said looks as if it had
// not been asked; hence the case of a policy that passed and has no rules.
func verdictCases(s section, v api.Verdict, reported map[[2]string]bool) []junitCase {
	if !judged(v.Outcome) {
		return []junitCase{failure{s.plan.Path, v.Path, because(v.Error), v.Hint}.testcase()}
	}
	var out []junitCase
	for _, r := range v.Rules {
		if !reported[[2]string{v.Path, r.Rule}] {
			out = append(out, junitCase{Name: orElse(page.Visible(r.Rule), "rule"), Class: page.Visible(v.Path)})
		}
	}
	if len(out) == 0 && v.Outcome == api.Passed {
		out = append(out, junitCase{Name: "satisfied", Class: page.Visible(v.Path)})
	}
	return out
}

// findingCase is one finding. What does not block passes and says so in its
// output: a failure would make the build red.
func findingCase(f api.Finding, weight weight) junitCase {
	c := junitCase{Name: page.Visible(f.Rule) + ": " + where(f), Class: page.Visible(f.Policy)}
	text := lines(level(f) + " " + page.Visible(f.Rule) + ": " + annotationText(f))
	switch {
	case f.Excepted:
		c.Skipped = &junitProblem{Message: "excepted: " + page.Visible(said(f)), Text: lines(excused(f))}
	case weight.blocks(f):
		c.Failure = &junitProblem{Message: page.Visible(said(f)), Type: strings.ToLower(level(f)), Text: text}
	default:
		c.Output = text
	}
	return c
}

// testcase is an error, which JUnit tells from a failure as we tell what could
// not be judged from a no.
func (f failure) testcase() junitCase {
	return junitCase{
		Name:  "could not be judged",
		Class: orElse(page.Visible(f.policy), "assize"),
		Error: &junitProblem{Message: page.Visible(f.why), Type: "errored", Text: lines(f.advice())},
	}
}

// orElse keeps names from being empty: a case without one cannot be found.
func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// lines keeps the lines of a text: encoding/xml escapes each line break, so
// that the file has none where a CI runner could look for a command.
func lines(text string) string { return strings.Join(page.Paragraphs(text), "\n") }

// count fills in the numbers from the cases, so that they cannot disagree.
func (d *junitSuites) count() {
	d.Tests, d.Failures, d.Errors, d.Skipped = 0, 0, 0, 0
	for _, s := range d.Suites {
		s.Tests, s.Failures, s.Errors, s.Skipped = len(s.Cases), 0, 0, 0
		for _, c := range s.Cases {
			switch {
			case c.Failure != nil:
				s.Failures++
			case c.Error != nil:
				s.Errors++
			case c.Skipped != nil:
				s.Skipped++
			}
		}
		d.Tests, d.Failures = d.Tests+s.Tests, d.Failures+s.Failures
		d.Errors, d.Skipped = d.Errors+s.Errors, d.Skipped+s.Skipped
	}
}

package trial

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report/page"
)

// The JUnit dialect that CI systems have in common, as package report writes it.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	testcase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Failure *trouble `xml:"failure"`
		Error   *trouble `xml:"error"`
	}
	trouble struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes tests of policies for CI systems: a suite for each policy, a case
// for each plan, test, missing proof and survivor. What is no pass has a failure
// or an error in it.
func JUnit(w io.Writer, t api.PolicyTest) error {
	doc := suites{Name: "assize policy test"}
	for _, policy := range t.Policies {
		s := suite{Name: page.Visible(policy.Path), Cases: cases(policy)}
		for _, c := range s.Cases {
			s.Tests++
			if c.Failure != nil {
				s.Failures++
			}
			if c.Error != nil {
				s.Errors++
			}
		}
		doc.Tests, doc.Failures, doc.Errors = doc.Tests+s.Tests, doc.Failures+s.Failures, doc.Errors+s.Errors
		doc.Suites = append(doc.Suites, s)
	}
	text, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err = w.Write(bytes.Join([][]byte{[]byte(xml.Header), page.DisarmXML(text), []byte("\n")}, nil))
	return err
}

func cases(t api.TestedPolicy) (out []testcase) {
	add := func(name string, o api.Outcome, lines ...string) {
		c := testcase{Name: page.Visible(name), Class: page.Visible(t.Path)}
		text := page.Visible(strings.Join(lines, "; "))
		switch o {
		case api.Passed:
		case api.Failed, api.Skipped: // a test that did not run is no pass
			c.Failure = &trouble{string(o), text}
		default:
			c.Error = &trouble{string(o), text}
		}
		out = append(out, c)
	}
	for _, p := range t.Plans {
		add(p.Name, p.Outcome, differences(p)...)
	}
	for _, test := range t.Tests {
		add(test.Name, test.Outcome, slices.DeleteFunc([]string{test.Position, test.Error}, func(s string) bool { return s == "" })...)
	}
	for _, what := range t.Untested {
		add("untested", api.Failed, "there is "+what)
	}
	if t.Mutation != nil {
		for _, s := range t.Mutation.Survivors {
			add(s.Position+": "+s.Change, api.Failed, strings.TrimSuffix("nothing tells the difference; add "+s.Tell, "; add "))
		}
	}
	if t.Error != "" || len(out) == 0 {
		add("policy", api.Errored, t.Error)
	}
	return out
}

func differences(p api.TestedPlan) (out []string) {
	for _, line := range p.Missing {
		out = append(out, "missing: "+line)
	}
	for _, line := range p.Unexpected {
		out = append(out, "not wanted: "+line)
	}
	if p.Error != "" {
		out = append(out, p.Error)
	}
	return out
}

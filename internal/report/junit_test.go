package report_test

import (
	"encoding/xml"
	"io"
	"reflect"
	"strings"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/report"
)

type junit struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Tests int    `xml:"tests,attr"`
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			Failure []problem `xml:"failure"`
			Error   []problem `xml:"error"`
			Skipped []problem `xml:"skipped"`
			Out     string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func assertJUnit(t rapid.TB, c api.Check) {
	t.Helper()
	out := output(t, "junit", c, report.Options{})
	var doc junit
	dec := xml.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if _, err := dec.Token(); err != io.EOF {
		if _, err = dec.Token(); err != io.EOF {
			t.Fatalf("something follows the document: %v", err)
		}
	}
	var got junit
	said := 0
	for _, s := range doc.Suites {
		if s.Tests != len(s.Cases) || s.Tests == 0 || s.Name == "" {
			t.Fatalf("suite %q says %d cases and has %d", s.Name, s.Tests, len(s.Cases))
		}
		got.Tests += len(s.Cases)
		for _, tc := range s.Cases {
			if len(tc.Failure)+len(tc.Error)+len(tc.Skipped) > 1 || tc.Name == "" {
				t.Fatalf("case %q has several results:\n%s", tc.Name, out)
			}
			got.Failures, got.Errors, got.Skipped = got.Failures+len(tc.Failure), got.Errors+len(tc.Error), got.Skipped+len(tc.Skipped)
			if len(tc.Failure)+len(tc.Skipped) > 0 && tc.Name != "outcome" || tc.Out != "" {
				said++
			}
		}
	}
	if doc.Suites = nil; !reflect.DeepEqual(doc, got) {
		t.Fatalf("the document says %+v and has %+v:\n%s", doc, got, out)
	}
	if said != len(c.Findings) {
		t.Fatalf("%d findings, want %d:\n%s", said, len(c.Findings), out)
	}
	if passed := got.Failures+got.Errors == 0; passed && (c.Outcome != api.Passed || got.Tests == 0 && len(c.Policies) > 0) {
		t.Fatalf("outcome %q is green with %d cases:\n%s", c.Outcome, got.Tests, out)
	}
}

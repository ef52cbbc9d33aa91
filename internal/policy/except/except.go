// Package except reads exceptions and says which findings they cover: for one
// rule at some addresses, with a reason, an owner and a day on which they end
// (seed 002, Medium exercise; docs/exceptions.md). It is pure: the clock is its
// caller's. It must not know how a finding came about.
package except

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/policy"
	"github.com/assize-iac/assize/internal/problem"
)

// A File is one file of exceptions, or why it is none: then it has an Err and
// no entries.
type File struct {
	Path    string // as the user named it
	Digest  string // of its bytes; "" when they could not be read
	Entries []Entry
	Err     error
}

// An Entry is one exception.
type Entry struct {
	api.Exception
	Rule    string // the finding's, exactly
	Address plan.Glob
	Policy  string // path of the only policy it is about; "" is any

	until time.Time // the first moment at which it has ended
}

// Missing is a file that could not be read.
func Missing(path string, err error) File { return File{Path: path, Err: err} }

// About is the file with the policies that its entries name as one finds them
// from elsewhere: dir is where their paths begin, slash-separated, and "" for
// here.
func (f File) About(dir string) File {
	f.Entries = slices.Clone(f.Entries)
	for i, e := range f.Entries {
		if dir != "" && e.Policy != "" && !path.IsAbs(e.Policy) {
			f.Entries[i].Policy = path.Join(dir, e.Policy)
		}
	}
	return f
}

// Expired reports whether the exception has ended.
func (e Entry) Expired(now time.Time) bool { return !now.Before(e.until) }

// covers reports whether the exception is about a finding. No glob matches a
// finding about the whole plan, so that nobody excepts one by a generous *;
// only an address that is empty in the file does (docs/exceptions.md, rule 2).
func (e Entry) covers(f api.Finding) bool {
	if e.Rule != f.Rule || e.Policy != "" && path.Clean(e.Policy) != path.Clean(f.Policy) {
		return false
	}
	return (e.Address.String() == "") == (f.Address == "") && e.Address.Match(f.Address)
}

// Excuse gives the first exception that covers a finding and has not ended.
func (f File) Excuse(now time.Time) policy.Excuse {
	return func(found api.Finding) *api.Exception {
		for i := range f.Entries {
			if e := &f.Entries[i]; !e.Expired(now) && e.covers(found) {
				return &e.Exception
			}
		}
		return nil
	}
}

// Used tells which exceptions covered a finding of these verdicts, by their
// place in a file.
func Used(judged []policy.Judged) map[string]bool {
	used := map[string]bool{}
	for _, j := range judged {
		for _, v := range j.Verdicts {
			for _, f := range v.Findings {
				if f.Exception != nil {
					used[f.Exception.At] = true
				}
			}
		}
	}
	return used
}

// Verdict is what the file has to say on one plan itself: an exception that has
// ended is a warning, one that covered nothing in any plan a note, and a file
// that cannot be used is errored (docs/exceptions.md, rules 4 to 6).
func (f File) Verdict(p *plan.Plan, used map[string]bool, now time.Time) api.Verdict {
	v := api.Verdict{
		Path: f.Path, Engine: api.Exceptions, Evaluator: evaluator, Digest: f.Digest, Input: p.Digest,
		Enforcement: api.HardMandatory, Outcome: api.Passed, Notes: f.unused(used, now),
	}
	if f.Err != nil {
		v.Outcome, v.Error, v.Hint = api.Errored, f.Err.Error(), problem.Hint(f.Err)
	}
	for _, e := range f.Entries {
		if e.Expired(now) {
			v.Findings = append(v.Findings, e.ended(f.Path))
		}
	}
	return policy.Scrub(v, p)
}

// evaluator is the version of what exceptions mean.
const evaluator = "assize exceptions 1"

func (e Entry) ended(file string) api.Finding {
	return api.Finding{
		Policy: file, Engine: api.Exceptions, Rule: "expired-exception", Level: api.Warn, Positions: []string{e.At},
		Message: fmt.Sprintf("the exception from %s has ended (%s); renew it with a reason, or remove it. %s said: %s", e, e.Expires, e.Owner, e.Reason),
	}
}

// String names the exception for people.
func (e Entry) String() string {
	if e.Address.String() == "" {
		return "rule " + e.Rule + " for the whole plan"
	}
	return "rule " + e.Rule + " at " + e.Address.String()
}

// shownMax bounds how many exceptions a note names: a file for a hundred stacks
// covers little of each.
const shownMax = 5

func (f File) unused(used map[string]bool, now time.Time) []string {
	var notes []string
	n := 0
	for _, e := range f.Entries {
		if e.Expired(now) || used[e.At] {
			continue
		}
		if n++; n <= shownMax {
			notes = append(notes, fmt.Sprintf("the exception from %s (%s) covers nothing here", e, e.At))
		}
	}
	if n > shownMax {
		notes = append(notes, fmt.Sprintf("and %d more exceptions cover nothing here", n-shownMax))
	}
	return notes
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

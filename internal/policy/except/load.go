package except

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/strict"
)

// fields are those of an exception, in the order of the documentation.
func fields() []string { return []string{"rule", "address", "reason", "owner", "expires", "policy"} }

// Load reads the exceptions of a file, JSON or YAML by its name: a list, or an
// object with exceptions. What is wrong is said all at once, with positions;
// a file with one mistake has no entries at all, because the finding that the
// author meant to except would otherwise block without saying why.
func Load(path string, data []byte) File {
	f := File{Path: path, Digest: digest(data)}
	var c strict.Complaints
	if root, ok := c.Read(path, data); ok {
		items, _ := c.Items(path, root, "exceptions")
		for i, n := range items.Items {
			r := entryReader{strict.ObjectReader{Complaints: &c, File: path, Called: fmt.Sprintf("exception %d", i+1), Start: n}}
			f.Entries = append(f.Entries, r.entry())
		}
		c.Sort(0)
	}
	if f.Err = c.Err("correct the file; docs/exceptions.md says what an exception is made of"); f.Err != nil {
		f.Entries = nil
	}
	return f
}

type entryReader struct{ strict.ObjectReader }

func (r *entryReader) entry() Entry {
	e := Entry{Exception: api.Exception{At: fmt.Sprintf("%s:%d:%d", r.File, r.Start.Line, r.Start.Column)}}
	if !r.IsObject() {
		return e
	}
	r.Fields(fields())
	e.Rule = r.text("rule", "the rule whose findings it is about")
	e.Reason = strings.TrimSpace(r.text("reason", "why the rule need not hold here"))
	e.Owner = strings.TrimSpace(r.text("owner", "who answers for it"))
	if e.Expires = r.text("expires", "the last day, such as 2026-12-31"); e.Expires != "" {
		e.until = r.end(e.Expires)
	}
	if v, ok := r.Need("address", `a glob of addresses, or "" for findings about the whole plan`); ok {
		e.Address = r.address(v)
	}
	if v, ok := r.Got["policy"]; ok {
		e.Policy = r.Prose(v, "policy")
	}
	return e
}

func (r *entryReader) text(name, hint string) string {
	v, ok := r.Need(name, hint)
	if !ok {
		return ""
	}
	return r.Prose(v, name)
}

// address may be the empty string, but has to say so: what was left out by
// mistake must not select anything.
func (r *entryReader) address(v strict.Node) plan.Glob {
	switch {
	case v.Kind != strict.Text:
		r.Fault(v, `address is %s, want a string; "" is for findings about the whole plan`, v.Kind)
	case v.Text != "" && strings.TrimSpace(v.Text) == "":
		r.Fault(v, `address is blank; "" is for findings about the whole plan`)
	}
	return plan.NewGlob(v.Text)
}

// rfc3339 is the form of a time. time.Parse takes more for one: a comma, one
// digit of an hour, an offset of days.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]([01]\d|2[0-3]):[0-5]\d)$`)

// end is the first moment at which an exception has ended: a day is valid to
// its own end, in UTC wherever the machine stands.
func (r *entryReader) end(expires string) time.Time {
	if day, err := time.Parse(time.DateOnly, expires); err == nil {
		return day.AddDate(0, 0, 1)
	}
	moment, err := time.Parse(time.RFC3339, expires)
	if err != nil || !rfc3339.MatchString(expires) {
		r.Fault(r.Got["expires"], "expires %q is neither a day such as 2026-12-31 nor a time such as 2026-12-31T18:00:00Z", strict.Cut(expires))
	}
	return moment
}

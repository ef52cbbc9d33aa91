package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/postgres"
)

// TestPages: whatever comes beside them, in pages of whatever size, an item that is
// there all the while is on exactly one page, in the order of the list.
func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	var stay []string
	s.update(t, func(u *postgres.Update) error {
		stay = []string{s.stack.Name}
		for i := range 40 {
			name := fmt.Sprintf("%c-%d", "aZm_9"[i%5], i)
			if _, err := u.CreateStack(t.Context(), s.who, postgres.Stack{Project: s.project.ID, Name: name}); err != nil {
				return err
			}
			stay = append(stay, name)
		}
		return nil
	})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		var got []string
		in := v1.ListStacks{Organisation: "acme"}
		for {
			in.Limit = rapid.IntRange(1, 50).Draw(rt, "limit")
			page := answer[v1.Page[v1.Stack]](t, s, s.ann, in)
			for _, stack := range page.Items {
				if !strings.HasPrefix(stack.Name, "new") {
					got = append(got, stack.Name)
				}
			}
			if page.Next == "" {
				break
			}
			in.Cursor = page.Next
			if rapid.IntRange(0, 9).Draw(rt, "new") == 0 {
				n++
				answer[v1.Stack](t, s, s.ann, v1.CreateStack{Organisation: "acme", Name: fmt.Sprint("new-", n)})
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, slices.Sorted(slices.Values(stay))) {
			rt.Fatalf("%q, want %q", got, stay)
		}
	})
}

// TestAuditPages: the pages of an audit log are its entries from the newest to the
// first, whatever is written meanwhile.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	newest := answer[v1.AuditHead](t, s, s.ann, v1.HeadAudit{Organisation: "acme"}).Sequence
	in := v1.ListAudit{Organisation: "acme", Paging: v1.Paging{Limit: 2}}
	for want := newest; want > 0; {
		page := answer[v1.Page[v1.AuditEntry]](t, s, s.ann, in)
		for _, e := range page.Items {
			if e.Sequence != want {
				t.Fatalf("entry %d, want %d", e.Sequence, want)
			}
			want--
		}
		in.Cursor = page.Next
		answer[v1.Token](t, s, s.ann, v1.CreateToken{Description: "another entry"})
	}
}

// TestShortPages: the pages of a list that is all there are the list, whatever order
// it comes in, and whatever comes and goes beside what stays.
func TestShortPages(t *testing.T) {
	t.Parallel()
	self := func(s string) string { return s }
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9_ -]{1,4}`)
		stay := rapid.SliceOfDistinct(name, self).Draw(rt, "stay")
		for _, turn := range []func(cursor, []string, func(string) string) []string{after[string], before[string]} {
			var got []string
			for in := (v1.Paging{}); ; {
				in.Limit = rapid.IntRange(1, 5).Draw(rt, "limit")
				c, err := paging(in)
				if err != nil {
					rt.Fatal(err)
				}
				come := rapid.SliceOfN(name, 0, 3).Draw(rt, "come")
				all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(stay), come...))))
				p := page(c, turn(c, rapid.Permutation(all).Draw(rt, "all"), self), self, self)
				for _, item := range p.Items {
					if slices.Contains(stay, item) {
						got = append(got, item)
					}
				}
				if in.Cursor = p.Next; in.Cursor == "" {
					break
				}
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(stay)); !slices.Equal(got, want) {
				rt.Fatalf("%q, want %q", got, want)
			}
		}
	})
}

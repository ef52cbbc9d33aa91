package server

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/problem"
)

// pageSize is how many items a page has when nobody says how many.
const pageSize = 50

// A cursor is the key of the last item of a page. It stays good whatever comes and
// goes beside that item, even the item itself (docs/api.md, rule 5).
type cursor struct {
	after string // "" before the first page
	limit int
}

// paging reads which page is wanted. A cursor is not for clients to take apart, so
// that what it holds may change.
func paging(p v1.Paging) (cursor, error) {
	after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || strings.ToValidUTF8(string(after), "") != string(after) || strings.Contains(string(after), "\x00") {
		return cursor{}, problem.New(api.Invalid, "this is no cursor").
			WithHint("take it from the field next of the page before, or leave it out for the first page")
	}
	c := cursor{after: string(after), limit: p.Limit}
	if c.limit == 0 {
		c.limit = pageSize
	}
	return c, nil
}

// more is how many items are asked of the store: one more than the page has, to
// know whether there is another page.
func (c cursor) more() int { return c.limit + 1 }

// page is the page of items, which are those after the cursor, one more than the
// page has if there are so many.
func page[T, D any](c cursor, items []T, key func(T) string, document func(T) D) v1.Page[D] {
	p := v1.Page[D]{Items: []D{}}
	if len(items) > c.limit {
		items = items[:c.limit]
		p.Next = base64.RawURLEncoding.EncodeToString([]byte(key(items[c.limit-1])))
	}
	for _, item := range items {
		p.Items = append(p.Items, document(item))
	}
	return p
}

// after are the items of a short list that come after the cursor in the order of
// their keys, which is that of bytes: a database may have another one.
func after[T any](c cursor, all []T, key func(T) string) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return slices.DeleteFunc(all, func(item T) bool { return key(item) <= c.after })
}

// before are those items where the order goes down.
func before[T any](c cursor, all []T, key func(T) string) []T {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(b), key(a)) })
	return slices.DeleteFunc(all, func(item T) bool { return c.after != "" && key(item) >= c.after })
}

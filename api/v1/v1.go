// Package v1 holds the documents of the native API of a server, and the requests
// for them: what stands in their paths, queries and bodies, by tags. It has no logic
// beyond naming. docs/openapi.yaml is derived from it.
package v1

import "github.com/assize-iac/assize/api"

// An Error is the answer to a request that did not work.
type Error struct {
	Code    api.Code `json:"code" doc:"one of twelve words; docs/api.md says what each means"`
	Message string   `json:"message"`
	Hint    string   `json:"hint,omitempty" doc:"what to do or type next"`
}

// A Page is a part of a list, in the order of the list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"the cursor of the next page; left out on the last"`
}

// Paging is which part of a list is wanted. Every request for a list has it.
type Paging struct {
	Cursor string `query:"cursor" json:"-" max:"500" doc:"next of the page before; without it the first page"`
	Limit  int    `query:"limit" json:"-" max:"500" doc:"items of a page, 50 if left out"`
}

// A Principal is somebody who acts.
type Principal struct {
	Kind         string `json:"kind" doc:"person, token, runner or job"`
	ID           string `json:"id"`
	Name         string `json:"name"`
	Organisation string `json:"organisation,omitempty" doc:"id of the organisation that a token belongs to"`
}

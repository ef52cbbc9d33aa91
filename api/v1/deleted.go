package v1

import "time"

// A DeletedStack is what is left, for a while, of a stack that was deleted with a
// state (docs/state.md, rule 16).
type DeletedStack struct {
	Stack   string    `json:"stack" doc:"id that the stack had"`
	Name    string    `json:"name"`
	Serial  int64     `json:"serial" doc:"of its last state"`
	Lineage string    `json:"lineage"`
	Size    int64     `json:"size" doc:"bytes"`
	Deleted time.Time `json:"deleted"`
}

// ListDeleted asks for the stacks of an organisation that were deleted with a
// state, the newest first.
type ListDeleted struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Paging
}

// Route is where the request goes.
func (ListDeleted) Route() string { return "GET /v1/organisations/{organisation}/deleted" }

// DownloadDeleted asks for the bytes of the last state of a stack that was deleted.
// That they were read stands in the audit log.
type DownloadDeleted struct {
	Stack string `path:"deleted" json:"-" doc:"id that the stack had"`
}

// Route is where the request goes.
func (DownloadDeleted) Route() string { return "GET /v1/deleted/{deleted}/state" }

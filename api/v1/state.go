package v1

import (
	"io"
	"time"
)

// A StateVersion is one version of the state of a stack, without its bytes.
type StateVersion struct {
	ID        string    `json:"id"`
	Stack     string    `json:"stack" doc:"id of the stack"`
	Status    string    `json:"status" doc:"pending, finalized or discarded"`
	Sequence  int64     `json:"sequence" doc:"1 for the first of the stack; 0 for one that never became whole"`
	Serial    int64     `json:"serial"`
	Lineage   string    `json:"lineage"`
	MD5       string    `json:"md5" doc:"of the bytes, 32 hex digits"`
	Size      int64     `json:"size" doc:"bytes"`
	Resources int       `json:"resources"`
	Outputs   int       `json:"outputs"`
	Tool      string    `json:"tool,omitempty" doc:"version of the tool that wrote it"`
	Encrypted bool      `json:"encrypted" doc:"by the state encryption of OpenTofu: the server cannot read it either"`
	Forced    string    `json:"forced,omitempty" doc:"what it was forced over: serial or lineage"`
	CopyOf    string    `json:"copy_of,omitempty" doc:"id of the version that somebody went back to"`
	Writer    Principal `json:"writer"`
	Created   time.Time `json:"created"`
}

// ListStateVersions asks for the versions of a stack, the newest first.
type ListStateVersions struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
	Paging
}

// Route is where the request goes.
func (ListStateVersions) Route() string { return "GET /v1/stacks/{stack}/state-versions" }

// ShowStateVersion asks for one version.
type ShowStateVersion struct {
	Version string `path:"version" json:"-" doc:"id of the version"`
}

// Route is where the request goes.
func (ShowStateVersion) Route() string { return "GET /v1/state-versions/{version}" }

// CurrentState asks for the version of a stack that counts.
type CurrentState struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
}

// Route is where the request goes.
func (CurrentState) Route() string { return "GET /v1/stacks/{stack}/state-versions/current" }

// DownloadState asks for the bytes of a version.
type DownloadState struct {
	Version string `path:"version" json:"-" doc:"id of the version"`
}

// Route is where the request goes.
func (DownloadState) Route() string { return "GET /v1/state-versions/{version}/state" }

// PushState sends a new version. It needs the caller's own lock, the lineage of the
// current version, and a higher serial; the same bytes once more are the version
// that is there (docs/state.md).
type PushState struct {
	Stack string    `path:"stack" json:"-" doc:"id of the stack"`
	Key   string    `query:"key" json:"-" doc:"of the lock, if it was taken with one"`
	MD5   string    `query:"md5" json:"-" max:"32" doc:"of the bytes, 32 hex digits; checked if it is there"`
	Force bool      `query:"force" json:"-" doc:"write even what does not follow the current version"`
	Body  io.Reader `stream:"application/octet-stream" json:"-" doc:"the state, as the tool writes it"`
}

// Route is where the request goes.
func (PushState) Route() string { return "POST /v1/stacks/{stack}/state-versions" }

// ImportState sends a state that was kept elsewhere until now. It needs no lock: it
// takes and gives back one of its own. What is there already is done.
type ImportState struct {
	Stack  string    `path:"stack" json:"-" doc:"id of the stack"`
	Source string    `query:"source" json:"-" max:"300" doc:"where it came from, for the audit log"`
	MD5    string    `query:"md5" json:"-" max:"32" doc:"of the bytes, 32 hex digits; checked if it is there"`
	Force  bool      `query:"force" json:"-" doc:"even over a version that it does not follow"`
	Body   io.Reader `stream:"application/octet-stream" json:"-" doc:"the state, as the tool writes it"`
}

// Route is where the request goes.
func (ImportState) Route() string { return "POST /v1/stacks/{stack}/import" }

// RollbackState asks that an earlier version is the current one again: a new
// version with the same bytes. It needs the caller's own lock.
type RollbackState struct {
	Version string `path:"version" json:"-" doc:"id of the version to go back to"`
	Key     string `query:"key" json:"-" doc:"of the lock, if it was taken with one"`
}

// Route is where the request goes.
func (RollbackState) Route() string { return "POST /v1/state-versions/{version}/rollback" }

// A Quarantined is bytes that were refused as a version and kept all the same.
type Quarantined struct {
	ID      string    `json:"id"`
	Stack   string    `json:"stack" doc:"id of the stack"`
	Reason  string    `json:"reason" doc:"why they were refused, in a word"`
	Serial  int64     `json:"serial" doc:"that was claimed"`
	Lineage string    `json:"lineage"`
	Size    int64     `json:"size" doc:"bytes"`
	Writer  Principal `json:"writer"`
	At      time.Time `json:"at"`
}

// ListQuarantine asks for what was refused of a stack, the newest first.
type ListQuarantine struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
	Paging
}

// Route is where the request goes.
func (ListQuarantine) Route() string { return "GET /v1/stacks/{stack}/quarantine" }

// ShowQuarantined asks for one of those.
type ShowQuarantined struct {
	Quarantined string `path:"quarantined" json:"-" doc:"id of what was refused"`
}

// Route is where the request goes.
func (ShowQuarantined) Route() string { return "GET /v1/quarantine/{quarantined}" }

// DownloadQuarantined asks for the bytes that were refused.
type DownloadQuarantined struct {
	Quarantined string `path:"quarantined" json:"-" doc:"id of what was refused"`
}

// Route is where the request goes.
func (DownloadQuarantined) Route() string { return "GET /v1/quarantine/{quarantined}/state" }

// ImportQuarantined asks that bytes which were refused are the current version. It
// needs the caller's own lock.
type ImportQuarantined struct {
	Quarantined string `path:"quarantined" json:"-" doc:"id of what was refused"`
	Key         string `query:"key" json:"-" doc:"of the lock, if it was taken with one"`
}

// Route is where the request goes.
func (ImportQuarantined) Route() string { return "POST /v1/quarantine/{quarantined}/import" }

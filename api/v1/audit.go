package v1

import "time"

// An AuditEntry is one line of the audit log (docs/audit.md, rule 1).
type AuditEntry struct {
	Sequence  int64             `json:"sequence"`
	At        time.Time         `json:"at"`
	Principal Principal         `json:"principal"`
	Scope     AuditScope        `json:"scope,omitzero"`
	Action    string            `json:"action"`
	Object    string            `json:"object" doc:"id of what it was done to"`
	Outcome   string            `json:"outcome"`
	Detail    map[string]string `json:"detail,omitempty"`
	Previous  string            `json:"previous" doc:"digest of the entry before"`
	Digest    string            `json:"digest"`
}

// An AuditScope is where something happened, by ids.
type AuditScope struct {
	Organisation string `json:"organisation,omitempty"`
	Project      string `json:"project,omitempty"`
	Stack        string `json:"stack,omitempty"`
}

// ListAudit asks for the audit log of an organisation, the newest entry first.
type ListAudit struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
	Paging
}

// Route is where the request goes.
func (ListAudit) Route() string { return "GET /v1/organisations/{organisation}/audit" }

// ExportAudit asks for the whole audit log as JSON Lines, the oldest entry first:
// what `assize audit verify` reads.
type ExportAudit struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
}

// Route is where the request goes.
func (ExportAudit) Route() string { return "GET /v1/organisations/{organisation}/audit/export" }

// An AuditHead is the newest entry of an audit log. Who notes it elsewhere can tell
// later that nothing was cut off (docs/audit.md, rule 5).
type AuditHead struct {
	Sequence int64     `json:"sequence"`
	At       time.Time `json:"at"`
	Digest   string    `json:"digest"`
}

// HeadAudit asks for the head of an audit log.
type HeadAudit struct {
	Organisation string `path:"organisation" json:"-" doc:"name of the organisation"`
}

// Route is where the request goes.
func (HeadAudit) Route() string { return "GET /v1/organisations/{organisation}/audit/head" }

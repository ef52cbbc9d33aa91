package tfc

import (
	"time"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
)

func policySetVersions() []route {
	n := policySetVersionNoun()
	return []route{
		{pattern: "POST /api/v2/policy-sets/{in}/versions", do: createPolicySetVersion},
		{pattern: "GET /api/v2/policy-set-versions/{id}", do: n.read},
	}
}

// A policySetVersionDoc is an archive of policies, uploaded or to come.
type policySetVersionDoc struct {
	ID               string            `jsonapi:"primary,policy-set-versions"`
	Source           string            `jsonapi:"attr,source"`
	Status           string            `jsonapi:"attr,status"`
	StatusTimestamps map[string]string `jsonapi:"attr,status-timestamps"`
	CreatedAt        time.Time         `jsonapi:"attr,created-at,iso8601"`
	UpdatedAt        time.Time         `jsonapi:"attr,updated-at,iso8601"`
	PolicySet        *policySetRef     `jsonapi:"relation,policy-set"`
	upload           string            // the address for it, of those who may
}

// JSONAPILinks is where the archive is uploaded to.
func (d *policySetVersionDoc) JSONAPILinks() *jsonapi.Links { return uploadLink(d.upload) }

// uploadLink is the link of a document to whose address something is uploaded.
func uploadLink(address string) *jsonapi.Links {
	if address == "" {
		return &jsonapi.Links{}
	}
	return &jsonapi.Links{"upload": address}
}

func policySetVersionNoun() noun[policySetVersionDoc, struct{}] {
	return noun[policySetVersionDoc, struct{}]{kind: postgres.PolicySetVersion,
		put:  func(*request, *postgres.Deposit, *struct{}, struct{}, *policySetVersionDoc) error { return nil },
		show: showPolicySetVersion}
}

// createPolicySetVersion needs no document.
func createPolicySetVersion(r *request) (answer, error) {
	doc, err := policySetVersionNoun().keep(r, in("in"), &policySetVersionDoc{}, change{})
	return created(doc), err
}

func showPolicySetVersion(r *request, _ *postgres.View, d postgres.Deposit, _ struct{}) (_ *policySetVersionDoc, err error) {
	doc := &policySetVersionDoc{ID: d.ID, Source: "tfe-api", Status: "pending", CreatedAt: d.Created, UpdatedAt: d.Updated,
		StatusTimestamps: map[string]string{"pending-at": d.Created.Format(time.RFC3339)}, PolicySet: &policySetRef{ID: d.Place}}
	if d.Digest != "" {
		doc.Status, doc.StatusTimestamps["ready-at"] = "ready", d.Updated.Format(time.RFC3339)
		return doc, nil
	}
	doc.upload, err = r.uploadAddress(d)
	return doc, err
}

// uploadAddress is where the archive of a deposit is sent to, for those who may.
func (r *request) uploadAddress(d postgres.Deposit) (string, error) {
	if !d.Changeable {
		return "", nil
	}
	path, err := r.ticketed(control.ToUpload, d.ID, "")
	return r.address(path), err
}

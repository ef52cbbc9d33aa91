package tfc

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func policies() []route {
	n := policyNoun()
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/policies", do: n.list(inOrganisation)},
		{pattern: "POST /api/v2/organizations/{organisation}/policies", do: n.create(inOrganisation)},
		{pattern: "GET /api/v2/policies/{id}", do: n.read},
		{pattern: "PATCH /api/v2/policies/{id}", do: n.update},
		{pattern: "DELETE /api/v2/policies/{id}", do: n.remove},
		{pattern: "PUT /api/v2/policies/{id}/upload", do: uploadPolicy},
		{pattern: "GET /api/v2/policies/{id}/download", do: downloadPolicy},
	}
}

// A policyDoc is a policy. Which kinds are ever judged says docs/protocol.md, rule 21.
type policyDoc struct {
	ID             string           `jsonapi:"primary,policies"`
	Name           *string          `jsonapi:"attr,name"`
	Enforce        []*enforcement   `jsonapi:"attr,enforce"` // an older form of the level
	PolicySetCount int              `jsonapi:"attr,policy-set-count"`
	UpdatedAt      time.Time        `jsonapi:"attr,updated-at,iso8601"`
	Settings       policySettings   `jsonapi:"attr,*"`
	Organisation   *organisationDoc `jsonapi:"relation,organization"`
}

type enforcement struct {
	Path string `jsonapi:"attr,path"`
	Mode string `jsonapi:"attr,mode"`
}

// policySettings are what is kept of a policy beside its name and its text.
type policySettings struct {
	Kind        string  `json:"kind"`
	Query       *string `json:"query"` // of opa alone
	Description string  `json:"description"`
	Level       string  `json:"enforcement-level"`
	Path        string  `json:"path"`
}

type policyRef struct {
	ID string `jsonapi:"primary,policies"`
}

func policyNoun() noun[policyDoc, policySettings] {
	return noun[policyDoc, policySettings]{kind: postgres.Policy, put: putPolicy, show: showPolicy,
		fits: func(q url.Values, doc *policyDoc) bool { return fitsPolicies(q, *doc.Name, doc.Settings.Kind) }}
}

// fitsPolicies reports whether a query asks for a policy or a set of this name and kind.
func fitsPolicies(q url.Values, name, kind string) bool {
	asked := q.Get("filter[kind]")
	return contains(name, q.Get("search[name]")) && (asked == "" || asked == kind)
}

// kindOfPolicies is the kind of a policy or a set of them: what was sent when it was
// new, and never another one.
func kindOfPolicies(was, sent string) (string, error) {
	switch {
	case was != "":
		return was, nil
	case sent == "":
		return "sentinel", nil
	case sent != "opa" && sent != "sentinel":
		return "", invalid("there is no such kind of policies").WithHint("kinds are opa and sentinel")
	}
	return sent, nil
}

func putPolicy(_ *request, d *postgres.Deposit, s *policySettings, was policySettings, sent *policyDoc) (err error) {
	if s.Kind, err = kindOfPolicies(was.Kind, s.Kind); err != nil {
		return err
	}
	set(&d.Name, sent.Name)
	if s.Kind != "opa" {
		s.Query = nil
	}
	if len(sent.Enforce) > 0 {
		s.Path, s.Level = sent.Enforce[0].Path, sent.Enforce[0].Mode
	}
	if s.Path == "" {
		s.Path = d.Name + map[string]string{"opa": ".rego", "sentinel": ".sentinel"}[s.Kind]
	}
	if !slices.Contains([]string{"advisory", "soft-mandatory", "hard-mandatory", "mandatory"}, s.Level) {
		return invalid("the policy has no level of enforcement that there is").
			WithHint("levels are advisory, soft-mandatory, hard-mandatory and mandatory")
	}
	return nil
}

func showPolicy(_ *request, _ *postgres.View, d postgres.Deposit, s policySettings) (*policyDoc, error) {
	doc := &policyDoc{ID: d.ID, Name: &d.Name, Settings: s, PolicySetCount: d.LinkedBy, UpdatedAt: d.Updated,
		Organisation: &organisationDoc{ID: d.OrganisationName}}
	if d.Digest != "" {
		doc.Enforce = []*enforcement{{Path: s.Path, Mode: s.Level}}
	}
	return doc, nil
}

func uploadPolicy(r *request) (answer, error) {
	_, err := r.control.Upload(r.Context(), r.who, postgres.Policy, r.PathValue("id"), r.Body)
	return answer{status: http.StatusOK}, err
}

func downloadPolicy(r *request) (answer, error) {
	return r.download(postgres.Policy, r.PathValue("id"), "application/octet-stream")
}

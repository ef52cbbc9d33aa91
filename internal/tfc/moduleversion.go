package tfc

import (
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/internal/postgres"
)

func moduleVersions() []route {
	return []route{
		{pattern: "POST /api/v2/organizations/{organisation}/registry-modules/{registry}/{namespace}/{name}/{provider}/versions", do: createModuleVersion},
		{pattern: "GET /api/v2/organizations/{organisation}/registry-modules/{registry}/{namespace}/{name}/{provider}/version", do: readModuleVersion},
	}
}

// A moduleVersionDoc is an archive of a module, uploaded or to come.
type moduleVersionDoc struct {
	ID        string                `jsonapi:"primary,registry-module-versions"`
	Source    string                `jsonapi:"attr,source"`
	Status    string                `jsonapi:"attr,status"`
	Version   *string               `jsonapi:"attr,version"`
	CreatedAt string                `jsonapi:"attr,created-at"`
	UpdatedAt string                `jsonapi:"attr,updated-at"`
	Settings  moduleVersionSettings `jsonapi:"attr,*"`
	Module    *moduleRef            `jsonapi:"relation,registry-module"`
	upload    string                // the address for it, of those who may
}

type moduleRef struct {
	ID string `jsonapi:"primary,registry-modules"`
}

// JSONAPILinks is where the archive is uploaded to.
func (d *moduleVersionDoc) JSONAPILinks() *jsonapi.Links { return uploadLink(d.upload) }

type moduleVersionSettings struct {
	CommitSHA *string `json:"commit-sha"`
}

func moduleVersionNoun() noun[moduleVersionDoc, moduleVersionSettings] {
	return noun[moduleVersionDoc, moduleVersionSettings]{kind: postgres.ModuleVersion, put: putModuleVersion, show: showModuleVersion}
}

// semantic is a version as https://semver.org says it.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func putModuleVersion(_ *request, d *postgres.Deposit, _ *moduleVersionSettings, _ moduleVersionSettings, sent *moduleVersionDoc) error {
	if sent.Version == nil || !semantic.MatchString(*sent.Version) || len(*sent.Version) > 128 {
		return invalid("this is no version of a module").WithHint("three numbers such as 1.2.3; docs/protocol.md, rule 27")
	}
	d.Name = *sent.Version
	return nil
}

func showModuleVersion(r *request, _ *postgres.View, d postgres.Deposit, s moduleVersionSettings) (_ *moduleVersionDoc, err error) {
	doc := &moduleVersionDoc{ID: d.ID, Source: "tfe-api", Status: moduleVersionStatus(d), Version: &d.Name, Settings: s,
		CreatedAt: d.Created.Format(time.RFC3339Nano), UpdatedAt: d.Updated.Format(time.RFC3339Nano), Module: &moduleRef{ID: d.Place}}
	doc.upload, err = r.uploadAddress(d)
	return doc, err
}

// moduleVersionStatus is how far a version is.
func moduleVersionStatus(d postgres.Deposit) string {
	if d.Digest == "" {
		return "pending"
	}
	return "ok"
}

// inModule is the module that the path names.
func inModule(r *request, v *postgres.View) (string, error) {
	doc, err := r.namedModule(v)
	if err != nil {
		return "", err
	}
	return doc.ID, nil
}

func createModuleVersion(r *request) (answer, error) { return moduleVersionNoun().create(inModule)(r) }

// namedVersion is the version of the module that the path names.
func (r *request) namedVersion(v *postgres.View, version string) (postgres.Deposit, error) {
	module, err := inModule(r, v)
	if err != nil {
		return postgres.Deposit{}, err
	}
	all, err := v.Deposits(r.Context(), r.who, postgres.ModuleVersion, module)
	for _, d := range all {
		if strings.EqualFold(d.Name, version) {
			return d, err
		}
	}
	if err == nil {
		err = noSuchThing()
	}
	return postgres.Deposit{}, err
}

func readModuleVersion(r *request) (answer, error) {
	// Clients do not escape the plus of 1.0.0+build, which then reads as a space.
	version := strings.ReplaceAll(r.URL.Query().Get("module_version"), " ", "+")
	var doc *moduleVersionDoc
	err := r.view(func(v *postgres.View) error {
		d, err := r.namedVersion(v, version)
		if err != nil {
			return err
		}
		doc, err = moduleVersionNoun().doc(r, v, d)
		return err
	})
	return ok(doc), err
}

func deleteModuleVersion(status int) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		return answer{status: status}, r.update(func(u *postgres.Update) error {
			d, err := r.namedVersion(&u.View, r.PathValue("version"))
			if err != nil {
				return err
			}
			return u.DeleteDeposit(r.Context(), r.who, postgres.ModuleVersion, d.ID)
		})
	}
}

package tfc

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func modules() []route {
	n := moduleNoun()
	const one = "/api/v2/organizations/{organisation}/registry-modules/{registry}/{namespace}/{name}"
	const older = "POST /api/v2/registry-modules/actions/delete/{organisation}/{name}"
	const versionsOrDelete = "POST /api/v2/registry-modules/{organisation}/{name}/{provider}/{last}"
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/registry-modules", do: n.list(inOrganisation)},
		{pattern: "POST /api/v2/organizations/{organisation}/registry-modules", do: n.create(inOrganisation)},
		{pattern: "GET /api/v2/registry-modules/{id}", do: n.read},
		{pattern: "GET " + one + "/{provider}", do: readModule},
		{pattern: "PATCH " + one + "/{provider}", do: updateModule},
		{pattern: "DELETE " + one, do: deleteModules(http.StatusNoContent)},
		{pattern: "DELETE " + one + "/{provider}", do: deleteModules(http.StatusNoContent)},
		{pattern: "DELETE " + one + "/{provider}/{version}", do: deleteModuleVersion(http.StatusNoContent)},
		{pattern: versionsOrDelete, do: createVersionOrDelete},
		{pattern: older + "/{provider}", do: deleteModules(http.StatusOK)},
		{pattern: older + "/{provider}/{version}", do: deleteModuleVersion(http.StatusOK)},
	}
}

// A moduleDoc is a module of the registry of an organisation. Public ones are
// names of modules elsewhere, and nothing more.
type moduleDoc struct {
	ID              string             `jsonapi:"primary,registry-modules"`
	Name            *string            `jsonapi:"attr,name"`
	Provider        *string            `jsonapi:"attr,provider"`
	Namespace       *string            `jsonapi:"attr,namespace"`
	RegistryName    *string            `jsonapi:"attr,registry-name"`
	NoCode          bool               `jsonapi:"attr,no-code"`
	Status          string             `jsonapi:"attr,status"`
	Permissions     *modulePermissions `jsonapi:"attr,permissions"`
	VersionStatuses []*versionStatus   `jsonapi:"attr,version-statuses"`
	VCSRepo         *vcsRepo           `jsonapi:"attr,vcs-repo"`
	CreatedAt       string             `jsonapi:"attr,created-at"`
	UpdatedAt       string             `jsonapi:"attr,updated-at"`
	Organisation    *organisationDoc   `jsonapi:"relation,organization"`
	NoCodeModules   []*noCodeRef       `jsonapi:"relation,no-code-modules"`
}

type modulePermissions struct {
	CanDelete bool `jsonapi:"attr,can-delete"`
	CanResync bool `jsonapi:"attr,can-resync"`
	CanRetry  bool `jsonapi:"attr,can-retry"`
}

type versionStatus struct {
	Version string `jsonapi:"attr,version"`
	Status  string `jsonapi:"attr,status"`
}

type noCodeRef struct {
	ID string `jsonapi:"primary,no-code-modules"`
}

// moduleSettings are what is kept of a module. Its name in the database is all of
// them in one, so that no two are the same.
type moduleSettings struct {
	Registry  string `json:"registry-name"`
	Namespace string `json:"namespace,omitempty"` // of public ones; of others it is the organisation's name
	Name      string `json:"name"`
	Provider  string `json:"provider"`
	NoCode    bool   `json:"no-code"`
}

func (s moduleSettings) key() string {
	return strings.Join([]string{s.Registry, s.Namespace, s.Name, s.Provider}, "/")
}

func moduleNoun() noun[moduleDoc, moduleSettings] {
	return noun[moduleDoc, moduleSettings]{kind: postgres.Module, put: putModule, show: showModule, fits: fitsModule}
}

func fitsModule(q url.Values, doc *moduleDoc) bool {
	equal := func(parameter, value string) bool { return !q.Has(parameter) || q.Get(parameter) == value }
	return contains(*doc.Namespace+"/"+*doc.Name+"/"+*doc.Provider, q.Get("q")) && equal("filter[provider]", *doc.Provider) &&
		equal("filter[registry_name]", *doc.RegistryName) && equal("filter[organization_name]", doc.Organisation.ID)
}

var moduleWord = regexp.MustCompile(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)

func putModule(_ *request, d *postgres.Deposit, s *moduleSettings, was moduleSettings, sent *moduleDoc) error {
	if d.Name != "" { // it stays
		was.NoCode = s.NoCode
		*s = was
		return nil
	}
	if s.Registry == "" {
		s.Registry = "private"
	}
	if s.Registry == "private" {
		s.Namespace = ""
	}
	d.Name = s.key()
	switch {
	case sent.VCSRepo != nil:
		return invalid("modules of a repository are not fetched from here").WithHint("upload a version of the module")
	case s.Registry != "private" && s.Registry != "public":
		return invalid("there is no such registry").WithHint("private, or public")
	case !moduleWord.MatchString(s.Name) || !moduleWord.MatchString(s.Provider) || s.Registry == "public" && !moduleWord.MatchString(s.Namespace):
		return invalid("a name of the module holds another character, or is too long").
			WithHint("1 to 64 letters and digits, with - and _ between them")
	}
	return nil
}

func showModule(r *request, v *postgres.View, d postgres.Deposit, s moduleSettings) (*moduleDoc, error) {
	doc := &moduleDoc{ID: d.ID, Name: &s.Name, Provider: &s.Provider, Namespace: &s.Namespace, RegistryName: &s.Registry, NoCode: s.NoCode,
		Status: "pending", Permissions: &modulePermissions{CanDelete: d.Changeable, CanResync: d.Changeable, CanRetry: d.Changeable},
		CreatedAt: d.Created.Format(time.RFC3339Nano), UpdatedAt: d.Updated.Format(time.RFC3339Nano),
		Organisation: &organisationDoc{ID: d.OrganisationName}}
	if s.Registry == "private" {
		doc.Namespace = &d.OrganisationName
	}
	if s.NoCode {
		doc.NoCodeModules = []*noCodeRef{{ID: "nocode_" + strings.TrimPrefix(d.ID, string(postgres.Module))}}
	}
	versions, err := v.Deposits(r.Context(), r.who, postgres.ModuleVersion, d.ID)
	for _, version := range versions {
		status := moduleVersionStatus(version)
		doc.VersionStatuses = append(doc.VersionStatuses, &versionStatus{Version: version.Name, Status: status})
		if status == "ok" {
			doc.Status = "setup_complete"
		}
	}
	return doc, err
}

// namedModules are those that the path names by what it holds: the provider and
// the registry may be left out in an older form.
func (r *request) namedModules(v *postgres.View) ([]*moduleDoc, error) {
	o, err := r.organisation(v)
	if err != nil {
		return nil, err
	}
	found, err := v.Deposits(r.Context(), r.who, postgres.Module, o.ID)
	if err != nil {
		return nil, err
	}
	var docs []*moduleDoc
	for _, d := range found {
		doc, err := moduleNoun().doc(r, v, d)
		if err != nil {
			return nil, err
		}
		if r.names("registry", *doc.RegistryName) && r.names("namespace", *doc.Namespace) &&
			r.names("name", *doc.Name) && r.names("provider", *doc.Provider) {
			docs = append(docs, doc)
		}
	}
	if len(docs) == 0 {
		return nil, noSuchThing()
	}
	return docs, nil
}

// names reports whether a part of the path is this, or not there.
func (r *request) names(part, value string) bool {
	said := r.PathValue(part)
	return said == "" || strings.EqualFold(said, value)
}

// namedModule is the one module that a path with all names is about.
func (r *request) namedModule(v *postgres.View) (*moduleDoc, error) {
	docs, err := r.namedModules(v)
	if err != nil {
		return nil, err
	}
	return docs[0], nil
}

func readModule(r *request) (answer, error) {
	var doc *moduleDoc
	err := r.view(func(v *postgres.View) (err error) {
		doc, err = r.namedModule(v)
		return err
	})
	return ok(doc), err
}

func updateModule(r *request) (answer, error) {
	return moduleNoun().change(r, func(v *postgres.View) (string, error) { return inModule(r, v) })
}

// createVersionOrDelete tells apart two older paths of the same length:
// ORGANISATION/NAME/PROVIDER/versions and actions/delete/ORGANISATION/NAME.
func createVersionOrDelete(r *request) (answer, error) {
	last := r.PathValue("last")
	switch {
	case last == "versions":
		return createModuleVersion(r)
	case r.PathValue("organisation") == "actions" && r.PathValue("name") == "delete":
		r.SetPathValue("organisation", r.PathValue("provider"))
		r.SetPathValue("name", last)
		r.SetPathValue("provider", "")
		return deleteModules(http.StatusOK)(r)
	}
	return answer{}, noSuchThing()
}

// deleteModules deletes every module that the path names, with all versions.
func deleteModules(status int) func(*request) (answer, error) {
	return func(r *request) (answer, error) {
		return answer{status: status}, r.update(func(u *postgres.Update) error {
			docs, err := r.namedModules(&u.View)
			for _, doc := range docs {
				if err := u.DeleteDeposit(r.Context(), r.who, postgres.Module, doc.ID); err != nil {
					return err
				}
			}
			return err
		})
	}
}

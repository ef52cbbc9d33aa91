package tfc

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func oauthClients() []route {
	n := oauthClientNoun()
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/oauth-clients", do: n.list(inOrganisation)},
		{pattern: "POST /api/v2/organizations/{organisation}/oauth-clients", do: createOAuthClient},
		{pattern: "GET /api/v2/oauth-clients/{id}", do: n.read},
		{pattern: "PATCH /api/v2/oauth-clients/{id}", do: n.update},
		{pattern: "DELETE /api/v2/oauth-clients/{id}", do: n.remove},
		{pattern: "POST /api/v2/oauth-clients/{id}/relationships/projects", do: n.link("projects", "projects")},
		{pattern: "DELETE /api/v2/oauth-clients/{id}/relationships/projects", do: n.unlink("projects", "projects")},
	}
}

// An oauthClientDoc says how a host of repositories would be reached. What is
// secret of it is sent and never shown.
type oauthClientDoc struct {
	ID                  string              `jsonapi:"primary,oauth-clients"`
	OAuthToken          *string             `jsonapi:"attr,oauth-token-string,omitempty"`
	Secret              *string             `jsonapi:"attr,secret"`
	PrivateKey          *string             `jsonapi:"attr,private-key,omitempty"`
	ServiceProviderName string              `jsonapi:"attr,service-provider-display-name"`
	CreatedAt           time.Time           `jsonapi:"attr,created-at,iso8601"`
	Settings            oauthClientSettings `jsonapi:"attr,*"`
	Organisation        *organisationDoc    `jsonapi:"relation,organization"`
	OAuthTokens         []*oauthTokenRef    `jsonapi:"relation,oauth-tokens"`
	Projects            []*projectRef       `jsonapi:"relation,projects"`
}

type oauthTokenRef struct {
	ID string `jsonapi:"primary,oauth-tokens"`
}

// oauthClientSettings are what is kept of a client beside its secrets.
type oauthClientSettings struct {
	Name               *string `json:"name"`
	APIURL             string  `json:"api-url"`
	HTTPURL            string  `json:"http-url"`
	Key                string  `json:"key"`
	RSAPublicKey       string  `json:"rsa-public-key"`
	ServiceProvider    string  `json:"service-provider"`
	OrganisationScoped *bool   `json:"organization-scoped"`
}

// serviceProviders are the hosts of repositories and their names.
func serviceProviders() map[string]string {
	return map[string]string{"ado_server": "Azure DevOps Server", "ado_services": "Azure DevOps Services",
		"bitbucket_data_center": "Bitbucket Data Center", "bitbucket_hosted": "Bitbucket Cloud",
		"bitbucket_server": "Bitbucket Server", "bitbucket_server_legacy": "Bitbucket Server",
		"github": "GitHub", "github_enterprise": "GitHub Enterprise", "gitlab_hosted": "GitLab",
		"gitlab_community_edition": "GitLab Community Edition", "gitlab_enterprise_edition": "GitLab Enterprise Edition"}
}

func oauthClientNoun() noun[oauthClientDoc, oauthClientSettings] {
	return noun[oauthClientDoc, oauthClientSettings]{kind: postgres.OAuthClient, put: putOAuthClient, show: showOAuthClient}
}

// createOAuthClient leaves out projects that are not of the organisation, as the
// clients expect: the fewer projects may use it, the less it reaches.
func createOAuthClient(r *request) (answer, error) {
	var sent oauthClientDoc
	settings, err := r.decodeChange(&sent)
	if err != nil {
		return answer{}, err
	}
	err = r.view(func(v *postgres.View) error {
		o, err := r.organisation(v)
		if err != nil {
			return err
		}
		there, err := v.Projects(r.Context(), r.who, o.ID)
		sent.Projects = slices.DeleteFunc(sent.Projects, func(ref *projectRef) bool {
			return !slices.ContainsFunc(there, func(p postgres.Project) bool { return p.ID == ref.ID })
		})
		return err
	})
	if err != nil {
		return answer{}, err
	}
	doc, err := oauthClientNoun().keep(r, inOrganisation, &sent, settings)
	return created(doc), err
}

func putOAuthClient(r *request, d *postgres.Deposit, s *oauthClientSettings, was oauthClientSettings, sent *oauthClientDoc) error {
	if was.ServiceProvider != "" {
		s.ServiceProvider = was.ServiceProvider
	}
	for name, secret := range map[string]*string{"token": sent.OAuthToken, "secret": sent.Secret, "private_key": sent.PrivateKey} {
		if secret == nil {
			continue
		}
		if err := r.control.Seal(r.Context(), d, name, *secret); err != nil {
			return err
		}
	}
	d.Links["projects"] = ids(d.Links["projects"], sent.Projects, func(r *projectRef) string { return r.ID })
	return s.check(d)
}

// check refuses a client that could reach nothing.
func (s oauthClientSettings) check(d *postgres.Deposit) error {
	bitbucket := slices.Contains([]string{"bitbucket_server", "bitbucket_data_center"}, s.ServiceProvider)
	switch {
	case serviceProviders()[s.ServiceProvider] == "":
		return invalid("there is no such service provider")
	case !isAddress(s.APIURL) || !isAddress(s.HTTPURL):
		return invalid("api-url and http-url are addresses that begin with https:// or http://, with no password in them")
	case d.Secrets["token"] == nil && !bitbucket:
		return invalid("the token of the service provider is missing")
	case d.Secrets["secret"] != nil && bitbucket && s.Key == "":
		return invalid("the consumer key of the service provider is missing")
	}
	return nil
}

// isAddress reports whether text is an absolute address of the web that holds no
// password: addresses are shown.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && len(text) <= 2048
}

func showOAuthClient(_ *request, _ *postgres.View, d postgres.Deposit, s oauthClientSettings) (*oauthClientDoc, error) {
	if s.OrganisationScoped == nil {
		whole := true
		s.OrganisationScoped = &whole
	}
	doc := &oauthClientDoc{ID: d.ID, ServiceProviderName: serviceProviders()[s.ServiceProvider], CreatedAt: d.Created, Settings: s,
		Organisation: &organisationDoc{ID: d.OrganisationName},
		Projects:     refs(d.Links["projects"], func(id string) *projectRef { return &projectRef{ID: id} })}
	if d.Secrets["token"] != nil {
		doc.OAuthTokens = []*oauthTokenRef{{ID: "ot_" + strings.TrimPrefix(d.ID, string(postgres.OAuthClient))}}
	}
	return doc, nil
}

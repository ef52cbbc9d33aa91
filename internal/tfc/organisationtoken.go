package tfc

import (
	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// ownOrganisation is the id of the organisation that the path names. There is one
// sort of token of it; to make another one than was asked for could give more.
func (r *request) ownOrganisation(v *postgres.View) (string, error) {
	if kind := r.URL.Query().Get("token"); kind != "" && kind != "organization" {
		return "", problem.New(api.Invalid, "an organisation has no tokens of this kind").WithHint("leave the parameter token out")
	}
	o, err := r.organisation(v)
	return o.ID, err
}

func readOrganisationToken(r *request) (answer, error) { return r.readSingle(r.ownOrganisation) }
func deleteOrganisationToken(r *request) (answer, error) {
	return r.deleteSingle(r.ownOrganisation)
}

func createOrganisationToken(r *request) (answer, error) {
	wish, err := r.tokenWish()
	if err != nil {
		return answer{}, err
	}
	return r.makeToken(func(v *postgres.View) (postgres.TokenRequest, error) {
		id, err := r.ownOrganisation(v)
		asked := wish.request(id)
		asked.Single, asked.Description, asked.Role = true, "", identity.Owner
		return asked, err
	})
}

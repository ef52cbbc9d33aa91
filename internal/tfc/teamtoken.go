package tfc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
)

// ownTeam is the id of the team that the path names.
func (r *request) ownTeam(*postgres.View) (string, error) {
	id := r.PathValue("team")
	if !identity.IsID(identity.TeamID, id) {
		return "", noSuchThing()
	}
	return id, nil
}

func readTeamToken(r *request) (answer, error)   { return r.readSingle(r.ownTeam) }
func deleteTeamToken(r *request) (answer, error) { return r.deleteSingle(r.ownTeam) }

func createTeamToken(r *request) (answer, error) {
	wish, err := r.tokenWish()
	if err != nil {
		return answer{}, err
	}
	return r.makeToken(func(v *postgres.View) (postgres.TokenRequest, error) {
		id, err := r.ownTeam(v)
		asked := wish.request(id)
		asked.Single, asked.Description = true, ""
		return asked, err
	})
}

func createNamedTeamToken(r *request) (answer, error) {
	wish, err := r.tokenWish()
	if err != nil {
		return answer{}, err
	}
	return r.makeToken(func(v *postgres.View) (postgres.TokenRequest, error) {
		id, err := r.ownTeam(v)
		if err != nil {
			return postgres.TokenRequest{}, err
		}
		return wish.request(id), r.free(v, id, wish)
	})
}

// free refuses a description that another token of the team has. The words are
// those for which clients look.
func (r *request) free(v *postgres.View, team string, wish tokenWish) error {
	if wish.Description == nil || *wish.Description == "" {
		return nil
	}
	all, err := v.Tokens(r.Context(), r.who, team)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(t identity.Credential) bool { return t.Description == *wish.Description }) {
		return said{title: "invalid attributes", problem: problem.New(api.Invalid, "Validation failed: Description has already been taken")}
	}
	return nil
}

func listTokensOfTeam(r *request) (answer, error) {
	return r.listTokens(func(v *postgres.View) ([]identity.Credential, error) {
		id, err := r.ownTeam(v)
		if err != nil {
			return nil, err
		}
		return v.Tokens(r.Context(), r.who, id)
	})
}

func listTeamTokens(r *request) (answer, error) {
	return r.listTokens(func(v *postgres.View) ([]identity.Credential, error) {
		o, err := r.organisation(v)
		if err != nil {
			return nil, err
		}
		all, err := v.TeamTokens(r.Context(), r.who, o.ID)
		if err != nil {
			return nil, err
		}
		teams, err := v.Teams(r.Context(), r.who, o.ID)
		if err != nil {
			return nil, err
		}
		names := map[string]string{}
		for _, t := range teams {
			names[t.ID] = t.Name
		}
		all = slices.DeleteFunc(all, func(t identity.Credential) bool { return !contains(names[t.Owner], r.URL.Query().Get("q")) })
		sortTokens(all, names, r.URL.Query().Get("sort"))
		return all, nil
	})
}

// sortTokens puts tokens in the order that a client wants. Those that are alike
// stay in the order in which they were made.
func sortTokens(all []identity.Credential, teams map[string]string, by string) {
	by, down := strings.CutPrefix(by, "-")
	var compare func(a, b identity.Credential) int
	switch by {
	case "team-name":
		compare = func(a, b identity.Credential) int { return cmp.Compare(teams[a.Owner], teams[b.Owner]) }
	case "created-by":
		compare = func(a, b identity.Credential) int { return cmp.Compare(a.CreatedBy, b.CreatedBy) }
	case "expired-at":
		compare = func(a, b identity.Credential) int { return a.Expires.Compare(b.Expires) }
	case "last-used-at":
		compare = func(a, b identity.Credential) int { return a.Used.Compare(b.Used) }
	default:
		return
	}
	slices.SortStableFunc(all, func(a, b identity.Credential) int {
		if down {
			return compare(b, a)
		}
		return compare(a, b)
	})
}

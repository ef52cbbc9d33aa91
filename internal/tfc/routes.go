package tfc

import (
	"net/http"
	"slices"
)

// What the clients look for in the headers of an answer. Without the second, a
// client that streams structured output shows no plan at all; it must look like
// a version of Terraform Enterprise.
const (
	apiVersion = "2.6"
	tfeVersion = "v202501-1"
)

// snapshotSeconds is how often a client with a cloud block shall write the state while
// it applies: as often as the clients do by themselves with all that is no cloud block.
// Unless it is told, such a client writes at the end alone (docs/state.md, rule 15).
const snapshotSeconds = "20"

// routes are all that a client can ask for.
func routes() []route {
	return slices.Concat(
		[]route{
			{pattern: "GET /api/v2/ping", do: ping, open: true},
			{pattern: "GET /.well-known/terraform.json", do: discover, open: true},
		},
		organisations(),
		projects(),
		workspaces(),
		tags(),
		consumers(),
		locks(),
		stateVersions(),
		outputs(),
		resources(),
		users(),
		teams(),
		members(),
		memberships(),
		teamAccesses(),
		teamProjectAccesses(),
		tokens(),
		variables(),
		variableSets(),
		sshKeys(),
		runTriggers(),
		agentPools(),
		agentTokens(),
		configurations(),
		policies(), policySets(), policySetParameters(), policySetVersions(),
		oauthClients(), notifications(),
		modules(), moduleVersions(), registry(), objects(),
	)
}

func ping(*request) (answer, error) { return noContent(), nil }

// discover says where the protocols of this host are; a client resolves the paths
// against the address that it came by.
func discover(*request) (answer, error) {
	return answer{stream: func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"tfe.v2": "/api/v2/", "tfe.v2.1": "/api/v2/", "tfe.v2.2": "/api/v2/", "state.v2": "/api/v2/", ` +
			`"modules.v1": "` + modulesPath + `", "login.v1": {"client": "tofu", "grant_types": ["authz_code"], "authz": "/oauth/authorize", "token": "/oauth/token", "ports": [10000, 10010]}}` + "\n"))
		return err
	}}, nil
}

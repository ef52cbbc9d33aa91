package tfc

import (
	"encoding/json"
	"net/http"

	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
)

// registry is the protocol by which the clients find modules. The namespace is the
// name of the organisation (docs/protocol.md, rule 28).
func registry() []route {
	const one = "GET " + modulesPath + "{organisation}/{name}/{provider}"
	return []route{
		{pattern: one + "/versions", do: listVersions},
		{pattern: one + "/{version}/download", do: downloadVersion},
	}
}

// modulesPath is where clients find modules.
const modulesPath = "/api/registry/v1/modules/"

// listVersions answers with the versions that were uploaded. The registry that a
// path of this protocol is about is the private one.
func listVersions(r *request) (answer, error) {
	type version struct {
		Version string `json:"version"`
	}
	versions := []version{}
	err := r.view(func(v *postgres.View) error {
		r.SetPathValue("registry", "private")
		module, err := inModule(r, v)
		if err != nil {
			return err
		}
		all, err := v.Deposits(r.Context(), r.who, postgres.ModuleVersion, module)
		for _, d := range all {
			if d.Digest != "" {
				versions = append(versions, version{d.Name})
			}
		}
		return err
	})
	body := map[string]any{"modules": []any{map[string]any{"versions": versions}}}
	return answer{stream: func(w http.ResponseWriter) error {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(body)
	}}, err
}

// downloadVersion answers with the address of an archive, which the client asks
// for without its token.
func downloadVersion(r *request) (answer, error) {
	var found postgres.Deposit
	err := r.view(func(v *postgres.View) (err error) {
		r.SetPathValue("registry", "private")
		if found, err = r.namedVersion(v, r.PathValue("version")); err == nil && found.Digest == "" {
			err = noSuchThing()
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	path, err := r.ticketed(control.ToDownload, found.ID, "/archive.tar.gz")
	return answer{stream: func(w http.ResponseWriter) error {
		w.Header().Set("X-Terraform-Get", path)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}}, err
}

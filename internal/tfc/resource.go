package tfc

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

func resources() []route {
	return []route{{pattern: "GET /api/v2/workspaces/{workspace}/resources", do: listResources}}
}

// A resourceDoc is an instance of a resource in the current state.
type resourceDoc struct {
	ID           string    `jsonapi:"primary,resources"`
	Address      string    `jsonapi:"attr,address"`
	Name         string    `jsonapi:"attr,name"`
	CreatedAt    time.Time `jsonapi:"attr,created-at,iso8601"`
	UpdatedAt    time.Time `jsonapi:"attr,updated-at,iso8601"`
	Module       string    `jsonapi:"attr,module"`
	Provider     string    `jsonapi:"attr,provider"`
	ProviderType string    `jsonapi:"attr,provider-type"`
	ModifiedBy   string    `jsonapi:"attr,modified-by-state-version-id"`
	NameIndex    *string   `jsonapi:"attr,name-index"`
}

// listResources lists the instances of managed resources. A workspace without a
// state has none.
func listResources(r *request) (answer, error) {
	p := r.paging()
	found, v, err := r.control.Resources(r.Context(), r.who, r.PathValue("workspace"))
	if problem.Code(err) == api.NotFound {
		err = r.view(func(view *postgres.View) error {
			_, err := view.Stack(r.Context(), r.who, r.PathValue("workspace"))
			return err
		})
	}
	if err != nil {
		return answer{}, err
	}
	docs := []*resourceDoc{}
	for _, o := range found {
		if o.Mode != "managed" {
			continue
		}
		for _, key := range o.Keys {
			docs = append(docs, newResourceDoc(v, len(docs), o, key))
		}
	}
	return listed(part(docs, &p), p), nil
}

// newResourceDoc is the instance of a resource with this key. A module's address
// stands there as Terraform Cloud writes it: without the word "module".
func newResourceDoc(v postgres.StateVersion, place int, o state.Resource, key json.RawMessage) *resourceDoc {
	d := &resourceDoc{ID: fmt.Sprintf("res_%s_%d", strings.TrimPrefix(v.ID, state.VersionID), place), Name: o.Name,
		CreatedAt: v.Created, UpdatedAt: v.Created, Module: strings.ReplaceAll(o.Module, "module.", ""),
		Provider: providerName(o.Provider), ProviderType: o.Type, ModifiedBy: v.ID}
	d.Address = o.Type + "." + o.Name
	if d.Module == "" {
		d.Module = "root"
	} else {
		d.Address = d.Module + "." + d.Address
	}
	if string(key) != "null" {
		index := string(key)
		d.NameIndex, d.Address = &index, d.Address+"["+index+"]"
	}
	return d
}

var providerAddress = regexp.MustCompile(`provider\["[^"/]+/([^"]+)"\]`)

// providerName is the address of a provider in a state without its host.
func providerName(address string) string {
	if m := providerAddress.FindStringSubmatch(address); m != nil {
		return m[1]
	}
	return address
}

package tfc

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

func outputs() []route {
	return []route{
		{pattern: "GET /api/v2/state-versions/{version}/outputs", do: listOutputs},
		{pattern: "GET /api/v2/workspaces/{workspace}/current-state-version-outputs", do: currentOutputs},
		{pattern: "GET /api/v2/state-version-outputs/{output}", do: readOutput},
	}
}

// An outputDoc is an output of a version.
type outputDoc struct {
	ID        string `jsonapi:"primary,state-version-outputs"`
	Name      string `jsonapi:"attr,name"`
	Sensitive bool   `jsonapi:"attr,sensitive"`
	Type      string `jsonapi:"attr,type"`
	Value     any    `jsonapi:"attr,value"`
	// DetailedType is the type as the tools write it. Where it is null, as it is when
	// the state is encrypted, the clients read the whole state instead.
	DetailedType any `jsonapi:"attr,detailed-type"`
}

// The id of an output says where it is: the version, and the place in it.
const outputPrefix = "out_"

func outputID(version string, place int) string {
	return outputPrefix + strings.TrimPrefix(version, state.VersionID) + "_" + strconv.Itoa(place)
}

func outputAt(id string) (version string, place int, ok bool) {
	version, digits, _ := strings.Cut(strings.TrimPrefix(id, outputPrefix), "_")
	place, err := strconv.Atoi(digits)
	version = state.VersionID + version
	return version, place, err == nil && place >= 0 && outputID(version, place) == id
}

// newOutputDoc is an output, without its value when that is to stay hidden.
func newOutputDoc(version string, place int, o state.Output, hide bool) *outputDoc {
	d := &outputDoc{ID: outputID(version, place), Name: o.Name, Sensitive: o.Sensitive, Type: simpleType(o.Type)}
	if len(o.Type) > 0 {
		d.DetailedType = o.Type
	}
	if len(o.Value) > 0 && !hide {
		d.Value = o.Value
	}
	return d
}

// simpleType is a type in one word: "string", "number", "bool", "array" or "map".
func simpleType(detailed json.RawMessage) string {
	var word string
	if json.Unmarshal(detailed, &word) == nil {
		return word
	}
	var parts []json.RawMessage
	if json.Unmarshal(detailed, &parts) != nil || len(parts) == 0 || json.Unmarshal(parts[0], &word) != nil {
		return ""
	}
	if slices.Contains([]string{"list", "set", "tuple"}, word) {
		return "array"
	}
	return "map"
}

// outputDocs are the outputs of a version that the client may read. Sensitive values are
// for whoever may read the state, and for nobody with hide.
func (r *request) outputDocs(version string, hide bool) ([]*outputDoc, error) {
	found, err := r.control.Outputs(r.Context(), r.who, version)
	docs := []*outputDoc{}
	for i, o := range found {
		docs = append(docs, newOutputDoc(version, i, o, hide && o.Sensitive))
	}
	return docs, err
}

func listOutputs(r *request) (answer, error) {
	docs, err := r.outputDocs(r.PathValue("version"), false)
	p := r.paging()
	return listed(part(docs, &p), p), err
}

// currentOutputs are all outputs in one page: the clients turn none. A workspace
// without a state has none.
func currentOutputs(r *request) (answer, error) {
	var v postgres.StateVersion
	var none bool
	err := r.view(func(view *postgres.View) (err error) {
		if v, err = view.CurrentOutputs(r.Context(), r.who, r.PathValue("workspace")); problem.Code(err) == api.NotFound {
			_, err = view.Stack(r.Context(), r.who, r.PathValue("workspace"))
			none = err == nil
		}
		return err
	})
	if err != nil || none {
		return ok([]*outputDoc{}), err
	}
	docs, err := r.outputDocs(v.ID, true)
	return ok(docs), err
}

func readOutput(r *request) (answer, error) {
	version, place, found := outputAt(r.PathValue("output"))
	if !found {
		return answer{}, noSuchThing()
	}
	o, err := r.control.Output(r.Context(), r.who, version, place)
	return ok(newOutputDoc(version, place, o, false)), err
}

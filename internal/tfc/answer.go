package tfc

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/jsonapi"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const mediaType = "application/vnd.api+json"

// An answer is what a client gets.
type answer struct {
	status int
	doc    any   // a document, or a slice of documents; nil for no body
	page   *page // of a list
	// with are relations whose documents come along without being asked for.
	with []string
	// stream writes an answer that is no document, headers and all.
	stream func(http.ResponseWriter) error
}

func ok(doc any) answer      { return answer{status: http.StatusOK, doc: doc} }
func created(doc any) answer { return answer{status: http.StatusCreated, doc: doc} }
func noContent() answer      { return answer{status: http.StatusNoContent} }

// listed is one page of a list. Every list has an order that does not change while
// somebody turns its pages.
func listed[T any](docs []*T, p page) answer {
	if docs == nil {
		docs = []*T{}
	}
	return answer{status: http.StatusOK, doc: docs, page: &p}
}

// unpaged is a list without a word about pages.
func (a answer) unpaged() answer {
	a.page = nil
	return a
}

// write sends an answer. After an error nothing was sent yet.
func (a answer) write(w http.ResponseWriter, r *request) error {
	if a.doc == nil {
		w.WriteHeader(a.status)
		return nil
	}
	body, err := a.encode(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // nobody is left to be told
	return nil
}

// encode is the JSON:API document, with those related documents that the client
// has asked to be included.
func (a answer) encode(r *request) ([]byte, error) {
	payload, err := jsonapi.Marshal(a.doc)
	if err != nil {
		return nil, err
	}
	wanted := append(r.include(), a.with...)
	spread(payload)
	switch p := payload.(type) {
	case *jsonapi.OnePayload:
		p.Included = included([]*jsonapi.Node{p.Data}, p.Included, wanted)
	case *jsonapi.ManyPayload:
		p.Included = included(p.Data, p.Included, wanted)
		if a.page != nil {
			p.Meta = &jsonapi.Meta{"pagination": a.page.meta()}
		}
	}
	return json.Marshal(payload)
}

// settings is the name of an attribute that is an object whose members are
// attributes of the document: jsonapi:"attr,*".
const settings = "*"

// spread puts the settings of all documents where clients look for them. What a
// document has an attribute of its own for, that attribute says. And it takes away
// links that are none.
func spread(payload jsonapi.Payloader) {
	var nodes []*jsonapi.Node
	switch p := payload.(type) {
	case *jsonapi.OnePayload:
		nodes = slices.Concat(p.Included, []*jsonapi.Node{p.Data})
	case *jsonapi.ManyPayload:
		nodes = slices.Concat(p.Included, p.Data)
	}
	for _, n := range nodes {
		if n.Links != nil && len(*n.Links) == 0 {
			n.Links = nil
		}
		if object, ok := n.Attributes[settings]; ok {
			delete(n.Attributes, settings)
			addMembers(n.Attributes, reflect.ValueOf(object))
		}
	}
}

// addMembers adds the fields of a struct to attributes, but for what these say
// already, under the names that they have in JSON.
func addMembers(attributes map[string]any, object reflect.Value) {
	for i := range object.NumField() {
		field, value := object.Type().Field(i), object.Field(i)
		if field.Anonymous {
			addMembers(attributes, value)
			continue
		}
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, own := attributes[name]; own || option == "omitempty" && value.IsZero() {
			continue
		}
		attributes[name] = value.Interface()
	}
}

// include are the relations whose documents a client wants in the same answer,
// such as "organization" and "current_run.plan".
func (r *request) include() []string {
	list := r.URL.Query().Get("include")
	if list == "" {
		return nil
	}
	return strings.Split(strings.ReplaceAll(list, "-", "_"), ",")
}

// checkInclude refuses to include what is no relation of what is asked for. The words
// are those for which clients look.
func (r *request) checkInclude(relations ...string) error {
	for _, name := range r.include() {
		if !slices.Contains(relations, name) {
			return said{title: "bad request", status: http.StatusBadRequest, problem: problem.New(api.Invalid,
				"the include parameter names no relation").WithHint("there are: %s", strings.Join(relations, ", "))}
		}
	}
	return nil
}

// included keeps of all related documents those on the wanted paths. The encoder
// includes every one that it comes across, also what is only a reference.
func included(from, all []*jsonapi.Node, wanted []string) []*jsonapi.Node {
	keep := map[[2]string]bool{}
	for _, path := range wanted {
		nodes := from
		for name := range strings.SplitSeq(path, ".") {
			nodes = related(nodes, all, name)
			for _, n := range nodes {
				keep[[2]string{n.Type, n.ID}] = true
			}
		}
	}
	// What has no attributes is no document, but points to one.
	return slices.DeleteFunc(all, func(n *jsonapi.Node) bool { return len(n.Attributes) == 0 || !keep[[2]string{n.Type, n.ID}] })
}

// related are the documents to which nodes are related by this name.
func related(nodes, all []*jsonapi.Node, name string) []*jsonapi.Node {
	var found []*jsonapi.Node
	for _, n := range nodes {
		for relation, to := range n.Relationships {
			if strings.ReplaceAll(relation, "-", "_") != name {
				continue
			}
			for _, id := range identifiers(to) {
				i := slices.IndexFunc(all, func(n *jsonapi.Node) bool { return n.Type == id.Type && n.ID == id.ID })
				if i >= 0 {
					found = append(found, all[i])
				}
			}
		}
	}
	return found
}

// identifiers are what a relation points to.
func identifiers(relation any) []*jsonapi.Node {
	switch r := relation.(type) {
	case *jsonapi.RelationshipOneNode:
		if r.Data != nil {
			return []*jsonapi.Node{r.Data}
		}
	case *jsonapi.RelationshipManyNode:
		return r.Data
	}
	return nil
}

package tfc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/control"
	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/state"
)

func stateVersions() []route {
	const version = "/api/v2/state-versions/{version}"
	return []route{
		{pattern: "POST /api/v2/workspaces/{workspace}/state-versions", do: createStateVersion},
		{pattern: "PATCH /api/v2/workspaces/{workspace}/state-versions", do: rollbackState},
		{pattern: "GET /api/v2/workspaces/{workspace}/current-state-version", do: currentStateVersion},
		{pattern: "GET /api/v2/state-versions", do: listStateVersions},
		{pattern: "GET " + version, do: readStateVersion},
		{pattern: "GET " + version + "/download", do: downloadState},
		{pattern: "GET " + version + "/json-download", do: downloadStateJSON},
		{pattern: "PUT /api/v2/state-uploads/{secret}", do: uploadState, open: true},
	}
}

// stateDocumentMax is the size of a document that holds a state, in bytes. A state
// of 32 MiB fits into it twice, in base64: as it is, and as JSON for others.
const stateDocumentMax = 96 << 20

// lightMax is the size of a document of which any number may be in memory, in bytes.
const lightMax = 2 << 20

// A stateVersionDoc is a version of the state of a workspace.
type stateVersionDoc struct {
	ID               string       `jsonapi:"primary,state-versions"`
	CreatedAt        time.Time    `jsonapi:"attr,created-at,iso8601"`
	Status           string       `jsonapi:"attr,status"`
	Serial           int64        `jsonapi:"attr,serial"`
	Lineage          string       `jsonapi:"attr,lineage"`
	Size             int64        `jsonapi:"attr,size"`
	Download         string       `jsonapi:"attr,hosted-state-download-url,omitempty"`
	JSONDownload     string       `jsonapi:"attr,hosted-json-state-download-url,omitempty"`
	Upload           string       `jsonapi:"attr,hosted-state-upload-url,omitempty"`
	JSONUpload       string       `jsonapi:"attr,hosted-json-state-upload-url,omitempty"`
	Intermediate     bool         `jsonapi:"attr,intermediate"`
	Processed        bool         `jsonapi:"attr,resources-processed"`
	Format           int          `jsonapi:"attr,state-version"`
	TerraformVersion string       `jsonapi:"attr,terraform-version"`
	RollbackOf       string       `jsonapi:"attr,rollback-of,omitempty"`
	CreatedBy        *lockingUser `jsonapi:"relation,created-by"`
	Outputs          []*outputDoc `jsonapi:"relation,outputs"`
}

// outputsShown is to how many outputs a version points. They are listed all at another
// address; a page of versions must not be as large as all outputs of a hundred.
const outputsShown = 1000

// newStateVersionDoc is the same whoever asks: what may be downloaded is asked then.
func (r *request) newStateVersionDoc(v postgres.StateVersion) *stateVersionDoc {
	d := &stateVersionDoc{ID: v.ID, CreatedAt: v.Created, Status: string(v.Status), Serial: v.Serial, Lineage: v.Lineage, Size: v.Size,
		Intermediate: v.Intermediate, Format: v.Format, TerraformVersion: v.Tool, RollbackOf: v.CopyOf,
		CreatedBy: &lockingUser{ID: v.Writer.ID, Username: v.Writer.Name}}
	if v.Status != state.Finalized {
		return d
	}
	d.Processed = true
	d.Download = r.address("/api/v2/state-versions/" + v.ID + "/download")
	if v.JSON != "" {
		d.JSONDownload = r.address("/api/v2/state-versions/" + v.ID + "/json-download")
	}
	for i := range min(v.Kept.Outputs, outputsShown) {
		d.Outputs = append(d.Outputs, &outputDoc{ID: outputID(v.ID, i)})
	}
	return d
}

// address is where a path of this server is, for the client that asks: some of
// them resolve no relative one.
func (r *request) address(path string) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host + path
}

// A newStateDoc is what a client says of a version that it wants to write. It is read
// without what the library for JSON:API makes of a document, which is many times as
// large as it, and has serials as floating-point numbers.
type newStateDoc struct {
	Serial       *int64  `json:"serial"`
	MD5          *string `json:"md5"`
	Lineage      string  `json:"lineage"`
	Force        bool    `json:"force"`
	Intermediate bool    `json:"intermediate"`
	State        *string `json:"state"`              // base64
	JSON         string  `json:"json-state"`         // base64
	Outputs      string  `json:"json-state-outputs"` // base64
}

func decodeNewState(data []byte) (newStateDoc, error) {
	var body struct {
		Data struct {
			Type       string      `json:"type"`
			Attributes newStateDoc `json:"attributes"`
		} `json:"data"`
	}
	err := json.Unmarshal(data, &body)
	if err == nil && body.Data.Type != "state-versions" {
		err = errors.New("another type")
	}
	if err != nil {
		return newStateDoc{}, notOfType(err, "state-versions")
	}
	return body.Data.Attributes, nil
}

// request is the document for control, and the bytes of the state, nil when they
// will be uploaded.
func (d newStateDoc) request() (control.StateRequest, []byte, error) {
	if d.Serial == nil || d.MD5 == nil {
		return control.StateRequest{}, nil, problem.New(api.Invalid, "a state version needs serial and md5")
	}
	q := control.StateRequest{Write: state.Write{Serial: *d.Serial, MD5: *d.MD5, Lineage: d.Lineage, Force: d.Force}, Intermediate: d.Intermediate}
	var err error
	if q.Outputs, err = unbase64("json-state-outputs", d.Outputs); err != nil {
		return q, nil, err
	}
	if q.JSON, err = unbase64("json-state", d.JSON); err != nil || d.State == nil {
		return q, nil, err
	}
	text, err := unbase64("state", *d.State)
	return q, append([]byte{}, text...), err
}

func unbase64(what, text string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, problem.New(api.Invalid, "%s is no base64", what)
	}
	return data, nil
}

func createStateVersion(r *request) (answer, error) {
	stack := r.PathValue("workspace")
	if r.ContentLength < 0 || r.ContentLength > lightMax {
		// Who may not write must not keep those waiting who may.
		err := r.view(func(v *postgres.View) error { return v.MayWriteState(r.Context(), r.who, stack) })
		if err != nil {
			return answer{}, err
		}
		release, err := r.control.Heavy(r.Context())
		if err != nil {
			return answer{}, err
		}
		defer release()
		r.Body = brisk{r.Body, time.Now(), new(int64)}
	}
	data, err := r.body(stateDocumentMax)
	if err != nil {
		return answer{}, err
	}
	doc, err := decodeNewState(data)
	if err != nil {
		return answer{}, err
	}
	q, text, err := doc.request()
	if err != nil {
		return answer{}, err
	}
	if text != nil {
		v, err := r.control.WriteState(r.Context(), r.who, stack, q, bytes.NewReader(text), control.InlineMax)
		return created(r.newStateVersionDoc(v)), err
	}
	v, secrets, err := r.control.BeginState(r.Context(), r.who, stack, q)
	made := r.newStateVersionDoc(v)
	made.Upload = r.address("/api/v2/state-uploads/" + secrets.State)
	made.JSONUpload = r.address("/api/v2/state-uploads/" + secrets.JSON)
	return created(made), err
}

// How fast a large document must come, while it keeps others waiting.
const (
	briskStart = 10 * time.Second // that any may take
	briskRate  = 256 << 10        // bytes a second, from then on
)

// A brisk body must not come slowly: two of them could keep everybody else from sending a
// large one for hours (docs/state.md, rule 8). That nothing comes at all the server sees.
type brisk struct {
	io.ReadCloser
	begun time.Time
	read  *int64 // bytes
}

func (b brisk) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.read += int64(n)
	if err == nil && time.Since(b.begun) > briskStart+time.Duration(*b.read)*time.Second/briskRate {
		return n, said{title: "request timeout", status: http.StatusRequestTimeout, problem: problem.New(api.Limited,
			"the state comes too slowly for a request that holds it").WithHint("upload it, as the clients do that are asked to")}
	}
	return n, err
}

// A rollbackDoc names the version that shall be the current one again.
type rollbackDoc struct {
	ID      string           `jsonapi:"primary,state-versions"`
	Version *stateVersionRef `jsonapi:"relation,rollback-state-version"`
}

// A stateVersionRef points to a version.
type stateVersionRef struct {
	ID string `jsonapi:"primary,state-versions"`
}

func rollbackState(r *request) (answer, error) {
	var doc rollbackDoc
	if err := r.decode(&doc); err != nil {
		return answer{}, err
	}
	if doc.Version == nil {
		return answer{}, problem.New(api.Invalid, "a rollback needs the relation rollback-state-version")
	}
	err := r.view(func(view *postgres.View) error {
		v, err := view.State(r.Context(), r.who, doc.Version.ID)
		if err == nil && v.Stack != r.PathValue("workspace") {
			err = noSuchThing() // it is another's
		}
		return err
	})
	if err != nil {
		return answer{}, err
	}
	v, err := r.control.RollbackState(r.Context(), r.who, doc.Version.ID, "")
	return created(r.newStateVersionDoc(v)), err
}

// uploadState takes the bytes of a version. The address is the proof that they may
// come; a client sends no token with them.
func uploadState(r *request) (answer, error) {
	if r.ContentLength > control.StateMax {
		return answer{}, control.TooLarge()
	}
	return answer{status: http.StatusOK}, r.control.PutState(r.Context(), r.PathValue("secret"), r.Body)
}

func currentStateVersion(r *request) (answer, error) {
	var v postgres.StateVersion
	err := r.view(func(view *postgres.View) (err error) {
		v, err = view.CurrentState(r.Context(), r.who, r.PathValue("workspace"))
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return r.stateVersion(v)
}

func readStateVersion(r *request) (answer, error) {
	var v postgres.StateVersion
	err := r.view(func(view *postgres.View) (err error) {
		v, err = view.State(r.Context(), r.who, r.PathValue("version"))
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return r.stateVersion(v)
}

// stateVersion answers one version, with its outputs if they are wanted.
func (r *request) stateVersion(v postgres.StateVersion) (answer, error) {
	doc := r.newStateVersionDoc(v)
	if len(doc.Outputs) == 0 || !slices.Contains(r.include(), "outputs") {
		return ok(doc), nil
	}
	outputs, err := r.outputDocs(v.ID, false)
	doc.Outputs = outputs
	return ok(doc), err
}

func listStateVersions(r *request) (answer, error) {
	p, q := r.paging(), r.URL.Query()
	docs := []*stateVersionDoc{}
	err := r.view(func(view *postgres.View) error {
		o, err := view.Home(r.Context(), r.who, q.Get("filter[organization][name]"))
		if err != nil {
			return err
		}
		s, err := view.StackByName(r.Context(), r.who, o.ID, q.Get("filter[workspace][name]"))
		if err != nil {
			return err
		}
		versions, total, err := view.States(r.Context(), r.who, s.ID, p.offset(), p.size)
		p.total = total
		for _, v := range versions {
			docs = append(docs, r.newStateVersionDoc(v))
		}
		return err
	})
	return listed(docs, p), err
}

func downloadState(r *request) (answer, error) {
	v, body, err := r.control.OpenState(r.Context(), r.who, r.PathValue("version"))
	if err != nil {
		return answer{}, err
	}
	return bytesOf(body, v.Size), nil
}

func downloadStateJSON(r *request) (answer, error) {
	body, err := r.control.OpenStateJSON(r.Context(), r.who, r.PathValue("version"))
	if err != nil {
		return answer{}, err
	}
	return bytesOf(body, -1), nil
}

// bytesOf sends JSON as it is kept. That it was all there is known at its end: until then
// the client must not take it for whole.
func bytesOf(body io.ReadCloser, size int64) answer {
	return answer{stream: func(w http.ResponseWriter) error {
		defer body.Close()
		w.Header().Set("Content-Type", "application/json")
		if size >= 0 {
			w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
		}
		_, err := io.Copy(w, body)
		return err
	}}
}

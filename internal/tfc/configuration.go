package tfc

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/assize-iac/assize/internal/postgres"
)

func configurations() []route {
	const byID = "/api/v2/configuration-versions/{configuration}"
	return []route{
		{pattern: "GET /api/v2/workspaces/{workspace}/configuration-versions", do: listConfigurations},
		{pattern: "POST /api/v2/workspaces/{workspace}/configuration-versions", do: createConfiguration},
		{pattern: "GET " + byID, do: readConfiguration},
		{pattern: "PUT " + byID + "/upload/{secret}", do: uploadConfiguration, open: true},
		{pattern: "GET " + byID + "/download", do: downloadConfiguration},
		{pattern: "POST " + byID + "/actions/archive", do: archiveConfiguration},
	}
}

// A configurationDoc is a version of a configuration. Where it is uploaded to is
// secret, and in the answer to its creation alone.
type configurationDoc struct {
	ID               string            `jsonapi:"primary,configuration-versions"`
	AutoQueueRuns    bool              `jsonapi:"attr,auto-queue-runs"`
	Error            *string           `jsonapi:"attr,error"`
	ErrorMessage     *string           `jsonapi:"attr,error-message"`
	Source           string            `jsonapi:"attr,source"`
	Speculative      bool              `jsonapi:"attr,speculative"`
	Provisional      bool              `jsonapi:"attr,provisional"`
	Status           string            `jsonapi:"attr,status"`
	StatusTimestamps map[string]string `jsonapi:"attr,status-timestamps"`
	UploadURL        *string           `jsonapi:"attr,upload-url"`
}

// A configurationRef points to a version of a configuration.
type configurationRef struct {
	ID string `jsonapi:"primary,configuration-versions"`
}

func newConfigurationDoc(c postgres.Configuration) *configurationDoc {
	d := &configurationDoc{ID: c.ID, AutoQueueRuns: c.AutoQueueRuns, Source: c.Source, Speculative: c.Speculative, Provisional: c.Provisional,
		Status: c.Status, StatusTimestamps: map[string]string{}}
	for name, at := range map[string]time.Time{"finished-at": c.Uploaded, "archived-at": c.Archived} {
		if !at.IsZero() {
			d.StatusTimestamps[name] = at.UTC().Format(time.RFC3339)
		}
	}
	return d
}

func listConfigurations(r *request) (answer, error) {
	p := r.paging()
	var docs []*configurationDoc
	err := r.view(func(v *postgres.View) error {
		all, total, err := v.Configurations(r.Context(), r.who, r.PathValue("workspace"), p.offset(), p.size)
		for _, c := range all {
			docs = append(docs, newConfigurationDoc(c))
		}
		p.total = total
		return err
	})
	return listed(docs, p), err
}

func createConfiguration(r *request) (answer, error) {
	var wanted struct {
		ID            string `jsonapi:"primary,configuration-versions"`
		AutoQueueRuns *bool  `jsonapi:"attr,auto-queue-runs"`
		Speculative   bool   `jsonapi:"attr,speculative"`
		Provisional   bool   `jsonapi:"attr,provisional"`
	}
	if err := r.decode(&wanted); err != nil {
		return answer{}, err
	}
	c := postgres.Configuration{AutoQueueRuns: wanted.AutoQueueRuns == nil || *wanted.AutoQueueRuns,
		Speculative: wanted.Speculative, Provisional: wanted.Provisional, Source: r.source()}
	var secret string
	err := r.update(func(u *postgres.Update) (err error) {
		c, secret, err = u.CreateConfiguration(r.Context(), r.who, r.PathValue("workspace"), c)
		return err
	})
	doc := newConfigurationDoc(c)
	address := r.address("/api/v2/configuration-versions/" + c.ID + "/upload/" + secret)
	doc.UploadURL = &address
	return created(doc), err
}

// source is what the client is: a command line says so.
func (r *request) source() string {
	if r.Header.Get("X-Terraform-Integration") != "" {
		return "terraform"
	}
	return "tfe-api"
}

func readConfiguration(r *request) (answer, error) {
	var c postgres.Configuration
	err := r.view(func(v *postgres.View) (err error) {
		c, err = v.Configuration(r.Context(), r.who, r.PathValue("configuration"))
		return err
	})
	return ok(newConfigurationDoc(c)), err
}

func uploadConfiguration(r *request) (answer, error) {
	err := r.control.UploadConfiguration(r.Context(), r.PathValue("configuration"), r.PathValue("secret"), r.Body)
	return answer{status: http.StatusOK}, err
}

func downloadConfiguration(r *request) (answer, error) {
	archive, err := r.control.OpenConfiguration(r.Context(), r.who, r.PathValue("configuration"))
	if err != nil {
		return answer{}, err
	}
	return answer{stream: func(w http.ResponseWriter) error {
		defer archive.Close()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.FormatInt(archive.Size(), 10))
		_, err := io.Copy(w, archive)
		return err
	}}, nil
}

func archiveConfiguration(r *request) (answer, error) {
	err := r.update(func(u *postgres.Update) error {
		return u.ArchiveConfiguration(r.Context(), r.who, r.PathValue("configuration"))
	})
	return answer{status: http.StatusAccepted}, err
}

package tfc

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/assize-iac/assize/internal/postgres"
)

func projects() []route {
	return []route{
		{pattern: "GET /api/v2/organizations/{organisation}/projects", do: listProjects},
		{pattern: "POST /api/v2/organizations/{organisation}/projects", do: createProject},
		{pattern: "GET /api/v2/projects/{project}", do: readProject},
		{pattern: "PATCH /api/v2/projects/{project}", do: updateProject},
		{pattern: "DELETE /api/v2/projects/{project}", do: deleteProject},
	}
}

// A projectDoc is a project.
type projectDoc struct {
	ID                   string             `jsonapi:"primary,projects"`
	Name                 string             `jsonapi:"attr,name"`
	DefaultExecutionMode string             `jsonapi:"attr,default-execution-mode"`
	SettingOverwrites    *projectOverwrites `jsonapi:"attr,setting-overwrites"`
	Settings             projectSettings    `jsonapi:"attr,*"`
	Organisation         *organisationDoc   `jsonapi:"relation,organization"`
	DefaultAgentPool     *agentPoolRef      `jsonapi:"relation,default-agent-pool"`
	EffectiveTags        []*effectiveDoc    `jsonapi:"relation,effective-tag-bindings,omitempty"`
}

// projectSettings are what clients set about a project.
type projectSettings struct {
	Description          string  `json:"description"`
	AutoDestroy          *string `json:"auto-destroy-activity-duration"`
	DefaultExecutionMode string  `json:"default-execution-mode,omitempty"`
	DefaultAgentPool     string  `json:"default-agent-pool-id,omitempty"`
}

// projectOverwrites say which settings a project has itself, and which are its
// organisation's.
type projectOverwrites struct {
	ExecutionMode bool `json:"default-execution-mode"`
	AgentPool     bool `json:"default-agent-pool"`
}

// newProjectDoc is a project of an organisation.
func newProjectDoc(p postgres.Project, o postgres.Organisation) (*projectDoc, error) {
	var s projectSettings
	if err := json.Unmarshal(p.Settings, &s); err != nil {
		return nil, err
	}
	above, err := organisationSettingsOf(o)
	if err != nil {
		return nil, err
	}
	d := &projectDoc{ID: p.ID, Name: p.Name, Settings: s, Organisation: &organisationDoc{ID: o.Name}}
	own := s.DefaultExecutionMode != ""
	d.SettingOverwrites = &projectOverwrites{ExecutionMode: own, AgentPool: own}
	switch {
	case own:
		d.DefaultExecutionMode, d.DefaultAgentPool = s.DefaultExecutionMode, newAgentPoolRef(s.DefaultAgentPool)
	case above.DefaultExecutionMode != "":
		d.DefaultExecutionMode, d.DefaultAgentPool = above.DefaultExecutionMode, newAgentPoolRef(above.DefaultAgentPool)
	default:
		d.DefaultExecutionMode = remoteExecution
	}
	return d, nil
}

// projectDoc is a project as the client wants to see it.
func (r *request) projectDoc(p postgres.Project, o postgres.Organisation) (*projectDoc, error) {
	d, err := newProjectDoc(p, o)
	if err == nil && slices.Contains(r.include(), "effective_tag_bindings") {
		d.EffectiveTags = newEffectiveDocs(p.Tags, p.ID, postgres.Project{})
	}
	return d, err
}

// project is the one that the path names, and its organisation.
func (r *request) project(v *postgres.View) (postgres.Project, postgres.Organisation, error) {
	p, err := v.Project(r.Context(), r.who, r.PathValue("project"))
	if err != nil {
		return postgres.Project{}, postgres.Organisation{}, err
	}
	o, err := v.HomeOf(r.Context(), r.who, p.Organisation)
	return p, o, err
}

func listProjects(r *request) (answer, error) {
	p := r.paging()
	var docs []*projectDoc
	err := r.view(func(v *postgres.View) error {
		o, err := r.home(v)
		if err != nil {
			return err
		}
		all, err := v.Projects(r.Context(), r.who, o.ID)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(p postgres.Project) bool { return !r.wantsProject(p) })
		docs, err = each(part(all, &p), func(one postgres.Project) (*projectDoc, error) { return r.projectDoc(one, o) })
		return err
	})
	return listed(docs, p), err
}

// wantsProject reports whether a project is one of those that the client asks for.
func (r *request) wantsProject(p postgres.Project) bool {
	q := r.URL.Query()
	names := q.Get("filter[names]")
	tags, _ := wantedTags(q)
	for _, t := range tags {
		if !slices.ContainsFunc(p.Tags, func(has postgres.Tag) bool {
			return has.Key == t.Key && (t.Value == "" || has.Value == t.Value)
		}) {
			return false
		}
	}
	return contains(p.Name, q.Get("q")) && (names == "" ||
		slices.ContainsFunc(strings.Split(names, ","), func(name string) bool { return strings.EqualFold(name, p.Name) }))
}

// A projectChange is what a client wants of a project.
type projectChange struct {
	ID       string        `jsonapi:"primary,projects"`
	Name     *string       `jsonapi:"attr,name"`
	Bindings []*bindingDoc `jsonapi:"relation,tag-bindings"`
	settings change
}

func (r *request) projectChange() (projectChange, error) {
	var c projectChange
	var err error
	c.settings, err = r.decodeChange(&c)
	return c, err
}

// onto changes a project, and returns how runs in it are executed then.
func (c projectChange) onto(p *postgres.Project) (execution, error) {
	if c.Name != nil {
		p.Name = *c.Name
	}
	var s projectSettings
	if err := json.Unmarshal(p.Settings, &s); err != nil {
		return execution{}, err
	}
	var wanted struct {
		SettingOverwrites struct {
			ExecutionMode *bool `json:"default-execution-mode"`
		} `json:"setting-overwrites"`
	}
	had := s.DefaultAgentPool
	s.DefaultAgentPool = ""
	for _, into := range []any{&s, &wanted} {
		if err := c.settings.onto(into); err != nil {
			return execution{}, err
		}
	}
	if own := wanted.SettingOverwrites.ExecutionMode; own != nil && !*own {
		s.DefaultExecutionMode = ""
	}
	e := execution{s.DefaultExecutionMode, s.DefaultAgentPool}.keep(had)
	s.DefaultAgentPool = e.pool
	var err error
	p.Settings, err = json.Marshal(s)
	return e, err
}

func createProject(r *request) (answer, error) {
	c, err := r.projectChange()
	if err != nil {
		return answer{}, err
	}
	var doc *projectDoc
	err = r.update(func(u *postgres.Update) error {
		o, err := r.home(&u.View)
		if err != nil {
			return err
		}
		name := ""
		if c.Name != nil {
			name = *c.Name
		}
		p, err := u.CreateProject(r.Context(), r.who, o.ID, name)
		if err != nil {
			return err
		}
		doc, err = r.changeProject(u, p, o, c)
		return err
	})
	return created(doc), err
}

func (r *request) changeProject(u *postgres.Update, p postgres.Project, o postgres.Organisation, c projectChange) (*projectDoc, error) {
	e, err := c.onto(&p)
	if err != nil {
		return nil, err
	}
	if err := r.checkExecution(&u.View, o.ID, e); err != nil {
		return nil, err
	}
	if err := u.ChangeProject(r.Context(), r.who, p); err != nil {
		return nil, err
	}
	if _, all := c.settings.relations["tag-bindings"]; all {
		if err := u.PutTags(r.Context(), r.who, p.ID, tagged(c.Bindings), true); err != nil {
			return nil, err
		}
	}
	if p, err = u.Project(r.Context(), r.who, p.ID); err != nil {
		return nil, err
	}
	return r.projectDoc(p, o)
}

func readProject(r *request) (answer, error) {
	var doc *projectDoc
	err := r.view(func(v *postgres.View) error {
		p, o, err := r.project(v)
		if err != nil {
			return err
		}
		doc, err = r.projectDoc(p, o)
		return err
	})
	return ok(doc), err
}

func updateProject(r *request) (answer, error) {
	c, err := r.projectChange()
	if err != nil {
		return answer{}, err
	}
	var doc *projectDoc
	err = r.update(func(u *postgres.Update) error {
		p, o, err := r.project(&u.View)
		if err != nil {
			return err
		}
		doc, err = r.changeProject(u, p, o, c)
		return err
	})
	return ok(doc), err
}

func deleteProject(r *request) (answer, error) {
	return noContent(), r.update(func(u *postgres.Update) error {
		return u.DeleteProject(r.Context(), r.who, r.PathValue("project"))
	})
}

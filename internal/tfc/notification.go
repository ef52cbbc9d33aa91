package tfc

import (
	"slices"
	"strings"
	"time"

	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/postgres"
)

func notifications() []route {
	n := notificationNoun()
	routes := []route{
		{pattern: "GET /api/v2/notification-configurations/{id}", do: n.read},
		{pattern: "PATCH /api/v2/notification-configurations/{id}", do: n.update},
		{pattern: "DELETE /api/v2/notification-configurations/{id}", do: n.remove},
	}
	for _, of := range []string{"workspaces", "projects", "teams"} {
		path := "/api/v2/" + of + "/{in}/notification-configurations"
		routes = append(routes, route{pattern: "GET " + path, do: n.list(in("in"))}, route{pattern: "POST " + path, do: n.create(in("in"))})
	}
	return routes
}

// A notificationDoc says who wants to be told of what. Nobody is, yet
// (docs/protocol.md, rule 26).
type notificationDoc struct {
	ID                string               `jsonapi:"primary,notification-configurations"`
	Token             *string              `jsonapi:"attr,token"` // sent, never shown
	DeliveryResponses []string             `jsonapi:"attr,delivery-responses"`
	CreatedAt         time.Time            `jsonapi:"attr,created-at,iso8601"`
	UpdatedAt         time.Time            `jsonapi:"attr,updated-at,iso8601"`
	Settings          notificationSettings `jsonapi:"attr,*"`
	Subscribable      *subscribable        `jsonapi:"polyrelation,subscribable"`
	Users             []*userRef           `jsonapi:"relation,users"`
}

// A subscribable is what a notification is about: one of these.
type subscribable struct {
	Workspace *workspaceRef
	Project   *projectRef
	Team      *notifiedTeam
}

type notifiedTeam struct {
	ID string `jsonapi:"primary,teams"`
}

// notificationSettings are what is kept of a notification beside its token and
// the users that it is for.
type notificationSettings struct {
	Name            string   `json:"name"`
	Enabled         bool     `json:"enabled"`
	DestinationType string   `json:"destination-type"`
	URL             *string  `json:"url"`
	Triggers        []string `json:"triggers"`
	EmailAddresses  []string `json:"email-addresses"`
}

func notificationNoun() noun[notificationDoc, notificationSettings] {
	return noun[notificationDoc, notificationSettings]{kind: postgres.Notification, put: putNotification, show: showNotification, whole: true}
}

func putNotification(r *request, d *postgres.Deposit, s *notificationSettings, was notificationSettings, sent *notificationDoc) error {
	if was.DestinationType != "" {
		s.DestinationType = was.DestinationType
	}
	d.Links["users"] = ids([]string(nil), sent.Users, func(r *userRef) string { return r.ID })
	if sent.Token != nil {
		if err := r.control.Seal(r.Context(), d, "token", *sent.Token); err != nil {
			return err
		}
	}
	return s.check()
}

// check refuses a notification that could never be sent.
func (s notificationSettings) check() error {
	switch {
	case s.Name == "" || len(s.Name) > 255:
		return invalid("the name of the notification is empty or too long")
	case !slices.Contains([]string{"email", "generic", "slack", "microsoft-teams"}, s.DestinationType):
		return invalid("there is no such type of destination").WithHint("email, generic, slack or microsoft-teams")
	case s.DestinationType != "email" && (s.URL == nil || !isAddress(*s.URL)):
		return invalid("the notification needs a url that begins with https:// or http://, with no password in it")
	case slices.ContainsFunc(s.Triggers, func(trigger string) bool { return !isTrigger(trigger) }):
		return invalid("there is no such trigger of notifications")
	}
	return nil
}

// isTrigger reports whether there is such an occasion for a notification.
func isTrigger(text string) bool {
	what, when, _ := strings.Cut(text, ":")
	return slices.Contains(map[string][]string{
		"run":            {"created", "planning", "needs_attention", "applying", "completed", "errored"},
		"assessment":     {"drifted", "failed", "check_failure"},
		"workspace":      {"auto_destroy_reminder", "auto_destroy_run_results"},
		"change_request": {"created"},
	}[what], when)
}

func showNotification(_ *request, _ *postgres.View, d postgres.Deposit, s notificationSettings) (*notificationDoc, error) {
	doc := &notificationDoc{ID: d.ID, DeliveryResponses: []string{}, CreatedAt: d.Created, UpdatedAt: d.Updated, Settings: s,
		Users: refs(d.Links["users"], func(id string) *userRef { return &userRef{ID: id} })}
	switch {
	case identity.IsID(identity.StackID, d.Place):
		doc.Subscribable = &subscribable{Workspace: &workspaceRef{ID: d.Place}}
	case identity.IsID(identity.ProjectID, d.Place):
		doc.Subscribable = &subscribable{Project: &projectRef{ID: d.Place}}
	default:
		doc.Subscribable = &subscribable{Team: &notifiedTeam{ID: d.Place}}
	}
	return doc, nil
}

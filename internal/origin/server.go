package origin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// sourceToken is the variable with the token of the server that states come from.
const sourceToken = "ASSIZE_IMPORT_TOKEN"

// A server speaks the protocol of Terraform Cloud.
type server struct {
	host  string
	token func() string // a function, so that no %v shows the token
	http  *retryablehttp.Client
}

// onServer is one workspace, or all of an organisation.
func onServer(ctx context.Context, u *url.URL, getenv func(string) string) ([]State, error) {
	organisation, workspace, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if organisation == "" || strings.Contains(workspace, "/") {
		return nil, unknown()
	}
	token := getenv(sourceToken)
	if token == "" {
		token = getenv(tokenVariable(u.Host))
	}
	if token == "" {
		return nil, problem.New(api.Unauthenticated, "there is no token for %s", u.Host).
			WithHint("set %s", sourceToken)
	}
	s := &server{host: u.Host, token: func() string { return token }, http: patient()}
	if workspace != "" {
		return s.workspace(ctx, organisation, workspace)
	}
	return s.workspaces(ctx, organisation)
}

// tokenVariable is the one of OpenTofu and Terraform.
func tokenVariable(host string) string {
	return "TF_TOKEN_" + strings.NewReplacer("-", "__", ".", "_").Replace(host)
}

// patient waits when a server says that there were too many requests, and asks
// again when it does not answer. It keeps to itself what it does.
func patient() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger, c.RetryMax, c.ErrorHandler = nil, 5, retryablehttp.PassthroughErrorHandler
	c.HTTPClient.Timeout = 0 // a state may be large, and is read as a stream
	c.HTTPClient.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != "https" || len(via) > 5 {
			return errors.New("it leads elsewhere")
		}
		return nil // net/http takes the token out when the host is another
	}
	c.HTTPClient.Transport.(*http.Transport).ResponseHeaderTimeout = time.Minute
	return c
}

// A workspace is all that is wanted of one.
type workspace struct {
	ID         string
	Attributes struct{ Name string }
}

func (s *server) workspace(ctx context.Context, organisation, name string) ([]State, error) {
	var doc struct{ Data workspace }
	err := s.get(ctx, "/api/v2/organizations/"+url.PathEscape(organisation)+"/workspaces/"+url.PathEscape(name), &doc)
	if err != nil {
		return nil, err
	}
	return []State{s.state(organisation, doc.Data)}, nil
}

// pagesMax bounds a list that never ends.
const pagesMax = 10000

func (s *server) workspaces(ctx context.Context, organisation string) ([]State, error) {
	var all []State
	for page := 1; page > 0 && page <= pagesMax; {
		var doc struct {
			Data []workspace
			Meta struct {
				Pagination struct {
					Next int `json:"next-page"`
				}
			}
		}
		path := fmt.Sprintf("/api/v2/organizations/%s/workspaces?page%%5Bsize%%5D=100&page%%5Bnumber%%5D=%d", url.PathEscape(organisation), page)
		if err := s.get(ctx, path, &doc); err != nil {
			return nil, err
		}
		for _, w := range doc.Data {
			all = append(all, s.state(organisation, w))
		}
		page = doc.Meta.Pagination.Next
	}
	return all, nil
}

// state is the current one of a workspace.
func (s *server) state(organisation string, w workspace) State {
	return State{Name: w.Attributes.Name, Source: "tfe://" + s.host + "/" + organisation + "/" + w.Attributes.Name,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			var doc struct {
				Data struct {
					Attributes struct {
						Download string `json:"hosted-state-download-url"`
					}
				}
			}
			err := s.get(ctx, "/api/v2/workspaces/"+url.PathEscape(w.ID)+"/current-state-version", &doc)
			if err != nil && problem.Code(err) == api.NotFound {
				return nil, none(w.Attributes.Name)
			}
			if err != nil {
				return nil, err
			}
			return s.open(ctx, doc.Data.Attributes.Download)
		}}
}

// ErrNone is the cause of an error that says that there is no state yet.
var ErrNone = errors.New("no state yet")

func none(name string) error {
	p := problem.New(api.NotFound, "%s has no state yet, or the token may not read it", name)
	p.Cause = ErrNone
	return p
}

// get reads a document.
func (s *server) get(ctx context.Context, path string, doc any) error {
	body, err := s.open(ctx, "https://"+s.host+path)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, 32<<20)).Decode(doc); err != nil {
		return problem.New(api.Unavailable, "what %s answers is not the protocol of Terraform Cloud", s.host).WithHint("is it the right host?")
	}
	return nil
}

// open begins to read what is at an address. The token goes to the server itself
// alone: addresses of states may lead to another host, and hold secrets of their own.
func (s *server) open(ctx context.Context, address string) (io.ReadCloser, error) {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme != "https" || u.Host == "") {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, problem.New(api.Unavailable, "%s names no address of the state that could be used", s.host)
	}
	r, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, problem.New(api.Unavailable, "%s names no address of the state that could be used", s.host)
	}
	if u.Host == s.host {
		r.Header.Set("Authorization", "Bearer "+s.token())
	}
	res, err := s.http.Do(r)
	if err != nil {
		return nil, s.unreachable(err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, s.failure(res.StatusCode)
	}
	return res.Body, nil
}

func (s *server) unreachable(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // without the address
	}
	return problem.New(api.Unavailable, "%s cannot be reached: %w", s.host, err).
		WithHint("a server with an authority of its own is believed when SSL_CERT_FILE names the file of that")
}

// failure does not repeat what the server says.
func (s *server) failure(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return problem.New(api.Unauthenticated, "%s does not accept the token", s.host).WithHint("set %s to one that may read the states there", sourceToken)
	case http.StatusNotFound, http.StatusNoContent:
		return problem.New(api.NotFound, "there is no such organisation or workspace on %s, or the token may not see it", s.host).WithHint("tfe://%s/organisation/workspace", s.host)
	}
	return problem.New(api.Unavailable, "%s answers %d", s.host, status).WithHint("try again a little later")
}

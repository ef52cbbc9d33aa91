package git

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// An Event is what GitHub Actions says about why it runs. The zero value is for
// everywhere else.
type Event struct {
	Name          string // pull_request, push, ...
	Repo          string // owner/repo
	DefaultBranch string

	PullRequest int    // its number; 0 for none
	Base, Head  string // commits of the pull request

	Before string // the commit before a push; "" for a new branch
	First  bool   // the push made the default branch: there is nothing before it
}

// eventMax bounds the payload of an event; GitHub's own bound is 25 MiB.
const eventMax = 32 << 20

// GitHubEvent reads the variables GITHUB_* and the payload of the event. Outside
// of GitHub Actions it is the zero value. For a pull request, the head is that
// of the payload and never GITHUB_SHA, which is a merge commit (seed 004, "CLI
// commands").
func GitHubEvent(getenv func(string) string) (Event, error) {
	if getenv("GITHUB_ACTIONS") != "true" {
		return Event{}, nil
	}
	e := Event{Name: getenv("GITHUB_EVENT_NAME"), Repo: getenv("GITHUB_REPOSITORY")}
	name := getenv("GITHUB_EVENT_PATH")
	if name == "" {
		return e, nil
	}
	payload, err := readPayload(name)
	if err != nil {
		return Event{}, problem.New(api.Invalid, "the event of GitHub Actions (GITHUB_EVENT_PATH) cannot be read: %w", err)
	}
	e.DefaultBranch = payload.Repository.DefaultBranch
	switch e.Name {
	case "pull_request", "pull_request_target", "pull_request_review":
		pr := payload.PullRequest
		if pr.Number <= 0 || !isCommit(pr.Base.SHA) || !isCommit(pr.Head.SHA) {
			return Event{}, problem.New(api.Invalid, "the event %s of GitHub Actions names no pull request", e.Name)
		}
		e.PullRequest, e.Base, e.Head = pr.Number, pr.Base.SHA, pr.Head.SHA
	case "merge_group":
		e.Before = payload.MergeGroup.BaseSHA
	case "push":
		e.Before = payload.Before
	}
	if strings.Trim(e.Before, "0") == "" { // of a new branch
		e.Before = ""
	}
	e.First = e.Name == "push" && e.Before == "" && e.DefaultBranch != "" && payload.Ref == "refs/heads/"+e.DefaultBranch
	if e.Before != "" && !isCommit(e.Before) {
		return Event{}, problem.New(api.Invalid, "the event %s of GitHub Actions names no commit as its base", e.Name)
	}
	return e, nil
}

// A payload is the part of an event that is read; GitHub adds fields at will.
type payload struct {
	Ref        string `json:"ref"`
	Before     string `json:"before"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	PullRequest struct {
		Number     int `json:"number"`
		Base, Head struct {
			SHA string `json:"sha"`
		}
	} `json:"pull_request"`
	MergeGroup struct {
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
}

func readPayload(name string) (payload, error) {
	var p payload
	f, err := os.Open(name)
	if err != nil {
		return p, err
	}
	defer f.Close()
	return p, json.NewDecoder(io.LimitReader(f, eventMax)).Decode(&p)
}

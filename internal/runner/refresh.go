package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/settings"
	"github.com/assize-iac/assize/internal/spec"
)

// refreshedName is where it is noted, in the private directory of a specification, that
// a state was as things are.
const refreshedName = "refreshed.json"

// A refreshed says that a plan looked at everything that a state knows, and that nothing
// of it had changed.
type refreshed struct {
	State api.State `json:"state"`
	At    time.Time `json:"at"`
}

// refreshes reports whether a plan has to look at everything that the state knows: a
// specification says so, or says for how long it need not once it has (docs/spec.md,
// rule 36). A plan that is made to look always does.
func (s *Stack) refreshes(f plan.Flags, state api.State) bool {
	if !s.Specified() || f.RefreshOnly || s.mode == settings.Drift || s.refresh == (spec.Refresh{}) {
		return true
	}
	if s.refresh.Never {
		return false
	}
	since := time.Since(s.lastRefreshed(state))
	if since < 0 || since >= s.refresh.Age {
		return true
	}
	fmt.Fprintf(s.Session.Err, "assize: note: the state is taken as it is: nothing had changed %s ago, and $settings.refresh is %s\n",
		since.Round(time.Second), s.refresh.Age)
	return false
}

// lastRefreshed is when a state was as things are; the zero time if nobody knows.
func (s *Stack) lastRefreshed(state api.State) time.Time {
	var was refreshed
	data, err := os.ReadFile(s.refreshedFile())
	if err != nil || json.Unmarshal(data, &was) != nil || was.State != state {
		return time.Time{}
	}
	return was.At
}

// noteRefreshed notes what a plan has found that looked at everything: that nothing had
// changed, or that something had, so that nothing noted before counts. That it cannot is
// no error: the next plan looks again.
func (s *Stack) noteRefreshed(p *Planned, began time.Time) {
	if !s.Specified() || p.Conditional {
		return
	}
	if len(p.Plan.Drifted) > 0 {
		_ = os.Remove(s.refreshedFile())
		return
	}
	if s.refresh.Age == 0 || len(p.Plan.Flags.Targets) > 0 {
		return
	}
	data, err := json.Marshal(refreshed{p.Binding.State, began})
	if err == nil {
		_ = place(bytes.NewReader(data), s.refreshedFile())
	}
}

func (s *Stack) refreshedFile() string { return filepath.Join(s.Dir(), dirName, refreshedName) }

package serve_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// again is a server over what another one has kept, with other keys.
func again(t *testing.T, s *servetest.Server, keys ...string) *servetest.Server {
	t.Helper()
	return servetest.Start(t, servetest.Options{Settings: func(to *serve.Settings) { *to = with(*to, s, keys...) }})
}

// with are the settings of a server that is there, with these keys.
func with(to serve.Settings, s *servetest.Server, keys ...string) serve.Settings {
	to.Data, to.Database, to.Artifacts = s.Data, s.Database, filepath.Join(s.Data, "artifacts")
	to.ArtifactKey = strings.Join(keys, "\n")
	return to
}

func quietly(int, int) {}

// TestRotate changes the key of a server beside it, breaks off on the way, goes on, and
// then takes the old key away: everything that was kept is still read, with the new key
// alone (docs/secrets.md, rule 13).
func TestRotate(t *testing.T) {
	t.Parallel()
	s := servetest.Start(t, servetest.Options{})
	old, anew := s.ArtifactKey, artifact.NewKey()
	w := writer{t: t, client: s.Client(t), url: s.URL, token: s.Token}
	w.begin()
	for serial := range 3 {
		w.write(serial + 1)
	}
	w.do("POST", "/api/v2/organizations/default/ssh-keys", `{"data":{"type":"ssh-keys","attributes":{"name":"k","value":"a key"}}}`)
	var made struct{ Data struct{ ID string } }
	if err := json.Unmarshal(w.do("POST", "/api/v2/organizations/default/varsets", `{"data":{"type":"varsets","attributes":{"name":"of all","global":true}}}`), &made); err != nil {
		t.Fatal(err)
	}
	variables := "/api/v2/varsets/" + made.Data.ID + "/relationships/vars"
	w.do("POST", variables, `{"data":{"type":"vars","attributes":{"key":"region","value":"eu-1","category":"terraform"}}}`)
	w.do("POST", variables, `{"data":{"type":"vars","attributes":{"key":"secret","value":"canary-4f1e","category":"env","sensitive":true}}}`)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	// The new key is first in every process. A rotation that is broken off leaves the rest
	// to the next one, and what is written meanwhile needs the new key alone.
	s = again(t, s, anew, old)
	w.client, w.url = s.Client(t), s.URL
	settings := with(serve.Defaults(func(string) string { return "" }), s, anew, old)
	ctx, breakOff := context.WithCancel(t.Context())
	first, err := serve.Rotate(ctx, settings, func(_, anew int) {
		if anew == 1 {
			w.write(4)
			breakOff()
		}
	})
	if err == nil || first.Secrets != 3 || first.Artifacts != 1 || len(first.Unneeded) != 0 || problem.Hint(err) == "" {
		t.Errorf("broken off: %+v, %v", first, err)
	}
	second, err := serve.Rotate(t.Context(), settings, quietly)
	if err != nil || second.Secrets != 0 || second.Artifacts < 3 || len(second.Unneeded) != 1 {
		t.Errorf("the rest: %+v, %v", second, err)
	}
	third, err := serve.Rotate(t.Context(), settings, quietly)
	if err != nil || third.Secrets+third.Artifacts != 0 || third.Key != first.Key {
		t.Errorf("once more: %+v, %v", third, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	s = again(t, s, anew)
	w.client, w.url = s.Client(t), s.URL
	if got := w.current(); got != 4 {
		t.Errorf("the serial is %d", got)
	}
	if got := string(w.do("GET", variables, "")); !strings.Contains(got, `"eu-1"`) || strings.Contains(got, "canary") {
		t.Errorf("the variables are %s", got)
	}
	keys, err := artifact.ParseRing(anew)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := artifact.OpenTree(filepath.Join(s.Data, "artifacts"), keys)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	v, err := kept.Verify(t.Context(), func(err error) { t.Error(err) })
	if err != nil || !v.Whole() || v.Artifacts < 5 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := serve.Rotate(t.Context(), with(settings, s, old), quietly); problem.Code(err) != api.Unavailable {
		t.Errorf("back to a key that opens nothing any more: %v", err)
	}
}

// TestRotateElsewhere: to find nothing proves nothing, so a place that is not the server's
// is refused, and nothing is made there.
func TestRotateElsewhere(t *testing.T) {
	t.Parallel()
	s, other := servetest.Start(t, servetest.Options{}), servetest.Start(t, servetest.Options{})
	defaults := serve.Defaults(func(string) string { return "" })
	empty := with(defaults, s, s.ArtifactKey)
	empty.Artifacts = filepath.Join(t.TempDir(), "artifacts")
	theirs := with(defaults, s, s.ArtifactKey)
	theirs.Artifacts = filepath.Join(other.Data, "artifacts")
	nowhere := defaults
	nowhere.Data = t.TempDir()
	lost := with(defaults, s, artifact.NewKey())
	for name, refused := range map[string]struct {
		settings serve.Settings
		want     api.Code
	}{
		"an empty place": {empty, api.Refused}, "another's artifacts": {theirs, api.Refused},
		"no server": {nowhere, api.NotFound}, "another key": {lost, api.Unavailable},
	} {
		r, err := serve.Rotate(t.Context(), refused.settings, quietly)
		if problem.Code(err) != refused.want || len(r.Unneeded) > 0 {
			t.Errorf("%s: %+v, %v, want %s", name, r, err, refused.want)
		}
	}
	if found, err := filepath.Glob(filepath.Join(nowhere.Data, "*")); err != nil || len(found) > 0 {
		t.Errorf("this was made: %q %v", found, err)
	}
}

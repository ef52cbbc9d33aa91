package serve_test

import (
	"net/http/httptest"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/serve"
	"github.com/assize-iac/assize/internal/serve/servetest"
)

// TestBucket: two replicas that keep their artifacts in a bucket read what the other
// has written.
func TestBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "a-test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-test")
	memory := s3mem.New()
	if err := memory.CreateBucket("states"); err != nil {
		t.Fatal(err)
	}
	bucket := httptest.NewServer(gofakes3.New(memory).Server())
	t.Cleanup(bucket.Close)
	place := "s3://states/assize?region=eu-central-1&endpoint=" + bucket.URL
	one := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) { s.Artifacts = place }})
	w := writer{t, one.Client(t), one.URL, one.Token}
	w.begin()
	w.write(1)
	two := servetest.Start(t, servetest.Options{Settings: func(s *serve.Settings) {
		s.Database, s.Artifacts, s.ArtifactKey, s.NewAdminToken = one.Database, place, one.ArtifactKey, true
	}})
	other := writer{t, two.Client(t), two.URL, two.Token}
	other.write(2)
	w.token = two.Token
	if got := w.current(); got != 2 {
		t.Errorf("the first replica is at %d", got)
	}
	for _, s := range []*servetest.Server{one, two} {
		if status, body := get(t, s, "/readyz", ""); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	}
	verifies(t, place, one.ArtifactKey)
}

// verifies wants all that is at a place of artifacts to be whole.
func verifies(t *testing.T, place, key string) {
	t.Helper()
	keys, err := artifact.ParseRing(key)
	if err != nil {
		t.Fatal(err)
	}
	store, err := serve.OpenArtifacts(t.Context(), place, keys)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	found, err := store.Verify(t.Context(), func(err error) { t.Error(err) })
	if err != nil || !found.Whole() || found.Artifacts < 2 {
		t.Errorf("%+v, %v", found, err)
	}
}

package convert

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assize-iac/assize/internal/spec/convert/native"
)

// TestSettings: where the state is, without secrets; a workspace that the backend does
// not name is for whoever runs the tool to say.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		backend Backend
		want    []string
		left    string
	}{
		{Backend{Kind: "local", Workspace: "default"}, nil, "[]"},
		{Backend{Kind: "local", Workspace: "blue"}, nil, "[]"},
		{Backend{Kind: "s3", Config: map[string]any{"bucket": "b", "profile": nil, "secret": "x"}, Workspace: "default"},
			[]string{"$settings: state: s3: {bucket: \"b\"}"}, "[backend.s3: secret may be a secret and is not written\n    leave it to the environment]"},
		{Backend{Kind: "s3", Config: map[string]any{"bucket": "b"}, Workspace: "blue"}, []string{"$settings: state: s3: {bucket: \"b\"}"},
			"[backend.s3: the state is that of the workspace blue, and a specification does not say which\n    say it of the stack in assize.yaml: workspace: blue]"},
		{Backend{Kind: "cloud", Config: map[string]any{"workspaces": map[string]any{"name": "blue"}}, Workspace: "blue"},
			[]string{"$settings: state: cloud: {workspaces: {name: \"blue\"}}"}, "[]"},
	} {
		c := &converter{doc: &native.Document{}, stack: Stack{Backend: tt.backend, Secret: func(name string) bool { return name == "secret" }}, nested: map[string]bool{}}
		if diff := cmp.Diff(tt.want, c.settings()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.backend, diff)
		}
		if got := fmt.Sprint(c.left); got != tt.left {
			t.Errorf("%v: %s", tt.backend, got)
		}
	}
}

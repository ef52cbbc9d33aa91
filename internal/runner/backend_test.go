package runner_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/runner"
	"github.com/assize-iac/assize/internal/tofu/tofutest"
)

// The digest of the backend moves with the place, and with nothing else.
func TestBackend(t *testing.T) {
	t.Parallel()
	const record = `{"version":3,"terraform_version":"1.12.6","backend":{"type":"http","config":{"address":"https://a/1","password":"hunter2"},"hash":7}}`
	for _, tc := range []struct {
		name, record, env string
		moves             bool
	}{
		{"the same", record, "", false},
		{"another version of the tool wrote it", strings.Replace(record, "1.12.6", "1.13.0", 1), "", false},
		{"another password", strings.Replace(record, "hunter2", "hunter3", 1), "", false},
		{"a token in the environment", record, "TF_HTTP_PASSWORD=x", false},
		{"an empty variable", record, "TF_HTTP_ADDRESS=", false},
		{"another address", strings.Replace(record, "a/1", "a/2", 1), "", true},
		{"another type", strings.Replace(record, `"http"`, `"s3"`, 1), "", true},
		{"none", `{"version":3}`, "", true},
		{"an address in the environment", record, "TF_HTTP_ADDRESS=https://a/2", true},
		{"an endpoint in the environment", record, "AWS_ENDPOINT_URL_S3=https://a", true},
		{"a database in the environment", record, "PGHOST=b", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			st.write(".terraform/terraform.tfstate", record)
			was, err := st.Still(api.Binding{Salt: "s"})
			if err != nil {
				t.Fatal(err)
			}
			st.write(".terraform/terraform.tfstate", tc.record)
			st.Session.Tool.Env = append(slices.Clone(st.Session.Tool.Env), tc.env)
			now, err := st.Still(api.Binding{Salt: "s"})
			if err != nil {
				t.Fatal(err)
			}
			if moves := was.Backend != now.Backend; moves != tc.moves {
				t.Errorf("moves: %t, want %t", moves, tc.moves)
			}
		})
	}
}

func TestBackendIsUnreadable(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	st.write(".terraform/terraform.tfstate", `{"backend": "hunter2"`)
	_, err := st.Still(api.Binding{})
	if problem.Code(err) != api.Unavailable || problem.Hint(err) == "" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// A warrant is not used up for an apply that is not started.
func TestHiddenApplyFlags(t *testing.T) {
	t.Parallel()
	st := newStage(t, nil)
	b := st.saved()
	saved := st.take()
	st.Session.Tool.Env = append(slices.Clone(st.Session.Tool.Env), "TF_CLI_ARGS_apply=-state=x")
	_, err := st.Apply(context.Background(), saved, b.State)
	if problem.Code(err) != api.Invalid || !strings.Contains(problem.Hint(err), "unset TF_CLI_ARGS_apply") {
		t.Errorf("got %v, hint %q", err, problem.Hint(err))
	}
	saved.Close()
	st.take()
}

func TestErroredState(t *testing.T) {
	t.Parallel()
	st := newStage(t, map[string]tofutest.Fault{"apply": {Exit: 1, Files: map[string]string{"errored.tfstate": "{}"}}})
	b := st.saved()
	_, err := st.Apply(context.Background(), st.take(), b.State)
	if err == nil || !strings.Contains(err.Error(), "errored.tfstate") || !strings.Contains(problem.Hint(err), "tofu state push errored.tfstate") {
		t.Errorf("got %v, hint %q", err, problem.Hint(err))
	}
	if _, err := st.Plan(context.Background(), runner.Options{}); problem.Code(err) != api.Conflict {
		t.Errorf("a plan gave %v", err)
	}
	if err := st.Prepare(context.Background()); problem.Code(err) != api.Conflict {
		t.Errorf("an apply gave %v", err)
	}
}

package plan_test

import (
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/plan"
	"github.com/assize-iac/assize/internal/problem"
)

// keyed is a plan whose secrets stand in addresses, in each way that there is.
func keyed(t *testing.T) *plan.Plan {
	t.Helper()
	return decode(t, `{"format_version":"1.2","resource_changes":[
		{"address":"module.hunter2[\"hunter2\"].a.b[\"x-hunter2-y\"]","previous_address":"a.was[\"hunter2\"]","module_address":"module.hunter2[\"hunter2\"]",
		 "mode":"managed","type":"a","name":"b","index":"x-hunter2-y","change":{"actions":["delete","create"],
		 "before":{"p":"hunter2","env":"prod","id":"z9","odd":"a\"].${x}\nb","whole":{"apple":"k-1"}},"after":{"p":"hunter2","whole":{"apple":"k-2"}},
		 "before_sensitive":{"p":true,"env":true,"id":true,"odd":true,"whole":true},"after_sensitive":{"p":true,"whole":true},
		 "replace_paths":[["whole","apple"],["m","hunter2"],["n",0]]}},
		{"address":"a.odd[\"a\\\"].$${x}\\nb\"]","mode":"managed","type":"a","name":"odd","index":"a\"].${x}\nb","change":{"actions":["create"],"after":{"m":{"hunter2":"hunter2"}}}},
		{"address":"module.production.a.prod[\"prod\"]","mode":"managed","type":"a","name":"prod","index":"prod","change":{"actions":["create"],"after":{}}},
		{"address":"a.b[\"z9\"]","mode":"managed","type":"a","name":"b","index":"z9","change":{"actions":["create"],"after":{}}}],
		"checks":[{"address":{"to_display":"check.c[\"hunter2\"]"},"status":"pass"}],
		"configuration":{"root_module":{"module_calls":{"m":{"source":"https://u:hunter2@example.org/m.zip"}}}}}`)
}

// TestRedactAddress hides whole keys, and leaves names and plain words.
func TestRedactAddress(t *testing.T) {
	t.Parallel()
	p := keyed(t)
	for address, want := range map[string]string{
		p.Changes[0].Address:          `module.hunter2["(sensitive)"].a.b["(sensitive)"]`,
		p.Changes[0].PreviousAddress:  `a.was["(sensitive)"]`,
		p.Changes[1].Address:          `a.odd["(sensitive)"]`,
		p.Changes[2].Address:          `module.production.a.prod["prod"]`,
		p.Changes[3].Address:          `a.b["z9"]`,
		`check.c["hunter2"]`:          `check.c["(sensitive)"]`,
		"":                            "",
		"made up of hunter2 and prod": "made up of (sensitive) and (sensitive)",
	} {
		if got := p.RedactAddress(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

// TestMaskedNames looks for secrets in what names things in a masked document.
func TestMaskedNames(t *testing.T) {
	t.Parallel()
	p := keyed(t)
	p.Flags = plan.Flags{Targets: []string{`a.was["hunter2"]`}, Replace: []string{`a.gone["hunter2"]`}}
	text := string(p.MaskedJSON(plan.Labels{}))
	for _, secret := range []string{`"hunter2`, "x-hunter2", "apple", "u:hunter2", "$${x}", `m.hunter2`} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in %s", secret, text)
		}
	}
	for _, want := range []string{`"replace_paths":["whole","m.(sensitive)","n[0]"]`, `"index":{"$sensitive":true}`, `"index":"prod"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// TestErrorsNameNoKey: a change that is refused is named, but not by a secret.
func TestErrorsNameNoKey(t *testing.T) {
	t.Parallel()
	const key = `{"address":"a.b[\"hunter2\"]","mode":"managed","type":"a","name":"b","change":{"actions":["create"],"after":{"p":"hunter2"},"after_sensitive":{"p":true}}}`
	for _, changes := range []string{
		key + "," + key,
		strings.Replace(key, "managed", "hunter2", 1),
		strings.Replace(key, `"create"`, `"hunter2"`, 1),
		strings.Replace(key, `"p":"hunter2"`, `"p":"x"`, 1) + "," + key,
	} {
		_, err := plan.Decode([]byte(`{"format_version":"1.2","resource_changes":[` + changes + `]}`))
		if err == nil || strings.Contains(err.Error()+problem.Hint(err), "hunter2") || !strings.Contains(err.Error(), "(sensitive)") {
			t.Errorf("got %v", err)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/cli"
)

const (
	storedPlans   = 1000
	storedChanges = 100
)

// TestReplayThousand replays a thousand plans of a hundred changes, every one of
// the three languages on both sides, and says how long it takes. The bounds are
// for a busy machine; a quiet one needs a fraction.
func TestReplayThousand(t *testing.T) {
	dir := t.TempDir()
	refused := storePlans(t, filepath.Join(dir, "plans"))
	for name, text := range map[string]string{
		"old.json": `[{"id": "keep", "level": "deny", "type": "aws_*", "check": "no_delete", "message": "keep it"}]`,
		"new.json": `[{"id": "keep", "level": "deny", "type": "aws_*", "check": "no_delete", "message": "keep it"},
			{"id": "size", "level": "deny", "type": "aws_ebs_volume", "path": "size", "op": "lte", "value": 500, "message": "too large"}]`,
		"old.rego": regoKeep, "new.rego": regoKeep + regoSize,
		"old.cue": `changes: [...{action: !="delete"}]`,
		"new.cue": `changes: [...{action: !="delete", type: string, if type == "aws_ebs_volume" && action == "create" {after: size: <=500}}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for ext, bound := range map[string]time.Duration{"json": time.Minute, "rego": 3 * time.Minute, "cue": 5 * time.Minute} {
		plans := "plans"
		if ext == "cue" { // whose evaluator is slow
			plans = "plans/plan-00*.json"
		}
		start := time.Now()
		var out, errs bytes.Buffer
		g := &cli.Globals{Out: &out, Err: &errs, Engines: engines(), Now: time.Now}
		code := cli.Run(t.Context(), g, []string{"policy", "replay", "-C", dir, plans, "--candidate", "new." + ext, "--policy", "old." + ext, "--format", "json"})
		var got api.Replay
		if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != cli.ExitError {
			t.Fatalf("%s: exit %d, %v, %s", ext, code, err, errs.String())
		}
		took := time.Since(start)
		t.Logf("%s: %d plans of %d changes in %v", ext, got.Counts.Plans, storedChanges, took.Round(time.Millisecond))
		want := api.ReplayCounts{Plans: got.Counts.Plans, NewlyRefused: refused * got.Counts.Plans / storedPlans}
		want.Same = want.Plans - want.NewlyRefused
		if got.Counts != want || got.Counts.Plans == 0 || took > bound {
			t.Errorf("%s: %+v in %v, want %+v", ext, got.Counts, took, want)
		}
	}
}

const regoKeep = `package main
import rego.v1
deny_keep contains {"msg": "keep it", "address": c.address} if {
	some c in input.resource_changes
	"delete" in c.change.actions
}
`

const regoSize = `
deny_size contains {"msg": "too large", "address": c.address} if {
	some c in input.resource_changes
	c.type == "aws_ebs_volume"
	c.change.after.size > 500
}
`

// storePlans writes the plans and returns in how many a disk is too large.
func storePlans(t *testing.T, dir string) (large int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range storedPlans {
		var b bytes.Buffer
		b.WriteString(`{"format_version": "1.2", "terraform_version": "1.12.6", "resource_changes": [`)
		for j := range storedChanges {
			size := 100 + j
			if i%10 == 7 && j == 50 {
				size = 501
				large++
			}
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"address": "module.m%[1]d.aws_ebs_volume.v[%[2]d]", "mode": "managed", "type": "aws_ebs_volume", "name": "v", "index": %[2]d,
 "change": {"actions": ["create"], "before": null, "after": {"size": %[3]d, "type": "gp3", "encrypted": true, "availability_zone": "eu-central-1a",
 "tags": {"owner": "team-%[1]d", "name": "disk %[2]d of a rather usual name", "cost-center": "4711"}}, "after_unknown": {"id": true, "arn": true}, "after_sensitive": {"tags": {}}}}`, i, j, size)
		}
		b.WriteString("]}")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("plan-%04d.json", i)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return large
}

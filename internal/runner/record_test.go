package runner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// TestRecordSweeps has the directory of the record cleared of what a killed process
// was writing, and of nothing else; one process at a time has it.
func TestRecordSweeps(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, dirName)
	if err := os.MkdirAll(filepath.Join(home, temporaryPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{placedPrefix + "2", recordName} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record, err := OpenRecord(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRecord(root); problem.Code(err) != api.Locked {
		t.Errorf("a second process has it: %v", err)
	}
	if data, busy, err := PeekRecord(root); err != nil || !busy || string(data) != "{}" {
		t.Errorf("while it is held, the record is %q, busy %v, %v", data, busy, err)
	}
	left, err := filepath.Glob(filepath.Join(home, "*"))
	if err != nil || len(left) != 3 { // the record, its lock, and what keeps git away
		t.Errorf("%v is left, %v", left, err)
	}
	record.Close()
	if _, busy, err := PeekRecord(root); err != nil || busy {
		t.Errorf("nobody has it: busy %v, %v", busy, err)
	}
	if data, err := record.Read(); err != nil || string(data) != "{}" {
		t.Errorf("the record is %q, %v", data, err)
	}
}

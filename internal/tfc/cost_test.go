package tfc

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/assize-iac/assize/internal/postgres"
	"github.com/assize-iac/assize/internal/postgres/postgrestest"
)

// TestCostOfWrite: a write of a small state, as the tools do it, waits for the database
// no more often than is needed: on a busy machine that is what it costs. Each number is
// what it takes now; less is better.
func TestCostOfWrite(t *testing.T) {
	t.Parallel()
	var asked counters
	// One connection, so that it has prepared what it will ask.
	store, err := postgres.Open(t.Context(), postgrestest.Between(t, postgrestest.URL(t)+"&pool_max_conns=1", asked.relay))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	s := startOn(t, store)
	token := s.founder(t, "ann")
	stack := s.network(t, token, "acme")
	place := "/api/v2/workspaces/" + stack
	upload := ""
	steps := []struct {
		name    string
		answers int64 // that are waited for
		do      func(serial int)
	}{
		{"lock", 5, func(int) { s.must(t, 200, token, "POST", place+"/actions/lock", `{"reason":"a test"}`) }},
		{"begin", 3, func(serial int) {
			made := s.must(t, 201, token, "POST", place+"/state-versions", versionOf(serial, stateOf(serial), ""))
			upload = field[string](t, made, "data", "attributes", "hosted-state-upload-url")
		}},
		{"put", 5, func(serial int) {
			to, err := url.Parse(upload)
			if err != nil {
				t.Fatal(err)
			}
			s.must(t, 200, "", "PUT", to.Path, stateOf(serial))
		}},
		{"unlock", 5, func(int) { s.must(t, 200, token, "POST", place+"/actions/unlock", "") }},
	}
	for serial := 1; serial <= 3; serial++ {
		for _, step := range steps {
			answers, statements := asked.answers.Load(), asked.statements.Load()
			step.do(serial)
			answers, statements = asked.answers.Load()-answers, asked.statements.Load()-statements
			if serial < 3 {
				continue // statements are prepared, and the stack becomes known
			}
			t.Logf("%s: %d answers, %d statements", step.name, answers, statements)
			if answers > step.answers {
				t.Errorf("%s waits for %d answers of the database, want %d", step.name, answers, step.answers)
			}
		}
	}
}

func stateOf(serial int) string {
	return fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"l"}`, serial)
}

// Counters stand between a store and its database, and count what is asked.
type counters struct{ answers, statements atomic.Int64 }

// relay passes on what both say.
func (c *counters) relay(client, server net.Conn) {
	go func() {
		defer client.Close()
		_, _ = io.Copy(client, server)
	}()
	begun := false
	for {
		head := make([]byte, 5)
		if !begun {
			head = head[:4] // the first message has no type
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(client, rest); err != nil {
			return
		}
		if begun {
			c.count(head[0])
		}
		begun = true
		if _, err := server.Write(append(head, rest...)); err != nil {
			return
		}
	}
}

// count counts a message of the client by its type: Sync and Query are answered to the
// end, Execute and Query do a statement.
func (c *counters) count(kind byte) {
	if kind == 'S' || kind == 'Q' {
		c.answers.Add(1)
	}
	if kind == 'E' || kind == 'Q' {
		c.statements.Add(1)
	}
}

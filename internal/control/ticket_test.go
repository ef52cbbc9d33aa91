package control

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
)

// TestTicket: a ticket is good for its use, its thing and its hour, and lets its
// bearer act as who asked for it (docs/protocol.md, rule 23).
func TestTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := artifact.ParseRing(artifact.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		c, ann := New(nil, nil, keys), identity.Principal{Kind: identity.Person, ID: "usr_ann", Name: "ann"}
		shown, err := c.Ticket(t.Context(), ann, ToUpload, "mver_1")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(shown, "/") || strings.Contains(shown, "ann") {
			t.Errorf("%s is no part of a path that says nothing", shown)
		}
		time.Sleep(ticketTime - time.Second)
		if who, err := c.Redeem(t.Context(), ToUpload, "mver_1", shown); err != nil || who != ann {
			t.Errorf("%+v, %v", who, err)
		}
		for name, redeem := range map[string]func() error{
			"another use":   func() error { _, err := c.Redeem(t.Context(), ToDownload, "mver_1", shown); return err },
			"another thing": func() error { _, err := c.Redeem(t.Context(), ToUpload, "mver_2", shown); return err },
			"cut":           func() error { _, err := c.Redeem(t.Context(), ToUpload, "mver_1", shown[:40]); return err },
			"none":          func() error { _, err := c.Redeem(t.Context(), ToUpload, "mver_1", ""); return err },
			"no ticket":     func() error { _, err := c.Redeem(t.Context(), ToUpload, "mver_1", "n.o"); return err },
			"after its hour": func() error {
				time.Sleep(time.Second)
				_, err := c.Redeem(t.Context(), ToUpload, "mver_1", shown)
				return err
			},
		} {
			if err := redeem(); problem.Code(err) != api.NotFound {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

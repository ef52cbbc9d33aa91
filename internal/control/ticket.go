package control

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/identity"
	"github.com/assize-iac/assize/internal/problem"
	"github.com/assize-iac/assize/internal/sealed"
)

// A Use is what a ticket is for.
type Use string

// The uses of tickets.
const (
	ToUpload   Use = "upload"
	ToDownload Use = "download"
)

// ticketTime is how long a ticket is good for. It is used by the program that has
// asked for it, and then stands in logs of addresses.
const ticketTime = time.Hour

// ticket is what a ticket says.
type ticket struct {
	Who     identity.Principal `json:"who"`
	Expires time.Time          `json:"expires"`
}

// Ticket lets whoever shows it act as who, for one use of one thing. Clients send
// archives to addresses without their token, so such an address holds a ticket
// (docs/protocol.md, rule 23). It is sealed for its use and thing: nobody can make
// one, or use it for another.
func (c *Control) Ticket(ctx context.Context, who identity.Principal, use Use, id string) (string, error) {
	text, err := json.Marshal(ticket{Who: who, Expires: time.Now().Add(ticketTime).UTC()})
	if err != nil {
		return "", err
	}
	shut, err := sealed.Seal(ctx, c.keys, ticketPlace(use, id), text)
	return base64.RawURLEncoding.EncodeToString(shut), err
}

func ticketPlace(use Use, id string) sealed.Place {
	return sealed.Place{ID: id, Field: "ticket." + string(use)}
}

// Redeem is who acts with a ticket. What they may do is looked up when they do it:
// who has lost a role since can do nothing with it any more.
func (c *Control) Redeem(ctx context.Context, use Use, id, shown string) (identity.Principal, error) {
	shut, err := base64.RawURLEncoding.DecodeString(shown)
	if err != nil {
		return identity.Principal{}, noTicket(err)
	}
	text, err := sealed.Open(ctx, c.keys, ticketPlace(use, id), shut)
	if problem.Code(err) == api.Unavailable {
		return identity.Principal{}, err
	}
	var t ticket
	if err != nil || json.Unmarshal(text, &t) != nil || !time.Now().Before(t.Expires) {
		return identity.Principal{}, noTicket(err)
	}
	return t.Who, nil
}

// noTicket does not say what is wrong with it.
func noTicket(cause error) *problem.Error {
	p := problem.New(api.NotFound, "this address is wrong, or not valid any more").WithHint("ask for a new one")
	p.Cause = cause
	return p
}

// Package state decides what may become the next version of a state, and reads
// out of the bytes of one what everybody wants to know: outputs and resources. It
// is values in, values out; the bytes stream through it and are never all here.
//
// The rules are in docs/state.md.
package state

import (
	"regexp"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// The prefixes of the ids that a state brings (docs/identity.md, rule 1).
const (
	VersionID    = "sv_"
	LockID       = "lck_"
	QuarantineID = "qua_"
)

// A Status is how far a version has come.
type Status string

// The statuses of a version. From pending it becomes one of the others, for ever.
const (
	Pending   Status = "pending"   // announced; its bytes are not here yet
	Finalized Status = "finalized" // whole
	Discarded Status = "discarded" // nothing came, or something else was faster
)

// A Write is what somebody says of the version that they want to write.
type Write struct {
	Serial  int64
	Lineage string // "" claims nothing
	MD5     string // of the bytes: 32 hex digits
	Force   bool   // whatever is there
}

// A Head is the current version, as far as the next one must fit to it.
type Head struct {
	Serial  int64
	Lineage string // "" when nobody has said
	MD5     string
}

const lineageMax = 255

var hash = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Check refuses a write that could be no version at all.
func (w Write) Check() error {
	switch {
	case w.Serial < 0:
		return problem.New(api.Invalid, "the serial of a state is not negative")
	case !hash.MatchString(w.MD5):
		return problem.New(api.Invalid, "the md5 of a state is 32 hexadecimal digits, in lower case")
	case len(w.Lineage) > lineageMax || strings.ContainsFunc(w.Lineage, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		return problem.New(api.Invalid, "the lineage of a state is at most %d characters of printable text", lineageMax)
	}
	return nil
}

// A Ruling is what becomes of a write.
type Ruling string

// The rulings.
const (
	Accept   Ruling = "accept"
	Replay   Ruling = "replay"   // it is the current version once more
	Override Ruling = "override" // it does not fit, and is wanted all the same: a permission of its own
	Refuse   Ruling = "refuse"
)

// A Reason says why a write does not fit, or why bytes were not taken.
type Reason string

// The reasons. They stand in the database, in the audit log and in answers.
const (
	Fits    Reason = ""
	Serial  Reason = "serial"  // not above the current one
	Lineage Reason = "lineage" // of another state
	Hash    Reason = "md5"     // the bytes are not those that were announced
	Content Reason = "content" // the bytes are no state
	Unheld  Reason = "lock"    // the writer had no lock, or has lost it
	Late    Reason = "late"    // the version was given up before its bytes came, or is another's by now
	Denied  Reason = "denied"  // the writer may not overwrite what does not fit
)

// Judge rules about a write on top of head, nil when there is no version yet.
// Whether its writer holds the lock was asked before. Seen says that the holder of
// the lock has read the current version since it took the lock: who then sends
// what does not fit does so on purpose (docs/state.md, rules 4 to 7).
func Judge(head *Head, w Write, seen bool) (Ruling, Reason) {
	if head == nil {
		return Accept, Fits
	}
	reason := head.fit(w)
	switch {
	case reason == Fits:
		return Accept, Fits
	case reason == Serial && w.Serial == head.Serial && w.MD5 == head.MD5:
		return Replay, Fits
	case w.Force || seen:
		return Override, reason
	}
	return Refuse, reason
}

// fit says what keeps w from following h. A lineage that nobody has said is no
// other one.
func (h Head) fit(w Write) Reason {
	switch {
	case w.Lineage != "" && h.Lineage != "" && w.Lineage != h.Lineage:
		return Lineage
	case w.Serial <= h.Serial:
		return Serial
	}
	return Fits
}

// Next is the lineage of the version that w becomes on top of head.
func (w Write) Next(head *Head) string {
	if w.Lineage == "" && head != nil {
		return head.Lineage
	}
	return w.Lineage
}

// A Refused is in the tree of every error that says that a write was refused.
type Refused struct{ Reason Reason }

func (r *Refused) Error() string { return "refused: " + string(r.Reason) }

// Refusal is what the writer is told.
func (r Reason) Refusal(head *Head, w Write) *problem.Error {
	p := r.message(head, w)
	p.Cause = &Refused{r}
	return p
}

func (r Reason) message(head *Head, w Write) *problem.Error {
	const again = "run plan and apply again, on what is there now; to overwrite it on purpose: state push --force"
	switch r {
	case Serial:
		if w.Serial == head.Serial {
			return problem.New(api.Stale, "the current state has the same serial, %d, and is another", w.Serial).WithHint(again)
		}
		return problem.New(api.Stale, "the state that was sent is older (serial %d) than the current one (serial %d)", w.Serial, head.Serial).WithHint(again)
	case Lineage:
		return problem.New(api.Conflict, "the state that was sent is that of something else: its lineage is not the current one's").
			WithHint("look whether this is the right stack; to overwrite it on purpose: state push --force")
	case Hash:
		return problem.New(api.Invalid, "the bytes that came do not have the md5 that was announced").WithHint("send them again")
	case Content:
		return problem.New(api.Invalid, "the bytes that came are no state: they are no JSON object, or have no serial and lineage as a state has them").
			WithHint("send what the tool has written: tofu state pull prints it")
	case Unheld:
		return problem.New(api.Conflict, "a state is written with one's own lock, and this stack is not locked by you").
			WithHint("lock it first; a tool does that unless it was told -lock=false")
	case Late:
		return problem.New(api.Conflict, "this upload is too late: the stack was unlocked meanwhile, or another version was begun").
			WithHint("push the state again, with a new lock")
	case Denied:
		return problem.New(api.Forbidden, "the state that was sent does not follow the current one, and you may not overwrite that: it needs the permission state:recover").
			WithHint("ask a maintainer of the stack; force-unlock gives back a lock of your own")
	}
	return problem.New(api.Internal, "a write was refused, and nobody said why")
}

// Over is what w is forced over on top of head, "" when it fits.
func (w Write) Over(head *Head) Reason {
	if head == nil {
		return Fits
	}
	return head.fit(w)
}

// Package api holds every byte that leaves the process: the plan document,
// findings, verdicts, warrants and error codes. It has no logic beyond naming
// and validity, imports only the standard library, and knows nothing of how
// its values come about.
package api

// A Code says what kind of thing went wrong. There are twelve; every table that
// translates them (exit codes, HTTP statuses) has a row for each.
type Code string

const (
	Invalid         Code = "invalid"         // the input is malformed; sending it again will not help
	Unauthenticated Code = "unauthenticated" // nobody knows who asks
	Forbidden       Code = "forbidden"       // the principal may not
	NotFound        Code = "not_found"
	Conflict        Code = "conflict" // the thing is in a state that does not allow this
	Refused         Code = "refused"  // the gate said no
	Locked          Code = "locked"   // somebody else holds the lock
	Stale           Code = "stale"    // what was judged is no longer what is there
	TooLarge        Code = "too_large"
	Limited         Code = "limited" // too many at once, or too long
	Unavailable     Code = "unavailable"
	Internal        Code = "internal" // unknown; closes the gate
)

// Codes lists every code, in the order of the documentation.
func Codes() []Code {
	return []Code{Invalid, Unauthenticated, Forbidden, NotFound, Conflict, Refused,
		Locked, Stale, TooLarge, Limited, Unavailable, Internal}
}

// Status is the code as a status of HTTP, in every protocol that has them. Clients try
// again after 429 and 5xx, and after nothing else. What is unknown is 500.
func (c Code) Status() int {
	switch c {
	case Invalid:
		return 422
	case Unauthenticated:
		return 401
	case Forbidden:
		return 403
	case NotFound:
		return 404
	case Conflict, Refused, Locked, Stale:
		return 409
	case TooLarge:
		return 413
	case Limited:
		return 429
	case Unavailable:
		return 503
	}
	return 500
}

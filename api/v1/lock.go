package v1

import "time"

// A Lock is who may write the state of a stack at this moment, and nobody else.
type Lock struct {
	ID     string    `json:"id"`
	Holder Principal `json:"holder"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// A Locking says whether a stack is locked.
type Locking struct {
	Lock *Lock `json:"lock,omitempty" doc:"left out when it is not locked"`
}

// ShowLock asks whether a stack is locked.
type ShowLock struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
}

// Route is where the request goes.
func (ShowLock) Route() string { return "GET /v1/stacks/{stack}/lock" }

// TakeLock asks for the lock of a stack.
type TakeLock struct {
	Stack  string `path:"stack" json:"-" doc:"id of the stack"`
	Reason string `json:"reason,omitempty" max:"500" doc:"what for; others see it"`
	Key    string `json:"key,omitempty" doc:"then only who shows it may use the lock: two processes of one user are two"`
}

// Route is where the request goes.
func (TakeLock) Route() string { return "POST /v1/stacks/{stack}/lock" }

// ReleaseLock gives back the caller's own lock.
type ReleaseLock struct {
	Stack string `path:"stack" json:"-" doc:"id of the stack"`
	Key   string `query:"key" json:"-" doc:"of the lock, if it was taken with one"`
}

// Route is where the request goes.
func (ReleaseLock) Route() string { return "DELETE /v1/stacks/{stack}/lock" }

// BreakLock breaks the lock of a stack, whoever holds it. The answer is the lock
// that was broken.
type BreakLock struct {
	Stack  string `path:"stack" json:"-" doc:"id of the stack"`
	Reason string `json:"reason,omitempty" max:"300" doc:"why, for the audit log"`
}

// Route is where the request goes.
func (BreakLock) Route() string { return "POST /v1/stacks/{stack}/lock/break" }

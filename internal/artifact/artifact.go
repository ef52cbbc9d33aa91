// Package artifact keeps immutable bytes under the digest of what they say:
// states, plans, configurations, logs. It encrypts, checks and counts nothing
// out: what is on the disk or in the bucket opens only under the name it was
// kept by, and what has been damaged is an error, never other bytes.
//
// It talks to a file tree or to anything that speaks S3. It must not know what
// the bytes mean, nor who refers to them: that is the database's business, which
// tells Sweep what to leave alone.
//
// The rules are in docs/artifacts.md.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Name is what an artifact is called, and part of what it is encrypted with:
// the same bytes of two owners are two artifacts.
type Name struct {
	Kind   string // what the bytes are, such as "state": at most 32 of a-z, 0-9 and _
	Owner  string // id of what they belong to: at most 64 letters, digits, _ and -
	Digest string // of the plain text: "sha256:" and 64 hexadecimal digits
}

func (n Name) String() string { return n.Kind + "/" + n.Owner + "/" + n.Digest }

// ErrDamaged is in the tree of every error that says: something is kept here,
// and it is not what was kept.
var ErrDamaged = errors.New("is damaged")

const digestPrefix = "sha256:"

var (
	kinds   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	owners  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// check refuses a name that could mean a path, or be spelt in two ways
// (docs/artifacts.md, rule 2).
func (n Name) check() error {
	if err := checkOwner(n.Kind, n.Owner); err != nil {
		return err
	}
	if !digests.MatchString(n.Digest) {
		return problem.New(api.Invalid, "%q is no digest of an artifact", n.Digest).
			WithHint("a digest is sha256: and 64 hexadecimal digits, in lower case")
	}
	return nil
}

func checkOwner(kind, owner string) error {
	if !kinds.MatchString(kind) {
		return problem.New(api.Invalid, "%q is no kind of artifact", kind)
	}
	if !owners.MatchString(owner) {
		return problem.New(api.Invalid, "%q is no id of an owner of artifacts", owner)
	}
	return nil
}

// The two objects of an artifact. The header is small and says how to read the
// body; it is written last, so an artifact is there when its header is.
const (
	headerPrefix = "header/"
	bodyPrefix   = "body/"
)

// headerKey is where the header of n is kept.
func (n Name) headerKey() string {
	return headerPrefix + n.Kind + "/" + n.Owner + "/" + strings.TrimPrefix(n.Digest, digestPrefix)
}

// bodyKey is where the body with this id is kept. Its digest is known only when
// all of it has been read, so it is not in the key.
func bodyKey(kind, owner string, id bodyID) string {
	return bodyPrefix + kind + "/" + owner + "/" + id.String()
}

// nameOf reads the key of a header back.
func nameOf(key string) (Name, bool) {
	parts := strings.Split(strings.TrimPrefix(key, headerPrefix), "/")
	if len(parts) != 3 {
		return Name{}, false
	}
	n := Name{Kind: parts[0], Owner: parts[1], Digest: digestPrefix + parts[2]}
	return n, n.check() == nil && n.headerKey() == key
}

func digestOf(h hash.Hash) string { return digestPrefix + hex.EncodeToString(h.Sum(nil)) }

// Digest names bytes that are in memory already.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// damaged keeps a %w of its format in the tree.
func damaged(n Name, format string, args ...any) error {
	what := fmt.Errorf(format, args...)
	return problem.New(api.Internal, "artifact %s %w", n, damage{what}).
		WithHint("put the same bytes once more, or restore it from a backup; docs/artifacts.md says how")
}

// damage is ErrDamaged with what was seen.
type damage struct{ what error }

func (d damage) Error() string   { return ErrDamaged.Error() + ": " + d.what.Error() }
func (d damage) Unwrap() []error { return []error{ErrDamaged, d.what} }

func missing(n Name) error {
	return problem.New(api.NotFound, "there is no artifact %s", n)
}

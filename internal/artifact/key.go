package artifact

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// Keys wraps data keys with key-encryption keys, which it never hands out: a
// Ring in this process, or a key management service.
type Keys interface {
	// Current is the id of the key that wraps from now on.
	Current() string

	// Wrap encrypts dataKey under the key id, bound to context.
	Wrap(ctx context.Context, id string, dataKey, context []byte) ([]byte, error)

	// Unwrap reverses Wrap. Its error has ErrDamaged in its tree when the key is
	// there and this is not what it wrapped with this context; any other error
	// says that it could not be tried.
	Unwrap(ctx context.Context, id string, wrapped, context []byte) ([]byte, error)
}

// keyPrefix begins every key, so that scanners for secrets find it.
const keyPrefix = "assize_key_"

const keySize = 32

// NewKey draws a key-encryption key, as it stands in a key file.
func NewKey() string {
	return keyPrefix + base64.RawURLEncoding.EncodeToString(draw(keySize))
}

// A Ring is Keys in memory. The first key wraps; the others only unwrap what
// has not been rotated yet (docs/artifacts.md, rule 9).
type Ring struct {
	current string
	keys    map[string]cipher.AEAD
}

// ReadRing reads a key file: one key a line, the current one first; lines that
// begin with # are comments.
func ReadRing(path string) (*Ring, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, problem.New(api.Invalid, "the key file cannot be read: %w", err).
			WithHint("docs/artifacts.md says how to make one")
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			lines = append(lines, line)
		}
	}
	return ParseRing(strings.Join(lines, ""))
}

// ParseRing reads keys with white space between them, as they stand in an
// environment variable. No error shows any of the text.
func ParseRing(text string) (*Ring, error) {
	r := &Ring{keys: map[string]cipher.AEAD{}}
	for i, word := range strings.Fields(text) {
		encoded, ok := strings.CutPrefix(word, keyPrefix)
		key, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
		if !ok || err != nil || len(key) != keySize {
			return nil, problem.New(api.Invalid, "key %d is no key of artifacts", i+1).
				WithHint("a key is %s and 43 characters; docs/artifacts.md says how to make one", keyPrefix)
		}
		id, err := r.add(key)
		if err != nil {
			return nil, err
		}
		if r.current == "" {
			r.current = id
		}
	}
	if r.current == "" {
		return nil, problem.New(api.Invalid, "there is no key of artifacts").WithHint("docs/artifacts.md says how to make one")
	}
	return r, nil
}

// add derives the id of a key from the key, so that none can have the id of
// another; of 256 random bits, a digest gives nothing away.
func (r *Ring) add(key []byte) (string, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", problem.New(api.Internal, "the key of artifacts cannot be used: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return "", problem.New(api.Internal, "the key of artifacts cannot be used: %w", err)
	}
	sum := sha256.Sum256(append([]byte("assize: id of a key of artifacts\x00"), key...))
	id := "key_" + hex.EncodeToString(sum[:8])
	r.keys[id] = aead
	return id, nil
}

// IDs lists the ids of all keys, the current one first. They are not secret.
func (r *Ring) IDs() []string {
	ids := []string{r.current}
	for id := range r.keys {
		if id != r.current {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids[1:])
	return ids
}

func (r *Ring) Current() string { return r.current }

func (r *Ring) Wrap(_ context.Context, id string, dataKey, context []byte) ([]byte, error) {
	key, err := r.key(id)
	if err != nil {
		return nil, err
	}
	return key.Seal(nil, nil, dataKey, context), nil
}

func (r *Ring) Unwrap(_ context.Context, id string, wrapped, context []byte) ([]byte, error) {
	key, err := r.key(id)
	if err != nil {
		return nil, err
	}
	dataKey, err := key.Open(nil, nil, wrapped, context)
	if err != nil {
		return nil, errors.Join(ErrDamaged, err)
	}
	return dataKey, nil
}

func (r *Ring) key(id string) (cipher.AEAD, error) {
	key, ok := r.keys[id]
	if !ok {
		return nil, problem.New(api.Unavailable, "there is no key %q; there are %s", id, strings.Join(r.IDs(), ", ")).
			WithHint("add the key that has this id to the key file, below the current one")
	}
	return key, nil
}

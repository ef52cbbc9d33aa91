// Package sealed encrypts small secrets for a column of the database: values of
// variables, keys of SSH, tokens of others. A sealed secret opens only at the place
// it was sealed for, and what has been changed is an error, never other bytes.
//
// It is bytes in, bytes out, but for the keys, which may be another machine's. It
// must not know what the secrets are for, nor who may see them.
//
// The rules are in docs/secrets.md.
package sealed

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/problem"
)

// Max is the size of the largest secret, in bytes.
const Max = 256 << 10

// A Place is where a secret stands, and part of what it is encrypted with: at any
// other place it does not open (docs/secrets.md, rule 2).
type Place struct {
	ID    string // of the row
	Field string // the table and the column, such as "variables.value"
}

// bytes say the length of the id, so that no two places are the same bytes.
func (p Place) bytes() []byte { return fmt.Appendf(nil, "%d:%s/%s", len(p.ID), p.ID, p.Field) }

// Seal encrypts a secret for a place (docs/secrets.md, rule 1). One that is too large is too_large; that the
// key cannot be used is the error of keys.
func Seal(ctx context.Context, keys artifact.Keys, at Place, secret []byte) ([]byte, error) {
	if len(secret) > Max {
		return nil, problem.New(api.TooLarge, "a secret has at most %d bytes, and this one %d", Max, len(secret))
	}
	dataKey := make([]byte, dataKeySize)
	_, _ = rand.Read(dataKey) // never fails
	aead, err := open(dataKey)
	if err != nil {
		return nil, err
	}
	return wrap(ctx, keys, at, dataKey, aead.Seal(nil, nil, secret, bound(at)))
}

// Open is the secret that was sealed for a place. Its error has
// [artifact.ErrDamaged] in its tree when this is not what was sealed there, and is
// unavailable when the key is not there or cannot be asked (docs/secrets.md, rule 3).
// No error holds any of the secret.
func Open(ctx context.Context, keys artifact.Keys, at Place, text []byte) ([]byte, error) {
	box, dataKey, err := unwrap(ctx, keys, at, text)
	if err != nil {
		return nil, err
	}
	aead, err := open(dataKey)
	if err != nil {
		return nil, err
	}
	secret, err := aead.Open(nil, nil, box.body, bound(at))
	if err != nil {
		return nil, damaged(at, errors.New("it does not open"))
	}
	return secret, nil
}

// Rotate is the same secret with its data key wrapped by the current key, and
// whether that is another text than before (docs/secrets.md, rule 5). It does not
// decrypt the secret.
func Rotate(ctx context.Context, keys artifact.Keys, at Place, text []byte) ([]byte, bool, error) {
	if box, err := decode(text); err == nil && box.keyID == keys.Current() {
		return text, false, nil
	}
	box, dataKey, err := unwrap(ctx, keys, at, text)
	if err != nil {
		return nil, false, err
	}
	anew, err := wrap(ctx, keys, at, dataKey, box.body)
	return anew, err == nil, err
}

const dataKeySize = 32

// open is the cipher of one secret. Its key encrypts nothing else.
func open(dataKey []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(dataKey)
	if err != nil {
		return nil, problem.New(api.Internal, "the key of a secret cannot be used: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, problem.New(api.Internal, "the key of a secret cannot be used: %w", err)
	}
	return aead, nil
}

// wrap puts a body and its key together, wrapped with the current key.
func wrap(ctx context.Context, keys artifact.Keys, at Place, dataKey, body []byte) ([]byte, error) {
	b := box{keyID: keys.Current(), body: body}
	var err error
	if b.wrapped, err = keys.Wrap(ctx, b.keyID, dataKey, b.context(at)); err != nil {
		return nil, err
	}
	if n := len(b.keyID); n == 0 || n > 255 {
		return nil, problem.New(api.Internal, "the id of a key has 1 to 255 bytes, and this one %d", n)
	}
	if n := len(b.wrapped); n == 0 || n > 65535 {
		return nil, problem.New(api.Internal, "a wrapped key has 1 to 65535 bytes, and this one %d", n)
	}
	return b.encode(), nil
}

// unwrap is what wrap has put together. Only keys that say so know of damage: keys
// that cannot be reached say nothing about the secret.
func unwrap(ctx context.Context, keys artifact.Keys, at Place, text []byte) (box, []byte, error) {
	b, err := decode(text)
	if err != nil {
		return box{}, nil, damaged(at, err)
	}
	dataKey, err := keys.Unwrap(ctx, b.keyID, b.wrapped, b.context(at))
	if errors.Is(err, artifact.ErrDamaged) {
		return box{}, nil, damaged(at, errors.New("its key does not open"))
	}
	if err != nil {
		return box{}, nil, err
	}
	if len(dataKey) != dataKeySize {
		return box{}, nil, damaged(at, errors.New("it holds no key"))
	}
	return b, dataKey, nil
}

// damaged does not quote the id of the key, which is part of what may be damaged.
func damaged(at Place, what error) error {
	return problem.New(api.Internal, "the secret %s of %s %w", at.Field, at.ID, fmt.Errorf("%w: %w", artifact.ErrDamaged, what)).
		WithHint("set it anew, or restore the database from a backup; docs/secrets.md says how")
}

package artifact

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A bodyID tells the bodies of an owner apart. It is drawn for every write, so
// that two writers of the same bytes cannot write into one another.
type bodyID [16]byte

func (id bodyID) String() string { return hex.EncodeToString(id[:]) }

// A header says which body an artifact has, and holds the key of that body,
// wrapped. It is all that a rotation of keys writes anew.
type header struct {
	body    bodyID
	size    int64  // bytes of the plain text
	keyID   string // of the key-encryption key, 1 to 255 bytes
	wrapped []byte // the data key, 1 to 65,535 bytes
	inside  []byte // the body, of a small artifact; else it is an object of its own
}

// magic begins every header; its last byte is the version of the format, in
// which nothing may be added that an older reader could overlook.
const (
	magic          = "ASSIZE\x00"
	apart     byte = 1                                  // the body is an object of its own
	within    byte = 2                                  // it follows the wrapped key
	fixed          = len(magic) + 1 + len(bodyID{}) + 8 // all before the id of the key
	headerMax      = fixed + 1 + 255 + 2 + 65535        // without a body
)

// Small is the size of an artifact up to which its body is in its header, in bytes: one object
// is written and made safe in half of the time of two.
const Small = 64 << 10

// encode is the only form of h: decode refuses all others.
func (h header) encode() []byte {
	out := h.prefix()
	out = binary.BigEndian.AppendUint16(out, uint16(len(h.wrapped)))
	return append(append(out, h.wrapped...), h.inside...)
}

// prefix is what stands before the wrapped key, and is authenticated with it.
func (h header) prefix() []byte {
	out := append([]byte(magic), apart)
	if h.inside != nil {
		out[len(magic)] = within
	}
	out = append(out, h.body[:]...)
	out = binary.BigEndian.AppendUint64(out, uint64(h.size))
	out = append(out, byte(len(h.keyID)))
	return append(out, h.keyID...)
}

// decodeHeader refuses what encode has not written (docs/artifacts.md, rule 7).
func decodeHeader(data []byte) (header, error) {
	var h header
	if len(data) < fixed+1 || string(data[:len(magic)]) != magic {
		return h, errors.New("its header is no header")
	}
	form := data[len(magic)]
	if form != apart && form != within {
		return h, fmt.Errorf("its header has version %d, and this assize reads the versions %d and %d", form, apart, within)
	}
	copy(h.body[:], data[len(magic)+1:])
	h.size = int64(binary.BigEndian.Uint64(data[fixed-8:]))
	id, rest := int(data[fixed]), data[fixed+1:]
	if h.size < 0 || id == 0 || len(rest) < id+2 {
		return h, errors.New("its header is cut short, or not true")
	}
	h.keyID, rest = string(rest[:id]), rest[id:]
	n, follows := int(binary.BigEndian.Uint16(rest)), int64(0)
	if form == within && h.size <= Small {
		follows = bodySize(h.size, smallSegment)
	}
	if n == 0 || form == within && follows == 0 || int64(len(rest)) != 2+int64(n)+follows {
		return h, errors.New("its header has another length than it says")
	}
	h.wrapped = rest[2 : 2+n]
	if form == within {
		h.inside = rest[2+n:]
	}
	return h, nil
}

// context is what a data key is bound to: the name of the artifact, and all of
// the header. Under another name, or in another header, it does not unwrap
// (docs/artifacts.md, rule 3). The prefix says its own length, so the two cannot
// run into each other.
func (h header) context(n Name) []byte {
	return append(h.prefix(), n.String()...)
}

// seal wraps dataKey with the current key.
func (h header) seal(ctx context.Context, keys Keys, n Name, dataKey []byte) (header, error) {
	h.keyID = keys.Current()
	if len(h.keyID) == 0 || len(h.keyID) > 255 {
		return h, problem.New(api.Internal, "the id of a key has 1 to 255 bytes, and this one %d", len(h.keyID))
	}
	wrapped, err := keys.Wrap(ctx, h.keyID, dataKey, h.context(n))
	if err != nil {
		return h, err
	}
	if len(wrapped) == 0 || len(wrapped) > 65535 {
		return h, problem.New(api.Internal, "a wrapped key has 1 to 65535 bytes, and this one %d", len(wrapped))
	}
	h.wrapped = wrapped
	return h, nil
}

// open returns the data key. Only a store of keys that says ErrDamaged says so
// of the artifact: one that cannot be reached says nothing about it.
func (h header) open(ctx context.Context, keys Keys, n Name) ([]byte, error) {
	dataKey, err := keys.Unwrap(ctx, h.keyID, h.wrapped, h.context(n))
	if errors.Is(err, ErrDamaged) {
		return nil, damaged(n, "its header does not open with the key %s", h.keyID)
	}
	if err != nil {
		return nil, err
	}
	if len(dataKey) != dataKeySize {
		return nil, damaged(n, "its header holds no key of a body")
	}
	return dataKey, nil
}

// draw returns random bytes; Go ends the program when there are none.
func draw(n int) []byte {
	out := make([]byte, n)
	rand.Read(out)
	return out
}

package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A box is a secret as it stands in a column: how to come to its key, and the
// secret, encrypted with that (docs/secrets.md, rule 4).
type box struct {
	keyID   string // of the key-encryption key, 1 to 255 bytes
	wrapped []byte // the data key, 1 to 65,535 bytes
	body    []byte
}

// magic begins every sealed secret; its last byte is followed by the version of
// the format, in which nothing may be added that an older reader could overlook.
const (
	magic        = "SEALED\x00"
	version byte = 1
	fixed        = len(magic) + 1 // all before the id of the key
)

// bound is what the body is bound to. The key-encryption key is not in it: a
// rotation changes that and leaves the body.
func bound(at Place) []byte {
	return append(append([]byte(magic), version), at.bytes()...)
}

// context is what the data key is bound to.
func (b box) context(at Place) []byte { return append(b.prefix(), at.bytes()...) }

// prefix is what stands before the wrapped key. It says its own length.
func (b box) prefix() []byte {
	out := append([]byte(magic), version, byte(len(b.keyID)))
	return append(out, b.keyID...)
}

// encode is the only form of b: decode refuses all others.
func (b box) encode() []byte {
	out := binary.BigEndian.AppendUint16(b.prefix(), uint16(len(b.wrapped)))
	return append(append(out, b.wrapped...), b.body...)
}

// decode refuses what encode has not written.
func decode(text []byte) (box, error) {
	if len(text) < fixed+1 || string(text[:len(magic)]) != magic {
		return box{}, errors.New("this is no sealed secret")
	}
	if v := text[len(magic)]; v != version {
		return box{}, fmt.Errorf("it has version %d, and this assize reads version %d", v, version)
	}
	id, rest := int(text[fixed]), text[fixed+1:]
	if id == 0 || len(rest) < id+2 {
		return box{}, errors.New("it is cut short, or not true")
	}
	b := box{keyID: string(rest[:id])}
	n := int(binary.BigEndian.Uint16(rest[id:]))
	rest = rest[id+2:]
	if n == 0 || len(rest) < n {
		return box{}, errors.New("it is cut short, or not true")
	}
	b.wrapped, b.body = rest[:n], rest[n:]
	return b, nil
}

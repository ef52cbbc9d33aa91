package main

import (
	"bytes"
	"crypto/md5"
	"encoding"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// lineage is that of all states here.
const lineage = "5ad1cf5e-7d31-4b1d-9f55-2a3c62a9d9c1"

// A stateText is a state as a tool writes it, but for its end, which has the
// serial: so that each version differs, and making one costs a client nothing.
type stateText struct {
	head []byte
	hash []byte // of head: the state of an MD5
}

// makeState makes a state of so many bytes, or a few more, of resources of 800 bytes.
func makeState(size int) (stateText, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"version":4,"terraform_version":"1.12.6","lineage":%q,"outputs":{"region":{"value":"eu-central-1","type":"string"}},"resources":[`, lineage)
	draw := rand.New(rand.NewPCG(1, 2))
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		text := make([]byte, 120)
		for j := range text {
			text[j] = byte(draw.Uint32())
		}
		fmt.Fprintf(&b, `{"mode":"managed","type":"terraform_data","name":"r%d","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{`+
			`"id":"%x","input":{"value":"%x","type":"string"},"output":{"value":"%x","type":"string"},"triggers_replace":null},"sensitive_attributes":[]}]}`, i, text[:16], text, text)
	}
	b.WriteString(`],"check_results":null,"serial":`)
	h := md5.New()
	h.Write(b.Bytes())
	hash, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	return stateText{head: b.Bytes(), hash: hash}, err
}

// end is what follows the head in the version with this serial.
func (s stateText) end(serial int64) string { return strconv.FormatInt(serial, 10) + "}\n" }

// size is that of the version with this serial, in bytes.
func (s stateText) size(serial int64) int64 { return int64(len(s.head) + len(s.end(serial))) }

// md5 is that of the version with this serial.
func (s stateText) md5(serial int64) (string, error) {
	h := md5.New()
	if err := h.(encoding.BinaryUnmarshaler).UnmarshalBinary(s.hash); err != nil {
		return "", err
	}
	h.Write([]byte(s.end(serial)))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// text is the version with this serial, whole.
func (s stateText) text(serial int64) []byte {
	return append(bytes.Clone(s.head), s.end(serial)...)
}

// check wants text to be the version with this serial.
func (s stateText) check(text []byte, serial int64) error {
	if end, ok := bytes.CutPrefix(text, s.head); !ok || string(end) != s.end(serial) {
		return fmt.Errorf("what was read is not the version with the serial %d that was written, but has %d bytes and ends with %.100q", serial, len(text), text[max(0, len(text)-100):])
	}
	return nil
}

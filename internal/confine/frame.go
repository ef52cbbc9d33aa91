package confine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// writeFrame writes the length of data, eight bytes, and data.
func writeFrame(w io.Writer, data []byte) error {
	if _, err := w.Write(binary.BigEndian.AppendUint64(nil, uint64(len(data)))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// readFrame reads what the other side says is there, and spends no more than
// sixteen times the memory of what arrives on it. A buffer that doubles would
// have three times the size of a big plan in the end.
func readFrame(r io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > 1<<40 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	var data []byte
	for size := uint64(1 << 16); ; size *= 16 {
		grown := make([]byte, min(size, n))
		copy(grown, data)
		if got, err := io.ReadFull(r, grown[len(data):]); err != nil {
			return nil, fmt.Errorf("%d of %d bytes: %w", len(data)+got, n, err)
		}
		if data = grown; size >= n {
			return data, nil
		}
	}
}

// writePair writes head as JSON, and raw, a frame each.
func writePair(w io.Writer, head any, raw []byte) error {
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := writeFrame(w, data); err != nil {
		return err
	}
	return writeFrame(w, raw)
}

func readPair(r io.Reader) (head, raw []byte, err error) {
	if head, err = readFrame(r); err != nil {
		return nil, nil, err
	}
	raw, err = readFrame(r)
	return head, raw, err
}

// only is the content of the one frame that all of data is.
func only(data []byte) ([]byte, error) {
	r := bytes.NewReader(data)
	body, err := readFrame(r)
	if err == nil && r.Len() > 0 {
		err = fmt.Errorf("something follows the answer")
	}
	return body, err
}

// readAnswer reads one frame, and not more than an answer may have; size is
// what was announced or read.
func readAnswer(r io.Reader, limit int) (body []byte, size int, err error) {
	var head [8]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return nil, n, err
	}
	n := binary.BigEndian.Uint64(head[:])
	if n > uint64(limit) {
		return nil, limit + 1, fmt.Errorf("an answer of %d bytes", n)
	}
	var data bytes.Buffer
	got, err := io.CopyN(&data, r, int64(n))
	return data.Bytes(), int(got), err
}

// Decode decodes exactly one value without unknown fields. Numbers keep their digits.
func Decode(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("something follows the value")
	}
	return nil
}

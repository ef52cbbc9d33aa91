package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a type of the api package, at once or not at all: half a document
// parses as nothing. What a terminal or a log would act on is escaped.
func JSON(w io.Writer, v any) error { return write(w, v, "  ") }

// JSONLine is [JSON] on one line, for documents that follow each other.
func JSONLine(w io.Writer, v any) error { return write(w, v, "") }

func write(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // addresses are full of > and &, and this is no HTML
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	_, err := w.Write(Inert(b.Bytes()))
	return err
}

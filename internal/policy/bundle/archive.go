package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// pack writes the archive. Nothing in it says when, where or by whom it was
// made.
func pack(entries []entry) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if buf.Len()+len(e.data) > MaxBytes {
			return nil, tooLarge()
		}
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.path, Mode: 0o644, Size: int64(len(e.data))})
		if err == nil {
			_, err = w.Write(e.data)
		}
		if err != nil {
			return nil, problem.New(api.Internal, "the bundle could not be written: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, problem.New(api.Internal, "the bundle could not be written: %w", err)
	}
	if out := store(buf.Bytes()); len(out) <= MaxBytes {
		return out, nil
	}
	return nil, tooLarge()
}

// gzipHead is the first ten bytes of every bundle: no name, no time, no
// comment, no hint of the level, and an unknown operating system (RFC 1952).
const gzipHead = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// maxStored is how much one stored block can hold (RFC 1951, 3.2.4).
const maxStored = 1<<16 - 1

// store wraps data in gzip without compressing it. Compressed bytes depend on
// the version of the compressor, and Go's has changed before; a bundle's digest
// must not (docs/bundle.md, rule 4).
func store(data []byte) []byte {
	out := []byte(gzipHead)
	for rest := data; ; {
		n := min(len(rest), maxStored)
		var last byte
		if n == len(rest) {
			last = 1
		}
		out = append(out, last)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(n))
		out = append(out, rest[:n]...)
		if rest = rest[n:]; last == 1 {
			break
		}
	}
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(data))
	return binary.LittleEndian.AppendUint32(out, uint32(len(data)))
}

// unpack reads an archive that nobody vouches for. One slash in front of a
// name is dropped, because `opa build` writes one.
func unpack(data []byte) ([]entry, error) {
	raw, err := unzip(data)
	if err != nil {
		return nil, err
	}
	r := bytes.NewReader(raw)
	tr := tar.NewReader(r)
	var out []entry
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, broken("tar", err)
		}
		if len(out) == maxEntries {
			return nil, tooMany()
		}
		name := strings.TrimPrefix(h.Name, "/")
		if err := checkHeader(h, name); err != nil {
			return nil, err
		}
		body, err := io.ReadAll(tr)
		if err != nil {
			return nil, broken("tar", err)
		}
		out = append(out, entry{path: name, data: body})
	}
	if rest := raw[len(raw)-r.Len():]; len(bytes.Trim(rest, "\x00")) > 0 {
		return nil, problem.New(api.Invalid, "something follows the end of the bundle's archive")
	}
	sorted := append([]entry(nil), out...)
	sortEntries(sorted)
	return out, checkEntries(sorted)
}

// unzip decompresses one gzip member and nothing after it, up to the limit.
func unzip(data []byte) ([]byte, error) {
	r := bytes.NewReader(data)
	gz, err := gzip.NewReader(r)
	if err != nil {
		return nil, broken("gzip", err)
	}
	gz.Multistream(false)
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(gz, MaxBytes+1))
	switch {
	case err != nil:
		return nil, broken("gzip", err)
	case n > MaxBytes:
		return nil, tooLarge()
	case r.Len() > 0:
		return nil, problem.New(api.Invalid, "%d bytes follow the end of the bundle", r.Len())
	}
	return out.Bytes(), nil
}

// checkHeader accepts a regular file that is said in the plain form of tar, or
// with the one extension that long and non-ASCII names need.
func checkHeader(h *tar.Header, name string) error {
	if len(name) > maxName {
		return checkName(name)
	}
	if kind := kindOf(h.Typeflag); kind != "" {
		return problem.New(api.Invalid, "the bundle holds %q, which is %s", name, kind).
			WithHint("a bundle holds regular files; make it with `assize policy build` or `opa build`")
	}
	if err := checkName(name); err != nil {
		return err
	}
	for _, record := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		if record != "path" {
			return problem.New(api.Invalid, "the bundle holds %q with the extended attribute %q", name, record).
				WithHint("make it with `assize policy build` or `opa build`")
		}
	}
	if h.Linkname != "" || h.Format != tar.FormatUSTAR && h.Format != tar.FormatPAX {
		return problem.New(api.Invalid, "the bundle holds %q in a form of tar that is not read", name).
			WithHint("make it with `assize policy build` or `opa build`")
	}
	return nil
}

// kindOf names what is no regular file.
func kindOf(typeflag byte) string {
	switch typeflag {
	case tar.TypeReg:
		return ""
	case tar.TypeSymlink, tar.TypeLink:
		return "a link"
	case tar.TypeDir:
		return "a directory"
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a pipe"
	}
	return "no regular file"
}

func broken(format string, err error) error {
	return problem.New(api.Invalid, "the bundle is damaged: reading %s: %w", format, err).
		WithHint("a bundle is a .tar.gz that `assize policy build` or `opa build` wrote; was it copied whole?")
}

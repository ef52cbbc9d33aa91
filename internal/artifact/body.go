package artifact

import (
	"crypto/sha256"
	"errors"
	"hash"
	"io"

	"github.com/tink-crypto/tink-go/v2/streamingaead/subtle"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A body is Tink's AES256_GCM_HKDF_1MB: segments of a megabyte, of which each
// is authenticated with its place, and the last as the last. In a header it is the
// same with segments of 4 KiB, AES256_GCM_HKDF_4KB: Tink makes room for whole ones.
const (
	dataKeySize  = 32
	segmentSize  = 1 << 20
	smallSegment = 4 << 10
	segmentTag   = subtle.AESGCMHKDFTagSizeInBytes
	bodyOverhead = 1 + dataKeySize + subtle.AESGCMHKDFNoncePrefixSizeInBytes
)

func newCipher(dataKey []byte, segment int) (*subtle.AESGCMHKDF, error) {
	c, err := subtle.NewAESGCMHKDF(dataKey, "SHA256", dataKeySize, segment, 0)
	if err != nil {
		return nil, problem.New(api.Internal, "the key of a body cannot be used: %w", err)
	}
	return c, nil
}

// bodySize is how long the body of size plain bytes is: what is shorter or
// longer need not be read to be refused.
func bodySize(size int64, segment int64) int64 {
	each := segment - segmentTag
	segments := max(1, (size+bodyOverhead+each-1)/each)
	return bodyOverhead + size + segments*segmentTag
}

// encrypt writes what r reads to w, bound to the key of the object.
func encrypt(c *subtle.AESGCMHKDF, w io.Writer, key string, r io.Reader) (int64, error) {
	e, err := c.NewEncryptingWriter(w, []byte(key))
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(e, r)
	if err != nil {
		return n, err
	}
	return n, e.Close()
}

// A Reader reads one artifact. Every byte it returns is authentic; that they
// are all, and have the digest, is known when it returns io.EOF and not before
// (docs/artifacts.md, rule 6).
type Reader struct {
	name   Name
	size   int64
	read   int64
	digest hash.Hash
	plain  io.Reader
	source *source
	err    error // what ended it: one that is read on after an error does not recover
}

func newReader(n Name, h header, dataKey []byte, body io.ReadCloser) (*Reader, error) {
	segment := segmentSize
	if h.inside != nil {
		segment = smallSegment
	}
	c, err := newCipher(dataKey, segment)
	if err != nil {
		return nil, err
	}
	r := &Reader{name: n, size: h.size, digest: sha256.New(), source: &source{body: body}}
	if r.plain, err = c.NewDecryptingReader(r.source, []byte(bodyKey(n.Kind, n.Owner, h.body))); err != nil {
		return nil, r.failed(err)
	}
	return r, nil
}

// Size is the number of plain bytes.
func (r *Reader) Size() int64 { return r.size }

func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.plain.Read(p)
	r.read += int64(n)
	r.digest.Write(p[:n])
	switch {
	case err == io.EOF:
		r.err = r.end()
	case err != nil:
		r.err = r.failed(err)
	}
	return n, r.err
}

// end checks what only the whole can say, and is io.EOF when it holds.
func (r *Reader) end() error {
	if r.read != r.size {
		return damaged(r.name, "it has %d bytes, and its header says %d", r.read, r.size)
	}
	if got := digestOf(r.digest); got != r.name.Digest {
		return damaged(r.name, "its bytes have the digest %s", got)
	}
	return io.EOF
}

// failed tells a store that does not answer from bytes that do not open.
func (r *Reader) failed(err error) error {
	if r.source.err != nil {
		return because(problem.New(api.Unavailable, "artifact %s could not be read", r.name), r.source.err)
	}
	return damaged(r.name, "its body does not open: %w", err)
}

func (r *Reader) Close() error { return r.source.body.Close() }

// A source remembers why a body could not be read further.
type source struct {
	body io.ReadCloser
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

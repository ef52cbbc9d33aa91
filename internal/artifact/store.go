package artifact

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// A Store keeps artifacts in a bucket. It may be used by many at once, in many
// processes: what one of them has written, all can read.
type Store struct {
	bucket *blob.Bucket
	keys   Keys
	dir    string      // of a file tree; empty in a bucket
	root   os.FileInfo // of that directory, as it was opened
	dirs   *directories
	small  int64 // the size up to which a body is in its header, in bytes

	// keeping is held by Rotate and Sweep. Other processes do not see it.
	keeping *sync.Mutex
}

// New keeps artifacts in a bucket of their own, or below a prefix of one. The
// bucket must be strongly consistent and know writes that replace nothing, as
// S3 does (If-None-Match).
func New(bucket *blob.Bucket, keys Keys) *Store {
	return &Store{bucket: bucket, keys: keys, keeping: &sync.Mutex{}, dirs: &directories{}, small: Small}
}

func (s *Store) Close() error { return s.bucket.Close() }

// Put keeps what r reads under name and returns its size in bytes. It is an
// error (invalid) when that does not have the name's digest; then, as after any
// other error, nothing is there that is not whole (docs/artifacts.md, rule 4).
// Whoever puts what is there already must still have all of it.
func (s *Store) Put(ctx context.Context, name Name, r io.Reader) (int64, error) {
	if err := name.check(); err != nil {
		return 0, err
	}
	d, err := s.write(ctx, name.Kind, name.Owner, r)
	if err != nil {
		return 0, err
	}
	if d.digest != name.Digest {
		s.drop(ctx, d)
		return 0, problem.New(api.Invalid, "what was sent as %s has the digest %s", name, d.digest).
			WithHint("it was cut short or changed on the way; send it again")
	}
	return d.size, s.commit(ctx, name, d)
}

// Add keeps what r reads and returns the name it has got and its size in bytes.
// Where the digest is known before, Put is the safer one: an r that ends early,
// and says io.EOF, is to Add just a shorter artifact.
func (s *Store) Add(ctx context.Context, kind, owner string, r io.Reader) (Name, int64, error) {
	if err := checkOwner(kind, owner); err != nil {
		return Name{}, 0, err
	}
	d, err := s.write(ctx, kind, owner, r)
	if err != nil {
		return Name{}, 0, err
	}
	name := Name{Kind: kind, Owner: owner, Digest: d.digest}
	if err := s.commit(ctx, name, d); err != nil {
		return Name{}, 0, err
	}
	return name, d.size, nil
}

// Open begins to read an artifact. Its error is not_found when there is none of
// this name, has ErrDamaged in its tree when there is one that does not open,
// and is unavailable when nobody can tell.
func (s *Store) Open(ctx context.Context, name Name) (*Reader, error) {
	if err := name.check(); err != nil {
		return nil, err
	}
	r, err := s.open(ctx, name)
	if errors.Is(err, errNoBody) {
		r, err = s.open(ctx, name) // its header was replaced meanwhile, and the body swept
	}
	return r, err
}

func (s *Store) open(ctx context.Context, name Name) (*Reader, error) {
	h, dataKey, err := s.header(ctx, name)
	if err != nil {
		return nil, err
	}
	body, err := s.body(ctx, name, h)
	if err != nil {
		return nil, err
	}
	r, err := newReader(name, h, dataKey, body)
	if err != nil {
		body.Close()
		return nil, err
	}
	return r, nil
}

// body begins to read a body, which has the length that it should.
func (s *Store) body(ctx context.Context, name Name, h header) (io.ReadCloser, error) {
	if h.inside != nil {
		return io.NopCloser(bytes.NewReader(h.inside)), nil
	}
	body, err := s.bucket.NewReader(ctx, bodyKey(name.Kind, name.Owner, h.body), nil)
	if err != nil {
		return nil, unread(name, err)
	}
	if got, want := body.Size(), bodySize(h.size, segmentSize); got != want {
		body.Close()
		return nil, damaged(name, "its body has %d bytes instead of %d", got, want)
	}
	return body, nil
}

// Delete removes an artifact that nobody refers to any more; whether that is so
// is for the caller to know (docs/artifacts.md, rule 11). It needs no key. That
// there is none of this name is no error.
func (s *Store) Delete(ctx context.Context, name Name) error {
	if err := name.check(); err != nil {
		return err
	}
	data, err := s.headerBytes(ctx, name)
	if problem.Code(err) == api.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	// The header goes first: a body without one is litter, a header without a
	// body would be damage.
	if err := s.remove(ctx, name.headerKey()); err != nil {
		return err
	}
	if h, err := decodeHeader(data); err == nil && h.inside == nil {
		return s.remove(ctx, bodyKey(name.Kind, name.Owner, h.body))
	}
	return nil // Sweep finds the body that no header names
}

// A draft is a body that no header names yet.
type draft struct {
	kind, owner string
	header      header // not sealed
	dataKey     []byte
	digest      string
	size        int64
	written     time.Time // by the clock of the store
}

// write keeps what r reads as a body, encrypted, with a key of its own: in the draft
// if it is small, else in an object.
func (s *Store) write(ctx context.Context, kind, owner string, r io.Reader) (draft, error) {
	d := draft{kind: kind, owner: owner, header: header{body: bodyID(draw(len(bodyID{})))}, dataKey: draw(dataKeySize)}
	digest := sha256.New()
	r = io.TeeReader(r, digest)
	begin, err := io.ReadAll(io.LimitReader(r, s.small+1))
	switch {
	case err != nil:
		return draft{}, unwritten(err)
	case int64(len(begin)) <= s.small:
		err = d.keepInside(begin)
	default:
		err = s.writeBody(ctx, &d, io.MultiReader(bytes.NewReader(begin), r))
	}
	if err != nil {
		return draft{}, err
	}
	d.header.size, d.digest = d.size, digestOf(digest)
	return d, nil
}

// keepInside encrypts a small body.
func (d *draft) keepInside(data []byte) error {
	c, err := newCipher(d.dataKey, smallSegment)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if d.size, err = encrypt(c, &body, bodyKey(d.kind, d.owner, d.header.body), bytes.NewReader(data)); err != nil {
		return unwritten(err)
	}
	d.header.inside, d.written = body.Bytes(), time.Now()
	return nil
}

// writeBody keeps what r reads as an object. It leaves nothing behind when it fails,
// even when r panics.
func (s *Store) writeBody(ctx context.Context, d *draft, r io.Reader) error {
	key := bodyKey(d.kind, d.owner, d.header.body)
	c, err := newCipher(d.dataKey, segmentSize)
	if err != nil {
		return err
	}
	w, err := s.create(ctx, key, true)
	if err != nil {
		return unwritten(err)
	}
	written := false
	defer func() {
		if !written {
			w.abort()
			s.drop(ctx, *d)
		}
	}()
	if d.size, err = encrypt(c, w, key, r); err != nil {
		return unwritten(err)
	}
	if err := w.Close(); err != nil {
		return unwritten(err)
	}
	if d.written, err = s.measure(ctx, key, d.size); err != nil {
		return err
	}
	written = true
	return nil
}

// measure asks the store how much it has got of the body, and since when.
func (s *Store) measure(ctx context.Context, key string, size int64) (time.Time, error) {
	attrs, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return time.Time{}, unwritten(err)
	}
	if want := bodySize(size, segmentSize); attrs.Size != want {
		return time.Time{}, problem.New(api.Unavailable, "the artifact was not kept: the store has %d of its %d bytes", attrs.Size, want)
	}
	return attrs.ModTime, nil
}

// commit makes a draft the artifact of this name: the header appears at once or
// not at all. When nobody can say whether it has, the body stays: without a
// header it is litter, and a header without it would be damage.
func (s *Store) commit(ctx context.Context, name Name, d draft) error {
	h, err := d.header.seal(ctx, s.keys, name, d.dataKey)
	if err != nil {
		s.drop(ctx, d)
		return err
	}
	err = s.replace(ctx, name, h, true)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		return s.join(ctx, name, d, h)
	}
	return unwritten(err)
}

// join ends a write of what is there already. Of several who write the same
// bytes at the same time the first one's stay (docs/artifacts.md, rule 5). What
// does not open, or is so old that a sweep may be looking at it, is replaced.
//
// A header is only ever replaced by one that names a body just written: to write
// an old one anew could bring back one whose body is being removed.
func (s *Store) join(ctx context.Context, name Name, d draft, h header) error {
	there, since, err := s.look(ctx, name)
	switch {
	case err != nil:
		return err
	case there.body == h.body:
		return nil // S3 was asked twice, because its first answer was lost
	case d.written.Sub(since) < Grace/4:
		s.drop(ctx, d)
		return nil
	}
	return unwritten(s.replace(ctx, name, h, false))
}

// look returns the header of an artifact and since when it is there; never, when
// it could not be read, as far as that can be seen without reading all of it.
func (s *Store) look(ctx context.Context, name Name) (h header, since time.Time, err error) {
	h, _, err = s.header(ctx, name)
	if err == nil {
		err = s.measured(ctx, name, h)
	}
	if err == nil {
		since, err = s.modified(ctx, name)
	}
	if errors.Is(err, ErrDamaged) || problem.Code(err) == api.NotFound {
		return h, time.Time{}, nil
	}
	return h, since, err
}

// modified is when the header of an artifact was written.
func (s *Store) modified(ctx context.Context, name Name) (time.Time, error) {
	attrs, err := s.bucket.Attributes(ctx, name.headerKey())
	if gcerrors.Code(err) == gcerrors.NotFound {
		return time.Time{}, missing(name)
	}
	if err != nil {
		return time.Time{}, because(problem.New(api.Unavailable, "artifact %s could not be looked at", name), err)
	}
	return attrs.ModTime, nil
}

func (s *Store) measured(ctx context.Context, name Name, h header) error {
	if h.inside != nil {
		return nil // it could not be decoded otherwise
	}
	attrs, err := s.bucket.Attributes(ctx, bodyKey(name.Kind, name.Owner, h.body))
	if err != nil {
		return unread(name, err)
	}
	if want := bodySize(h.size, segmentSize); attrs.Size != want {
		return damaged(name, "its body has %d bytes instead of %d", attrs.Size, want)
	}
	return nil
}

// header reads the header of an artifact and opens it.
func (s *Store) header(ctx context.Context, name Name) (header, []byte, error) {
	data, err := s.headerBytes(ctx, name)
	if err != nil {
		return header{}, nil, err
	}
	h, err := decodeHeader(data)
	if err != nil {
		return header{}, nil, damaged(name, "%w", err)
	}
	dataKey, err := h.open(ctx, s.keys, name)
	return h, dataKey, err
}

func (s *Store) headerBytes(ctx context.Context, name Name) ([]byte, error) {
	r, err := s.bucket.NewReader(ctx, name.headerKey(), nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, missing(name)
	}
	if err != nil {
		return nil, because(problem.New(api.Unavailable, "artifact %s could not be read", name), err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, int64(headerMax+2*Small)))
	if err != nil {
		return nil, because(problem.New(api.Unavailable, "artifact %s could not be read", name), err)
	}
	return data, nil
}

// replace writes the header of an artifact in one step. Its error is gocloud's.
func (s *Store) replace(ctx context.Context, name Name, h header, onlyNew bool) error {
	w, err := s.create(ctx, name.headerKey(), onlyNew)
	if err != nil {
		return err
	}
	if _, err := w.Write(h.encode()); err != nil {
		w.abort()
		return err
	}
	return w.Close()
}

// partSize is the least that S3 takes as a part. It takes 10,000 of them, which
// is 50 GB.
const partSize = 5 << 20

// create begins an object, which appears when the writer is closed.
func (s *Store) create(ctx context.Context, key string, onlyNew bool) (*durable, error) {
	if err := s.mounted(); err != nil {
		return nil, err
	}
	d := &durable{dirs: s.dirs}
	ctx, d.cancel = context.WithCancel(ctx)
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType:    "application/octet-stream", // or the first bytes would be guessed at
		IfNotExist:     onlyNew,
		BufferSize:     partSize, // of a bucket; the default takes four times the memory
		MaxConcurrency: 2,
		BeforeWrite: func(as func(any) bool) error {
			as(&d.file)
			return nil
		},
	})
	if err != nil {
		d.cancel()
		return nil, err
	}
	d.Writer = w
	return d, nil
}

// drop removes the body of a draft that came to nothing. It must happen even
// when the caller has gone, and what it cannot do Sweep will.
func (s *Store) drop(ctx context.Context, d draft) {
	if d.header.inside != nil {
		return
	}
	s.remove(context.WithoutCancel(ctx), bodyKey(d.kind, d.owner, d.header.body))
}

func (s *Store) remove(ctx context.Context, key string) error {
	err := s.bucket.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	if err == nil && s.dir != "" {
		err = s.dirs.sync(filepath.Dir(filepath.Join(s.dir, filepath.FromSlash(key))))
	}
	if err != nil {
		return because(problem.New(api.Unavailable, "the artifact could not be removed"), err)
	}
	return nil
}

var errNoBody = errors.New("its body is missing")

func unread(name Name, err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return damaged(name, "%w", errNoBody)
	}
	return because(problem.New(api.Unavailable, "artifact %s could not be read", name), err)
}

// because is p with a cause that only operators see: it names directories, or hosts.
func because(p *problem.Error, cause error) error {
	p.Cause = cause
	return p
}

// unwritten keeps a problem that the reader of the bytes has, such as too_large.
func unwritten(err error) error {
	var known *problem.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return because(problem.New(api.Unavailable, "the artifact was not kept"), err)
}

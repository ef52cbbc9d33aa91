package artifact

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// sizes are those at which something changes: nothing, one byte, and around the
// end of the first and the second segment of a body.
var sizes = []int{0, 1, 100, segmentSize - segmentTag - bodyOverhead - 1, segmentSize - segmentTag - bodyOverhead,
	segmentSize - segmentTag - bodyOverhead + 1, 2*(segmentSize-segmentTag) - bodyOverhead, 2*(segmentSize-segmentTag) - bodyOverhead + 1}

func content(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	return data
}

// TestAnyChunks: however bytes come and are asked for, they are the same ones.
func TestAnyChunks(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	rapid.Check(t, func(t *rapid.T) {
		data := content(rapid.SampledFrom(sizes).Draw(t, "size"))
		chunks := rapid.SliceOfN(rapid.SampledFrom([]int{1, 7, 4096, 65537, 1 << 20, 3 << 20}), 1, 4)
		in, out := chunks.Draw(t, "written"), chunks.Draw(t, "read")
		name := Name{Kind: "state", Owner: "stk_1", Digest: Digest(data)}
		if _, err := s.Put(t.Context(), name, &chunked{bytes.NewReader(data), in, 0}); err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := io.ReadAll(&chunked{r, out, 0})
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d of %d bytes, %v", len(got), len(data), err)
		}
	})
}

// chunked reads as many bytes at a time as sizes say, in turn; small ones are
// read until 100 times round only, or a property would take all day.
type chunked struct {
	r     io.Reader
	sizes []int
	i     int
}

func (c *chunked) Read(p []byte) (int, error) {
	n := c.sizes[c.i%len(c.sizes)]
	if c.i++; c.i > 100 {
		n = len(p)
	}
	return c.r.Read(p[:min(n, len(p))])
}

// TestAnyDamage: whichever bit flips, wherever one of the objects ends early or
// goes on, nothing is read as if it were whole.
func TestAnyDamage(t *testing.T) {
	for _, size := range sizes {
		s := tree(t, ring(t, NewKey()))
		name := put(t, s, string(content(size)))
		anyDamage(t, s, name, only(t, s, headerPrefix), only(t, s, bodyPrefix))
	}
	for _, size := range []int{0, 1, smallSegment, Small} {
		s := usual(t, ring(t, NewKey()))
		name := put(t, s, string(content(size)))
		anyDamage(t, s, name, only(t, s, headerPrefix))
	}
}

func anyDamage(t *testing.T, s *Store, name Name, paths ...string) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(t, "object")
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer os.WriteFile(path, good, 0o600)
		spoilt := spoil(t, good)
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := s.Open(t.Context(), name)
		if err == nil {
			defer r.Close()
			_, err = io.Copy(io.Discard, r)
			again, second := r.Read(make([]byte, 1))
			if again != 0 || second != err {
				t.Fatalf("read on after %v: %d, %v", err, again, second)
			}
		}
		// A flipped bit in the id of the key asks for another key.
		if !errors.Is(err, ErrDamaged) && problem.Code(err) != api.Unavailable {
			t.Fatalf("%v, want damage", err)
		}
	})
}

func spoil(t *rapid.T, good []byte) []byte {
	at := rapid.IntRange(0, len(good)-1).Draw(t, "at")
	switch rapid.SampledFrom([]string{"flip", "cut", "longer", "hole"}).Draw(t, "damage") {
	case "flip":
		spoilt := bytes.Clone(good)
		spoilt[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		return spoilt
	case "cut":
		return good[:at]
	case "longer":
		return append(bytes.Clone(good), good[at:]...)
	}
	return append(bytes.Clone(good[:at]), good[at+1:]...)
}

func TestBodySize(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	for _, size := range sizes {
		name := put(t, s, string(content(size)))
		info, err := os.Stat(only(t, s, bodyPrefix))
		if err != nil {
			t.Fatal(err)
		}
		if got := bodySize(int64(size), segmentSize); got != info.Size() {
			t.Errorf("the body of %d bytes has %d, want %d", size, info.Size(), got)
		}
		if err := s.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwapped: whoever may write to the store, and has no key, can exchange
// objects and bring old ones back. None of it is read as another artifact.
func TestSwapped(t *testing.T) {
	read := func(t *testing.T, path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	write := func(t *testing.T, path string, data []byte) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type object struct{ header, body string }
	objects := func(t *testing.T, s *Store, n Name) object {
		data, err := os.ReadFile(filepath.Join(s.dir, n.headerKey()))
		if err != nil {
			t.Fatal(err)
		}
		h, err := decodeHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		return object{filepath.Join(s.dir, n.headerKey()), filepath.Join(s.dir, bodyKey(n.Kind, n.Owner, h.body))}
	}
	moved := state("a")
	moved.Owner = "stk_2"
	for title, test := range map[string]struct {
		swap func(t *testing.T, s *Store, a, b object)
		open Name
	}{
		"header of another": {func(t *testing.T, s *Store, a, b object) { write(t, a.header, read(t, b.header)) }, state("a")},
		"body of another":   {func(t *testing.T, s *Store, a, b object) { write(t, a.body, read(t, b.body)) }, state("a")},
		"both of another": {func(t *testing.T, s *Store, a, b object) {
			write(t, a.header, read(t, b.header))
			write(t, a.body, read(t, b.body))
		}, state("a")},
		"to another owner": {func(t *testing.T, s *Store, a, b object) {
			for _, path := range []string{a.header, a.body} {
				write(t, strings.Replace(path, "stk_1", "stk_2", 1), read(t, path))
			}
		}, moved},
		"an older version": {func(t *testing.T, s *Store, a, b object) {
			data := read(t, a.header)
			data[len(magic)] = 0
			write(t, a.header, data)
		}, state("a")},
	} {
		t.Run(title, func(t *testing.T) {
			s := tree(t, ring(t, NewKey()))
			a, b := put(t, s, "a"), put(t, s, "b")
			test.swap(t, s, objects(t, s, a), objects(t, s, b))
			if got, err := get(t, s, test.open); !errors.Is(err, ErrDamaged) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestOtherKey: a key that is not there is no damage, and shows no key.
func TestOtherKey(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	name := put(t, s, "x")
	key := NewKey()
	other, err := OpenTree(s.dir, ring(t, key))
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, other, name)
	if problem.Code(err) != api.Unavailable || errors.Is(err, ErrDamaged) || strings.Contains(err.Error(), key) {
		t.Errorf("%v", err)
	}
	// Nor is it replaced, for there may be somebody who has the key.
	if _, err := other.Put(t.Context(), name, strings.NewReader("x")); problem.Code(err) != api.Unavailable {
		t.Errorf("%v", err)
	}
	if got, err := get(t, s, name); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzHeader: what is decoded is encoded to the same bytes, so that there is one
// form of each header and nothing hides in it.
func FuzzHeader(f *testing.F) {
	h := header{body: bodyID(draw(16)), size: 12, keyID: "key_0", wrapped: []byte("wrapped")}
	f.Add(h.encode())
	f.Add(h.encode()[:fixed])
	f.Add(append(h.encode(), 0))
	f.Add([]byte(magic))
	small := h
	small.inside = make([]byte, bodySize(h.size, smallSegment))
	f.Add(small.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHeader(data)
		if err == nil && !bytes.Equal(h.encode(), data) {
			t.Errorf("%q is decoded, and encoded to %q", data, h.encode())
		}
		if err == nil && (h.size < 0 || h.keyID == "" || len(h.wrapped) == 0) {
			t.Errorf("%q is decoded to %+v", data, h)
		}
	})
}

package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

func nobody(context.Context, Name) (bool, error) { return false, nil }

// within opens the same artifacts with other keys.
func (s *Store) within(keys Keys) *Store {
	return &Store{s.bucket, keys, s.dir, s.root, s.dirs, s.small, s.keeping}
}

// quietly is for who does not ask how far a rotation is.
func quietly(int, int) {}

// TestRotate changes keys as rule 9 says, and what a body says and when it was
// written stays.
func TestRotate(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		old, young := NewKey(), NewKey()
		s = s.within(ring(t, old))
		a, b := put(t, s, "a"), put(t, s, "b")
		bodies := contents(t, s, bodyPrefix)
		both := s.within(ring(t, young, old))
		c := put(t, both, "c")
		reader, err := both.Open(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		for _, want := range []int{2, 0} {
			if n, err := both.Rotate(t.Context(), quietly); err != nil || n != want {
				t.Fatalf("Rotate: %d, %v, want %d", n, err, want)
			}
		}
		for key, body := range bodies {
			if !bytes.Equal(contents(t, s, bodyPrefix)[key], body) {
				t.Errorf("%s has changed", key)
			}
		}
		only := s.within(ring(t, young))
		for name, want := range map[Name]string{a: "a", b: "b", c: "c"} {
			if got, err := get(t, only, name); err != nil || got != want {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if _, err := get(t, s, a); problem.Code(err) != api.Unavailable {
			t.Errorf("with the old key: %v", err)
		}
		var rest [1]byte
		if n, err := reader.Read(rest[:]); n != 1 || rest[0] != 'a' {
			t.Errorf("who was reading: %q, %v", rest[:n], err)
		}
	})
}

func contents(t *testing.T, s *Store, prefix string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, key := range keys(t, s) {
		if strings.HasPrefix(key, prefix) {
			data, err := s.bucket.ReadAll(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			out[key] = data
		}
	}
	return out
}

// TestRotateGoesOn: one damaged artifact does not leave the others to the old key.
func TestRotateGoesOn(t *testing.T) {
	old, young := NewKey(), NewKey()
	s := tree(t, ring(t, old))
	flip(t, filepath.Join(s.dir, put(t, s, "a").headerKey()), 8*30)
	put(t, s, "b")
	put(t, s, "c")
	n, err := s.within(ring(t, young, old)).Rotate(t.Context(), quietly)
	if n != 2 || !errors.Is(err, ErrDamaged) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestSweep(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	now := time.Now()
	age := func(n Name, by time.Duration) {
		data, err := os.ReadFile(filepath.Join(s.dir, n.headerKey()))
		if err != nil {
			t.Fatal(err)
		}
		h, err := decodeHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{n.headerKey(), bodyKey(n.Kind, n.Owner, h.body)} {
			if err := os.Chtimes(filepath.Join(s.dir, key), time.Time{}, now.Add(-by)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fresh, used, gone, again, asked := put(t, s, "fresh"), put(t, s, "used"), put(t, s, "gone"), put(t, s, "again"), put(t, s, "asked")
	for _, n := range []Name{used, gone, again, asked} {
		age(n, 3*time.Hour)
	}
	put(t, s, "again") // is young again
	swept, err := s.Sweep(t.Context(), now, 2*time.Hour, func(_ context.Context, n Name) (bool, error) {
		switch n {
		case fresh, again:
			t.Errorf("asked about %s, which is young", n)
		case asked:
			put(t, s, "asked") // somebody puts it while the question is asked
		}
		return n == used, nil
	})
	// What "again" had before is litter now; what "asked" had is for the next sweep.
	if err != nil || swept != (Swept{Artifacts: 1, Bodies: 1}) {
		t.Errorf("%+v, %v", swept, err)
	}
	for _, n := range []Name{fresh, used, again, asked} {
		if _, err := get(t, s, n); err != nil {
			t.Error(err)
		}
	}
	if _, err := get(t, s, gone); problem.Code(err) != api.NotFound {
		t.Error(err)
	}
	if got := keys(t, s); len(got) != 9 {
		t.Errorf("left: %q", got)
	}
}

// TestSweepStops: what cannot be answered or read keeps everything.
func TestSweepStops(t *testing.T) {
	later := time.Now().Add(24 * time.Hour)
	for title, test := range map[string]struct {
		grace      time.Duration
		referenced func(context.Context, Name) (bool, error)
		spoil      func(t *testing.T, s *Store, n Name)
	}{
		"no grace":  {time.Minute, nobody, nil},
		"no answer": {Grace, func(context.Context, Name) (bool, error) { return false, errors.New("no database") }, nil},
		"damaged header": {Grace, func(context.Context, Name) (bool, error) { return true, nil }, func(t *testing.T, s *Store, n Name) {
			truncate(t, filepath.Join(s.dir, n.headerKey()), 20)
		}},
		"stranger": {Grace, func(context.Context, Name) (bool, error) { return true, nil }, func(t *testing.T, s *Store, n Name) {
			if err := os.WriteFile(filepath.Join(s.dir, "header", "what"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(title, func(t *testing.T) {
			s := tree(t, ring(t, NewKey()))
			n := put(t, s, "x")
			if test.spoil != nil {
				test.spoil(t, s, n)
			}
			want := len(keys(t, s))
			swept, err := s.Sweep(t.Context(), later, test.grace, test.referenced)
			if err == nil || swept != (Swept{}) || len(keys(t, s)) != want {
				t.Errorf("%+v, %v, left %q", swept, err, keys(t, s))
			}
		})
	}
}

// TestSweepLitter: bodies that no header names, in both kinds of place.
func TestSweepLitter(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		s.small = -1
		n, lost := put(t, s, "kept"), put(t, s, "lost")
		if err := s.remove(t.Context(), lost.headerKey()); err != nil {
			t.Fatal(err)
		}
		v, err := s.Verify(t.Context(), func(err error) { t.Error(err) })
		if err != nil || !v.Whole() || v.Litter != 1 {
			t.Errorf("%+v, %v", v, err)
		}
		yes := func(context.Context, Name) (bool, error) { return true, nil }
		for _, want := range []int{0, 1, 0} {
			swept, err := s.Sweep(t.Context(), time.Now().Add(time.Duration(want)*24*time.Hour), Grace, yes)
			if err != nil || swept != (Swept{Bodies: want}) {
				t.Errorf("%+v, %v", swept, err)
			}
		}
		if got, err := get(t, s, n); err != nil || got != "kept" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestVerify(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	var names []Name
	for _, data := range []string{"whole", "flipped", "cut", "bodiless", "other key"} {
		names = append(names, put(t, s, data))
	}
	body := func(n Name) string {
		h, _, err := s.header(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(s.dir, bodyKey(n.Kind, n.Owner, h.body))
	}
	flip(t, body(names[1]), 8*45)
	truncate(t, body(names[2]), 10)
	remove(t, body(names[3]))
	other := s.within(ring(t, NewKey()))
	if err := s.Delete(t.Context(), names[4]); err != nil {
		t.Fatal(err)
	}
	put(t, other, "other key")
	for _, path := range []string{"lost+found", "header/state/stk_1/README"} {
		if err := os.WriteFile(filepath.Join(s.dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]bool{}
	v, err := s.Verify(t.Context(), func(err error) { found[err.Error()] = true })
	want := Verified{Artifacts: 1, Bytes: 5, Damaged: 3, Unread: 1, Strangers: 2}
	if err != nil || v != want || v.Whole() || len(found) != 6 {
		t.Errorf("%+v, %v, found %v", v, err, found)
	}
	for _, want := range []string{
		"artifact " + names[1].String() + " is damaged: its body does not open: cipher: message authentication failed",
		"artifact " + names[2].String() + " is damaged: its body has 10 bytes instead of 59",
		"artifact " + names[3].String() + " is damaged: its body is missing",
		`"lost+found" is no part of an artifact`,
	} {
		if !found[want] {
			t.Errorf("not found: %s; but %v", want, found)
		}
	}
}

// TestLinkedTree: a tree behind a link is not an empty one.
func TestLinkedTree(t *testing.T) {
	keys := ring(t, NewKey())
	s := tree(t, keys)
	put(t, s, "x")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.dir, link); err != nil {
		t.Fatal(err)
	}
	linked, err := OpenTree(link, keys)
	if err != nil {
		t.Fatal(err)
	}
	v, err := linked.Verify(t.Context(), func(err error) { t.Error(err) })
	if err != nil || v.Artifacts != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestOpenTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "s"} {
		if _, err := OpenTree(dir, ring(t, NewKey())); problem.Code(err) != api.NotFound {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestManyAtOnce puts, reads, rotates there and back and verifies at the same time.
func TestManyAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		one, two := NewKey(), NewKey()
		stores := []*Store{s.within(ring(t, one, two)), s.within(ring(t, two, one))}
		stay := put(t, stores[0], "stay")
		var all sync.WaitGroup
		for i := range 4 {
			s := stores[i%2]
			all.Go(func() {
				for range 10 {
					put(t, s, "come")
					if _, err := s.Rotate(t.Context(), quietly); err != nil {
						t.Error(err)
					}
					if got, err := get(t, s, stay); err != nil || got != "stay" {
						t.Errorf("%q, %v", got, err)
					}
					if i == 0 {
						if _, err := s.Verify(t.Context(), func(err error) { t.Error(err) }); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
		if got := keys(t, s); len(got) != 2*objects(s) {
			t.Errorf("want two artifacts, got %q", got)
		}
	})
}

// TestPutOfOld: who puts what has been there for long gets a header and a body
// that no sweep has an eye on, and who reads the old one reads on.
func TestPutOfOld(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	name := put(t, s, "old")
	reader, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	body := only(t, s, bodyPrefix)
	for _, path := range []string{body, only(t, s, headerPrefix)} {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-Grace)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s, "old")
	swept, err := s.Sweep(t.Context(), time.Now().Add(time.Minute), Grace, nobody)
	if err != nil || swept != (Swept{Bodies: 1}) {
		t.Errorf("%+v, %v", swept, err)
	}
	if got, err := get(t, s, name); err != nil || got != "old" || only(t, s, bodyPrefix) == body {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := io.ReadAll(reader); err != nil || string(got) != "old" {
		t.Errorf("who was reading: %q, %v", got, err)
	}
}

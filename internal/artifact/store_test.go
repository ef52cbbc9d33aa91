package artifact

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact/s3"
	"github.com/assize-iac/assize/internal/problem"
)

func ring(t testing.TB, keys ...string) *Ring {
	t.Helper()
	r, err := ParseRing(strings.Join(keys, " "))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tree keeps every body as an object of its own.
func tree(t testing.TB, keys Keys) *Store {
	t.Helper()
	s := usual(t, keys)
	s.small = -1
	return s
}

// usual is a tree as everybody has it.
func usual(t testing.TB, keys Keys) *Store {
	t.Helper()
	s, err := CreateTree(filepath.Join(t.TempDir(), "artifacts"), keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// bucket opens a bucket of a server that speaks S3 in this process; between may
// stand before it.
func bucket(t testing.TB, between func(http.Handler) http.Handler) *blob.Bucket {
	t.Helper()
	memory := s3mem.New()
	if err := memory.CreateBucket("assize"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(between(gofakes3.New(memory).Server()))
	t.Cleanup(server.Close)
	b, err := s3.Open(t.Context(), s3.Place{Bucket: "assize", Prefix: "here/", Region: "nowhere", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// objects is how many of them a small artifact is.
func objects(s *Store) int {
	if s.small < 0 {
		return 2
	}
	return 1
}

// everywhere runs a test in a file tree and in a bucket, with small bodies apart and in
// their headers.
func everywhere(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Run("tree", func(t *testing.T) { test(t, tree(t, ring(t, NewKey()))) })
	t.Run("tree, small", func(t *testing.T) { test(t, usual(t, ring(t, NewKey()))) })
	t.Run("bucket, small", func(t *testing.T) {
		s := New(bucket(t, func(h http.Handler) http.Handler { return h }), ring(t, NewKey()))
		defer s.Close()
		test(t, s)
	})
	t.Run("bucket", func(t *testing.T) {
		s := New(bucket(t, func(h http.Handler) http.Handler { return h }), ring(t, NewKey()))
		defer s.Close()
		s.small = -1
		test(t, s)
	})
}

func state(data string) Name {
	return Name{Kind: "state", Owner: "stk_1", Digest: Digest([]byte(data))}
}

func put(t testing.TB, s *Store, data string) Name {
	t.Helper()
	name := state(data)
	if n, err := s.Put(t.Context(), name, strings.NewReader(data)); err != nil || n != int64(len(data)) {
		t.Fatalf("Put %s: %d, %v", name, n, err)
	}
	return name
}

func get(t testing.TB, s *Store, name Name) (string, error) {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err == nil && r.Size() != int64(len(data)) {
		t.Errorf("%s says %d bytes and has %d", name, r.Size(), len(data))
	}
	return string(data), err
}

// keys lists all objects.
func keys(t testing.TB, s *Store) []string {
	t.Helper()
	var out []string
	list := s.bucket.List(nil)
	for {
		o, err := list.Next(t.Context())
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
}

func TestPutAndOpen(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		for _, data := range []string{"", "x", strings.Repeat("0123456789abcdef", 200_000)} {
			name := put(t, s, data)
			if got, err := get(t, s, name); err != nil || got != data {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
			added, n, err := s.Add(t.Context(), "plan", "run_1", strings.NewReader(data))
			if err != nil || n != int64(len(data)) || added.Digest != name.Digest {
				t.Errorf("Add: %v, %d, %v", added, n, err)
			}
			if got, err := get(t, s, added); err != nil || got != data {
				t.Errorf("%s: %d bytes, %v", added, len(got), err)
			}
		}
		listed := 0
		for _, err := range s.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed++
		}
		if listed != 6 {
			t.Errorf("%d artifacts are listed, want 6", listed)
		}
		for _, key := range keys(t, s) {
			data, err := s.bucket.ReadAll(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte("0123456789abcdef")) {
				t.Errorf("%s holds plain text", key)
			}
		}
	})
}

func TestSameBytesAreOneArtifact(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { put(t, s, "the same") })
		}
		all.Wait()
		if got := keys(t, s); len(got) != objects(s) {
			t.Errorf("want one artifact, got %q", got)
		}
		if got, err := get(t, s, state("the same")); err != nil || got != "the same" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestNothingIsKept: whatever goes wrong with what is sent, nothing of it stays.
func TestNothingIsKept(t *testing.T) {
	broken := errors.New("the line is dead")
	big := strings.Repeat("x", 3<<20)
	everywhere(t, func(t *testing.T, s *Store) {
		for name, test := range map[string]struct {
			r    io.Reader
			want api.Code
		}{
			"another digest": {strings.NewReader("lies"), api.Invalid},
			"cut short":      {strings.NewReader(big[:2<<20]), api.Invalid},
			"too long":       {strings.NewReader(big + "y"), api.Invalid},
			"dead line":      {io.MultiReader(strings.NewReader(big[:2<<20]), iotest.ErrReader(broken)), api.Unavailable},
			"too large":      {io.MultiReader(strings.NewReader(big[:2<<20]), iotest.ErrReader(problem.New(api.TooLarge, "no"))), api.TooLarge},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := s.Put(t.Context(), state(big), test.r)
				if problem.Code(err) != test.want {
					t.Errorf("Put: %v, want %s", err, test.want)
				}
				nothing(t, s, state(big))
			})
		}
		t.Run("caller gone", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := s.Put(ctx, state(big), io.MultiReader(strings.NewReader(big), readerFunc(func([]byte) (int, error) {
				cancel()
				return 0, io.EOF
			})))
			if err == nil {
				t.Error("Put succeeded")
			}
			nothing(t, s, state(big))
		})
		t.Run("panic", func(t *testing.T) {
			func() {
				defer func() { recover() }()
				s.Put(t.Context(), state(big), io.MultiReader(strings.NewReader(big), readerFunc(func([]byte) (int, error) { panic("no") })))
			}()
			nothing(t, s, state(big))
		})
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func nothing(t *testing.T, s *Store, name Name) {
	t.Helper()
	if _, err := s.Open(t.Context(), name); problem.Code(err) != api.NotFound {
		t.Errorf("Open: %v, want not_found", err)
	}
	if got := keys(t, s); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestNames(t *testing.T) {
	s := tree(t, ring(t, NewKey()))
	good := state("x")
	for _, n := range []Name{
		{"", good.Owner, good.Digest}, {"../state", good.Owner, good.Digest}, {"State", good.Owner, good.Digest},
		{good.Kind, "", good.Digest}, {good.Kind, "..", good.Digest}, {good.Kind, "a/b", good.Digest}, {good.Kind, "a\x00", good.Digest},
		{good.Kind, good.Owner, ""}, {good.Kind, good.Owner, strings.ToUpper(good.Digest)}, {good.Kind, good.Owner, "md5:" + good.Digest[7:]},
		{good.Kind, good.Owner, good.Digest + "\n"}, {good.Kind, good.Owner, "sha256:../../" + good.Digest[13:]},
	} {
		_, err := s.Put(t.Context(), n, strings.NewReader("x"))
		if problem.Code(err) != api.Invalid {
			t.Errorf("Put %q: %v", n, err)
		}
		if _, err := s.Open(t.Context(), n); problem.Code(err) != api.Invalid {
			t.Errorf("Open %q: %v", n, err)
		}
		if err := s.Delete(t.Context(), n); problem.Code(err) != api.Invalid {
			t.Errorf("Delete %q: %v", n, err)
		}
	}
	if got := keys(t, s); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestDelete(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Store) {
		a, b := put(t, s, "a"), put(t, s, "b")
		for range 2 {
			if err := s.Delete(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := get(t, s, a); problem.Code(err) != api.NotFound {
			t.Errorf("Open: %v", err)
		}
		if got, err := get(t, s, b); err != nil || got != "b" {
			t.Errorf("%q, %v", got, err)
		}
		if got := keys(t, s); len(got) != objects(s) {
			t.Errorf("left: %q", got)
		}
	})
}

// TestLostAnswer: S3 does what it is asked, and the answer is lost, so its
// client asks again and hears that the header is there already: its own.
func TestLostAnswer(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	lost := 0
	s := New(bucket(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, headerPrefix) && lost == 0 {
				lost++
				h.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			h.ServeHTTP(w, r)
		})
	}), ring(t, NewKey()))
	name := put(t, s, "once")
	if got, err := get(t, s, name); err != nil || got != "once" || lost != 1 {
		t.Errorf("%q, %v, %d answers lost", got, err, lost)
	}
}

// TestPutMends: who has the bytes of what is damaged can put them once more.
func TestPutMends(t *testing.T) {
	for part, spoil := range map[string]func(t *testing.T, s *Store){
		"no body":      func(t *testing.T, s *Store) { remove(t, only(t, s, bodyPrefix)) },
		"short body":   func(t *testing.T, s *Store) { truncate(t, only(t, s, bodyPrefix), 50) },
		"bad header":   func(t *testing.T, s *Store) { flip(t, only(t, s, headerPrefix), 40) },
		"no header":    func(t *testing.T, s *Store) { remove(t, only(t, s, headerPrefix)) },
		"empty header": func(t *testing.T, s *Store) { truncate(t, only(t, s, headerPrefix), 0) },
	} {
		t.Run(part, func(t *testing.T) {
			s := tree(t, ring(t, NewKey()))
			name := put(t, s, "precious")
			spoil(t, s)
			if _, err := get(t, s, name); err == nil {
				t.Fatal("it is read all the same")
			}
			put(t, s, "precious")
			if got, err := get(t, s, name); err != nil || got != "precious" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// only is the path of the one object below a prefix of a file tree.
func only(t testing.TB, s *Store, prefix string) string {
	t.Helper()
	var found []string
	for _, key := range keys(t, s) {
		if strings.HasPrefix(key, prefix) {
			found = append(found, filepath.Join(s.dir, filepath.FromSlash(key)))
		}
	}
	if len(found) != 1 {
		t.Fatalf("below %s are %q", prefix, found)
	}
	return found[0]
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func truncate(t testing.TB, path string, n int64) {
	t.Helper()
	if err := os.Truncate(path, n); err != nil {
		t.Fatal(err)
	}
}

func flip(t testing.TB, path string, bit int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

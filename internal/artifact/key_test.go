package artifact

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

func TestParseRing(t *testing.T) {
	a, b := NewKey(), NewKey()
	for _, text := range []string{"", " \n", "x", a[:len(a)-1], a + "A", a + "," + b, strings.ToUpper(a), a[len(keyPrefix):], a + " " + b[1:],
		a[:len(a)-1] + "=", keyPrefix + strings.Repeat("_", 43)} {
		_, err := ParseRing(text)
		if problem.Code(err) != api.Invalid {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, secret := range []string{a, b} {
			if said := err.Error() + problem.Hint(err); strings.Contains(said, secret[len(keyPrefix):len(secret)-1]) {
				t.Errorf("the key is in %q", said)
			}
		}
	}
	first, both := ring(t, a), ring(t, b, a)
	if ids := both.IDs(); len(ids) != 2 || ids[1] != first.Current() || ids[0] == ids[1] {
		t.Errorf("%q and %q", ids, first.IDs())
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if said := fmt.Sprintf(verb, first); strings.Contains(said, a[len(keyPrefix):]) {
			t.Errorf("the key is in %s", said)
		}
	}
}

func TestReadRing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := ReadRing(path); problem.Code(err) != api.Invalid {
		t.Error(err)
	}
	a, b := NewKey(), NewKey()
	if err := os.WriteFile(path, []byte("# of today\n"+a+"\r\n\n  # of "+b+"\n"+b), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRing(path)
	if err != nil {
		t.Fatal(err)
	}
	if ids := r.IDs(); len(ids) != 2 || ids[0] != ring(t, a).Current() || ids[1] != ring(t, b).Current() {
		t.Errorf("%q", ids)
	}
}

// kms is a key management service over HTTP: keys have names, never leave it,
// and can be destroyed.
type kms struct {
	mu   sync.Mutex
	keys map[string]*Ring
	down bool
}

// A kmsRequest is what its client sends; the same struct is the answer, with
// Data only.
type kmsRequest struct {
	Data, Context []byte
}

func (k *kms) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.keys[r.PathValue("key")]
	var in kmsRequest
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case k.down:
		w.WriteHeader(http.StatusServiceUnavailable)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case key == nil:
		w.WriteHeader(http.StatusNotFound)
	default:
		do := key.Unwrap
		if r.PathValue("verb") == "wrap" {
			do = key.Wrap
		}
		out, err := do(r.Context(), key.Current(), in.Data, in.Context)
		if err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		json.NewEncoder(w).Encode(kmsRequest{Data: out})
	}
}

// client is Keys that asks a kms.
type client struct{ url, current string }

func (c client) Current() string { return c.current }

func (c client) Wrap(ctx context.Context, id string, dataKey, context []byte) ([]byte, error) {
	return c.ask(ctx, id, "wrap", dataKey, context)
}

func (c client) Unwrap(ctx context.Context, id string, wrapped, context []byte) ([]byte, error) {
	return c.ask(ctx, id, "unwrap", wrapped, context)
}

func (c client) ask(ctx context.Context, id, verb string, data, bound []byte) ([]byte, error) {
	body, err := json.Marshal(kmsRequest{data, bound})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/"+id+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		var out kmsRequest
		err := json.NewDecoder(resp.Body).Decode(&out)
		return out.Data, err
	case http.StatusUnprocessableEntity:
		return nil, ErrDamaged
	}
	return nil, problem.New(api.Unavailable, "the key management service says %s", resp.Status)
}

func TestKeyManagementService(t *testing.T) {
	service := &kms{keys: map[string]*Ring{"one": ring(t, NewKey()), "two": ring(t, NewKey())}}
	mux := http.NewServeMux()
	mux.Handle("POST /{key}/{verb}", service)
	server := httptest.NewServer(mux)
	defer server.Close()
	set := func(do func()) {
		service.mu.Lock()
		defer service.mu.Unlock()
		do()
	}

	s := tree(t, client{server.URL, "one"})
	a, b := put(t, s, "a"), put(t, s, "b")
	if got, err := get(t, s, a); err != nil || got != "a" {
		t.Errorf("%q, %v", got, err)
	}

	set(func() { service.down = true })
	if _, err := get(t, s, a); problem.Code(err) != api.Unavailable || errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
	if _, err := s.Put(t.Context(), state("c"), strings.NewReader("c")); problem.Code(err) != api.Unavailable {
		t.Errorf("%v", err)
	}
	if got := keys(t, s); len(got) != 4 {
		t.Errorf("left behind: %q", got)
	}
	v, err := s.Verify(t.Context(), func(error) {})
	if err != nil || v.Unread != 2 || v.Whole() {
		t.Errorf("%+v, %v", v, err)
	}
	set(func() { service.down = false })

	s = s.within(client{server.URL, "two"})
	if n, err := s.Rotate(t.Context(), quietly); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	set(func() { delete(service.keys, "one") })
	for name, want := range map[Name]string{a: "a", b: "b"} {
		if got, err := get(t, s, name); err != nil || got != want {
			t.Errorf("%q, %v", got, err)
		}
	}

	// Keys made anew under an old name do not open what the old ones wrapped.
	set(func() { service.keys["two"] = ring(t, NewKey()) })
	if _, err := get(t, s, a); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// bad wraps as it likes.
type bad struct {
	id      string
	wrapped []byte
	key     []byte
}

func (b bad) Current() string                                                { return b.id }
func (b bad) Wrap(context.Context, string, []byte, []byte) ([]byte, error)   { return b.wrapped, nil }
func (b bad) Unwrap(context.Context, string, []byte, []byte) ([]byte, error) { return b.key, nil }

func TestBadKeys(t *testing.T) {
	good := make([]byte, dataKeySize)
	rand.Read(good)
	for title, keys := range map[string]bad{
		"no id":    {"", []byte("x"), good},
		"long id":  {strings.Repeat("x", 256), []byte("x"), good},
		"nothing":  {"x", nil, good},
		"too much": {"x", make([]byte, 1<<16), good},
	} {
		s := tree(t, keys)
		if _, err := s.Put(t.Context(), state("x"), strings.NewReader("x")); err == nil {
			t.Errorf("%s: Put succeeded", title)
		}
		nothing(t, s, state("x"))
	}
	s := tree(t, bad{"x", []byte("x"), good[1:]})
	name := put(t, s, "x")
	if _, err := get(t, s, name); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if _, err := get(t, s.within(bad{"x", []byte("x"), good}), name); !errors.Is(err, ErrDamaged) {
		t.Error(err) // not the key of this body
	}
}

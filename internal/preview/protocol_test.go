package preview

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestAnswer checks what no tool asks: it is refused, and nothing breaks.
func TestAnswer(t *testing.T) {
	t.Parallel()
	config := append([]byte{0, 0, 0, 0, 5}, field(nil, 2, []byte("abc"))...)
	for _, c := range []struct{ path, body, status, want string }{
		{"/tfplugin6.Provider/ReadDataSource", string(config), "0", "\x00\x00\x00\x00\x05" + string(field(nil, 1, []byte("abc")))},
		{"/tfplugin6.Provider/ReadDataSource", "", "3", ""},
		{"/tfplugin6.Provider/ReadDataSource", "\x01\x00\x00\x00\x00", "3", ""},
		{"/tfplugin6.Provider/ReadDataSource", "\x00\xff\xff\xff\xff", "3", ""},
		{"/tfplugin6.Provider/ReadDataSource", "\x00\x00\x00\x00\x05abc", "3", ""},
		{"/tfplugin6.Provider/ReadDataSource", "\x00\x00\x00\x00\x00", "3", ""},
		{"/tfplugin6.Provider/ApplyResourceChange", "", "12", ""},
		{"/plugin.GRPCController/Shutdown", "", "12", ""},
		{"/tfplugin6.Provider/StopProvider", "", "0", "\x00\x00\x00\x00\x00"},
	} {
		w := httptest.NewRecorder()
		answer(w, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body)))
		r := w.Result()
		if status := r.Trailer.Get("Grpc-Status"); status != c.status || w.Body.String() != c.want {
			t.Errorf("%s %q: status %q and %q, want %q and %q", c.path, c.body, status, w.Body, c.status, c.want)
		}
	}
}

// FuzzReadDataSource reads requests that no tool sends.
func FuzzReadDataSource(f *testing.F) {
	f.Add(field(field(nil, 1, []byte("terraform_remote_state")), 2, []byte("config")))
	f.Add(protowire.AppendTag(nil, 2, protowire.StartGroupType))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, request []byte) {
		response, err := readDataSource(request)
		if err == nil && !bytes.Contains(request, response[1:]) {
			t.Errorf("%x becomes %x", request, response)
		}
	})
}

// TestEnviron keeps the providers that the user runs.
func TestEnviron(t *testing.T) {
	t.Parallel()
	p, err := Serve()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket is in %v, %v", info, err)
	}
	entry, err := p.Environ("terraform", func(string) string { return `{"registry.terraform.io/x/y":{"Pid":7}}` })
	var got map[string]map[string]any
	if text, ok := strings.CutPrefix(entry, "TF_REATTACH_PROVIDERS="); err != nil || !ok || json.Unmarshal([]byte(text), &got) != nil {
		t.Fatalf("%s, %v", entry, err)
	}
	if len(got) != 2 || got["registry.terraform.io/x/y"]["Pid"] != 7.0 || got["registry.terraform.io/assize/preview"]["Protocol"] != "grpc" {
		t.Errorf("%v", got)
	}
	if _, err := p.Environ("tofu", func(string) string { return "[]" }); err == nil {
		t.Error("a list of providers is taken")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", p.dir, err)
	}
}

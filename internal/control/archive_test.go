package control

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// pack is a tar.gz of headers, each file with as many zeros as it says.
func pack(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, h := range headers {
		if err := files.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		for left := h.Size; left > 0; left -= min(left, 1<<20) {
			if _, err := files.Write(make([]byte, min(left, 1<<20))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestArchive: what the clients pack is taken, and nothing that leaves its
// directory, is no file, or grows without end (docs/protocol.md, rule 24).
func TestArchive(t *testing.T) {
	t.Parallel()
	file := func(name string) *tar.Header {
		return &tar.Header{Name: name, Typeflag: tar.TypeReg, Size: 3, Mode: 0o644}
	}
	link := func(name, to string) *tar.Header {
		return &tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	whole := pack(t, file("main.tf"))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 1 // its checksum
	many := make([]*tar.Header, entriesMax+1)
	for i := range many {
		many[i] = &tar.Header{Name: "d/", Typeflag: tar.TypeDir}
	}
	for name, c := range map[string]struct {
		data []byte
		good bool
	}{
		"files":               {pack(t, &tar.Header{Name: "sub/", Typeflag: tar.TypeDir}, file("sub/main.tf"), file("./main.tf")), true},
		"a link inside":       {pack(t, file("a/main.tf"), link("b/main.tf", "../a/main.tf")), true},
		"a comment":           {pack(t, &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "a commit"}}, file("main.tf")), true},
		"nothing in it":       {pack(t), true},
		"no bytes":            {nil, false},
		"no archive":          {[]byte("package policy"), false},
		"cut short":           {whole[:len(whole)-12], false},
		"a checksum":          {flipped, false},
		"something behind":    {append(bytes.Clone(whole), "more"...), false},
		"another directory":   {pack(t, file("../main.tf")), false},
		"the root":            {pack(t, file("/etc/passwd")), false},
		"a link to the root":  {pack(t, link("a", "/etc/passwd")), false},
		"a link out of it":    {pack(t, link("a/b", "../../etc")), false},
		"a hard link":         {pack(t, &tar.Header{Name: "a", Linkname: "b", Typeflag: tar.TypeLink}), false},
		"a device":            {pack(t, &tar.Header{Name: "a", Typeflag: tar.TypeChar}), false},
		"a pipe":              {pack(t, &tar.Header{Name: "a", Typeflag: tar.TypeFifo}), false},
		"too many":            {pack(t, many...), false},
		"too large, unpacked": {pack(t, &tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: unpackedMax + 1}), false},
	} {
		err := readArchive(bytes.NewReader(c.data))
		if c.good != (err == nil) || err != nil && problem.Code(err) != api.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzArchive(f *testing.F) {
	f.Add(pack(f, &tar.Header{Name: "main.tf", Typeflag: tar.TypeReg, Size: 3}))
	f.Add(pack(f, &tar.Header{Name: "a/b", Linkname: "../../etc", Typeflag: tar.TypeSymlink}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := readArchive(bytes.NewReader(data)); err != nil && problem.Code(err) != api.Invalid {
			t.Errorf("%v is not the sender's fault", err)
		}
	})
}

package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/assize-iac/assize/internal/policy/bundle"
)

// A member is one entry of an archive that no builder would write.
type member struct {
	tar.Header
	body string
}

// regular is a member as `opa build` writes them.
func regular(name, body string) member {
	return member{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, body}
}

const module = "package main\n"

// tarball packs members as they are told.
func tarball(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		m.Size = int64(len(m.body))
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// patched is an archive in which a name is replaced by bytes that the writer
// of archives refuses. The checksum of the header is made right again.
func patched(t testing.TB, name string) []byte {
	t.Helper()
	raw := tarball(t, regular("x", module))
	copy(raw[:100], make([]byte, 100))
	copy(raw[:100], name)
	copy(raw[148:156], "        ")
	sum := 0
	for _, b := range raw[:512] {
		sum += int(b)
	}
	copy(raw[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return zip(t, raw)
}

// named is a bundle of OPA whose only module has this name.
func named(name string) func(testing.TB) []byte {
	return func(t testing.TB) []byte { return zip(t, tarball(t, regular(name, module))) }
}

// of is a bundle of OPA with one module and one member more.
func of(m member) func(testing.TB) []byte {
	return func(t testing.TB) []byte { return zip(t, tarball(t, regular("/main.rego", module), m)) }
}

func typed(typeflag byte, link string) func(testing.TB) []byte {
	return of(member{tar.Header{Typeflag: typeflag, Name: "x.rego", Linkname: link}, ""})
}

// edited is a bundle of Assize in whose archive something was replaced by
// something as long, so that everything but the meaning is still right.
func edited(old, with string) func(testing.TB) []byte {
	return func(t testing.TB) []byte {
		return zip(t, bytes.ReplaceAll(unzip(t, build(t, rego())), []byte(old), []byte(with)))
	}
}

func unzip(t testing.TB, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// members reads an archive again, so that a test can change it.
func members(t testing.TB, data []byte) []member {
	t.Helper()
	var out []member
	r := tar.NewReader(bytes.NewReader(unzip(t, data)))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, member{*h, string(body)})
	}
}

// changed is a bundle of Assize with its members changed, packed well again.
func changed(change func([]member) []member) func(testing.TB) []byte {
	return func(t testing.TB) []byte { return zip(t, tarball(t, change(members(t, build(t, rego())))...)) }
}

// attributed is a file that has more than a name and bytes.
func attributed() member {
	return member{tar.Header{
		Typeflag: tar.TypeReg, Name: "x.rego", Format: tar.FormatPAX,
		PAXRecords: map[string]string{"SCHILY.xattr.user.x": "y"},
	}, ""}
}

// TestHostile is every archive that is refused, each with its message
// (docs/bundle.md, rules 5 to 9 and 11).
func TestHostile(t *testing.T) {
	t.Parallel()
	const manifest = `{"revision": "", "roots": ["main"], "rego_version": 1}`
	for name, c := range map[string]struct {
		data func(testing.TB) []byte
		want string
	}{
		// Names.
		"parent":          {named("../x.rego"), "empty step, or one of . and .."},
		"parent inside":   {named("a/../../x.rego"), "empty step, or one of . and .."},
		"rooted parent":   {named("/../x.rego"), "empty step, or one of . and .."},
		"only parent":     {named(".."), "empty step, or one of . and .."},
		"dot":             {named("."), "empty step, or one of . and .."},
		"dot slash":       {named("./x.rego"), "empty step, or one of . and .."},
		"empty step":      {named("a//x.rego"), "empty step, or one of . and .."},
		"absolute":        {named("//etc/x.rego"), "is absolute"},
		"absolute file":   {named("/etc/passwd"), `holds "etc/passwd", which is no part of a policy`},
		"backslash":       {named(`..\x.rego`), "holds a backslash"},
		"drive":           {named("C:/x.rego"), "begins with a drive letter"},
		"drive, relative": {named("c:x.rego"), "begins with a drive letter"},
		"device path":     {named(`\\?\C:\x.rego`), "holds a backslash"},
		"trailing slash":  {func(t testing.TB) []byte { return patched(t, "x.rego/") }, "ends in a slash"},
		"two slashes":     {func(t testing.TB) []byte { return patched(t, "x.rego//") }, "ends in a slash"},
		"empty":           {func(t testing.TB) []byte { return patched(t, "") }, "without a name"},
		"slash":           {func(t testing.TB) []byte { return patched(t, "/") }, "without a name"},
		"no UTF-8":        {func(t testing.TB) []byte { return patched(t, "\xff.rego") }, "is not UTF-8"},
		"line break":      {named("a\n.rego"), "cannot be seen"},
		"escape sequence": {named("\x1b[2J.rego"), "cannot be seen"},
		"right to left":   {named("a\u202eoger.rego"), "cannot be seen"},
		"zero width":      {named("a\u200b.rego"), "cannot be seen"},
		"no-break space":  {named("a\u00a0.rego"), "cannot be seen"},
		"long":            {named(strings.Repeat("a", 1020) + ".rego"), "name has 1025 bytes"},
		"very long":       {named(strings.Repeat("a/", 200_000) + "x.rego"), "name has 400006 bytes"},
		"twice":           {of(regular("/main.rego", module)), `holds "main.rego" twice`},
		"twice, cleaned":  {of(regular("main.rego", module)), `holds "main.rego" twice`},
		"manifest twice": {func(t testing.TB) []byte {
			return zip(t, tarball(t, regular("/.manifest", "{}"), regular(".manifest", "{}")))
		}, `holds ".manifest" twice`},
		"NUL in a PAX name": {func(t testing.TB) []byte { return zip(t, paxed(t, "path", "a\x00.rego")) }, "is damaged"},

		// Kinds.
		"symbolic link":      {typed(tar.TypeSymlink, "/etc/passwd"), "is a link"},
		"hard link":          {typed(tar.TypeLink, "main.rego"), "is a link"},
		"directory":          {typed(tar.TypeDir, ""), "is a directory"},
		"character device":   {typed(tar.TypeChar, ""), "is a device"},
		"block device":       {typed(tar.TypeBlock, ""), "is a device"},
		"pipe":               {typed(tar.TypeFifo, ""), "is a pipe"},
		"contiguous":         {typed(tar.TypeCont, ""), "is no regular file"},
		"global header":      {of(member{tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "g", PAXRecords: map[string]string{"path": "x.rego"}}, ""}), "is no regular file"},
		"file with a target": {of(member{tar.Header{Typeflag: tar.TypeReg, Name: "x.rego", Linkname: "/etc/passwd"}, ""}), "a form of tar that is not read"},
		"extended attribute": {of(attributed()), `extended attribute "SCHILY.xattr.user.x"`},
		"sparse":             {func(t testing.TB) []byte { return zip(t, paxed(t, "GNU.sparse.size", "1000000000")) }, `extended attribute "GNU.sparse.size"`},
		"sparse, mapped":     {func(t testing.TB) []byte { return zip(t, paxed(t, "GNU.sparse.map", "0,1")) }, "is damaged"},
		"GNU's form":         {of(member{tar.Header{Typeflag: tar.TypeReg, Name: "x.rego", Format: tar.FormatGNU}, ""}), "a form of tar that is not read"},

		// Archives.
		"nothing":   {func(testing.TB) []byte { return nil }, "is damaged"},
		"no gzip":   {func(testing.TB) []byte { return []byte("package main") }, "is damaged"},
		"no tar":    {func(t testing.TB) []byte { return zip(t, []byte(strings.Repeat("package main\n", 99))) }, "is damaged"},
		"no member": {func(t testing.TB) []byte { return zip(t, tarball(t)) }, "holds no policy"},
		"no policy": {func(t testing.TB) []byte {
			return zip(t, tarball(t, regular("/.manifest", manifest), regular("/data.json", "{}")))
		}, "holds no policy"},
		"truncated":       {func(t testing.TB) []byte { b := named("x.rego")(t); return b[:len(b)-9] }, "is damaged"},
		"without its sum": {func(t testing.TB) []byte { b := named("x.rego")(t); return b[:len(b)-8] }, "is damaged"},
		"tar cut short": {func(t testing.TB) []byte {
			return zip(t, tarball(t, regular("x.rego", strings.Repeat(module, 99)))[:700])
		}, "is damaged"},
		"text after it":  {func(t testing.TB) []byte { return append(named("x.rego")(t), "more"...) }, "4 bytes follow"},
		"zeros after it": {func(t testing.TB) []byte { return append(named("x.rego")(t), 0, 0) }, "2 bytes follow"},
		"two members":    {func(t testing.TB) []byte { return append(named("x.rego")(t), named("y.rego")(t)...) }, "bytes follow"},
		"two archives": {func(t testing.TB) []byte {
			return zip(t, slices.Concat(tarball(t, regular("x.rego", module)), tarball(t, regular("y.rego", module))))
		}, "follows the end of the bundle's archive"},
		"bomb":             {func(t testing.TB) []byte { return zip(t, make([]byte, 128<<20)) }, "larger than 64 MiB"},
		"bomb of one file": {func(t testing.TB) []byte { return zip(t, tarball(t, regular("x.rego", strings.Repeat("#", 65<<20)))) }, "larger than 64 MiB"},
		"packed large":     {func(testing.TB) []byte { return make([]byte, 64<<20+1) }, "larger than 64 MiB"},
		"many members":     {crowd, "more than 5000 files"},
		"packed inside":    {func(t testing.TB) []byte { return zip(t, named("x.rego")(t)) }, "is damaged"},
		"another file":     {of(regular("README.md", "")), `holds "README.md", which is no part of a policy`},

		// What OPA's format has besides.
		"WebAssembly":       {of(regular("/policy.wasm", "\x00asm")), "compiled policy (policy.wasm)"},
		"named WebAssembly": {of(regular("/.manifest", `{"wasm": [{"entrypoint": "main/deny", "module": "/policy.wasm"}]}`)), "compiled policy (.manifest"},
		"plan":              {of(regular("/plan.json", "{}")), "compiled policy (plan.json)"},
		"binary plan":       {of(regular("/plan.pb", "")), "compiled policy (plan.pb)"},
		"binary manifest":   {of(regular("/.manifest.pb", "")), `holds ".manifest.pb", which is no part of a policy`},
		"manifest below":    {of(regular("/a/.manifest", "{}")), `holds "a/.manifest", which is no part of a policy`},
		"named manifest":    {of(regular("/x.manifest", "{}")), `holds "x.manifest", which is no part of a policy`},
		"signature":         {of(regular("/.signatures.json", "{}")), "signatures are not verified"},
		"old signature":     {of(regular("/signatures.json", "{}")), "signatures are not verified"},
		"delta":             {of(regular("/patch.json", "{}")), "delta bundle"},
		"data elsewhere":    {of(regular("/a/data.json", "{}")), `holds "a/data.json", which is no part of a policy`},
		"data in YAML":      {of(regular("/data.yaml", "")), `holds "data.yaml", which is no part of a policy`},
		"kept data":         {of(regular(".assize/data/0000", "")), `holds ".assize/data/0000", which is no part of a policy`},
		"module among kept": {of(regular(".assize/x.rego", "")), `holds ".assize/x.rego", which is no part of a policy`},
		"another case":      {of(regular("X.REGO", module)), `holds "X.REGO", which is no part of a policy`},
		"manifest is none":  {of(regular("/.manifest", "{")), "manifest cannot be read"},
		"manifest and more": {of(regular("/.manifest", manifest+manifest)), "manifest cannot be read"},
		"unknown field":     {of(regular("/.manifest", `{"revisions": ""}`)), "manifest cannot be read"},

		// A bundle of Assize that was changed.
		"packed again":       {changed(func(m []member) []member { return m }), "not how assize writes a bundle"},
		"another order":      {changed(func(m []member) []member { slices.Reverse(m); return m }), "not how assize writes a bundle"},
		"another module":     {edited("package lib", "package lab"), `"lib/v0.rego" is not the file that its manifest lists`},
		"another manifest":   {edited("1.22.3", "1.22.4"), "not how assize writes a bundle"},
		"another option":     {edited("tfplan", "rfplan"), "says that its policy is"},
		"another data name":  {edited("teams/b.yml", "xeams/b.yml"), "says that its policy is"},
		"another format":     {edited("bundle/v1", "bundle/v2"), `format "assize.policy.bundle/v2"`},
		"another language":   {edited(`"language": "rego"`, `"language": "rexo"`), "says that its policy is"},
		"CUE by its word":    {edited(`"language": "rego",`, `"language": "cue", `), "says that its policy is"},
		"another field":      {edited(`"evaluator"`, `"evaluated"`), "manifest cannot be read"},
		"another case of it": {edited(`"evaluator"`, `"Evaluator"`), "not how assize writes a bundle"},
		"another revision":   {edited(`"revision": "sha256:`, `"revision": "sha257:`), "says that its policy is"},
		"a file more":        {changed(func(m []member) []member { return append(m, regular("x.rego", module)) }), `holds "x.rego", which its manifest does not list`},
		"a file less": {changed(func(m []member) []member {
			return slices.DeleteFunc(m, func(m member) bool { return m.Name == "main.rego" })
		}), `lists "main.rego", which is not there`},
		"documents less": {changed(func(m []member) []member {
			return slices.DeleteFunc(m, func(m member) bool { return m.Name == "data.json" })
		}), `lists "data.json", which is not there`},
		"a list with a hole":   {listOf(func(s string) string { return strings.Replace(s, `"path": "main.rego"`, `"path": "mail.rego"`, 1) }), `lists "mail.rego", which is not there`},
		"a list of another":    {listOf(func(s string) string { return strings.Replace(s, `"size": 13`, `"size": 14`, 1) }), "is not the file that its manifest lists"},
		"without metadata":     {listOf(func(s string) string { return strings.Replace(s, `"assize"`, `"assise"`, 1) }), `holds ".assize/data/0000", which is no part of a policy`},
		"empty metadata":       {of(regular("/.manifest", `{"metadata": {"assize": null}}`)), `format ""`},
		"no evaluator":         {of(regular("/.manifest", `{"metadata": {"assize": {"format": "assize.policy.bundle/v1"}}}`)), "does not say what checked"},
		"list with duplicates": {listOf(doubled), "which is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, _, err := bundle.Open(c.data(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if len(src.Files) > 0 || src.Bundle != nil {
				t.Errorf("a policy came with the error")
			}
		})
	}
}

// crowd is more files than a bundle may have, each of nothing.
func crowd(t testing.TB) []byte {
	var all []member
	for i := range 100_000 {
		all = append(all, regular(fmt.Sprintf("%d.rego", i), ""))
	}
	return zip(t, tarball(t, all...))
}

// paxed is an archive whose member has a record that the writer of archives
// keeps for itself. It is put in the place of another one, as long with what a
// comment fills up.
func paxed(t testing.TB, key, value string) []byte {
	t.Helper()
	const mark, length = "assize.placeholder", 80
	record := func(n int, key, value string) string {
		head := fmt.Sprintf("%d %s=%s", n, key, value)
		return head + strings.Repeat("c", n-len(head)-1) + "\n"
	}
	old := record(length, mark, "")
	raw := tarball(t, member{tar.Header{
		Typeflag: tar.TypeReg, Name: "x.rego", Format: tar.FormatPAX,
		PAXRecords: map[string]string{mark: strings.Repeat("c", length-len("80 =\n")-len(mark))},
	}, ""})
	if !bytes.Contains(raw, []byte(old)) {
		t.Fatalf("there is no record %q", old)
	}
	n := len(fmt.Sprintf("99 %s=%s\n", key, value))
	return bytes.Replace(raw, []byte(old), []byte(record(n, key, value)+record(length-n, "comment", "")), 1)
}

// listOf is a bundle of Assize with another manifest.
func listOf(change func(string) string) func(testing.TB) []byte {
	return changed(func(all []member) []member {
		for i := range all {
			if all[i].Name == ".manifest" {
				all[i].body = change(all[i].body)
			}
		}
		return all
	})
}

// doubled lists the first file twice.
func doubled(manifest string) string {
	start := strings.Index(manifest, `"files": [`) + len(`"files": [`)
	end := strings.Index(manifest[start:], "},") + 2
	return manifest[:start] + manifest[start:start+end] + manifest[start:]
}

// TestOpensOPA: the subset of OPA's format that is read, with and without a
// manifest.
func TestOpensOPA(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]member{
		"as opa build writes it": {regular("/data.json", "{}\n"), regular("/b.rego", module), regular("/a/a.rego", module),
			regular("/.manifest", `{"revision":"r1","roots":["main"],"rego_version":1,"file_rego_versions":{"/a/*.rego":0},"metadata":{"x":1}}`)},
		"without a manifest": {regular("/b.rego", module), regular("/a/a.rego", module)},
		"without the slash":  {regular("b.rego", module), regular("a/a.rego", module)},
	} {
		src, about, err := bundle.Open(zip(t, tarball(t, all...)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var files []string
		for _, f := range src.Files {
			files = append(files, f.Name)
		}
		if !slices.Equal(files, []string{"a/a.rego", "b.rego"}) || src.Language != "rego" || src.Bundle.Evaluator != "" || about.Policy != src.Digest() {
			t.Errorf("%s: %v in %+v", name, files, about)
		}
	}
}

// FuzzOpen: no archive makes opening panic, and what opens as a bundle of
// Assize is exactly what building writes.
func FuzzOpen(f *testing.F) {
	for _, data := range [][]byte{build(f, rules()), build(f, rego()), named("x.rego")(f)} {
		f.Add(data)
		f.Add(unzip(f, data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		check(t, data)
		// Most changes break a checksum; what is inside deserves them as well.
		check(t, zip(t, data))
	})
}

func check(t *testing.T, data []byte) {
	src, about, err := bundle.Open(data)
	if err != nil {
		return
	}
	if len(src.Files) == 0 || src.Language == "" || about.Policy != src.Digest() {
		t.Fatalf("opened to %+v", about)
	}
	if about.Format == "" {
		return
	}
	if again := build(t, src); !bytes.Equal(again, data) {
		t.Fatal("a bundle of Assize has two spellings")
	}
}

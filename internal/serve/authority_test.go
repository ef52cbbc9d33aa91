package serve

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// roots trust the authority of a data directory.
func roots(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fileAuthority))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("no certificate")
	}
	return pool
}

// TestAuthority: it is made once; what it signs is good for this machine and the
// host that was named, as long as it says, and is renewed before that.
func TestAuthority(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for _, host := range []string{"localhost", "assize.example.com", "192.0.2.7"} {
		a, err := openAuthority(dir, now)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := a.sign(host, now)
		if err != nil {
			t.Fatal(err)
		}
		for name, good := range map[string]bool{"localhost": true, "127.0.0.1": true, "::1": true, host: true, "evil.example.com": false} {
			_, err := leaf.Leaf.Verify(x509.VerifyOptions{Roots: roots(t, dir), DNSName: name})
			if (err == nil) != good {
				t.Errorf("%s for %s: %v", host, name, err)
			}
		}
	}
	a, err := openAuthority(dir, now.Add(5*365*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	show := a.signed("localhost")
	first, err := show.next(nil, now)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := show.next(first, now.Add(50*24*time.Hour)); err != nil || same != first {
		t.Errorf("it was renewed early: %v", err)
	}
	if next, err := show.next(first, now.Add(61*24*time.Hour)); err != nil || next == first {
		t.Errorf("it was not renewed: %v", err)
	}
}

// TestBrokenAuthority: half of one, or an old one, is never replaced unseen: who
// trusts it would not trust the next.
func TestBrokenAuthority(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(certificate, key string) error{
		"no key":         func(_, key string) error { return os.Remove(key) },
		"no certificate": func(certificate, _ string) error { return os.Remove(certificate) },
		"nonsense":       func(certificate, _ string) error { return os.WriteFile(certificate, []byte("nonsense"), 0o600) },
	} {
		dir := t.TempDir()
		if _, err := openAuthority(dir, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := harm(filepath.Join(dir, fileAuthority), filepath.Join(dir, fileAuthorityKey)); err != nil {
			t.Fatal(err)
		}
		if _, err := openAuthority(dir, time.Now()); problem.Code(err) != api.Invalid || !strings.Contains(problem.Hint(err), dir) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if _, err := openAuthority(dir, time.Now().Add(-authorityLife)); err != nil {
		t.Fatal(err)
	}
	if _, err := openAuthority(dir, time.Now()); err == nil || !strings.Contains(err.Error(), "at its end") {
		t.Errorf("one that ends: %v", err)
	}
}

// write writes a certificate and its key as files that somebody manages.
func write(t *testing.T, pair *tls.Certificate, certificate, key string) {
	t.Helper()
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Duration(len(pair.Certificate[0])) * time.Second)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCertificateFiles: new files are used without a restart, once both are there.
func TestCertificateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := openAuthority(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sign := func(host string) *tls.Certificate {
		pair, err := a.sign(host, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	certificate, key := filepath.Join(dir, "server.pem"), filepath.Join(dir, "server-key.pem")
	one, two := sign("one.example.com"), sign("the-second-one.example.com")
	write(t, one, certificate, key)
	show := files(certificate, key)
	get := func(want string) {
		t.Helper()
		show.checked = time.Time{} // as if ten seconds had passed
		got, err := show.get(nil)
		if err != nil || got.Leaf.Subject.CommonName != want {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	get("one.example.com")
	write(t, two, certificate, "")
	get("one.example.com")
	write(t, two, "", key)
	get("the-second-one.example.com")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	get("the-second-one.example.com")
}

package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 90 * 24 * time.Hour
	leafRenewal   = 30 * 24 * time.Hour // before its end
)

// An authority signs the certificates of this machine alone. It is made once, so
// that whoever has been told to trust it need not be told again.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// openAuthority reads the authority of a data directory, and makes it when there is none.
func openAuthority(dir string, now time.Time) (*authority, error) {
	path, keyPath := filepath.Join(dir, fileAuthority), filepath.Join(dir, fileAuthorityKey)
	_, err := os.Stat(path)
	_, errKey := os.Stat(keyPath)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(errKey, fs.ErrNotExist) {
		if err := newAuthority(path, keyPath, now); err != nil {
			return nil, err
		}
	}
	a, err := readAuthority(path, keyPath)
	if err == nil && now.After(a.certificate.NotAfter.Add(-leafLife)) {
		err = errors.New("it is at its end")
	}
	if err != nil {
		return nil, problem.New(api.Invalid, "the certificate authority in %s cannot be used: %w", dir, err).
			WithHint("remove %s and %s, start again, and have clients trust the new one", path, keyPath)
	}
	return a, nil
}

func readAuthority(path, keyPath string) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(path, keyPath)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("it is no authority of ours")
	}
	return &authority{certificate: pair.Leaf, key: key}, nil
}

// newAuthority writes the key first: a certificate without one would be an error
// at every later start.
func newAuthority(path, keyPath string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // "" is no harm: it tells authorities apart in a list of them
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "Assize on " + host, Organization: []string{"Assize local authority"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writeNew(keyPath, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})); err != nil {
		return err
	}
	if err := writeNew(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})); err != nil {
		return err
	}
	return os.Chmod(path, 0o644) // other users of the machine may trust it too
}

// sign is a new certificate for localhost and the host that the server listens on.
func (a *authority) sign(host string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(leafLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "localhost" {
		template.DNSNames = append(template.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

func serial() *big.Int {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return new(big.Int).SetBytes(random[:])
}

// A presenter has the certificate that a client is shown, and gets a new one in time.
type presenter struct {
	mu      sync.Mutex
	current *tls.Certificate
	checked time.Time
	next    func(current *tls.Certificate, now time.Time) (*tls.Certificate, error)
}

// checkEvery is how old a certificate can be when it is shown and another one is
// in its file.
const checkEvery = 10 * time.Second

// get is the certificate. When no newer one can be had, the one that there was is
// shown: a client sees whether it is still good.
func (p *presenter) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.current != nil && now.Sub(p.checked) < checkEvery {
		return p.current, nil
	}
	fresh, err := p.next(p.current, now)
	if err != nil && p.current == nil {
		return nil, err
	}
	if err == nil {
		p.current = fresh
	}
	p.checked = now
	return p.current, nil
}

// signed presents certificates that the authority signs.
func (a *authority) signed(host string) *presenter {
	return &presenter{next: func(current *tls.Certificate, now time.Time) (*tls.Certificate, error) {
		if current != nil && now.Before(current.Leaf.NotAfter.Add(-leafRenewal)) {
			return current, nil
		}
		return a.sign(host, now)
	}}
}

// files presents what two files hold.
func files(certificate, key string) *presenter {
	var read time.Time // the later of their times when they were read
	return &presenter{next: func(current *tls.Certificate, _ time.Time) (*tls.Certificate, error) {
		changed, err := latestChange(certificate, key)
		if err != nil {
			return nil, err
		}
		if current != nil && changed.Equal(read) {
			return current, nil
		}
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, err // one of them may be new already and the other not yet
		}
		read = changed
		return &pair, nil
	}}
}

func latestChange(paths ...string) (time.Time, error) {
	var latest time.Time
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return time.Time{}, err
		}
		if info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest, nil
}

// transport is how the server speaks TLS, or nil for plain HTTP.
func (s *Settings) transport(now time.Time) (*tls.Config, error) {
	if s.InsecureHTTP {
		return nil, nil
	}
	show := files(s.Certificate, s.CertificateKey)
	if s.Certificate == "" {
		authority, err := openAuthority(s.Data, now)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(s.Listen)
		if err != nil {
			return nil, err
		}
		show = authority.signed(host)
	}
	if _, err := show.get(nil); err != nil { // now, and not with the first client
		return nil, problem.New(api.Invalid, "the certificate cannot be used: %w", err).
			WithHint("--tls-cert and --tls-key name two PEM files that belong together")
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: show.get}, nil
}

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki is the cluster's certificate authority. It lives as long as the process, in its memory and in
// the run folder.
type pki struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

const (
	caFile         = "ca.crt"
	servingCert    = "apiserver.crt"
	servingKey     = "apiserver.key"
	accountKeyFile = "service-account.key"
)

// serviceIP is the first address of the range for Services, which the API server takes for itself.
const (
	serviceRange = "10.0.0.0/16"
	serviceIP    = "10.0.0.1"
)

func newPKI(dir string) (*pki, error) {
	p := &pki{dir: dir}
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template := p.template(pkix.Name{CommonName: "throwaway-cluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate authority: %w", err)
	}
	if p.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	p.key = key
	if err := p.write(caFile, "CERTIFICATE", der); err != nil {
		return nil, err
	}
	if err := p.serving(); err != nil {
		return nil, err
	}
	return p, p.accountKey()
}

// serving is what the API server shows its clients.
func (p *pki) serving() error {
	template := p.template(pkix.Name{CommonName: "kube-apiserver"})
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceIP)}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	cert, key, err := p.sign(template)
	if err != nil {
		return fmt.Errorf("make the API server's certificate: %w", err)
	}
	if err := p.write(servingCert, "CERTIFICATE", cert); err != nil {
		return err
	}
	return p.write(servingKey, "PRIVATE KEY", key)
}

// accountKey signs the tokens of ServiceAccounts.
func (p *pki) accountKey() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	// Of the forms of a private key, this is one that the API server can also read the public key
	// from.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode the key for ServiceAccounts: %w", err)
	}
	return p.write(accountKeyFile, "EC PRIVATE KEY", der)
}

// client makes a certificate by which the API server knows a user and its groups, both as PEM.
func (p *pki) client(user string, groups ...string) (cert, key []byte, err error) {
	template := p.template(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	certDER, keyDER, err := p.sign(template)
	if err != nil {
		return nil, nil, fmt.Errorf("make the certificate of %s: %w", user, err)
	}
	return pemText("CERTIFICATE", certDER), pemText("PRIVATE KEY", keyDER), nil
}

func (p *pki) sign(template *x509.Certificate) (cert, key []byte, err error) {
	k, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	if cert, err = x509.CreateCertificate(rand.Reader, template, p.cert, k.Public(), p.key); err != nil {
		return nil, nil, err
	}
	key, err = x509.MarshalPKCS8PrivateKey(k)
	return cert, key, err
}

func (p *pki) template(subject pkix.Name) *x509.Certificate {
	p.next++
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(p.next),
		Subject:      subject,
		// An hour back, for a clock that is set while the cluster runs.
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.AddDate(0, 0, 30),
		KeyUsage:  x509.KeyUsageDigitalSignature,
	}
}

func (p *pki) write(name, kind string, der []byte) error {
	if err := os.WriteFile(filepath.Join(p.dir, name), pemText(kind, der), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (p *pki) caPEM() []byte { return pemText("CERTIFICATE", p.cert.Raw) }

func pemText(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

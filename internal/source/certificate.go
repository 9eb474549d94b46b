package source

import (
	"crypto/x509"
	"encoding/pem"

	corev1 "k8s.io/api/core/v1"
)

// Certificate is when a certificate is valid, in seconds since 1970. The zero Certificate is none.
type Certificate struct {
	NotBefore int64 `json:"from"`
	NotAfter  int64 `json:"until"`
}

// IsZero reports whether there is no certificate.
func (c Certificate) IsZero() bool { return c == Certificate{} }

// maxChain and maxChainText bound the work for one Secret, which a user may fill with 1 MiB. A chain
// rarely has more than four certificates of 2 KiB each.
const (
	maxChain     = 10
	maxChainText = 64 << 10
)

// MaxTime is the end of the year 9999 in seconds since 1970, after which no ledger has a time. A
// certificate with a time zone may end a little later.
const MaxTime = 253402300799

// certificateOf returns the certificate that expires first, of the certificates in a TLS Secret. It
// keeps two times and nothing else. Anything that is not a certificate is skipped.
func certificateOf(s *corev1.Secret) Certificate {
	if s.Type != corev1.SecretTypeTLS {
		return Certificate{}
	}
	text := s.Data[corev1.TLSCertKey]
	text = text[:min(len(text), maxChainText)]
	var issued int64
	var first Certificate
	for range maxChain {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			continue
		}
		c := Certificate{NotBefore: min(max(parsed.NotBefore.Unix(), 0), MaxTime), NotAfter: min(max(parsed.NotAfter.Unix(), 1), MaxTime)}
		switch {
		case first.IsZero():
			first, issued = c, c.NotBefore
		case c.NotAfter < issued:
			// Servers never needed it: it had expired when the first certificate was issued. Such
			// certificates are part of some chains for old clients.
		case c.NotAfter < first.NotAfter:
			first = c
		}
	}
	return first
}

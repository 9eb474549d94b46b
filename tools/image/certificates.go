package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificatesPath is where programs on Linux look first.
const certificatesPath = "/etc/ssl/certs/ca-certificates.crt"

// certificates are those that Mozilla trusts to vouch for servers, as the Go project publishes
// them: without them no alert could be sent by https. Those that are trusted under a condition are
// left out, because a file cannot hold it.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}

package digest

import (
	"crypto/hmac"
	"encoding/hex"
)

// Sign returns a signature of texts for one purpose: 32 hexadecimal digits. Users can write
// anything on their objects. Therefore Reroll acts on its own annotations only if they carry a
// signature that nobody without the key can make. The zero key signs nothing.
func (k Key) Sign(purpose string, texts ...string) string {
	if k.newSigner == nil {
		return ""
	}
	e := NewEncoder(k.newSigner())
	e.Text(purpose)
	e.number(len(texts))
	for _, text := range texts {
		e.Text(text)
	}
	return hex.EncodeToString(e.Sum(nil)[:len(Digest{})])
}

// HasSigned reports whether the key made a signature for a purpose and texts. The zero key has
// signed nothing.
func (k Key) HasSigned(signature, purpose string, texts ...string) bool {
	want := k.Sign(purpose, texts...)
	return want != "" && hmac.Equal([]byte(signature), []byte(want))
}

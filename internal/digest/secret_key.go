package digest

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
)

// minDigestKey is the size below which guessing the key would be easier than
// guessing what it protects.
const minDigestKey = 32

// Key makes the digests of Secrets worthless to whoever does not have it.
// It never shows its bytes, however it is printed or logged.
type Key struct {
	id string
	// sha1 reports whether the marks of Secrets show Reloader's SHA-1.
	sha1 bool
	// The bytes are inside of a function, because fmt reads the unexported
	// fields of the structs it prints, and does not ask the methods of what it
	// finds there. With some verbs it even follows pointers.
	newMAC func() hash.Hash
	// newSigner is for Sign, with bytes of its own.
	newSigner func() hash.Hash
}

// NewKey makes a key from at least 32 random bytes. They are not kept.
func NewKey(random []byte) (Key, error) {
	if len(random) < minDigestKey {
		return Key{}, fmt.Errorf("digest key has %d bytes, must have at least %d", len(random), minDigestKey)
	}
	derive := func(purpose string) (sum [sha256.Size]byte) {
		mac := hmac.New(sha256.New, random)
		mac.Write([]byte(purpose))
		mac.Sum(sum[:0])
		return sum
	}
	id, root, sign := derive("id"), derive("root"), derive("sign")
	return Key{
		id:        hex.EncodeToString(id[:4]),
		newMAC:    func() hash.Hash { return hmac.New(sha256.New, root[:]) },
		newSigner: func() hash.Hash { return hmac.New(sha256.New, sign[:]) },
	}, nil
}

// Showing returns the key for what the marks of Secrets show.
func (k Key) Showing(marks SecretMarks) Key {
	k.sha1 = marks == SecretMarksSHA1
	return k
}

// ID names the key without telling anything about it. The zero key has none.
func (k Key) ID() string {
	return k.id
}

// String returns the identity of the key.
func (k Key) String() string {
	return "digest key " + cmp.Or(k.id, "(none)")
}

// Format answers to every verb with the identity of the key: a String method
// would leave %d to print the bytes.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.String()) // fmt gives no way to report it
}

// LogValue returns the identity of the key.
func (k Key) LogValue() slog.Value {
	return slog.StringValue(k.String())
}

// SecretKey returns the key of one Secret. Equal content of two Secrets must not have
// equal digests: whoever may create a Secret and read what a rollout of it
// left behind could otherwise try out the data of all others.
func (k Key) SecretKey(namespace, name string) []byte {
	if k.newMAC == nil {
		return nil
	}
	e := NewEncoder(k.newMAC())
	e.Begin('i')
	e.Text(namespace)
	e.Text(name)
	return e.Sum(nil)
}

// Masked returns what a Source keeps of Reloader's SHA-1. Only a mark that Reloader left is
// compared with it, which takes no more than a MAC, and the SHA-1 of a Secret can be guessed at
// offline by everybody who reads a profile or a dump of the memory. A user who asked for marks
// with the SHA-1 has it in the pod templates anyway.
func (k Key) Masked(namespace, name string, sum [sha1.Size]byte) [sha1.Size]byte {
	if k.newMAC == nil || k.sha1 {
		return sum
	}
	e := NewEncoder(k.newMAC())
	e.Begin('r')
	e.Text(namespace)
	e.Text(name)
	e.Write(sum[:])
	return [sha1.Size]byte(e.Sum(nil)[:sha1.Size])
}

// SecretMarks is what the mark of a Secret shows.
type SecretMarks uint8

const (
	// SecretMarksKeyed shows a digest from which nobody without the Key can guess a value.
	SecretMarksKeyed SecretMarks = iota
	// SecretMarksSHA1 shows what Reloader shows, which can be guessed at offline.
	SecretMarksSHA1
)

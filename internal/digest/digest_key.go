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

// minDigestKey is the minimum size. A shorter key would be easier to guess than the values that it
// protects.
const minDigestKey = 32

// Key protects the digests of Secrets: without the key, nobody can guess a value from a digest. The
// key never shows its bytes, no matter how it is printed or logged.
type Key struct {
	id string
	// sha1 reports whether the marks of Secrets show Reloader's SHA-1.
	sha1 bool
	// The bytes are inside a function, because fmt reads the unexported fields of structs without
	// calling their methods. With some verbs it even follows pointers.
	newMAC func() hash.Hash
	// newSigner makes the hash for Sign, from a derived key of its own.
	newSigner func() hash.Hash
}

// NewKey derives a key from at least 32 random bytes, and does not keep those bytes. The controller
// makes them once for each installation, and keeps them in a Secret (controller.LoadDigestKey).
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

// Showing returns the key for one choice of what the marks of Secrets show.
func (k Key) Showing(marks SecretMarks) Key {
	k.sha1 = marks == SecretMarksSHA1
	return k
}

// ID identifies the key without revealing anything about its bytes. The zero key has no ID.
func (k Key) ID() string {
	return k.id
}

// String returns the identity of the key.
func (k Key) String() string {
	return "digest key " + cmp.Or(k.id, "(none)")
}

// Format prints the ID of the key for every verb. Otherwise %d would print the bytes, despite the
// String method.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.String()) // fmt offers no way to report the error
}

// LogValue returns the identity of the key.
func (k Key) LogValue() slog.Value {
	return slog.StringValue(k.String())
}

// SecretKey returns the key of one Secret. Equal data of two Secrets must have different digests.
// Otherwise a user who may create a Secret and read the marks of its rollout could guess the data
// of all other Secrets.
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

// Masked returns a MAC of Reloader's SHA-1, which is enough to compare it with a mark that Reloader
// wrote. The SHA-1 of a Secret itself could be guessed at offline by anyone who reads a profile or
// a memory dump. If the user chose marks with the SHA-1, the pod templates contain it anyway.
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

// Foreign returns the digest of a source in another namespace for the workloads of one namespace,
// even for a ConfigMap. From it, nobody can guess the data, and it equals no digest in any other
// namespace.
func (k Key) Foreign(namespace, source string, sum Digest) Digest {
	var e *Encoder
	if k.newMAC == nil {
		e = NewEncoder(sha256.New()) // distinguishes changes, and must not be published
	} else {
		e = NewEncoder(k.newMAC())
	}
	e.Begin('f')
	e.Text(namespace)
	e.Text(source)
	e.Write(sum[:])
	return Digest(e.Sum(nil)[:len(Digest{})])
}

// SecretMarks selects what the mark of a Secret shows.
type SecretMarks uint8

const (
	// SecretMarksKeyed is a digest from which nobody without the Key can guess a value.
	SecretMarksKeyed SecretMarks = iota
	// SecretMarksSHA1 is Reloader's SHA-1, from which values can be guessed offline.
	SecretMarksSHA1
)

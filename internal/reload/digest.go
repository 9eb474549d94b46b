package reload

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// DigestFormat is the version of the encoding that digests are made over. It is
// part of every digest, so digests of two formats are never equal by accident.
const DigestFormat = 1

// Digest stands for a content: equal digests mean equal content. The text form
// is 32 hexadecimal digits.
type Digest [16]byte

// String returns the text form.
func (d Digest) String() string {
	return hex.EncodeToString(d[:])
}

// IsZero tells whether d was never computed.
func (d Digest) IsZero() bool {
	return d == Digest{}
}

// MarshalText returns the text form.
func (d Digest) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads the text form and leaves d alone when it is not one.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest has %d characters, must be %d hexadecimal digits", len(text), hex.EncodedLen(len(d)))
	}
	var read Digest
	if _, err := hex.Decode(read[:], text); err != nil {
		return fmt.Errorf("digest %q must be %d hexadecimal digits: %w", text, hex.EncodedLen(len(d)), err)
	}
	*d = read
	return nil
}

// minDigestKey is the size below which guessing the key would be easier than
// guessing what it protects.
const minDigestKey = 32

// DigestKey makes the digests of Secrets worthless to whoever does not have it.
// It never shows its bytes, however it is printed or logged.
type DigestKey struct {
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

// NewDigestKey makes a key from at least 32 random bytes. They are not kept.
func NewDigestKey(random []byte) (DigestKey, error) {
	if len(random) < minDigestKey {
		return DigestKey{}, fmt.Errorf("digest key has %d bytes, must have at least %d", len(random), minDigestKey)
	}
	derive := func(purpose string) (sum [sha256.Size]byte) {
		mac := hmac.New(sha256.New, random)
		mac.Write([]byte(purpose))
		mac.Sum(sum[:0])
		return sum
	}
	id, root, sign := derive("id"), derive("root"), derive("sign")
	return DigestKey{
		id:        hex.EncodeToString(id[:4]),
		newMAC:    func() hash.Hash { return hmac.New(sha256.New, root[:]) },
		newSigner: func() hash.Hash { return hmac.New(sha256.New, sign[:]) },
	}, nil
}

// Showing returns the key for what the marks of Secrets show.
func (k DigestKey) Showing(marks SecretMarks) DigestKey {
	k.sha1 = marks == SecretMarksSHA1
	return k
}

// ID names the key without telling anything about it. The zero key has none.
func (k DigestKey) ID() string {
	return k.id
}

// String returns the identity of the key.
func (k DigestKey) String() string {
	return "digest key " + cmp.Or(k.id, "(none)")
}

// Format answers to every verb with the identity of the key: a String method
// would leave %d to print the bytes.
func (k DigestKey) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.String()) // fmt gives no way to report it
}

// LogValue returns the identity of the key.
func (k DigestKey) LogValue() slog.Value {
	return slog.StringValue(k.String())
}

// of returns the key of one Secret. Equal content of two Secrets must not have
// equal digests: whoever may create a Secret and read what a rollout of it
// left behind could otherwise try out the content of all others.
func (k DigestKey) of(namespace, name string) []byte {
	if k.newMAC == nil {
		return nil
	}
	e := newEncoder(k.newMAC())
	e.begin('i')
	e.text(namespace)
	e.text(name)
	return e.Sum(nil)
}

// kept returns what a Source keeps of Reloader's SHA-1. Only a mark that Reloader left is
// compared with it, which takes no more than a MAC, and the SHA-1 of a Secret can be guessed at
// offline by everybody who reads a profile or a dump of the memory. A user who asked for marks
// with the SHA-1 has it in the pod templates anyway.
func (k DigestKey) kept(namespace, name string, sum [sha1.Size]byte) [sha1.Size]byte {
	if k.newMAC == nil || k.sha1 {
		return sum
	}
	e := newEncoder(k.newMAC())
	e.begin('r')
	e.text(namespace)
	e.text(name)
	e.Write(sum[:])
	return [sha1.Size]byte(e.Sum(nil)[:sha1.Size])
}

// The two places where a ConfigMap keeps values. A value that moves from one to
// the other is a change: only text reaches environment variables.
const (
	textSection   byte = 't'
	binarySection byte = 'b'
)

// item is one key with its value, which is either text or raw.
type item struct {
	section byte
	key     string
	text    string
	raw     []byte
	sum     [sha256.Size]byte
}

// encoder feeds a hash with an encoding of which no two inputs are the same:
// everything of variable length comes after its length.
type encoder struct {
	hash.Hash
	// Strings pass through here, because a hash takes bytes and converting a
	// string whole would copy it.
	chunk [1024]byte
}

func newEncoder(h hash.Hash) *encoder {
	return &encoder{Hash: h}
}

// begin separates what is hashed for one purpose from all other purposes.
func (e *encoder) begin(purpose byte) {
	e.Reset()
	e.Write(append(e.chunk[:0], beginning(purpose)...))
}

func (e *encoder) number(n int) {
	e.Write(brief(e.chunk[:0]).number(n))
}

func (e *encoder) text(s string) {
	e.number(len(s))
	e.stream(s)
}

func (e *encoder) stream(s string) {
	for len(s) > 0 {
		n := copy(e.chunk[:], s)
		e.Write(e.chunk[:n])
		s = s[n:]
	}
}

// brief is the same encoding of what is short: put together and hashed at once, it
// needs no memory but its own. Several are made of each workload that comes.
type brief []byte

// beginning is what an encoding for one purpose starts with.
func beginning(purpose byte) brief { return brief{'r', 'e', 'r', 'o', 'l', 'l', DigestFormat, purpose} }

func (b brief) number(n int) brief {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // a length
}

func (b brief) text(s string) brief { return append(b.number(len(s)), s...) }

func (b brief) digest() Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:len(Digest{})])
}

// content sorts the items and returns the digest of all of them and of each.
// Values are hashed once: the digest of the whole is made over the full sums of
// the items, which stand for section, key and value.
func (e *encoder) content(items []item) (Digest, []KeyDigest) {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.section, b.section))
	})

	keys := make([]KeyDigest, len(items))
	for i := range items {
		it := &items[i]
		e.begin('k')
		e.number(int(it.section))
		e.text(it.key)
		e.number(len(it.text) + len(it.raw))
		e.stream(it.text)
		e.Write(it.raw)
		e.Sum(it.sum[:0])
		keys[i] = KeyDigest{Name: it.key, Sum: [8]byte(it.sum[:])}
	}

	e.begin('s')
	e.number(len(items))
	for i := range items {
		e.Write(items[i].sum[:])
	}
	return Digest(e.Sum(nil)[:len(Digest{})]), keys
}

// reloaderSum returns the SHA-1 that Reloader computes. It sorts the items its
// own way. The result cannot decide whether content changed, because a value
// may contain the separators.
func reloaderSum(items []item) [sha1.Size]byte {
	slices.SortFunc(items, func(a, b item) int { return compareReloaderKeys(a.key, b.key) })

	e := newEncoder(sha1.New())
	for i := range items {
		it := &items[i]
		if i > 0 {
			e.stream(";")
		}
		e.stream(it.key)
		e.stream("=")
		if it.section == binarySection {
			encoded := base64.NewEncoder(base64.StdEncoding, e)
			_, _ = encoded.Write(it.raw) // a hash takes everything
			_ = encoded.Close()
			continue
		}
		e.stream(it.text)
		e.Write(it.raw)
	}
	return [sha1.Size]byte(e.Sum(nil))
}

// compareReloaderKeys orders keys as their "key=value" texts are ordered. That
// is not the order of the keys: "a-b" comes before "a", since "-" is below "=".
// A key cannot contain "=", so the values never matter.
func compareReloaderKeys(a, b string) int {
	shared := min(len(a), len(b))
	return cmp.Or(
		strings.Compare(a[:shared], b[:shared]),
		strings.Compare(a[shared:]+"=", b[shared:]+"="),
	)
}

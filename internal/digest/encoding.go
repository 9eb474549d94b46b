package digest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
)

// The two places where a ConfigMap keeps values. A value that moves from one to
// the other is a change: only text reaches environment variables.
const (
	TextSection   byte = 't'
	BinarySection byte = 'b'
)

// Item is one key with its value, which is either text or raw.
type Item struct {
	Section byte
	Key     string
	Text    string
	Raw     []byte
	sum     [sha256.Size]byte
}

// Encoder feeds a hash with an encoding of which no two inputs are the same:
// everything of variable length comes after its length.
type Encoder struct {
	hash.Hash
	// Strings pass through here, because a hash takes bytes and converting a
	// string whole would copy it.
	chunk [1024]byte
}

// NewEncoder returns an encoder that feeds a hash.
func NewEncoder(h hash.Hash) *Encoder {
	return &Encoder{Hash: h}
}

// Begin separates what is hashed for one purpose from all other purposes.
func (e *Encoder) Begin(purpose byte) {
	e.Reset()
	e.Write(append(e.chunk[:0], Beginning(purpose)...))
}

func (e *Encoder) number(n int) {
	e.Write(Brief(e.chunk[:0]).number(n))
}

// Text encodes a string of any length.
func (e *Encoder) Text(s string) {
	e.number(len(s))
	e.stream(s)
}

func (e *Encoder) stream(s string) {
	for len(s) > 0 {
		n := copy(e.chunk[:], s)
		e.Write(e.chunk[:n])
		s = s[n:]
	}
}

// Brief is the same encoding of what is short: put together and hashed at once, it
// needs no memory but its own. Several are made of each workload that comes.
type Brief []byte

// Beginning is what an encoding for one purpose starts with.
func Beginning(purpose byte) Brief { return Brief{'r', 'e', 'r', 'o', 'l', 'l', Format, purpose} }

func (b Brief) number(n int) Brief {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // a length
}

// Text appends a string.
func (b Brief) Text(s string) Brief { return append(b.number(len(s)), s...) }

// Digest returns what the encoding hashes to.
func (b Brief) Digest() Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:len(Digest{})])
}

// Content sorts the items and returns the digest of all of them and of each.
// Values are hashed once: the digest of the whole is made over the full sums of
// the items, which stand for section, key and value.
func (e *Encoder) Content(items []Item) (Digest, []KeyDigest) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), cmp.Compare(a.Section, b.Section))
	})

	keys := make([]KeyDigest, len(items))
	for i := range items {
		it := &items[i]
		e.Begin('k')
		e.number(int(it.Section))
		e.Text(it.Key)
		e.number(len(it.Text) + len(it.Raw))
		e.stream(it.Text)
		e.Write(it.Raw)
		e.Sum(it.sum[:0])
		keys[i] = KeyDigest{Name: it.Key, Sum: [8]byte(it.sum[:])}
	}

	e.Begin('s')
	e.number(len(items))
	for i := range items {
		e.Write(items[i].sum[:])
	}
	return Digest(e.Sum(nil)[:len(Digest{})]), keys
}

// KeyDigest is the digest of one key of a source and of its value. It shows which keys of one
// source changed, and is good for nothing else.
type KeyDigest struct {
	Name string
	Sum  [8]byte
}

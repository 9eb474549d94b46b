package digest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"
)

// The two fields in which a ConfigMap keeps values. Moving a value from one to the other is a
// change, because only text reaches environment variables.
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

// Encoder writes an unambiguous encoding to a hash: everything of variable length comes after its
// length.
type Encoder struct {
	hash.Hash
	// Strings are copied to the hash in chunks, because a hash takes bytes and converting a long
	// string would copy all of it.
	chunk [256]byte
}

// NewEncoder returns an encoder that feeds a hash.
func NewEncoder(h hash.Hash) *Encoder {
	return &Encoder{Hash: h}
}

// Begin starts an encoding for one purpose, so that encodings for two purposes never collide.
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

// Brief is the same encoding for short inputs, hashed at once, so that it needs no Encoder. Several
// are made for each workload that the watch reports.
type Brief []byte

// usualBrief is the room for nearly all of them.
const usualBrief = 192

// Beginning is the prefix of an encoding for one purpose.
func Beginning(purpose byte) Brief {
	return append(make(Brief, 0, usualBrief), 'r', 'e', 'r', 'o', 'l', 'l', Format, purpose)
}

func (b Brief) number(n int) Brief {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // a length
}

// Text appends a string.
func (b Brief) Text(s string) Brief { return append(b.number(len(s)), s...) }

// Digest returns the digest of the encoding.
func (b Brief) Digest() Digest {
	sum := sha256.Sum256(b)
	return Digest(sum[:len(Digest{})])
}

// Content sorts the items and returns the digest of all of them and of each. Each value is hashed
// once: the total digest is computed from the full sums of the items, which cover section, key and
// value.
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

// Selected is the digest of some keys of a source, and of the lists of names that select them. It
// equals no digest of a whole source. The digests of the keys of a Secret are keyed, so this one
// reveals no more than they do.
func (e *Encoder) Selected(only, without []string, keys []KeyDigest, counts func(name string) bool) Digest {
	e.Begin('u')
	for _, names := range [][]string{only, without} {
		e.number(len(names))
		for _, name := range names {
			e.Text(name)
		}
	}
	for i := range keys {
		if counts(keys[i].Name) {
			e.Text(keys[i].Name)
			e.Write(keys[i].Sum[:])
		}
	}
	return Digest(e.Sum(nil)[:len(Digest{})])
}

// KeyDigest is the digest of one key of a source and of its value. It is good for showing which keys
// of one source changed, and for Selected.
type KeyDigest struct {
	Name string
	Sum  [8]byte
}

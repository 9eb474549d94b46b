// Package digest knows what data hashes to: plain or keyed, so that two contents never have one digest
// and no digest gives a value away. It does not know where data comes from.
package digest

import (
	"encoding/hex"
	"fmt"
)

// Format is the version of the encoding that digests are made over. It is
// part of every digest, so digests of two formats are never equal by accident.
const Format = 1

// Digest stands for a content: equal digests mean equal content. The text form
// is 32 hexadecimal digits.
type Digest [16]byte

// String returns the text form.
func (d Digest) String() string {
	return hex.EncodeToString(d[:])
}

// IsZero reports whether d was never computed.
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

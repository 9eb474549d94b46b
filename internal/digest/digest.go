// Package digest computes the digests of data, plain or keyed, so that different data have
// different digests and no digest of a Secret reveals a value. It does not know where the data
// comes from.
package digest

import (
	"encoding/hex"
	"fmt"
)

// Format is the version of the encoding that is hashed. It is part of every digest, so digests of
// two formats are never equal by accident.
const Format = 1

// Digest identifies data: equal digests mean equal data. The text form is 32 hexadecimal digits.
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

// UnmarshalText reads the text form. It leaves d unchanged if the text is invalid.
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

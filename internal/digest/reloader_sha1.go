package digest

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"
)

// ReloaderSum returns the SHA-1 that Reloader computes, with Reloader's order of the items. It must
// not decide whether data changed, because a value may contain the separators.
func ReloaderSum(items []Item) [sha1.Size]byte {
	slices.SortFunc(items, func(a, b Item) int { return compareReloaderKeys(a.Key, b.Key) })

	e := NewEncoder(sha1.New())
	for i := range items {
		it := &items[i]
		if i > 0 {
			e.stream(";")
		}
		e.stream(it.Key)
		e.stream("=")
		if it.Section == BinarySection {
			encoded := base64.NewEncoder(base64.StdEncoding, e)
			_, _ = encoded.Write(it.Raw) // a hash never fails
			_ = encoded.Close()
			continue
		}
		e.stream(it.Text)
		e.Write(it.Raw)
	}
	return [sha1.Size]byte(e.Sum(nil))
}

// compareReloaderKeys orders keys in the order of their "key=value" texts. That differs from the
// order of the keys: "a-b" comes before "a", since "-" is below "=". A key cannot contain "=", so
// the values never matter.
func compareReloaderKeys(a, b string) int {
	shared := min(len(a), len(b))
	return cmp.Or(
		strings.Compare(a[:shared], b[:shared]),
		strings.Compare(a[shared:]+"=", b[shared:]+"="),
	)
}

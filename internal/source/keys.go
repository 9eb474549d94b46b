package source

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/digest"
)

// Keys selects keys of a source. Nil selects all of them. A value is never changed after it was
// made, so that workloads may share it.
type Keys struct {
	// all reports whether every key counts that is not left out; otherwise only the named keys
	// count.
	all     bool
	only    []string
	without []string
}

// OnlyKeys selects keys by name. Without any name, no key counts.
func OnlyKeys(names []string) *Keys { return &Keys{only: sorted(names)} }

// ListedKeys selects what a user lists: the named keys, or all if there are none, without those that
// are left out.
func ListedKeys(names, without []string) *Keys {
	if len(names) == 0 && len(without) == 0 {
		return nil
	}
	return &Keys{all: len(names) == 0, only: sorted(names), without: sorted(without)}
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// Has reports whether a key counts.
func (k *Keys) Has(name string) bool {
	if k == nil {
		return true
	}
	if _, left := slices.BinarySearch(k.without, name); left {
		return false
	}
	_, named := slices.BinarySearch(k.only, name)
	return k.all || named
}

// HasAny reports whether one of several sorted keys counts. It takes as long as the shorter of the two
// lists, because users control the length of both.
func (k *Keys) HasAny(names []string) bool {
	if k == nil {
		return true
	}
	if k.all || len(names) < len(k.only) {
		return slices.ContainsFunc(names, k.Has)
	}
	return slices.ContainsFunc(k.only, func(name string) bool {
		_, found := slices.BinarySearch(names, name)
		return found && k.Has(name)
	})
}

// Len is how many names it has.
func (k *Keys) Len() int { return len(k.only) + len(k.without) }

// Equal reports whether both select the same keys of every source.
func (k *Keys) Equal(other *Keys) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.all == other.all && slices.Equal(k.only, other.only) && slices.Equal(k.without, other.without)
}

// None reports whether it selects no key of any source.
func (k *Keys) None() bool { return k != nil && !k.all && !slices.ContainsFunc(k.only, k.Has) }

// Names are the keys that are selected by name, and the keys that are left out.
func (k *Keys) Names() (only, without []string) {
	if k == nil {
		return nil, nil
	}
	return k.only, k.without
}

// String lists the keys.
func (k *Keys) String() string {
	switch {
	case k == nil:
		return "all keys"
	case k.all:
		return "all keys except " + strings.Join(k.without, ", ")
	case k.None():
		return "no key"
	}
	named := slices.DeleteFunc(slices.Clone(k.only), func(name string) bool { return !k.Has(name) })
	return strings.Join(named, ", ")
}

// MayLack reports whether a key that counts may have been removed: a key that is selected by name
// does not exist, or the names of those that count are unknown.
func (s *Source) MayLack(k *Keys) bool {
	if k == nil {
		return false
	}
	return k.all || slices.ContainsFunc(k.only, func(name string) bool { return k.Has(name) && !s.HasKey(name) })
}

// HasKey reports whether a key exists.
func (s *Source) HasKey(name string) bool {
	_, found := slices.BinarySearchFunc(s.Keys, name, func(key digest.KeyDigest, name string) int { return strings.Compare(key.Name, name) })
	return found
}

// DigestOf is the digest of the keys that count. It is the digest of the source if all do. Otherwise,
// it also covers which keys count. So it never equals a digest by another selection, even if both
// select all keys that exist: a key that is added may count by one of them alone.
func (s *Source) DigestOf(k *Keys) digest.Digest {
	if k == nil {
		return s.Digest
	}
	e := digest.NewEncoder(sha256.New())
	return e.Selected(k.only, k.without, s.Keys, k.Has)
}

// ChangedKeys are the keys whose values differ between two versions of a source, sorted.
func (s *Source) ChangedKeys(before *Source) []string {
	var changed []string
	a, b := before.Keys, s.Keys
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Name < b[0].Name:
			changed, a = append(changed, a[0].Name), a[1:]
		case len(a) == 0 || b[0].Name < a[0].Name:
			changed, b = append(changed, b[0].Name), b[1:]
		default:
			if a[0] != b[0] {
				changed = append(changed, a[0].Name)
			}
			a, b = a[1:], b[1:]
		}
	}
	return slices.Compact(changed)
}

package state

import "strconv"

// overtaken reports whether an object is not newer than the known version. The watch may bring the
// version that the response to our own write contained. An older snapshot counts, because then the
// API server was restored.
func overtaken(version, known uint64, live bool) bool {
	if version == 0 || known == 0 {
		return false
	}
	if live {
		return version <= known
	}
	return version == known
}

// VersionOf parses a resource version; 0 if it is no number, and then the order is unknown.
func VersionOf(resourceVersion string) uint64 {
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

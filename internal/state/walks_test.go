//go:build !race

package state

// walks is the number of random histories of each kind.
const walks = 2000

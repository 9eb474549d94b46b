//go:build race

package state

// walks is the number of random histories of each kind. Nothing in one is concurrent, so the race
// detector finds nothing, and it makes each fifteen times as long. All of them run without it.
const walks = 200

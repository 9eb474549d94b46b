//go:build race

package controller

// full is how many histories are drawn by default. Nothing in a history is concurrent, so the race detector finds
// nothing in it and makes it ten times slower: here it only proves that the test does what it does elsewhere.
const full = 500

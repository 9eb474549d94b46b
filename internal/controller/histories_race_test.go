//go:build race

package controller

// full is the default number of histories. Nothing in a history is concurrent, so the race detector
// finds nothing in it and makes it ten times slower. Here the test only proves that it works with
// the race detector, too.
const full = 500

//go:build !race

package controller

// full is the default number of histories.
const full = 10_000

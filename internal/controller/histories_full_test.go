//go:build !race

package controller

// full is how many histories are drawn by default.
const full = 10_000

package main

import "testing"

func TestEachMutationFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutations() {
		if _, err := m.overlay(t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

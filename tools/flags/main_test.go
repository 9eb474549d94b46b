package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePageIsThatOfTheseFlags(t *testing.T) {
	var now bytes.Buffer
	if err := page(&now); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), now.String()); diff != "" {
		t.Errorf("run make generate (-docs/reference/flags.md +the flags):\n%s", diff)
	}
}

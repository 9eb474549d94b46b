package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAControlGroupIsRemovedWithThoseInIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reroll-c1")
	for _, below := range []string{"node-1/kubepods/pod1", "node-2"} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeCgroup(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the group after its removal: %v", err)
	}
	if err := removeCgroup(dir); err != nil {
		t.Errorf("a group that is already gone: %v", err)
	}
}

// The kernel refuses to remove a group with a process, as a file system does a folder with a file.
func TestAControlGroupThatCannotBeRemovedIsAnError(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "node-1")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, "busy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroup(dir); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(below); err != nil {
		t.Errorf("the group that is busy: %v", err)
	}
}

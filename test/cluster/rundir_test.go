package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderOfAProcessThatIsKilledIsRemovedByTheNextStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	killed, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	// The kernel takes the lock from a process that ends.
	if err := killed.lock.Close(); err != nil {
		t.Fatal(err)
	}
	path, remove, err := Folder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed.path); !os.IsNotExist(err) {
		t.Errorf("the folder of the process that was killed: %v", err)
	}
	if _, err := newRunDir(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the folder of a process that runs: %v", err)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the folder after its removal: %v", err)
	}
}

func TestTheControlGroupsOfAProcessThatIsKilledAreRemovedByTheNextStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	mounted := t.TempDir()
	killed, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	running, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	versions := func(dir string) []string {
		return []string{filepath.Join(mounted, controlGroup(dir)), filepath.Join(mounted, "memory", controlGroup(dir))}
	}
	for _, group := range append(versions(killed.path), versions(running.path)...) {
		if err := os.MkdirAll(filepath.Join(group, "node-1", "kubepods"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Nothing can remove a group with a process, or a folder with a file.
	busy := filepath.Join(versions(killed.path)[1], "node-1", "busy")
	if err := os.WriteFile(busy, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.lock.Close(); err != nil {
		t.Fatal(err)
	}
	sweep(runsFolder(), mounted)
	if _, err := os.Stat(killed.path); err != nil {
		t.Errorf("the folder of a process with a group that is busy: %v", err)
	}
	if err := os.Remove(busy); err != nil {
		t.Fatal(err)
	}
	sweep(runsFolder(), mounted)
	for _, gone := range append(versions(killed.path), killed.path) {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	for _, kept := range append(versions(running.path), running.path) {
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("of the process that runs: %v", err)
		}
	}
}

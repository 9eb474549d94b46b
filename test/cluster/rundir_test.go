package cluster

import (
	"os"
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

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// runDir is the folder of one running cluster. A lock on a file in it is held as long as its
// process lives, however that ends, so a later start can tell the folders of the living from what
// the dead left.
type runDir struct {
	path string
	lock *os.File
}

const (
	runDirLock   = "lock"
	runDirFailed = "failed"
)

func runsFolder() string {
	return filepath.Join(os.TempDir(), "reroll-clusters-"+strconv.Itoa(os.Getuid()))
}

func newRunDir() (*runDir, error) {
	base := runsFolder()
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for clusters: %w", err)
	}
	// Making a folder and locking it are two steps; nobody may sweep between them.
	gate, err := openLock(base)
	if err != nil {
		return nil, err
	}
	defer gate.Close()
	if err := waitLock(gate); err != nil {
		return nil, fmt.Errorf("lock %s: %w", base, err)
	}
	sweep(base, controlGroups)
	free, err := freeDisk(base)
	if err != nil {
		return nil, fmt.Errorf("see how much disk is free for %s: %w", base, err)
	}
	if err := enoughRoom(base, free); err != nil {
		return nil, err
	}

	path, err := os.MkdirTemp(base, "c")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the cluster: %w", err)
	}
	lock, err := openLock(path)
	if err != nil {
		return nil, err
	}
	if _, err := tryLock(lock); err != nil {
		return nil, err
	}
	return &runDir{path: path, lock: lock}, nil
}

// Folder makes a folder for files that belong to no cluster, such as archives of images. If this
// process is killed before it calls remove, the next start of a cluster removes the folder.
func Folder() (path string, remove func() error, err error) {
	dir, err := newRunDir()
	if err != nil {
		return "", nil, err
	}
	return dir.path, dir.remove, nil
}

// clusterDisk is what a cluster takes that is used for a while. Most of it is what etcd reserves at
// its start.
const clusterDisk = 250 << 20

func enoughRoom(base string, free uint64) error {
	if free >= clusterDisk {
		return nil
	}
	return fmt.Errorf("only %d MB are free for %s, and a cluster needs about %d MB: free some, or point TMPDIR at a larger disk",
		free>>20, base, clusterDisk>>20)
}

func openLock(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, runDirLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a lock file: %w", err)
	}
	return lock, nil
}

// sweep removes what ended processes left. The folder of the last failed start stays, because the
// error that named its logs may still be on somebody's screen.
func sweep(base, mounted string) {
	locks, _ := filepath.Glob(filepath.Join(base, "*", runDirLock))
	for _, l := range locks {
		dir := filepath.Dir(l)
		if _, err := os.Stat(filepath.Join(dir, runDirFailed)); err == nil {
			continue
		}
		lock, err := openLock(dir)
		if err != nil {
			continue
		}
		// The folder names the control groups. So it stays as long as one of them does, and a later
		// start tries again.
		if held, err := tryLock(lock); err == nil && held && sweepControlGroups(mounted, dir) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// abandon leaves the folder for a reader of the logs, in the place of the one an earlier failed
// start left.
func (d *runDir) abandon() {
	earlier, _ := filepath.Glob(filepath.Join(filepath.Dir(d.path), "*", runDirFailed))
	for _, f := range earlier {
		_ = os.RemoveAll(filepath.Dir(f))
	}
	_ = os.WriteFile(filepath.Join(d.path, runDirFailed), nil, 0o600)
	_ = d.lock.Close()
}

func (d *runDir) remove() error {
	err := os.RemoveAll(d.path)
	_ = d.lock.Close()
	return err
}

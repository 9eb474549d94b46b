package cluster

import (
	"fmt"
	"os"
	"syscall"
)

// Supported says why a throwaway cluster cannot run on this system, if so.
func Supported() error { return nil }

// dieWithParent lets the kernel kill a child when its parent is gone, also when that was killed and
// could not clean up.
func dieWithParent() *syscall.SysProcAttr {
	// A group of its own keeps a Ctrl-C in the terminal from reaching the components before the
	// program that uses them has finished its last requests.
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// withOwnNetwork does the same for a child in a network namespace of its own.
func withOwnNetwork() *syscall.SysProcAttr {
	attr := dieWithParent()
	attr.Cloneflags = syscall.CLONE_NEWNET
	return attr
}

// asNode are the namespaces of a node.
func asNode() *syscall.SysProcAttr {
	attr := dieWithParent()
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC
	return attr
}

// detached starts a process that outlives the terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// tryLock takes the lock on an open file, or says that another process holds it. The kernel gives
// it back when the holder ends, however it ends.
func tryLock(f *os.File) (bool, error) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		return true, nil
	case syscall.EWOULDBLOCK:
		return false, nil
	default:
		return false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
}

func waitLock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			return err
		}
	}
}

func freeDisk(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil //nolint:gosec // a block size is positive
}

// releaseTerminal points this process's output at nothing, so that a pipe behind it ends and a
// closed terminal does not matter.
func releaseTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// inheritedPipe is the first file that a process gets beyond its standard ones. It is kept from the
// components: the reader would wait until the last of them had ended.
func inheritedPipe() *os.File {
	const fd = 3
	syscall.CloseOnExec(fd)
	return os.NewFile(fd, "starter")
}

package harness

import (
	"os"
	"syscall"
)

// dieWithParent lets the kernel kill a child when its parent is gone, also when that was killed and
// could not clean up. A group of its own keeps a Ctrl-C in the terminal from ending it before the
// test has asked it to.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

package harness

import (
	"fmt"
	"os/exec"
	"runtime"
)

// process is a child that dies with this process, however this one ends.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it is gone
	err  error         // what it ended with, to be read when done is closed
}

func startProcess(binary string, args, env []string, log *Log) (*process, error) {
	// Not CommandContext: it is ended by a step of the test, and checked to end well.
	p := &process{cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Env = env
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = dieWithParent()

	started := make(chan error)
	go func() {
		// The kernel ties a child to the thread that started it, not to the process. This thread
		// has to live as long as the child, so the goroutine keeps it and waits.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		close(started)
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// exitCode is that of an ended process, -1 if a signal ended it.
func (p *process) exitCode() int { return p.cmd.ProcessState.ExitCode() }

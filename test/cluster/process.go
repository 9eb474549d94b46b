package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// process is one component, with its log in a file.
type process struct {
	name   string
	log    string
	health string // a URL that answers 200 when it is ready, if it has one
	cmd    *exec.Cmd

	done chan struct{} // closed when the process is gone
	once sync.Once     // kill may be called twice
	mu   sync.Mutex
	kept error // what it ended with, unless it was killed from here
}

func startProcess(name, logPath string, env []string, binary string, args ...string) (*process, error) {
	return startProcessAs(dieWithParent(), name, logPath, env, binary, args...)
}

func startProcessAs(attr *syscall.SysProcAttr, name, logPath string, env []string, binary string, args ...string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	p := &process{name: name, log: logPath, done: make(chan struct{})}
	// Not CommandContext: the child belongs to the cluster, not to the call that starts it.
	p.cmd = exec.Command(binary, args...)
	p.cmd.Dir = filepath.Dir(logPath)
	if len(env) > 0 {
		p.cmd.Env = append(os.Environ(), env...)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = attr

	started := make(chan error)
	go func() {
		// The kernel ties a child to the thread that started it, not to the process. This thread
		// has to live as long as the child, so the goroutine keeps it and waits.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		close(started)
		err := p.cmd.Wait()
		p.mu.Lock()
		p.kept = err
		p.mu.Unlock()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w\nThe built program cannot be run. This removes it, and it is built again: make clean-cache", name, err)
	}
	return p, nil
}

// ended says how the process ended, or nothing while it runs.
func (p *process) ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	how := "exit status 0"
	if p.kept != nil {
		how = p.kept.Error()
	}
	return p.fault(fmt.Errorf("it ended: %s", how))
}

func (p *process) kill() {
	p.once.Do(func() { _ = p.cmd.Process.Kill() })
	<-p.done
}

// await calls ready until it answers, the process ends or the time is up.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	return poll(ctx, p.done, ready, func(last error) error {
		if err := p.ended(); err != nil {
			return err
		}
		return p.fault(fmt.Errorf("%w; the last answer: %w", context.Cause(ctx), last))
	})
}

// fault says which component, why, how its log ends, and what can be done if the log tells.
func (p *process) fault(why error) error {
	hint := ""
	if diskFull(p.log) {
		hint = "\n" + diskFullHint(filepath.Dir(p.log))
	}
	return fmt.Errorf("%s: %w\n%s\nthe whole log: %s%s", p.name, why, logTail(p.log), p.log, hint)
}

// diskFull looks for that in the whole log: what is said last is often where the program was, not
// why it ended.
func diskFull(log string) bool {
	content, err := os.ReadFile(log)
	return err == nil && bytes.Contains(content, []byte(syscall.ENOSPC.Error()))
}

func diskFullHint(dir string) string {
	return fmt.Sprintf("The disk that holds %s is full. Free some, or point TMPDIR at a larger one.", dir)
}

const tailBytes = 3000

func logTail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "(its log cannot be read: " + err.Error() + ")"
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd)
	}
	tail, _ := io.ReadAll(f)
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && len(tail) == tailBytes {
		tail = tail[i+1:] // the first line is cut
	}
	if len(bytes.TrimSpace(tail)) == 0 {
		return "(its log is empty)"
	}
	return "the end of its log:\n" + string(bytes.TrimRight(tail, "\n"))
}

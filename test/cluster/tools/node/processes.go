package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// processes are those of a node. Its process 1 is also the parent of each that has lost its own,
// and waits for all of them, so package exec cannot wait for any.
type processes struct {
	mu      sync.Mutex
	started map[int]chan<- syscall.WaitStatus
}

func newProcesses() *processes {
	p := &processes{started: map[int]chan<- syscall.WaitStatus{}}
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	go func() {
		for range children {
			p.reap()
		}
	}()
	return p
}

// reap holds the lock, so that no process ends between its start and its entry in the map.
func (p *processes) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended, ok := p.started[pid]; ok {
			delete(p.started, pid)
			ended <- status
		}
	}
}

// start returns where the end of the process is reported. Its output is appended to a log in the
// folder of the cluster.
func (p *processes) start(c *config, name, program string, args ...string) (<-chan syscall.WaitStatus, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	log, err := os.OpenFile(filepath.Join(hostDir, c.name()+"-"+name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	process, err := os.StartProcess(path, append([]string{program}, args...), &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []*os.File{null, log, log},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	p.started[process.Pid] = ended
	return ended, process.Release()
}

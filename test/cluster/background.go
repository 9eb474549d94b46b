package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A cluster that is to outlive the command that started it needs a process that owns it, since every component dies
// with its parent. Background starts that process, and Keep is what it calls. There is one such cluster per user.

// Kept says where the cluster is that outlives its command.
type Kept struct {
	PID        int    `json:"pid"`
	Kubeconfig string `json:"kubeconfig"`
	Logs       string `json:"logs"`
}

// ErrNoneKept is the answer when no cluster is kept running.
var ErrNoneKept = errors.New("no cluster is up")

const keptFile = "kept.json"

// Background runs this program again with other arguments, in a session of its own but with this one's output, and
// returns its exit code as soon as it has passed one to Keeper.Leave, or has ended.
func Background(args ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program to start it again: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer read.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = detached()
	// Until it has left, an interrupt of this command is one of the other, which sits in another session.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the process that keeps the cluster: %w", err)
	}
	go func() {
		for s := range interrupts {
			_ = cmd.Process.Signal(s)
		}
	}()
	_ = write.Close()
	code, err := io.ReadAll(read)
	if err == nil && len(code) > 0 {
		return strconv.Atoi(string(code))
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Keeper is held by the process that keeps a cluster.
type Keeper struct {
	lock    *os.File
	starter *os.File // where Background reads the exit code
}

// Keep makes this process the one that keeps a cluster. If another one does, the error says how to reach it.
func Keep() (*Keeper, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	lock, held, err := keptLock()
	if err != nil {
		return nil, err
	}
	if !held {
		_ = lock.Close()
		kept, err := readKept()
		if err != nil {
			return nil, errors.New("another command is starting a cluster right now: wait for it, or end it")
		}
		return nil, fmt.Errorf("a cluster is up already (process %d). Use it:\n  export KUBECONFIG=%s\nor end it first: make cluster-down", kept.PID, kept.Kubeconfig)
	}
	_ = os.Remove(keptPath())
	return &Keeper{lock: lock, starter: inheritedPipe()}, nil
}

// Leave tells Background that all is done with this exit code, and lets go of its terminal.
func (k *Keeper) Leave(code int, kept Kept) error {
	kept.PID = os.Getpid()
	content, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	// Renamed into place: a reader sees no half of it.
	if err := os.WriteFile(keptPath()+".new", content, 0o600); err != nil {
		return err
	}
	if err := os.Rename(keptPath()+".new", keptPath()); err != nil {
		return err
	}
	if err := releaseTerminal(); err != nil {
		return fmt.Errorf("let go of the terminal: %w", err)
	}
	defer k.starter.Close()
	_, err = k.starter.WriteString(strconv.Itoa(code))
	return err
}

// Wait returns when the cluster is to end.
func (k *Keeper) Wait() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
}

// Close lets another process keep a cluster.
func (k *Keeper) Close() {
	_ = os.Remove(keptPath())
	_ = k.lock.Close()
}

// Down ends the kept cluster and returns when it is gone.
func Down(ctx context.Context) (Kept, error) {
	if err := supported(); err != nil {
		return Kept{}, err
	}
	lock, held, err := keptLock()
	if err != nil {
		return Kept{}, err
	}
	defer lock.Close()
	if held {
		return Kept{}, ErrNoneKept
	}
	kept, err := readKept()
	if err != nil {
		return Kept{}, fmt.Errorf("a cluster is being started by another command, which has not finished: %w", err)
	}
	keeper, err := os.FindProcess(kept.PID)
	if err != nil {
		return Kept{}, err
	}
	if err := keeper.Signal(syscall.SIGTERM); err != nil {
		return Kept{}, fmt.Errorf("end process %d, which keeps the cluster: %w", kept.PID, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("process %d has not ended within a minute", kept.PID))
	defer cancel()
	return kept, poll(ctx, nil, func(context.Context) error {
		gone, err := tryLock(lock)
		if err != nil {
			return permanent{err}
		}
		if !gone {
			return errors.New("it still runs")
		}
		return nil
	}, func(error) error { return context.Cause(ctx) })
}

func keptPath() string { return filepath.Join(runsFolder(), keptFile) }

func keptLock() (lock *os.File, held bool, err error) {
	if err := os.MkdirAll(runsFolder(), 0o700); err != nil {
		return nil, false, err
	}
	lock, err = os.OpenFile(strings.TrimSuffix(keptPath(), ".json")+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	held, err = tryLock(lock)
	if err != nil {
		_ = lock.Close()
	}
	return lock, held, err
}

func readKept() (Kept, error) {
	var kept Kept
	content, err := os.ReadFile(keptPath())
	if err != nil {
		return kept, err
	}
	return kept, json.Unmarshal(content, &kept)
}

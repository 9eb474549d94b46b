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
	"syscall"
	"time"
)

// A cluster that is to outlive the command that started it needs a process that owns it, since
// every component dies with its parent. Background starts that process, and Keep is what it calls.
// Each user has one of each kind at most.

// What can be kept running.
const (
	KeptCluster = "cluster"
	KeptDemo    = "demo"
)

// Kept says where the cluster is that outlives its command.
type Kept struct {
	PID        int    `json:"pid"`
	Kubeconfig string `json:"kubeconfig"`
	Logs       string `json:"logs"`
}

// ErrNoneKept is the answer when none is kept running. The error that wraps it tells if the last
// one ended by itself.
var ErrNoneKept = errors.New("none is up")

// Background runs this program again with other arguments, in a session of its own but with this
// one's output, and returns its exit code as soon as it has passed one to Keeper.Leave, or has
// ended.
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
	// Until it has left, an interrupt of this command is one of the other, which sits in another
	// session.
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
	what    string
	lock    *os.File
	starter *os.File // where Background reads the exit code
}

// Keep makes this process the one that keeps a cluster or a demo. If another one does, the error
// says how to reach it.
func Keep(what string) (*Keeper, error) {
	lock, held, err := keptLock(what)
	if err != nil {
		return nil, err
	}
	if !held {
		_ = lock.Close()
		kept, err := readKept(what)
		if err != nil {
			return nil, fmt.Errorf("another command is starting a %s right now: wait for it, or end it", what)
		}
		use := ""
		if kept.Kubeconfig != "" {
			use = "Use it:\n  export KUBECONFIG=" + kept.Kubeconfig + "\nor "
		}
		return nil, fmt.Errorf("a %s is up already (process %d). %send it first: make cluster-down", what, kept.PID, use)
	}
	_ = os.Remove(keptPath(what, "json"))
	_ = os.Remove(keptPath(what, "ended"))
	return &Keeper{what: what, lock: lock, starter: inheritedPipe()}, nil
}

// Leave tells Background that all is done with this exit code, and lets go of its terminal.
func (k *Keeper) Leave(code int, kept Kept) error {
	kept.PID = os.Getpid()
	content, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	// Renamed into place: a reader sees no half of it.
	if err := os.WriteFile(keptPath(k.what, "new"), content, 0o600); err != nil {
		return err
	}
	if err := os.Rename(keptPath(k.what, "new"), keptPath(k.what, "json")); err != nil {
		return err
	}
	if err := releaseTerminal(); err != nil {
		return fmt.Errorf("let go of the terminal: %w", err)
	}
	defer k.starter.Close()
	_, err = k.starter.WriteString(strconv.Itoa(code))
	return err
}

// Ended leaves word for Down that it has ended by itself, since nobody reads this process's output
// any more.
func (k *Keeper) Ended(why error) error {
	return errors.Join(why, os.WriteFile(keptPath(k.what, "ended"), []byte(why.Error()), 0o600))
}

// Close lets another process keep one.
func (k *Keeper) Close() {
	_ = os.Remove(keptPath(k.what, "json"))
	_ = k.lock.Close()
}

// Down ends what is kept and returns when it is gone.
func Down(ctx context.Context, what string) (Kept, error) {
	lock, held, err := keptLock(what)
	if err != nil {
		return Kept{}, err
	}
	defer lock.Close()
	if held {
		why, err := os.ReadFile(keptPath(what, "ended"))
		if err != nil {
			return Kept{}, ErrNoneKept
		}
		_ = os.Remove(keptPath(what, "ended"))
		return Kept{}, fmt.Errorf("%w; the last %s ended by itself: %s", ErrNoneKept, what, why)
	}
	kept, err := readKept(what)
	if err != nil {
		return Kept{}, fmt.Errorf("a %s is being started by another command, which has not finished: %w", what, err)
	}
	keeper, err := os.FindProcess(kept.PID)
	if err != nil {
		return Kept{}, err
	}
	if err := keeper.Signal(syscall.SIGTERM); err != nil {
		return Kept{}, fmt.Errorf("end process %d, which keeps the %s: %w", kept.PID, what, err)
	}
	// A demo may have a namespace to clean up.
	ctx, cancel := context.WithTimeoutCause(ctx, 4*time.Minute, fmt.Errorf("process %d has not ended within 4 minutes", kept.PID))
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

func keptPath(what, suffix string) string {
	return filepath.Join(runsFolder(), "kept-"+what+"."+suffix)
}

func keptLock(what string) (lock *os.File, held bool, err error) {
	if err := Supported(); err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(runsFolder(), 0o700); err != nil {
		return nil, false, err
	}
	lock, err = os.OpenFile(keptPath(what, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	held, err = tryLock(lock)
	if err != nil {
		_ = lock.Close()
	}
	return lock, held, err
}

func readKept(what string) (Kept, error) {
	var kept Kept
	content, err := os.ReadFile(keptPath(what, "json"))
	if err != nil {
		return kept, err
	}
	return kept, json.Unmarshal(content, &kept)
}

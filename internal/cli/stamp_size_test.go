package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A user who runs stamp without a file must be able to interrupt it.
func TestStampEndsWhenItIsTold(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "all.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkStamp$")
	cmd.Env = append(os.Environ(), asChild+"="+fifo)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns when it is being read
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it has ended by %v", cmd.ProcessState)
	}
}

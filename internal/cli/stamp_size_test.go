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

// The test measures the additional cost of more objects. Four times as many objects may cost four
// times the time, and each of their bytes four bytes of memory. Both limits are doubled against
// chance. BenchmarkStamp measures the absolute numbers at full size without the race detector,
// whose memory is outside the heap.
func TestWhatStampTakesGrowsWithTheInput(t *testing.T) {
	const objects, times, twice = 200, 4, 2
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			small, large := form.of(many(objects)), form.of(many(times*objects))
			few, more := stampInChild(t, form, small, objects), stampInChild(t, form, large, times*objects)
			ratio := (more.heap - few.heap) / float64(len(large)-len(small))
			t.Logf("%.1f s, and %.1f s for %d times the objects; %.1f bytes of heap for each more of the input", few.cpu, more.cpu, times, ratio)
			if more.cpu > twice*times*few.cpu {
				t.Errorf("%.1f s, and %.1f s for %d times the objects", few.cpu, more.cpu, times)
			}
			if ratio > twice*mostMemory {
				t.Errorf("%.1f bytes of heap for each more of the input", ratio)
			}
		})
	}
}

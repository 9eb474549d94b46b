package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whoever calls it without a file has to get out again.
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

// What is measured is what more objects take, beside what a call takes anyhow: four times as many may take four times as long,
// and each byte of theirs four of memory. Both may be twice that by accident. BenchmarkStamp holds the numbers themselves, at
// full size and without the race detector, whose memory is none of the heap.
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

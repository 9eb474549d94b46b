package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used, as the kernel tells it.
type usage struct {
	cpu  time.Duration // of all its threads, since it began
	rss  float64       // MiB resident now
	peak float64       // MiB resident at most, since it began or since forgetPeak
}

// clockTick is the kernel's unit for processor time in /proc on every architecture that Go knows.
const clockTick = 10 * time.Millisecond

func usageOf(pid int) (usage, error) {
	var u usage
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("look at the controller's processor time: %w", err)
	}
	if u.cpu, err = cpuTime(string(stat)); err != nil {
		return u, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("look at the controller's memory: %w", err)
	}
	if u.rss, err = mebibytes(string(status), "VmRSS"); err != nil {
		return u, err
	}
	u.peak, err = mebibytes(string(status), "VmHWM")
	return u, err
}

// forgetPeak makes the peak begin at what is resident now.
func forgetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("begin the peak of the controller's memory anew: %w", err)
	}
	return nil
}

// cpuTime reads /proc/PID/stat. The name of the program comes second, in brackets, and may hold
// anything.
func cpuTime(stat string) (time.Duration, error) {
	const user, system = 11, 12 // counted from behind the name
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= system {
		return 0, fmt.Errorf("processor time in /proc: %q has %d fields behind the name, must have more than %d", stat, len(fields), system)
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time in /proc: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// mebibytes reads a size from /proc/PID/status.
func mebibytes(status, name string) (float64, error) {
	for line := range strings.Lines(status) {
		rest, found := strings.CutPrefix(line, name+":")
		if !found {
			continue
		}
		kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		if err != nil {
			return 0, fmt.Errorf("%s in /proc: %w", name, err)
		}
		return kibibytes / 1024, nil
	}
	return 0, fmt.Errorf("%s is not in /proc/PID/status", name)
}

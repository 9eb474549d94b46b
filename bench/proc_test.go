package main

import (
	"os"
	"testing"
	"time"
)

func TestCPUTime(t *testing.T) {
	for about, stat := range map[string]string{
		"as usual":                        "4242 (reroll) S 1 4242 4242 0 -1 4194560 4711 0 3 0 125 25 7 9 20 0 10 0 987 1 2",
		"a name with a space and bracket": "4242 (a) b) S 1 4242 4242 0 -1 4194560 4711 0 3 0 125 25 7 9 20 0 10 0 987 1 2",
	} {
		t.Run(about, func(t *testing.T) {
			got, err := cpuTime(stat)
			if err != nil {
				t.Fatal(err)
			}
			if want := 1500 * time.Millisecond; got != want {
				t.Errorf("%s, must be %s: user and system time, without that of children", got, want)
			}
		})
	}
	for _, bad := range []string{"", "4242 (reroll) S 1", "4242 (reroll) S 1 4242 4242 0 -1 4194560 4711 0 3 0 x 25 7"} {
		if got, err := cpuTime(bad); err == nil {
			t.Errorf("%q was read as %s", bad, got)
		}
	}
}

func TestMebibytes(t *testing.T) {
	const status = "Name:\treroll\nVmPeak:\t 1300000 kB\nVmHWM:\t   52224 kB\nVmRSS:\t   40960 kB\n"
	for name, want := range map[string]float64{"VmHWM": 51, "VmRSS": 40} {
		got, err := mebibytes(status, name)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %g MiB, must be %g", name, got, want)
		}
	}
	for _, bad := range []string{"Name:\treroll\n", "VmRSS:\t many kB\n"} {
		if got, err := mebibytes(bad, "VmRSS"); err == nil {
			t.Errorf("%q was read as %g", bad, got)
		}
	}
}

func TestThisProcessUsesMemory(t *testing.T) {
	u, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if u.rss <= 0 || u.peak < u.rss {
		t.Errorf("resident %g MiB, at most %g", u.rss, u.peak)
	}
	if _, err := usageOf(0); err == nil {
		t.Error("a process that does not exist uses something")
	}
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/clock"
)

func TestOnlyCleanPagesOfTheProgramAreUnmapped(t *testing.T) {
	const smaps = `00400000-01000000 r-xp 00000000 fe:00 42                 /reroll
Rss:                5000 kB
Anonymous:             0 kB
Swap:                  0 kB
01000000-02000000 r--p 00c00000 fe:00 42                 /reroll
Rss:                5000 kB
Anonymous:             4 kB
Swap:                  0 kB
02000000-02100000 r--p 01c00000 fe:00 42                 /reroll
Anonymous:             0 kB
Swap:                  4 kB
02100000-02200000 r--p 01d00000 fe:00 42                 /reroll
Anonymous:             0 kB
Swap:                  0 kB
02200000-02300000 rw-p 01e00000 fe:00 42                 /reroll
Anonymous:             0 kB
Swap:                  0 kB
c000000000-c000800000 rw-p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 43         /etc/passwd
Anonymous:             0 kB
Swap:                  0 kB
7f0000002000-7f0000003000 r-xp 00000000 fe:00 42         /reroll (deleted)
Anonymous:             0 kB
Swap:                  0 kB
x-y r-xp 00000000 fe:00 42 /reroll
Anonymous:             0 kB
Swap:                  0 kB
02300000-02400000 r--p 01f00000 fe:00 42                 /reroll
`
	got := cleanMappings(strings.NewReader(smaps), "/reroll")
	if want := []mapping{{0x400000, 0x1000000}, {0x2100000, 0x2200000}}; !slices.Equal(got, want) {
		t.Errorf("unmapped are %x, want %x", got, want)
	}
}

func TestTheProgramGoesOnWithoutItsPages(t *testing.T) {
	for _, what := range []string{"r-xp", "r--p"} {
		useAllPages(t)
		before := residentOf(t, what)
		unmapProgram()
		if after := residentOf(t, what); after > before*3/4 {
			t.Errorf("%s: %d KiB were resident before, and %d KiB afterwards", what, before, after)
		}
	}
}

func TestTheCodeOfTheStartIsUnmappedAfterIt(t *testing.T) {
	useAllPages(t)
	before := residentOf(t, "r-xp")
	giveBack(t.Context(), clock.RealClock{}, func() bool { return true })
	if after := residentOf(t, "r-xp"); after > before*3/4 {
		t.Errorf("%d KiB of code were resident before, and %d KiB afterwards", before, after)
	}
}

// useAllPages reads the program in memory, so that all of its pages are resident.
func useAllPages(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	smaps, errMaps := os.Open("/proc/self/smaps")
	mem, errMem := os.Open("/proc/self/mem")
	if err := errors.Join(errMaps, errMem); err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	defer mem.Close()
	for _, m := range cleanMappings(smaps, program) {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(mem, int64(m.from), int64(m.to-m.from))); err != nil {
			t.Fatal(err)
		}
	}
}

// Addresses in the file of such a program are written while it is loaded, to pages that are
// read-only afterwards. A program without them crashes.
func TestAProgramThatCanBeLoadedAnywhereGoesOn(t *testing.T) {
	folder := t.TempDir()
	program, err := os.ReadFile("memory_linux.go")
	if err != nil {
		t.Fatal(err)
	}
	main := strings.Replace(string(program), "package cli", "package main", 1) + "\nfunc main() { unmapProgram(); print(strconv.Itoa(len(os.Args))) }\n"
	path := filepath.Join(folder, "main.go")
	if err := os.WriteFile(path, []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(folder, "main")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildmode=pie", "-o", built, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), built).CombinedOutput(); err != nil || string(out) != "1" {
		t.Errorf("%v: %s", err, out)
	}
}

// residentOf returns how many KiB of the program's file are in memory, with these permissions.
func residentOf(t *testing.T, permissions string) int {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	counts, all := false, 0
	for line := range strings.Lines(string(smaps)) {
		var size int
		switch {
		case strings.Contains(line, "p "): // such as r-xp
			counts = strings.Contains(line, permissions) && strings.Contains(line, program)
		case counts:
			if n, _ := fmt.Sscanf(line, "Rss: %d kB", &size); n == 1 {
				all += size
			}
		}
	}
	if all == 0 {
		t.Fatalf("/proc/self/smaps names no pages of the program with %s", permissions)
	}
	return all
}

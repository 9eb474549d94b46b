package cli

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// unmapProgram removes the pages of the program's file from the memory of the process. At the first
// use of one, the kernel maps its neighbors, too, and most of those that the start uses are not used
// again. What is used again comes back from the page cache. If the kernel refuses, the pages stay.
func unmapProgram() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer smaps.Close()
	for _, m := range cleanMappings(smaps, program) {
		// Of pages that are read sequentially, the kernel does not note that they were used. With
		// such a note they would count as in use, which they no longer are.
		for _, advice := range []uintptr{syscall.MADV_SEQUENTIAL, syscall.MADV_DONTNEED, syscall.MADV_NORMAL} {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, advice)
		}
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// cleanMappings returns where a file is mapped, of /proc/PID/smaps. No page there may differ from the
// file, because it would lose that: some that are read-only now were written while the program was
// loaded, and debuggers write into code.
func cleanMappings(smaps io.Reader, file string) []mapping {
	var clean []mapping
	isOpen, pages := false, mapping{}
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"): // a mapping begins
			pages, isOpen = addresses(fields, file)
		case !isOpen:
		case fields[0] == "Anonymous:":
			isOpen = len(fields) > 1 && fields[1] == "0"
		case fields[0] == "Swap:":
			if len(fields) > 1 && fields[1] == "0" {
				clean = append(clean, pages)
			}
			isOpen = false
		}
	}
	return clean
}

// addresses reads the first line of a mapping. It returns false for one that is writable or of
// something else than a file.
func addresses(fields []string, file string) (m mapping, ok bool) {
	if len(fields) != 6 || strings.Contains(fields[1], "w") || fields[5] != file {
		return mapping{}, false
	}
	first, end, _ := strings.Cut(fields[0], "-")
	from, errFrom := strconv.ParseUint(first, 16, strconv.IntSize)
	to, errTo := strconv.ParseUint(end, 16, strconv.IntSize)
	return mapping{uintptr(from), uintptr(to)}, errFrom == nil && errTo == nil
}

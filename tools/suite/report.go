package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is one of those that go test -json prints.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
	// ImportPath is what could not be built.
	ImportPath string
}

// shownSlowest is how many of the slowest tests a run ends with.
const shownSlowest = 20

// report prints what go test would print without -json, and remembers what took long. What several
// of them print, it prints package by package, unless they have -v.
type report struct {
	// verbose are the go tests whose output is printed line by line, because they have -v.
	verbose map[int]bool

	mu  sync.Mutex // for all below
	out io.Writer
	// output is what is not printed yet: that of a test until it has failed or passed, and of a
	// package.
	output map[test][]string
	slow   []timed
	// drawn are the lines of random histories that passed.
	drawn []string
}

// test is a test of one go test, or a package of it. Two of them may run the same package.
type test struct {
	run       int
	pkg, name string
}

type timed struct {
	test
	seconds float64
}

// newReport returns a report of go tests with these arguments.
func newReport(out io.Writer, runs [][]string) *report {
	r := &report{verbose: map[int]bool{}, out: out, output: map[test][]string{}}
	for i, args := range runs {
		r.verbose[i] = slices.Contains(args, "-v")
	}
	return r
}

// read reads what one go test prints, until its end.
func (r *report) read(run int, events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			r.line(run, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) line(run int, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.out, "%s", line) // go itself has something to say
		return
	}
	r.event(run, e)
}

func (r *report) event(run int, e event) {
	t := test{run, e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if r.verbose[run] {
			fmt.Fprint(r.out, e.Output)
			return
		}
		r.output[t] = append(r.output[t], e.Output)
	case "pass", "skip":
		if e.Test != "" {
			r.slow = append(r.slow, timed{t, e.Elapsed})
			r.noteDrawn(t)
			delete(r.output, t)
			return
		}
		r.noteDrawn(t)
		r.packageEnded(t, false)
	case "fail":
		if e.Test != "" {
			r.slow = append(r.slow, timed{t, e.Elapsed})
			return
		}
		r.packageEnded(t, true)
	}
}

// noteDrawn keeps what random histories say of themselves, so that a run that is green shows what it has
// tried, and what it has excused.
func (r *report) noteDrawn(t test) {
	for _, line := range r.output[t] {
		if strings.Contains(line, " histories from REROLL_BASE=") || strings.HasPrefix(line, "  excuses: ") {
			r.drawn = append(r.drawn, line)
		}
	}
}

// packageEnded prints the last line alone of a package that passed, and of one that failed all that
// its failed tests and the package itself have printed: what is left of those that passed is gone,
// and one that had not ended when the process did is not known to have passed.
func (r *report) packageEnded(pkg test, failed bool) {
	var left []test
	for t := range r.output {
		if t.run == pkg.run && t.pkg == pkg.pkg && t.name != "" {
			left = append(left, t)
		}
	}
	slices.SortFunc(left, func(a, b test) int { return cmp.Compare(a.name, b.name) })
	for _, t := range left {
		if failed {
			r.print(r.output[t], func(line string) bool { return !strings.HasPrefix(line, "=== ") })
		}
		delete(r.output, t)
	}
	r.print(r.output[pkg], func(line string) bool {
		return failed && line != "PASS\n" || strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") || strings.HasPrefix(line, "\t")
	})
	delete(r.output, pkg)
}

func (r *report) print(lines []string, wanted func(string) bool) {
	for _, line := range lines {
		if wanted(line) {
			fmt.Fprint(r.out, line)
		}
	}
}

// summary prints what was drawn, the slowest tests, and which packages have used how much of the processors.
func (r *report) summary(all []used) {
	if len(r.drawn) > 0 {
		fmt.Fprintf(r.out, "\nRandom histories:\n%s", strings.Join(r.drawn, ""))
	}
	slow := r.leaves()
	slices.SortFunc(slow, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	slow = slow[:min(len(slow), shownSlowest)]
	if len(slow) > 0 {
		fmt.Fprintf(r.out, "\nThe slowest tests:\n")
	}
	for _, t := range slow {
		fmt.Fprintf(r.out, "%8.1fs  %s %s\n", t.seconds, short(t.pkg), t.name)
	}
	if len(all) == 0 {
		return
	}
	all = byFolder(all)
	slices.SortFunc(all, func(a, b used) int { return cmp.Compare(b.milliseconds, a.milliseconds) })
	var sum time.Duration
	fmt.Fprintf(r.out, "\nProcessor time by package:\n")
	for _, u := range all {
		took := time.Duration(u.milliseconds) * time.Millisecond
		sum += took
		if took >= time.Second {
			fmt.Fprintf(r.out, "%8.1fs  %s\n", took.Seconds(), relative(u.folder))
		}
	}
	fmt.Fprintf(r.out, "%8.1fs  all together\n", sum.Seconds())
}

// byFolder adds up the times of a package whose tests ran several times, for example with the race detector
// and without.
func byFolder(all []used) []used {
	sums := map[string]int64{}
	for _, u := range all {
		sums[u.folder] += u.milliseconds
	}
	added := make([]used, 0, len(sums))
	for folder, milliseconds := range sums {
		added = append(added, used{folder, milliseconds})
	}
	return added
}

// leaves are the tests that have no subtests: the time of the others is that of theirs.
func (r *report) leaves() []timed {
	parents := map[test]bool{}
	for _, t := range r.slow {
		for name := t.name; ; {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				break
			}
			name = name[:i]
			parents[test{t.run, t.pkg, name}] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.slow), func(t timed) bool { return parents[t.test] })
}

const module = "github.com/reroll-dev/reroll/"

func short(pkg string) string { return strings.TrimPrefix(pkg, module) }

func relative(folder string) string {
	wd, err := os.Getwd()
	if err != nil {
		return folder
	}
	if rel, err := filepath.Rel(wd, folder); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return folder
}

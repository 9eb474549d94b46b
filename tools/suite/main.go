// Command suite runs go test as it is asked to, with one cluster for all packages that borrow one
// (see test/cluster/lend.go). It ends with what the run cost: its slowest tests, and the processor
// time of each package. What nobody sees grow does grow.
//
//	suite [arguments of go test]
//	suite [arguments of each] -- [of one go test] -- [of another at the same time] ...
//
// An argument NAME=value is a variable for what is run. With -v it prints what tests that pass say, too.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/reroll-dev/reroll/test/cluster"
)

// asMeter is the first argument of this program where go test calls it in the place of a test
// binary. The folder that it notes into is no argument: it is another one each time, and go test
// keeps results by the arguments.
const (
	asMeter   = "--as-meter"
	meterInto = "REROLL_SUITE_METER_INTO"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == asMeter {
		os.Exit(meter(os.Getenv(meterInto), os.Args[2], os.Args[3:]))
	}
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		code = 1
	}
	os.Exit(code)
}

// run returns the exit code of go test.
func run(args []string, out, errs io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	measured, err := os.MkdirTemp("", "reroll-suite-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(measured) }()
	lender, err := cluster.Lend(context.Background(), socketIn(measured), cluster.Options{Progress: errs})
	if err != nil {
		return 0, err
	}
	runs := apart(args)
	report := newReport(out, runs)
	code, err := goTests(self, measured, runs, report, errs)
	lent, lendErr := lender.Close()
	all, readErr := readMeasured(measured)
	for component, took := range lent {
		all = append(all, used{"the cluster that packages share: " + component, took.Milliseconds()})
	}
	report.summary(all) // also of a run in which something else went wrong
	return code, errors.Join(err, lendErr, readErr)
}

// socketIn is where test binaries borrow the cluster.
func socketIn(measured string) string { return filepath.Join(measured, "cluster") }

// apart are the arguments of each go test.
func apart(args []string) [][]string {
	const end = "--"
	var runs [][]string
	at := slices.Index(args, end)
	if at < 0 {
		return [][]string{args}
	}
	common, rest := args[:at], args[at:]
	for len(rest) > 0 {
		rest = rest[1:]
		next := slices.Index(rest, end)
		if next < 0 {
			next = len(rest)
		}
		runs = append(runs, slices.Concat(common, rest[:next]))
		rest = rest[next:]
	}
	return runs
}

// goTests runs each go test at the same time, and returns the highest of their exit codes.
func goTests(self, measured string, runs [][]string, report *report, errs io.Writer) (int, error) {
	codes, failed := make([]int, len(runs)), make([]error, len(runs))
	var all sync.WaitGroup
	defer all.Wait()
	for i, args := range runs {
		test, events, err := start(self, measured, args, errs)
		if err != nil {
			return 0, err
		}
		all.Go(func() { codes[i], failed[i] = end(i, test, events, report) })
	}
	// An interrupt from the terminal reaches each go test as well, and ends it.
	signal.Ignore(os.Interrupt)
	all.Wait()
	return slices.Max(codes), errors.Join(failed...)
}

func start(self, measured string, args []string, errs io.Writer) (*exec.Cmd, io.Reader, error) {
	isVariable := regexp.MustCompile(`^[A-Z_]+=`).MatchString
	variables := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return !isVariable(arg) })
	args = slices.DeleteFunc(slices.Clone(args), isVariable)
	// The flag is read as a shell would, in which a path may be quoted.
	test := exec.Command(cmp.Or(os.Getenv("GO"), "go"), append([]string{"test", "-json", fmt.Sprintf("-exec='%s' %s", self, asMeter)}, args...)...) //nolint:gosec // whoever runs this may run anything
	test.Env = append(append(os.Environ(), meterInto+"="+measured), variables...)
	test.Stderr = errs
	events, err := test.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	return test, events, test.Start()
}

// end returns the exit code of go test.
func end(run int, test *exec.Cmd, events io.Reader, report *report) (int, error) {
	if err := report.read(run, events); err != nil {
		return 0, errors.Join(err, test.Wait())
	}
	if err := test.Wait(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			return 0, err
		}
		return max(exit.ExitCode(), 1), nil
	}
	return 0, nil
}

// meter runs a test binary, notes what it and the processes that it waited for have used, and ends
// as it did.
func meter(folder, binary string, args []string) int {
	cmd := exec.Command(binary, args...) //nolint:gosec // go test has made it
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// Set here, and not for go test, which would run a test again whose environment is another one.
	cmd.Env = append(os.Environ(), cluster.SocketVariable+"="+socketIn(folder))
	// When the time of a test is up, go test sends a signal to what it has started.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGTERM, os.Interrupt)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err := cmd.Wait()
	if note := noteUse(folder, cmd.ProcessState); note != nil {
		fmt.Fprintln(os.Stderr, "note the processor time:", note)
	}
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	fmt.Fprintln(os.Stderr, "the tests were ended:", err) // by a signal
	return 2
}

// noteUse leaves a line with the folder in which the tests ran, which names the package, and the
// milliseconds.
func noteUse(folder string, state *os.ProcessState) error {
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(folder, "used"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%d %s\n", (state.UserTime() + state.SystemTime()).Milliseconds(), wd)
	return errors.Join(err, file.Close())
}

// used is the processor time of the tests in a folder.
type used struct {
	folder       string
	milliseconds int64
}

func readMeasured(folder string) ([]used, error) {
	text, err := os.ReadFile(filepath.Join(folder, "used"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // nothing ran: all was cached, or nothing could be built
	}
	if err != nil {
		return nil, err
	}
	var all []used
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		took, folder, _ := strings.Cut(lines.Text(), " ")
		milliseconds, err := strconv.ParseInt(took, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read the processor time from %q: %w", lines.Text(), err)
		}
		all = append(all, used{folder, milliseconds})
	}
	return all, nil
}

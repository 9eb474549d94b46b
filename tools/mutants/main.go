// Command mutants breaks the engine on purpose, one small way at a time, and checks that a test
// notices each. A test suite that stays green without a rule does not test that rule.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	only := flag.String("only", "", "run the mutations whose sentence contains this")
	flag.Parse()
	survived, err := run(context.Background(), *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
	if survived > 0 {
		fmt.Fprintf(os.Stderr, "mutants: %d of them turn no test red\n", survived)
		os.Exit(1)
	}
}

func run(ctx context.Context, only string) (survived int, err error) {
	folder, err := os.MkdirTemp("", "reroll-mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	all := slices.DeleteFunc(mutations(), func(m mutation) bool { return !strings.Contains(m.what, only) })
	began := time.Now()
	tried, err := build(ctx, folder, all)
	if err != nil {
		return 0, err
	}
	fmt.Printf("built %d mutations in %.0f s\n", len(all), time.Since(began).Seconds())
	if err := tried.unbroken(ctx); err != nil {
		return 0, err
	}
	survived, err = tried.each(ctx)
	fmt.Printf("%d mutations in %.0f s: %d turn no test red\n", len(all), time.Since(began).Seconds(), survived)
	return survived, err
}

// usual is how many histories are enough to notice most mutations.
const usual = 1500

// trial is what is tried: the mutations, and the built tests of each package.
type trial struct {
	all      []mutation
	together together
	tests    map[string]string
}

// build makes all mutations before the first is tried: one that no longer fits the code, or does not
// compile, is found at once.
func build(ctx context.Context, folder string, all []mutation) (*trial, error) {
	for _, m := range all {
		if err := m.fits(); err != nil {
			return nil, err
		}
	}
	made, err := buildTogether(folder, all)
	if err != nil {
		return nil, err
	}
	t := &trial{all, made, map[string]string{}}
	for _, m := range all {
		if t.tests[m.in] != "" {
			continue
		}
		binary := filepath.Join(folder, fmt.Sprintf("%d.test", len(t.tests)))
		if err := compile(ctx, made.overlay, binary, m.in); err != nil {
			return nil, err
		}
		t.tests[m.in] = binary
	}
	return t, nil
}

// compile builds the tests of a package. Its error is not that of a test that is red.
func compile(ctx context.Context, overlay, binary, in string) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay="+overlay, "-o", binary, in).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the tests of %s: %v\n%s", in, err, out) //nolint:errorlint // see above
	}
	return nil
}

// unbroken checks that all tests are green without a mutation. Otherwise each mutation seems to be
// noticed.
func (t *trial) unbroken(ctx context.Context) error {
	type run struct{ in, tests string }
	most := map[run]int{}
	for _, m := range t.all {
		r := run{m.in, m.tests}
		most[r] = max(most[r], cmp.Or(m.histories, usual))
	}
	runs := slices.SortedFunc(maps.Keys(most), func(a, b run) int { return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.tests, b.tests)) })
	return atOnce(len(runs), func(i int) error {
		m := mutation{what: "the code as it is", in: runs[i].in, tests: runs[i].tests, histories: most[runs[i]]}
		out, err := t.run(ctx, m, "")
		if err != nil {
			return fmt.Errorf("%s of %s without any mutation: %w\n%s", m.tests, m.in, err, out)
		}
		if bytes.Contains(out, []byte("no tests to run")) {
			return fmt.Errorf("%s has no test %s", m.in, m.tests)
		}
		return nil
	})
}

// each tries each mutation, and returns how many turn no test red.
func (t *trial) each(ctx context.Context) (survived int, err error) {
	var mu sync.Mutex
	took := make([]time.Duration, len(t.all))
	err = atOnce(len(t.all), func(i int) error {
		began := time.Now()
		m := t.all[i]
		out, err := t.tryOne(ctx, i)
		var failed *exec.ExitError
		if err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
			return fmt.Errorf("%s: %w\n%s", m.what, err, out)
		}
		red := err != nil && isRed(out) && bytes.Contains(out, []byte(m.says)) && !slices.ContainsFunc(m.all, func(name string) bool { return !bytes.Contains(out, []byte("/"+name+" (")) })
		mu.Lock()
		defer mu.Unlock()
		verdict := "red"
		if !red {
			verdict = "GREEN"
			survived++
		}
		took[i] = time.Since(began)
		fmt.Printf("%-6s %4.0fs  %-34s %s\n", verdict, took[i].Seconds(), m.file, m.what)
		return nil
	})
	t.showSlowest(took)
	return survived, err
}

// showSlowest prints which mutations took longest.
func (t *trial) showSlowest(took []time.Duration) {
	const most = 20
	order := make([]int, len(took))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(took[b], took[a]) })
	fmt.Println("\nThe slowest:")
	for _, i := range order[:min(most, len(order))] {
		fmt.Printf("%7.1fs  %s\n", took[i].Seconds(), t.all[i].what)
	}
}

// isRed reports whether a test has failed, or has hung until its time was up: a process may end with
// an error for other reasons.
func isRed(out []byte) bool {
	return bytes.Contains(out, []byte("--- FAIL: ")) || bytes.Contains(out, []byte("\npanic: ")) || bytes.HasPrefix(out, []byte("panic: "))
}

func (t *trial) tryOne(ctx context.Context, i int) ([]byte, error) {
	m := t.all[i]
	if m.isRead() {
		tests, err := m.tree(filepath.Join(t.together.folder, "tree-"+strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		return runTests(ctx, t.tests[m.in], tests, m, "")
	}
	if !slices.Contains(t.together.alone, i) {
		return t.run(ctx, m, strconv.Itoa(i+1))
	}
	overlay, err := m.overlay(filepath.Join(t.together.folder, "alone-"+strconv.Itoa(i)))
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(filepath.Dir(overlay), "alone.test")
	if err := compile(ctx, overlay, binary, m.in); err != nil {
		return nil, err
	}
	return runTests(ctx, binary, m.in, m, "")
}

func (t *trial) run(ctx context.Context, m mutation, number string) ([]byte, error) {
	return runTests(ctx, t.tests[m.in], m.in, m, number)
}

// runTests runs the tests of one mutation in a folder.
func runTests(ctx context.Context, binary, folder string, m mutation, number string) ([]byte, error) {
	atMost := "2m" // some mutations let a test hang
	if strings.Contains(m.tests, "Histories") || strings.Contains(m.tests, "Bundle") {
		atMost = "10m"
	}
	cmd := exec.CommandContext(ctx, binary, "-test.count=1", "-test.timeout="+atMost, "-test.run="+m.tests)
	cmd.Dir = folder
	// Always the same histories: whether a mutation is noticed must not depend on luck.
	cmd.Env = append(os.Environ(), "REROLL_BASE=0", fmt.Sprintf("REROLL_HISTORIES=%d", cmp.Or(m.histories, usual)), chosen+"="+number)
	if m.says == "" {
		cmd.Env = append(cmd.Env, "REROLL_FAILURES=1")
	}
	return cmd.CombinedOutput()
}

// atOnce calls do for each number below n, on every processor, and returns all errors.
func atOnce(n int, do func(int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// fits reports whether the code has what the mutation replaces, once.
func (m mutation) fits() error {
	code, err := os.ReadFile(m.file)
	if err != nil {
		return fmt.Errorf("run it in the root of the repository: %w", err)
	}
	if n := bytes.Count(code, []byte(m.from)); n != 1 {
		return fmt.Errorf("%s contains the code of %q %d times, must contain it once:\n%s", m.file, m.what, n, m.from)
	}
	return nil
}

// overlay writes the mutated file and the file that tells the go command to use it in the place of
// the real one.
func (m mutation) overlay(folder string) (string, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	mutated := filepath.Join(folder, filepath.Base(m.file))
	if err := m.write(mutated); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	return writeOverlay(folder, map[string]string{original: mutated})
}

// write writes the mutated file.
func (m mutation) write(to string) error {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	return os.WriteFile(to, bytes.Replace(text, []byte(m.from), []byte(m.to), 1), 0o600)
}

// writeOverlay writes the file that tells the go command which files to use in the place of others,
// and returns its path.
func writeOverlay(folder string, replace map[string]string) (string, error) {
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

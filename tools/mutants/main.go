// Command mutants breaks the engine on purpose, one small way at a time, and checks that a test
// notices each. A test suite that stays green without a rule does not test that rule.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	temp, err := os.MkdirTemp("", "reroll-mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(temp)
	// All of them are made before the first runs: one that no longer fits the code is found at
	// once.
	var overlays []string
	for i, m := range mutations() {
		overlay, err := m.overlay(filepath.Join(temp, strconv.Itoa(i)))
		if err != nil {
			return 0, err
		}
		overlays = append(overlays, overlay)
	}
	if err := unbroken(ctx, only); err != nil {
		return 0, err
	}
	for i, m := range mutations() {
		if !strings.Contains(m.what, only) {
			continue
		}
		began := time.Now()
		red, err := m.test(ctx, overlays[i])
		if err != nil {
			return 0, err
		}
		verdict := "red"
		if !red {
			verdict = "GREEN"
			survived++
		}
		fmt.Printf("%-6s %4.0fs  %-34s %s\n", verdict, time.Since(began).Seconds(), m.file, m.what)
	}
	return survived, nil
}

// unbroken holds that the histories are green without a mutation: otherwise each of them seems to
// be noticed.
func unbroken(ctx context.Context, only string) error {
	for _, tests := range []string{histories, classHistories, keyHistories} {
		most := 0
		for _, m := range mutations() {
			if strings.Contains(m.what, only) && m.tests == tests {
				most = max(most, cmp.Or(m.histories, usual))
			}
		}
		if most == 0 {
			continue
		}
		red, err := mutation{what: "the code as it is", in: controller, tests: tests, histories: most}.test(ctx, "")
		if err == nil && red {
			err = fmt.Errorf("%s is red without any mutation: REROLL_BASE=0 REROLL_HISTORIES=%d", tests, most)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overlay writes the mutated file and the file that tells the go command to use it in the place of
// the real one.
func (m mutation) overlay(folder string) (string, error) {
	code, err := os.ReadFile(m.file)
	if err != nil {
		return "", fmt.Errorf("run it in the root of the repository: %w", err)
	}
	if n := bytes.Count(code, []byte(m.from)); n != 1 {
		return "", fmt.Errorf("%s contains the code of %q %d times, must contain it once:\n%s", m.file, m.what, n, m.from)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	mutated := filepath.Join(folder, filepath.Base(m.file))
	if err := os.WriteFile(mutated, bytes.Replace(code, []byte(m.from), []byte(m.to), 1), 0o600); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// usual is how many histories are enough to notice most mutations.
const usual = 1500

// test reports whether a test turns red. A mutation that does not compile proves nothing and is an
// error.
func (m mutation) test(ctx context.Context, overlay string) (red bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-overlay="+overlay, "-run="+m.tests, m.in)
	// Always the same ones: whether a mutation is noticed must not depend on luck.
	cmd.Env = append(os.Environ(), "REROLL_BASE=0", fmt.Sprintf("REROLL_HISTORIES=%d", cmp.Or(m.histories, usual)))
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && bytes.Contains(out, []byte("no tests to run")):
		return false, fmt.Errorf("%s: %s has no test %s", m.what, m.in, m.tests)
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("%s: %w", m.what, ctx.Err())
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return false, fmt.Errorf("%s: does not compile:\n%s", m.what, out)
	default:
		return bytes.Contains(out, []byte(m.says)) && !slices.ContainsFunc(m.all, func(name string) bool { return !bytes.Contains(out, []byte("/"+name+" (")) }), nil
	}
}

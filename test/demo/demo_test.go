package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/test/cluster"
)

const root = "../.."

func TestMain(m *testing.M) {
	if _, err := cluster.Build(context.Background(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// buildDemo returns the path of the program that make demo runs.
func buildDemo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}
	return path
}

func play(t *testing.T, demo string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), demo, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, &errs
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	if ok {
		code = exit.ExitCode()
	}
	return out.String(), errs.String(), code
}

func TestTheDemoTellsWhatTheREADMEShows(t *testing.T) {
	stdout, stderr, code := play(t, buildDemo(t))
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d; standard error:\n%s\nstandard output:\n%s", code, stderr, stdout)
	}
	for i, line := range strings.Split(stdout, "\n") {
		if len(line) > width {
			t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
		}
	}
	if lines := strings.Count(stdout, "\n"); lines > 25 {
		t.Errorf("it has %d lines, want 25 at most", lines)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(readme), "<!-- transcript of make demo: test/demo compares it -->\n```\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		t.Fatal("README.md shows no transcript of make demo")
	}
	if diff := cmp.Diff(masked(shown), masked(stdout)); diff != "" {
		t.Errorf("README.md shows another story (-shown +told); put this there:\n%s\n%s", stdout, diff)
	}
}

// masked takes out what differs each time: how long it took, what pods are called, and in which order new pods come and
// old ones go, which Kubernetes decides.
func masked(story string) []string {
	story = regexp.MustCompile(`(?m)^ *[0-9]+\.[0-9]s`).ReplaceAllString(story, "TIME")
	story = regexp.MustCompile(`web-[0-9a-z]{5,10}-[0-9a-z]{5}\b`).ReplaceAllString(story, "POD")
	story = regexp.MustCompile(`\n {18}`).ReplaceAllString(story, " ")
	lines := strings.Split(strings.TrimSpace(story), "\n")
	isPod := func(line string) bool { return strings.Contains(line, " pod  ") }
	first := slices.IndexFunc(lines, isPod)
	if first < 0 {
		return lines
	}
	last := first
	for last < len(lines) && isPod(lines[last]) {
		last++
	}
	slices.Sort(lines[first:last])
	return lines
}

func TestTheDemoFailsWhenTheOtherDeploymentMoves(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(root, "examples/first-steps/first-steps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doctored := strings.Replace(string(example), "  name: "+optedOut+"\n",
		"  name: "+optedOut+"\n  annotations:\n    reloader.stakater.com/auto: \"true\"\n", 1)
	folder := filepath.Join(t.TempDir(), "both-opted-in")
	path := filepath.Join(folder, "both.yaml")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(doctored), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := play(t, buildDemo(t), "--example="+path)
	if want := optedOut + " has rolled 1 times; expected was 0"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want 1; standard error does not say %q:\n%s", code, want, stderr)
	}
}

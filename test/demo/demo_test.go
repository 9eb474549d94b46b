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
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/story"
)

const root = "../.."

var (
	// buildDemo builds the program that make demo runs, once.
	buildDemo func() (string, error)
	// startOthers starts a cluster that is not the demo's own, once.
	startOthers func() (*cluster.Cluster, error)
)

func TestMain(m *testing.M) {
	os.Exit(prepared(m))
}

func prepared(m *testing.M) int {
	ctx := context.Background()
	if err := build(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	folder, err := os.MkdirTemp("", "reroll-demo-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	buildDemo = sync.OnceValues(func() (string, error) {
		path := filepath.Join(folder, "demo")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the demo: %w\n%s", err, out)
		}
		return path, nil
	})
	var others *cluster.Cluster
	startOthers = sync.OnceValues(func() (*cluster.Cluster, error) {
		started, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
		others = started
		return started, err
	})
	defer func() {
		if others != nil {
			others.Stop()
		}
	}()
	return m.Run()
}

// build makes what a demo would otherwise make, and tell.
func build(ctx context.Context) error {
	if _, err := cluster.Build(ctx, os.Stderr); err != nil {
		return err
	}
	if missing := cluster.RealNodesSupported(); missing == nil {
		return cluster.BuildOther(ctx, os.Stderr, "real-nodes")
	}
	return nil
}

func demoProgram(t *testing.T) string {
	t.Helper()
	path, err := buildDemo()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// play lets the demo play on a cluster of its own.
func play(t *testing.T, demo string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return playOn(t, "", demo, args...)
}

// playOn lets it play with another kubeconfig than the user's.
func playOn(t *testing.T, kubeconfig, demo string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), demo, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, &out, &errs
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
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

// docs/tutorials/without-a-cluster.md begins with it, too. On a machine that cannot run containers,
// the demo says so, and its story is the same in all other respects.
func TestTheDemoTellsWhatTheREADMEShows(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(readme), "<!-- transcript of make demo: test/demo compares it -->\n```\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		t.Fatal("README.md shows no transcript of make demo")
	}
	demo := demoProgram(t)
	for name, path := range map[string]string{
		"as this machine can":    os.Getenv("PATH"),
		"on one without runtime": onlyGo(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			want := masked(shown)
			if cluster.RealNodesSupported() != nil {
				want = withoutContainers(want)
			}
			stdout, stderr, code := play(t, demo)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d; standard error:\n%s\nstandard output:\n%s", code, stderr, stdout)
			}
			for i, line := range strings.Split(stdout, "\n") {
				if len(line) > story.Width {
					t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
				}
			}
			if lines := storyLines(stdout); lines >= 25 {
				t.Errorf("it has %d lines, want fewer than 25", lines)
			}
			if diff := cmp.Diff(want, masked(stdout)); diff != "" {
				t.Errorf("README.md shows another story (-shown +told); put this there:\n%s\n%s", stdout, diff)
			}
		})
	}
}

// onlyGo returns a PATH with all that the demo needs where no container can run.
func onlyGo(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"go", "git"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// withoutContainers returns the masked story of a machine where no container runs: a new pod has
// read nothing yet, and of an old one nothing is known.
func withoutContainers(story []string) []string {
	var all []string
	for _, line := range story {
		line = strings.Replace(line, "its pods run containers", "its pods run no containers; to see why: "+whyNot, 1)
		if before, _, old := strings.Cut(line, ": gone, printed "); old {
			line = before + ": gone"
		}
		all = append(all, strings.Replace(line, ": ready, printed ", ": ready, would read ", 1))
	}
	return all
}

// storyLines counts those that do not depend on how slow the machine is.
func storyLines(stdout string) int {
	return strings.Count(waiting().ReplaceAllString(stdout, ""), "\n")
}

// waiting finds what is said of a step that takes long.
func waiting() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^ *[0-9]+\.[0-9]s  waiting .*\n( {18}.*\n)*`)
}

// masked takes out what differs each time: how long it took, what pods are called, and in which
// order new pods come and old ones go, which Kubernetes decides.
func masked(told string) []string {
	told = waiting().ReplaceAllString(told, "")
	told = regexp.MustCompile(`(?m)^ *[0-9]+\.[0-9]s`).ReplaceAllString(told, "TIME")
	told = regexp.MustCompile(`web-[0-9a-z]{5,10}-[0-9a-z]{5}\b`).ReplaceAllString(told, "POD")
	told = regexp.MustCompile(`\n {18}`).ReplaceAllString(told, " ")
	lines := strings.Split(strings.TrimSpace(told), "\n")
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

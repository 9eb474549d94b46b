package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/test/story"
)

const root = "../../.."

// play builds the program that make demo-gitops runs, and lets it play with a Reroll that reports
// data races.
func play(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}
	var out, errs strings.Builder
	cmd := exec.CommandContext(t.Context(), path, append([]string{"--race"}, args...)...)
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

func TestTheDemoTellsWhatTheExampleShows(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := play(t)
	if code != 0 {
		t.Fatalf("exit code %d; standard error:\n%s\nstandard output:\n%s", code, stderr, stdout)
	}
	for i, line := range strings.Split(stdout, "\n") {
		if len(line) > story.Width {
			t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "examples/gitops/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(readme), "<!-- transcript of make demo-gitops: test/gitops/demo compares it -->\n```\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		t.Fatal("examples/gitops/README.md shows no transcript of make demo-gitops")
	}
	if diff := cmp.Diff(masked(shown), masked(stdout)); diff != "" {
		t.Errorf("examples/gitops/README.md shows another story (-shown +told); put this there:\n%s\n%s", stdout, diff)
	}
}

// masked takes out what differs each time: how long it took, and what came of the edit by hand.
// Where self-heal was late, the demo has checked what comes of that instead.
func masked(told string) []string {
	told = regexp.MustCompile(`(?m)^ *[0-9]+\.[0-9]s  waiting .*\n( {18}.*\n)*`).ReplaceAllString(told, "")
	told = regexp.MustCompile(`(?m)^ *[0-9]+\.[0-9]s`).ReplaceAllString(told, "TIME")
	told = regexp.MustCompile(`\n {18}`).ReplaceAllString(told, " ")
	told = regexp.MustCompile(`after [0-9.]+ s, (within .*; nothing rolled|later than .*: one rollout, and one back)`).ReplaceAllString(told, "AND SO ON")
	return strings.Split(strings.TrimSpace(told), "\n")
}

// What the demo says is what it has checked.
func TestTheDemoFailsWhenItsExpectationsAreNotMet(t *testing.T) {
	t.Parallel()
	example := filepath.Join(t.TempDir(), "gitops")
	if err := os.CopyFS(example, os.DirFS(filepath.Join(root, "examples/gitops"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(example, "web/templates/deployment.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	optIn := `reloader.stakater.com/auto: "true"`
	if !strings.Contains(string(text), optIn) {
		t.Fatalf("the example does not hold %s", optIn)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), optIn, `reloader.stakater.com/auto: "false"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := play(t, "--example="+example)
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{
		"seen were no rollout, no write of Reroll; expected was no rollout, one write of Reroll: the first deployment rolls nothing",
		"namespace shop\n", "the end of Reroll's log:\n{",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error does not say %q:\n%s", want, stderr)
		}
	}
	if strings.Contains(stdout, "deploy  ") {
		t.Errorf("it tells that it was deployed well:\n%s", stdout)
	}
}

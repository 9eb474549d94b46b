package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/story"
)

// On a machine that cannot run containers, the demo says so, and nothing is printed by one.
func TestTheDemoOfWavesTellsWhatItsPageShows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "examples/waves/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, found := strings.Cut(string(page), "<!-- transcript of make demo-waves: test/demo compares it -->\n```\n")
	shown, _, closed := strings.Cut(shown, "```\n")
	if !found || !closed {
		t.Fatal("examples/waves/README.md shows no transcript of make demo-waves")
	}
	demo := demoProgram(t)
	for name, simulated := range map[string]bool{"as this machine can": false, "simulated": true} {
		t.Run(name, func(t *testing.T) {
			want := maskedWaves(shown)
			if simulated || cluster.RealNodesSupported() != nil {
				want = simulatedWaves(want)
			}
			args := []string{"--waves"}
			if simulated {
				args = append(args, "--simulated")
			}
			stdout, stderr, code := play(t, demo, args...)
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
			if diff := cmp.Diff(want, maskedWaves(stdout)); diff != "" {
				t.Errorf("the page shows another story (-shown +told); put this there:\n%s\n%s", stdout, diff)
			}
		})
	}
}

// maskedWaves takes out names that differ each time, and which of the two others is rolled first. While
// the canary is started once more between two crashes, it has only failed to complete its rollout.
func maskedWaves(told string) []string {
	between := regexp.MustCompile(`(deployment/canary\s+)does not complete its rollout`)
	lines := masked(between.ReplaceAllString(told, "${1}does not start (crash loop)"))
	for i, line := range lines {
		line = regexp.MustCompile(`canary-[0-9a-z]{5,10}-[0-9a-z]{5}\b`).ReplaceAllString(line, "POD")
		lines[i] = regexp.MustCompile(`reroll-demo-[0-9a-z]+`).ReplaceAllString(line, "NAMESPACE")
	}
	last := len(lines) - 1
	slices.Sort(lines[last-2 : last])
	return lines
}

// simulatedWaves is the masked story of a machine where no container runs.
func simulatedWaves(story []string) []string {
	var all []string
	for _, line := range story {
		line = strings.Replace(line, "its pods run containers", "its pods run no containers", 1)
		if before, _, printed := strings.Cut(line, "a crash loop, printed "); printed {
			line = before + "a crash loop, simulated"
		}
		all = append(all, line)
	}
	return all
}

func TestTheDemoOfWavesFailsWhenNothingHoldsTheOthers(t *testing.T) {
	example, err := os.ReadFile(filepath.Join(root, "examples/waves/waves.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "doctored.yaml")
	doctored := strings.NewReplacer(`reroll.dev/max-rolling: "1"`, `reroll.dev/max-failures: "9"`, `reroll.dev/wave: "-1"`, `reroll.dev/wave: "1"`).Replace(string(example))
	if err := os.WriteFile(path, []byte(doctored), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := play(t, demoProgram(t), "--waves", "--simulated", "--patience=90s", "--example="+path)
	wantFailure(t, stderr, code, "expected was Reroll to report that it rolls no further workload")
}

func TestTheDemoOfWavesTakesNoContext(t *testing.T) {
	_, stderr, code := play(t, demoProgram(t), "--waves", "--context=nope")
	wantFailure(t, stderr, code, "the demo of waves plays on a throwaway cluster alone: leave out the context")
}

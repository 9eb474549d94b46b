package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions map[string]string `json:"permissions"`
		Strategy    struct {
			Matrix struct {
				Target []string `json:"target"`
			} `json:"matrix"`
		} `json:"strategy"`
		Steps []struct {
			Name string `json:"name"`
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

// Nothing here runs a workflow, so this looks at what can be wrong before one runs.
func TestWorkflowsAreSoundAsFarAsCanBeSeenHere(t *testing.T) {
	t.Chdir("../..")
	files, err := filepath.Glob(".github/workflows/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w workflow
		if err := yaml.Unmarshal(data, &w); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if w.Permissions == nil || len(w.Permissions) > 0 {
			t.Errorf("%s: what is not asked for by a job is to be denied: permissions: {}", file)
		}
		for name, job := range w.Jobs {
			if len(job.Permissions) == 0 {
				t.Errorf("%s: job %s names no permissions", file, name)
			}
			for _, name := range job.Strategy.Matrix.Target {
				checkTarget(t, file, name, string(makefile))
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: step %q uses %s, which is not pinned by the hash of a commit", file, step.Name, step.Uses)
				}
				checkScript(t, file, step.Name, step.Run, string(makefile))
			}
		}
	}
}

var (
	pinned = regexp.MustCompile(`@[0-9a-f]{40}$`)
	target = regexp.MustCompile(`\bmake ((?:[a-z][a-z/-]* ?)+)`)
	script = regexp.MustCompile(`\btools/[a-z/]+\.sh\b`)
)

func checkScript(t *testing.T, file, step, run, makefile string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-n")
	cmd.Stdin = strings.NewReader(run)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: step %q: %s", file, step, out)
	}
	if strings.Contains(run, "${{") {
		t.Errorf("%s: step %q puts an expression into a script, where it could be code; use env", file, step)
	}
	for _, found := range target.FindAllStringSubmatch(run, -1) {
		for name := range strings.FieldsSeq(found[1]) {
			checkTarget(t, file, name, makefile)
		}
	}
	for _, name := range script.FindAllString(run, -1) {
		if info, err := os.Stat(name); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: step %q runs %s, which cannot be run: %v", file, step, name, err)
		}
	}
}

func checkTarget(t *testing.T, file, name, makefile string) {
	t.Helper()
	if !strings.Contains(makefile, "\n"+name+":") {
		t.Errorf("%s makes %s, which the Makefile does not have", file, name)
	}
}

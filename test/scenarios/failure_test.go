package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// A scenario that cannot fail shows nothing. Those in testdata/failing have to: each holds, in its
// part "want", what its output has to say, a regular expression in each line.
func TestAScenarioFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/failing/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no failing scenarios: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := patience
			if name == "never" {
				limit = time.Second
			}
			r := play(params(shared, limit, testscript.Params{Files: []string{file}}))
			if !r.failed {
				t.Fatalf("it does not fail:\n%s", r.output.String())
			}
			for line := range strings.Lines(wanted(t, file)) {
				if line = strings.TrimRight(line, "\n"); line == "" {
					continue
				}
				if !regexp.MustCompile(line).MatchString(r.output.String()) {
					t.Errorf("the output does not match %q", line)
				}
			}
			if t.Failed() {
				t.Log(r.output.String())
			}
		})
	}
}

func wanted(t *testing.T, file string) string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range archive.Files {
		if part.Name == "want" {
			return string(part.Data)
		}
	}
	t.Fatalf("%s has no part \"want\"", file)
	return ""
}

// play runs one script as a test of which nothing but the output and the result gets out.
func play(p testscript.Params) *recorder {
	r := &recorder{}
	r.Run("", func(t testscript.T) { testscript.RunT(t, p) })
	return r
}

// recorder is a test that keeps what it is told.
type recorder struct {
	output strings.Builder
	failed bool
}

func (r *recorder) Log(args ...any) { fmt.Fprintln(&r.output, args...) }

func (r *recorder) FailNow() {
	r.failed = true
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.Log(args...)
	r.FailNow()
}

// Skip fails: no scenario may be skipped.
func (r *recorder) Skip(args ...any) { r.Fatal(append([]any{"skipped:"}, args...)...) }

func (r *recorder) Parallel() {}

func (r *recorder) Verbose() bool { return false }

func (r *recorder) Run(_ string, test func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
}

func TestAControllerThatEndsByItselfFailsTheScenario(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"while something is awaited": "markers statefulset\ncontroller start\nsabotage\nawait rolled statefulset/marker-configmap 1\n",
		"and nobody looks":           "controller start\nsabotage\n",
		"before it is stopped":       "controller start\nsabotage\ncontroller stop\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ends.txtar")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			p := params(shared, patience, testscript.Params{Files: []string{file}})
			p.Cmds["sabotage"] = func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Value(scenarioKey{}).(*scenario).controller.Kill()
			}
			if r := play(p); !r.failed || !strings.Contains(r.output.String(), "the controller has ended, exit code -1") {
				t.Errorf("failed: %v\n%s", r.failed, r.output.String())
			}
		})
	}
}

// Package make tests what stands between a newcomer and the Go command: the Makefile, and the
// script by which it calls go.
package make

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

func run(t *testing.T, env []string, name string, args ...string) (output string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	// These tests may be run by make, whose own command line is not to count.
	cmd.Env = append(append(os.Environ(), "MAKEFLAGS=", "MAKEOVERRIDES="), env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

// sayingGo is a go command that says something and fails.
func sayingGo(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	script := "#!/bin/sh\n[ \"$1\" = version ] && { echo go version go1.20; exit; }\n[ \"$1\" = env ] && exit\ncat >&2 <<'END'\n" + says + "\nEND\nexit 3\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatGoSaysIsFollowedByWhatToDo(t *testing.T) {
	for name, test := range map[string]struct{ says, advice string }{
		"an older Go":      {"go: go.mod requires go >= 1.26.0 (running go 1.25.1; GOTOOLCHAIN=local)", "Reroll needs Go 1.26 or newer; this is go version go1.20. "},
		"a full disk":      {"# a/b\nwrite $WORK/b001/x: no space left on device", "The disk is full. "},
		"no network":       {"go: a@v1: Get \"https://proxy.example/a\": dial tcp: lookup proxy.example: no such host", "The sources come from the Go module proxy, which did not answer. "},
		"a changed source": {"verifying a@v1: checksum mismatch", "go clean -modcache"},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, []string{"GO=" + sayingGo(t, test.says)}, "tools/make/go.sh", "build")
			if code != 3 || !strings.HasPrefix(out, test.says+"\n") || !strings.Contains(out[len(test.says):], test.advice) {
				t.Errorf("exit code %d, want 3; want what go says and then %q:\n%s", code, test.advice, out)
			}
		})
	}
}

func TestAFaultOfTheCodeGetsNoAdvice(t *testing.T) {
	const says = "# a/b\nb.go:3:1: undefined: c"
	if out, code := run(t, []string{"GO=" + sayingGo(t, says)}, "tools/make/go.sh", "build"); code != 3 || out != says+"\n" {
		t.Errorf("exit code %d, want 3 and nothing but what go says:\n%s", code, out)
	}
}

// The first time, nothing else is said for minutes.
func TestTheImageSaysWhatItBuildsAndHowLongThatTakes(t *testing.T) {
	idle := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(idle, []byte("#!/bin/sh\n[ \"$1\" != build ] || echo compiling\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, code := run(t, nil, "make", "--silent", "image", "GO="+idle, "ARCH=arm64", "VERSION=1.2.3")
	want := "Building the image localhost/reroll:1.2.3 for linux/arm64 from source: about 3 minutes on two cores the first time, seconds afterwards\ncompiling\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, got:\n%swant:\n%s", code, out, want)
	}
}

func TestATargetThatCannotBeMadeSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"no Go":                  {nil, []string{"GO=/nonexistent/go", "build"}, "Go is needed, and there is no '/nonexistent/go' on the PATH"},
		"no network":             {[]string{"GOPROXY=off", "GOMODCACHE=" + t.TempDir()}, []string{"build"}, "Check the network, or set GOPROXY"},
		"no network, generate":   {[]string{"GOPROXY=off", "GOMODCACHE=" + t.TempDir()}, []string{"--always-make", "generate"}, "Check the network, or set GOPROXY"},
		"a mistake in GOFLAGS":   {[]string{"GOFLAGS=-mod=vendor"}, []string{"build"}, "GOFLAGS is set to '-mod=vendor'"},
		"a port that is none":    {nil, []string{"cluster-up", "PORT=abc"}, "PORT=abc is no port: give a number from 1 to 65535"},
		"a port out of range":    {nil, []string{"cluster-up", "PORT=99999"}, "PORT=99999 is no port"},
		"a port below zero":      {nil, []string{"cluster-up", "PORT=-1"}, "PORT=-1 is no port"},
		"no number of nodes":     {nil, []string{"cluster-up", "NODES=many"}, "NODES=many is no number of nodes"},
		"a context not in sight": {[]string{"KUBECONFIG=/nonexistent"}, []string{"demo", "CONTEXT=nope"}, `use the context "nope" of your kubeconfig`},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := run(t, test.env, "make", test.args...)
			if code == 0 || !strings.Contains(out, test.want) {
				t.Errorf("exit code %d; want to be told %q:\n%s", code, test.want, out)
			}
			if lines := strings.Count(out, "\n") - strings.Count(out, "go: downloading "); lines > 8 {
				t.Errorf("it takes %d lines to say so:\n%s", lines, out)
			}
		})
	}
}

func TestOnlyTheCommandLineSaysWhatToUse(t *testing.T) {
	env := []string{"PORT=8080", "CONTEXT=prod", "KEEP=1", "NODES=77", "VERSION=v9.9.9", "IMAGE=other"}
	out, code := run(t, env, "make", "-n", "demo", "cluster-up", "image")
	if code != 0 {
		t.Fatal(out)
	}
	for _, other := range []string{"8080", "prod", "--keep", "77", "v9.9.9", "other"} {
		if strings.Contains(out, other) {
			t.Errorf("%q of the environment is used:\n%s", other, out)
		}
	}
	out, _ = run(t, nil, "make", "-n", "demo", "cluster-up", "image", "PORT=8080", "CONTEXT=prod", "KEEP=1", "NODES=77", "VERSION=v9.9.9")
	for _, given := range []string{"--port='8080'", "--context='prod'", "--keep", "--nodes='77'", "reroll:v9.9.9"} {
		if !strings.Contains(out, given) {
			t.Errorf("what is given on the command line is not used, %q:\n%s", given, out)
		}
	}
	if out, _ = run(t, nil, "make", "-n", "demo", "KEEP=0"); strings.Contains(out, "--keep") {
		t.Errorf("KEEP=0 keeps:\n%s", out)
	}
}

// lintedAt is a module in which all was linted at a time, by a linter that notes its arguments, and fails
// if there is a file named refuses.
func lintedAt(t *testing.T, at time.Time) string {
	t.Helper()
	module := t.TempDir()
	for path, content := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n", "go.sum": "", ".golangci.yml": "",
		"bin/golangci-lint": "#!/bin/sh\necho \"$*\" >> said\n[ ! -e refuses ]\n", "bin/linted": "",
		"a/a.go": "package a\n", "a/z.go": "package a\n", "a/notes.txt": "", "a/b/b_test.go": "package b\n", "a/b/c.go": "package b\n",
		"other/go.mod": "module other\n\ngo 1.26\n", "other/c.go": "package c\n",
	} {
		path = filepath.Join(module, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(module, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	})
	if err != nil {
		t.Fatal(err)
	}
	return module
}

func TestOnlyWhatChangedIsLintedBeforeACommit(t *testing.T) {
	script, err := filepath.Abs("lint.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		changed, removed string
		args             []string
		want             string
	}{
		"nothing":                      {"", "", []string{"changed"}, ""},
		"a file":                       {"a/b/b_test.go", "", []string{"changed"}, "./a/b"},
		"two packages":                 {"a/z.go", "a/b/b_test.go", []string{"changed"}, "./a ./a/b"},
		"what is no code":              {"a/notes.txt", "", []string{"changed"}, ""},
		"a file that was removed":      {"", "a/a.go", []string{"changed"}, "./a"},
		"another version of a package": {"go.mod", "", []string{"changed"}, "./..."},
		"another linter":               {"bin/golangci-lint", "", []string{"changed"}, "./..."},
		"another module":               {"other/c.go", "", []string{"changed"}, ""},
		"no run yet":                   {"", "bin/linted", []string{"changed"}, "./..."},
		"all are to be linted":         {"a/a.go", "", nil, "./..."},
	} {
		t.Run(name, func(t *testing.T) {
			before := time.Now().Add(-time.Hour)
			module := lintedAt(t, before)
			later := before.Add(time.Minute)
			if test.changed != "" {
				if err := os.Chtimes(filepath.Join(module, test.changed), later, later); err != nil {
					t.Fatal(err)
				}
			}
			if test.removed != "" {
				if err := os.Remove(filepath.Join(module, test.removed)); err != nil {
					t.Fatal(err)
				}
			}
			lint := func(env ...string) error {
				cmd := exec.CommandContext(t.Context(), script, test.args...)
				cmd.Dir, cmd.Env = module, append(append(os.Environ(), "PWD="+module), env...)
				return cmd.Run()
			}
			if test.args != nil && test.want != "./..." && lint("GO=false") == nil {
				t.Error("nobody knows what the packages are, and all are well")
			}
			// What something was found in is linted again, and what nothing was found in is not.
			refuses := filepath.Join(module, "refuses")
			if err := os.WriteFile(refuses, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := lint(); (err == nil) != (test.want == "") {
				t.Errorf("it has found something, and: %v", err)
			}
			if err := errors.Join(os.Remove(refuses), lint(), lint()); err != nil {
				t.Error(err)
			}
			calls := 2
			switch {
			case test.args == nil:
				calls = 3
			case test.want == "":
				calls = 0
			}
			want := strings.Repeat("run --allow-parallel-runners "+test.want+"\n", calls)
			if said, _ := os.ReadFile(filepath.Join(module, "said")); string(said) != want {
				t.Errorf("was called as\n%s, want\n%s", said, want)
			}
			if left, _ := filepath.Glob(filepath.Join(module, "bin", "linting*")); len(left) > 0 {
				t.Errorf("it has left %s", left)
			}
		})
	}
}

// Package release_test makes a release twice, as a stranger and a maintainer would, and looks at
// what came out.
package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const version = "0.0.1-test"

// Both clones are in folders of their own. The stranger has nothing from before: no cache of the
// compiler, no unpacked modules. Of the modules only the packed files are shared, and go.sum has
// their sums. The maintainer uses the caches of this machine, in which anything may be. The release
// is made for the architecture at hand alone, because nothing that could make a difference depends
// on it, and to build takes minutes.
func TestAStrangerMakesTheSameReleaseAsAMaintainer(t *testing.T) {
	first := made(t, filepath.Join(t.TempDir(), "a"), withoutCaches(t))
	second := made(t, filepath.Join(t.TempDir(), "somewhere", "else", "entirely"), nil)
	for _, file := range []string{"checksums.txt", "image-digest.txt"} {
		if diff := cmp.Diff(read(t, first, file), read(t, second, file)); diff != "" {
			t.Errorf("%s differs between two clones:\n%s", file, diff)
		}
	}
	t.Run("the checksums are those of the files", func(t *testing.T) {
		command(t, first, nil, "sha256sum", "--check", "--strict", "checksums.txt")
	})
	t.Run("the program says what it is", func(t *testing.T) {
		dir := t.TempDir()
		command(t, dir, nil, "tar", "-xzf", filepath.Join(first, "reroll-"+version+"-linux-"+runtime.GOARCH+".tar.gz"))
		commit := strings.TrimSpace(command(t, root(t), nil, "git", "rev-parse", "--short=12", "HEAD"))
		if got := command(t, dir, nil, "./reroll", "version"); !strings.HasPrefix(got, "reroll "+version+" (commit "+commit+" of ") || strings.Contains(got, "changes") {
			t.Errorf("reroll version: %s", got)
		}
	})
	t.Run("the chart names the image of the release", func(t *testing.T) {
		helm := os.Getenv("HELM")
		if helm == "" {
			t.Fatal("HELM is to be the path of helm; make bin/helm builds it")
		}
		chart := filepath.Join(first, "reroll-"+version+".tgz")
		command(t, first, nil, helm, "lint", "--strict", chart)
		if text := command(t, first, nil, helm, "template", "reroll", chart); !strings.Contains(text, "localhost/reroll:"+version) {
			t.Errorf("rendered:\n%s", text)
		}
	})
	t.Run("the library chart is one that a chart can use", func(t *testing.T) {
		user := t.TempDir()
		if err := os.CopyFS(user, os.DirFS(filepath.Join(root(t), "examples/checksum"))); err != nil {
			t.Fatal(err)
		}
		command(t, user, nil, "sed", "-i", `/^dependencies:/,$ s/  version: .*/  version: `+version+`/`, "Chart.yaml")
		library := read(t, first, "reroll-checksum-"+version+".tgz")
		if err := os.MkdirAll(filepath.Join(user, "charts"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(user, "charts", "library.tgz"), []byte(library), 0o600); err != nil {
			t.Fatal(err)
		}
		if text := command(t, user, nil, os.Getenv("HELM"), "template", "web", "."); !strings.Contains(text, "checksum/config: sha256:") {
			t.Errorf("rendered:\n%s", text)
		}
	})
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// made returns the folder of a release that was made from a fresh clone below dir.
func made(t *testing.T, dir string, env []string) string {
	t.Helper()
	clone, out := filepath.Join(dir, "reroll"), filepath.Join(dir, "out")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, dir, nil, "git", "clone", "--quiet", "--no-hardlinks", root(t), clone)
	command(t, clone, env, "go", "run", "./tools/release", "-version", version, "-repository", "localhost/reroll", "-platforms", "linux/"+runtime.GOARCH, "-o", out)
	return out
}

// withoutCaches are the variables for a go command that finds nothing from before.
func withoutCaches(t *testing.T) []string {
	t.Helper()
	caches := t.TempDir()
	modules := strings.TrimSpace(command(t, root(t), nil, "go", "env", "GOMODCACHE"))
	temporary := filepath.Join(caches, "tmp")
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{
		"GOCACHE=" + filepath.Join(caches, "build"), "GOMODCACHE=" + filepath.Join(caches, "modules"), "TMPDIR=" + temporary,
		"GOPROXY=file://" + filepath.Join(modules, "cache", "download"), "GOSUMDB=off", "GOFLAGS=-modcacherw",
	}
}

func read(t *testing.T, dir, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

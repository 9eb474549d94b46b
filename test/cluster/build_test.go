package cluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tinyBuilder builds one small program in the place of a whole Kubernetes, by the same way.
func tinyBuilder(t *testing.T, base, source string) (*builder, *bytes.Buffer) {
	t.Helper()
	modules := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(modules, "etcd", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module tiny\n\ngo 1.26.0\n")
	write("go.sum", "")
	write("main.go", source)
	said := &bytes.Buffer{}
	return &builder{
		set: set{
			what: "a throwaway Kubernetes", takes: firstBuildTakes, disk: firstBuildDisk,
			parts: []part{{name: "etcd", folder: "etcd", packages: []string{"tiny"}, ldflags: func(string) string { return "" }}},
		},
		progress: said, modules: modules, base: base, dir: filepath.Join(base, "key"),
		versions: map[string]string{"etcd": "v1"},
	}, said
}

const (
	goodProgram = "package main\n\nfunc main() {}\n"
	badProgram  = "package main\n\nfunc main() { undefined() }\n"
)

func TestABuildThatFailsOrIsCutOffLeavesNothingThatLooksWhole(t *testing.T) {
	base := t.TempDir()
	bad, _ := tinyBuilder(t, base, badProgram)
	if err := bad.ensure(t.Context()); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Fatalf("the compiler's words are missing: %v", err)
	}
	// What a process leaves that is killed in the middle: a folder with a program, never renamed.
	cut := filepath.Join(base, "key"+partialMark+"1")
	if err := os.MkdirAll(cut, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cut, "etcd"), []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	good, _ := tinyBuilder(t, base, goodProgram)
	if err := good.built(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("after a failed build and one that was cut off there is no build, but: %v", err)
	}
	if err := good.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cut); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what the cut-off build left is still there: %v", err)
	}
	if err := good.built(); err != nil {
		t.Errorf("after a good build: %v", err)
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	base := t.TempDir()
	var both sync.WaitGroup
	outputs := make([]*bytes.Buffer, 2)
	for i := range outputs {
		b, said := tinyBuilder(t, base, goodProgram)
		outputs[i] = said
		both.Go(func() {
			if err := b.ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	built := strings.Count(outputs[0].String()+outputs[1].String(), "Built in ")
	if built != 1 {
		t.Errorf("built %d times:\n%s\n%s", built, outputs[0], outputs[1])
	}
}

func TestADamagedCacheIsToldAndBuiltAgain(t *testing.T) {
	for name, test := range map[string]struct {
		damage func(program string) error
		told   string
	}{
		"cut off":      {func(p string) error { return os.Truncate(p, 10) }, "has 10 bytes instead of"},
		"removed":      {os.Remove, "etcd is missing in"},
		"no x bit":     {func(p string) error { return os.Chmod(p, 0o644) }, "is not executable"},
		"zeros inside": {overwrite, "holds something else than was built"},
	} {
		t.Run(name, func(t *testing.T) {
			b, said := tinyBuilder(t, t.TempDir(), goodProgram)
			if err := b.ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := test.damage(filepath.Join(b.dir, "etcd")); err != nil {
				t.Fatal(err)
			}
			if err := b.ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "The cached build cannot be used: ") || !strings.Contains(said.String(), test.told) {
				t.Errorf("nothing says %q:\n%s", test.told, said)
			}
			if err := b.built(); err != nil {
				t.Error(err)
			}
		})
	}
}

func overwrite(program string) error {
	st, err := os.Stat(program)
	if err != nil {
		return err
	}
	return os.WriteFile(program, make([]byte, st.Size()), 0o755)
}

func TestABuildThatIsOnlyCopiedIsUsedAsItIs(t *testing.T) {
	b, said := tinyBuilder(t, t.TempDir(), goodProgram)
	if err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(b.dir, "etcd"), time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	before := said.String()
	if err := b.ensure(t.Context()); err != nil || said.String() != before {
		t.Errorf("it is not used as it is: %v\n%s", err, said)
	}
}

func TestAFirstBuildSaysWhatItDoesAndWhatItTakes(t *testing.T) {
	b, said := tinyBuilder(t, t.TempDir(), goodProgram)
	if err := b.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	rest := said.String()
	for _, want := range []string{
		"Building a throwaway Kubernetes from source, once", "etcd v1", "It takes about " + firstBuildTakes, "7 GB of disk",
		"[1/1] etcd v1: fetching sources", "[1/1] etcd v1: done in 0:", "Built in 0:", " MB in " + b.dir,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("it does not say %q, or not in this order:\n%s", want, said)
		}
		rest = after
	}
}

func TestABuildSaysHowFarItIs(t *testing.T) {
	var said strings.Builder
	began := time.Now().Add(-time.Hour) // the last word was said long ago
	rest := follow(strings.NewReader("a/b\nc\n# c\nc.go:1: undefined: d\n"), "[1/3] x v1", 7, began, &said)
	if want := "[1/3] x v1: 1 of 7 packages, 60:00 min\n"; said.String() != want {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	if rest != "# c\nc.go:1: undefined: d\n" {
		t.Errorf("what is no package is %q", rest)
	}
}

func TestABuildWithoutNetworkSaysWhatToDo(t *testing.T) {
	b, _ := tinyBuilder(t, t.TempDir(), "package main\n\nimport _ \"example.com/missing\"\n\nfunc main() {}\n")
	t.Setenv("GOPROXY", "http://127.0.0.1:1")
	t.Setenv("GOMODCACHE", t.TempDir())
	gomod := filepath.Join(b.modules, "etcd", "go.mod")
	if err := os.WriteFile(gomod, []byte("module tiny\n\ngo 1.26.0\n\nrequire example.com/missing v1.0.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sum := "example.com/missing v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n" +
		"example.com/missing v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
	if err := os.WriteFile(filepath.Join(b.modules, "etcd", "go.sum"), []byte(sum), 0o644); err != nil {
		t.Fatal(err)
	}
	err := b.ensure(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Check the network, or set GOPROXY") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestAFullDiskSaysWhatToDo(t *testing.T) {
	err := goFault(errors.New("exit status 1"), "write /cache/x: no space left on device")
	if !strings.Contains(err.Error(), "Free some, or point GOCACHE") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestAWaitForAnotherBuildEndsWithItsContext(t *testing.T) {
	base := t.TempDir()
	holder, _ := tinyBuilder(t, base, goodProgram)
	if err := holder.lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer holder.unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waiter, said := tinyBuilder(t, base, goodProgram)
	if err := waiter.lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's end, not: %v", err)
	}
	if !strings.Contains(said.String(), "waiting for it") {
		t.Errorf("it does not say for whom it waits: %q", said)
	}
}

func TestAProgramOfOursIsBuiltAgainWhenItChanges(t *testing.T) {
	b, _ := tinyBuilder(t, t.TempDir(), goodProgram)
	b.parts[0].module = "tiny"
	pinned := "module tiny-tool\n\ngo 1.26.0\n\nrequire tiny v1.0.0\n"
	folder := filepath.Join(b.modules, "etcd")
	if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(pinned), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := b.key()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(badProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := b.key(); err != nil || after == before {
		t.Errorf("with another main.go the build is still called %s (%v)", after, err)
	}
}

package main

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEachMutationFitsTheCode(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutations() {
		if err := m.fits(); err != nil {
			t.Error(err)
		}
	}
}

// A mutation that does not compile turns no test red, and make mutants would end before it tries one.
// Most are built together.
func TestEachMutationCompiles(t *testing.T) {
	t.Chdir("../..")
	all := mutations()
	made, err := buildTogether(t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.alone) > len(all)/100 {
		t.Errorf("%d of %d mutations are built alone, which takes minutes: move their code into functions", len(made.alone), len(all))
	}
	readAll(t, "internal")
	compiles := func(overlay string, packages ...string) {
		out, err := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("GO"), "go"), append([]string{"build", "-overlay=" + overlay}, packages...)...).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	packages := map[string]bool{}
	for _, m := range all {
		if !m.isRead() {
			packages["./"+filepath.Dir(m.file)] = true
		}
	}
	compiles(made.overlay, slices.Sorted(maps.Keys(packages))...)
	for _, i := range made.alone {
		overlay, err := all[i].overlay(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		compiles(overlay, "./"+filepath.Dir(all[i].file))
	}
}

// readAll has go test run a test again when one of these files changes.
func readAll(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACopyOfAFunctionIsCalledByItsNumber(t *testing.T) {
	const code = `package p

// Doc stays.
func (r *T) F(a, b int, _ string, rest ...int) (int, error) { return a + b, nil }

func g() { h(1) }
`
	mutated, in, alone, err := withAll("p.go", []byte(code), []int{4, 5, 6}, []mutation{4: {from: "a + b", to: "a"}, 5: {from: "h(1)", to: ""}, 6: {from: "package p", to: "package q"}})
	if err != nil || in != "p" || len(alone) != 1 || alone[0] != 6 {
		t.Fatalf("package %s, alone %v, error %v", in, alone, err)
	}
	got := strings.Join(strings.Fields(string(mutated)), " ")
	want := strings.Join(strings.Fields(`package p

// Doc stays.
func (r__ *T) F(p__0 int, p__1 int, p__2 string, p__3 ...int) (int, error) {
	switch mutant__ {
	case "5":
		return r__.F__5(p__0, p__1, p__2, p__3...)
	default:
		return r__.F__0(p__0, p__1, p__2, p__3...)
	}
}
func (r *T) F__0(a, b int, _ string, rest ...int) (int, error) { return a + b, nil }
func (r *T) F__5(a, b int, _ string, rest ...int) (int, error) { return a, nil }
func g() {
	switch mutant__ {
	case "6": g__6()
	default: g__0()
	}
}
func g__0() { h(1) }
func g__6() { }
`), " ")
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
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

// Most mutations are built together, and what is built is the code of Go.
func TestMutationsOfFunctionsAreBuiltTogether(t *testing.T) {
	t.Chdir("../..")
	all := mutations()
	made, err := buildTogether(t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	if len(made.alone) > len(all)/100 {
		t.Errorf("%d of %d mutations are built alone, which takes minutes: move their code into functions", len(made.alone), len(all))
	}
	text, err := os.ReadFile(made.overlay)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	for original, at := range overlay.Replace {
		if _, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution); err != nil {
			t.Errorf("in the place of %s: %v", original, err)
		}
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

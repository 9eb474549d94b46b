package pages

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	design = "docs/contributing/design.md"
	layout = "docs/contributing/layout.md"
)

func TestTheMapsHaveEachPackage(t *testing.T) {
	packages, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !strings.Contains(read(t, design), "| ["+p.Name()+"](../../internal/"+p.Name()+") |") {
			t.Errorf("%s lacks the package internal/%s", design, p.Name())
		}
		if !regexp.MustCompile(`(?m)^\|.*` + "`internal/" + p.Name() + "`.* \\|").MatchString(read(t, layout)) {
			t.Errorf("%s lacks the package internal/%s", layout, p.Name())
		}
	}
}

// section returns the text below a heading of the second level.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

// A lock that is in no order may be taken in any.
func TestTheOrderOfLocksNamesEachLock(t *testing.T) {
	order := section(t, design, "Locks")
	inCode := map[string]bool{}
	program(t, func(file string, node ast.Node) {
		switch filepath.ToSlash(filepath.Dir(file)) {
		case "internal/controller", "internal/state", "internal/workqueue":
		default:
			return
		}
		spec, ok := node.(*ast.TypeSpec)
		if !ok {
			return
		}
		if fields, ok := spec.Type.(*ast.StructType); ok && hasLock(fields) {
			inCode[spec.Name.Name+".mu"] = true
		}
	})
	onPage := map[string]bool{}
	for _, lock := range regexp.MustCompile("`(\\w+\\.mu)`").FindAllStringSubmatch(order, -1) {
		onPage[lock[1]] = true
		if !inCode[lock[1]] {
			t.Errorf("%s has the lock %s, which the code does not have", design, lock[1])
		}
	}
	for lock := range inCode {
		if !onPage[lock] {
			t.Errorf("%s lacks the lock %s", design, lock)
		}
	}
}

func hasLock(fields *ast.StructType) bool {
	for _, field := range fields.Fields.List {
		of, ok := field.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if from, ok := of.X.(*ast.Ident); ok && from.Name == "sync" && (of.Sel.Name == "Mutex" || of.Sel.Name == "RWMutex") {
			return true
		}
	}
	return false
}

func TestTheWayOfOneChangeNamesWhatExists(t *testing.T) {
	declared := map[string]bool{}
	program(t, func(_ string, node ast.Node) {
		switch d := node.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = true
		case *ast.TypeSpec:
			declared[d.Name.Name] = true
		}
	})
	named := regexp.MustCompile("`\\w+\\.(\\w+)`").FindAllStringSubmatch(section(t, design, "The way of one change"), -1)
	if len(named) == 0 {
		t.Fatalf("%s names nothing of the code", design)
	}
	for _, name := range named {
		if !declared[name[1]] {
			t.Errorf("%s names %s, which the code does not have", design, name[1])
		}
	}
}

package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// program calls visit with each node of the code that a user runs.
func program(t *testing.T, visit func(file string, node ast.Node)) {
	t.Helper()
	for _, file := range files(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "cmd/") && !strings.HasPrefix(file, "internal/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			visit(file, node)
			return true
		})
	}
}

func literal(node ast.Node) string {
	if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if text, err := strconv.Unquote(lit.Value); err == nil {
			return text
		}
	}
	return ""
}

// A user of the binary does not have the repository, so a path in it leads nowhere.
func TestTheProgramRefersToPagesByTheirAddresses(t *testing.T) {
	path := regexp.MustCompile(`docs/|[\w/-]+\.md\b|\bREADME\b`)
	addressed := map[ast.Node]bool{}
	program(t, func(file string, node ast.Node) {
		if call, ok := node.(*ast.CallExpr); ok && isDoc(call.Fun) {
			addressed[start(call.Args[0])] = true
		}
		if found := path.FindString(literal(node)); found != "" && !addressed[node] && file != "internal/buildinfo/docs.go" {
			t.Errorf("%s refers to %s: use buildinfo.Doc", file, found)
		}
	})
}

// A dashboard in Grafana and an installed chart do not have the repository either.
func TestTheChartRefersToPagesByTheirAddresses(t *testing.T) {
	mention := regexp.MustCompile(`[^\s"'(]*\bdocs/[^\s"')]+`)
	addresses := 0
	for _, file := range files(t, ".json", ".tpl", ".yaml", ".txt") {
		if !strings.HasPrefix(file, "charts/reroll/") {
			continue
		}
		for _, found := range mention.FindAllString(read(t, file), -1) {
			if !strings.HasPrefix(found, "https://") {
				t.Errorf("%s refers to %s: use its address", file, found)
			}
			addresses++
		}
	}
	if addresses == 0 {
		t.Error("nothing refers to a page")
	}
}

func TestEachAddressLeadsSomewhere(t *testing.T) {
	addresses := 0
	program(t, func(file string, node ast.Node) {
		call, ok := node.(*ast.CallExpr)
		if !ok || !isDoc(call.Fun) {
			return
		}
		addresses++
		page, anchor, _ := strings.Cut(literal(start(call.Args[0])), "#")
		check(t, file, filepath.Join("docs", page), anchor)
	})
	if addresses == 0 {
		t.Error("nothing refers to a page")
	}
}

func isDoc(function ast.Expr) bool {
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "buildinfo" && selector.Sel.Name == "Doc"
}

// start is the page of an address whose anchor may depend on the case.
func start(argument ast.Expr) ast.Expr {
	for {
		sum, ok := argument.(*ast.BinaryExpr)
		if !ok {
			return argument
		}
		argument = sum.X
	}
}

package pages

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inBackquotes returns the texts in backquotes, of each match of a pattern.
func inBackquotes(text, pattern string) map[string]bool {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(pattern).FindAllString(text, -1) {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m, -1) {
			found[quoted[1]] = true
		}
	}
	return found
}

func differ(t *testing.T, page string, onPage, inCode map[string]bool) {
	t.Helper()
	if len(inCode) == 0 {
		t.Fatal("the code has none")
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(onPage)), slices.Sorted(maps.Keys(inCode))); diff != "" {
		t.Errorf("%s differs from the code (-page +code):\n%s", page, diff)
	}
}

// firstColumn matches the first column of each row of a table.
const firstColumn = "(?m)^\\| `[^|]*\\|"

func TestThePageAboutEventsHasEachReason(t *testing.T) {
	const page = "docs/reference/events.md"
	reason := regexp.MustCompile(`^[A-Z][a-z]+[A-Za-z]*$`)
	reasons := map[string]bool{}
	program(t, func(file string, node ast.Node) {
		switch n := node.(type) {
		case *ast.ValueSpec: // the constants; those of internal/notice are all reasons
			if !strings.HasPrefix(file, "internal/notice/") && file != "internal/report/events.go" {
				return
			}
			for _, value := range n.Values {
				if text := literal(value); reason.MatchString(text) {
					reasons[text] = true
				}
			}
		case *ast.CallExpr: // publish(about, type, reason, text)
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || called.Sel.Name != "publish" || len(n.Args) != 4 {
				return
			}
			if text := literal(n.Args[2]); text != "" {
				reasons[text] = true
			}
		}
	})
	differ(t, page, inBackquotes(read(t, page), firstColumn), reasons)
}

// reasonsOfNotices returns the constants of internal/notice, which are named like the events.
func reasonsOfNotices(t *testing.T) []string {
	t.Helper()
	var reasons []string
	program(t, func(file string, node ast.Node) {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || file != "internal/notice/notice.go" || len(spec.Values) != 1 {
			return
		}
		if reason := literal(spec.Values[0]); reason == spec.Names[0].Name {
			reasons = append(reasons, reason)
		}
	})
	return reasons
}

func TestThePageAboutAlertsHasEachEventThatIsOne(t *testing.T) {
	const page = "docs/how-to/alerts.md"
	onPage, found := inBackquotes(read(t, page), firstColumn), 0
	reasons := reasonsOfNotices(t)
	program(t, func(file string, node ast.Node) {
		function, ok := node.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(file, "internal/notice/") {
			return
		}
		names := map[string]bool{}
		ast.Inspect(function, func(node ast.Node) bool {
			if name, ok := node.(*ast.Ident); ok {
				names[name.Name] = true
			}
			return true
		})
		for _, reason := range reasons {
			if !names["Alert"] || !names[reason] {
				continue
			}
			found++
			if !onPage[reason] {
				t.Errorf("%s lacks the event %s", page, reason)
			}
		}
	})
	if found == 0 {
		t.Error("no notice is an alert")
	}
}

func TestThePageAboutTheEnvironmentHasEachVariable(t *testing.T) {
	const page = "docs/reference/environment.md"
	variables := map[string]bool{}
	program(t, func(_ string, node ast.Node) {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return
		}
		if called, ok := call.Fun.(*ast.Ident); ok && called.Name == "getenv" {
			variables[literal(call.Args[0])] = true
		}
	})
	// Kubernetes and the terminal set these two.
	delete(variables, "KUBERNETES_SERVICE_HOST")
	delete(variables, "TERM")
	// Libraries read these: client-go, and the runtime and crypto/x509 of Go.
	for _, name := range []string{"KUBECONFIG", "GOMAXPROCS", "SSL_CERT_DIR"} {
		variables[name] = true
	}
	onPage := inBackquotes(read(t, page), firstColumn)
	differ(t, page, onPage, variables)
}

// One field may have the name of another in another document, so this compares the set of names.
func TestTheSectionAboutJSONHasEachField(t *testing.T) {
	const page = "docs/reference/commands.md"
	fields := map[string]bool{}
	program(t, func(file string, node ast.Node) {
		field, ok := node.(*ast.Field)
		if !ok || field.Tag == nil || !strings.HasPrefix(file, "internal/inspect/") {
			return
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`json:"([A-Za-z]+)`).FindStringSubmatch(tag); m != nil {
			fields[m[1]] = true
		}
	})
	_, section, _ := strings.Cut(read(t, page), "\n## JSON\n")
	section, _, _ = strings.Cut(section, "\n## ")
	onPage := map[string]bool{}
	for name := range inBackquotes(section, "`[^`]+`") {
		onPage[strings.TrimSuffix(name, "[]")] = true
	}
	for name := range fields {
		if !onPage[name] {
			t.Errorf("the section about JSON of %s lacks the field %s", page, name)
		}
	}
	rows := inBackquotes(section, firstColumn)
	for name := range rows {
		if !fields[strings.TrimSuffix(name, "[]")] {
			t.Errorf("the section about JSON of %s has the field %s, which no document has", page, name)
		}
	}
}

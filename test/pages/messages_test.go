package pages

import (
	"go/ast"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// value is the place of a value in a message.
const value = "\x00"

var (
	words    = regexp.MustCompile(`[a-z]{2}`)
	verbs    = regexp.MustCompile(`%[-+#]?[\d.]*[a-zA-Z]`)
	capitals = regexp.MustCompile(`^[A-Z]+$`)
	parts    = regexp.MustCompile(`…|\b[A-Z]+\b|--[a-z-]+|\s+|.`)
)

// message returns the text of an expression. It is empty if all of it is a value.
func message(node ast.Node) string {
	switch n := node.(type) {
	case *ast.BasicLit:
		return literal(n)
	case *ast.BinaryExpr:
		left, right := message(n.X), message(n.Y)
		if n.Op != token.ADD || left+right == "" {
			return ""
		}
		return orValue(left) + orValue(right)
	case *ast.CallExpr:
		if called(n.Fun) == "Sprintf" {
			return filled(message(n.Args[0]))
		}
	}
	return ""
}

func orValue(text string) string {
	if text == "" {
		return value
	}
	return text
}

// filled replaces the verbs of a format.
func filled(format string) string {
	return verbs.ReplaceAllString(strings.ReplaceAll(format, "%q", `"%s"`), value)
}

// called returns the name of a function without its package or receiver.
func called(function ast.Expr) string {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

var (
	logs    = []string{"Warn", "Error", "warn"}
	refuses = []string{"refuse", "wrong", "Errorf", "New", "exitError", "Error", "fault", "unusable"}
	// A command prints the errors of these packages as they are.
	printing = []string{"cli", "config", "inspect", "lease", "server", "stamp", "uninstall"}
)

// collector gathers the messages of one declaration.
type collector struct {
	printing bool
	found    func(text string)
	// texts has what was assigned to each variable so far, and aliases the variables that are
	// functions of the log.
	texts   map[string][]string
	aliases []string
	// compared has the errors that the code only compares, and that no user reads.
	compared map[string]bool
}

func (c *collector) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.AssignStmt:
		if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
			c.texts[name.Name] = append(c.texts[name.Name], message(n.Rhs[0]))
			if _, isMethod := n.Rhs[0].(*ast.SelectorExpr); isMethod && slices.Contains(logs, called(n.Rhs[0])) {
				c.aliases = append(c.aliases, name.Name)
			}
		}
	case *ast.ValueSpec:
		return !c.compared[n.Names[0].Name]
	case *ast.CallExpr:
		name := called(n.Fun)
		if (slices.Contains(logs, name) || slices.Contains(c.aliases, name)) && len(n.Args) > 0 {
			c.found(message(n.Args[0]))
			for _, text := range c.texts[called(n.Args[0])] {
				c.found(text)
			}
		} else if c.printing && slices.Contains(refuses, name) {
			c.each(n.Args)
		}
	case *ast.CompositeLit:
		if c.printing && slices.Contains(refuses, called(n.Type)) {
			c.each(n.Elts)
		}
	}
	return true
}

func (c *collector) each(expressions []ast.Expr) {
	for _, expression := range expressions {
		if field, ok := expression.(*ast.KeyValueExpr); ok {
			expression = field.Value
		}
		c.found(message(expression))
	}
}

// comparedErrors returns the names of the errors that the code passes to errors.Is.
func comparedErrors(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	program(t, func(_ string, node ast.Node) {
		if call, ok := node.(*ast.CallExpr); ok && called(call.Fun) == "Is" && len(call.Args) == 2 {
			names[called(call.Args[1])] = true
		}
	})
	return names
}

// logged returns the warnings and errors of the log and the errors of commands, each with its file.
func logged(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	compared := comparedErrors(t)
	program(t, func(file string, node ast.Node) {
		parsed, ok := node.(*ast.File)
		if !ok {
			return
		}
		for _, declaration := range parsed.Decls {
			c := collector{printing: slices.Contains(printing, filepath.Base(filepath.Dir(file))), compared: compared, texts: map[string][]string{}}
			c.found = func(text string) {
				if text = filled(text); strings.Contains(text, " ") {
					all[text] = file
				}
			}
			ast.Inspect(declaration, c.visit)
		}
	})
	return all
}

// refusals returns the messages of the chart that prevent its rendering, and those of the admission
// policies.
func refusals(t *testing.T) map[string]string {
	t.Helper()
	fails := regexp.MustCompile(`fail (?:\(printf )?("(?:[^"\\]|\\.)*")`)
	denies := regexp.MustCompile(`(?m)^\s+message: (.*)$`)
	all := map[string]string{}
	for _, file := range files(t, ".tpl", ".yaml") {
		if !strings.HasPrefix(file, "charts/") || !strings.Contains(file, "/templates/") {
			continue
		}
		source := read(t, file)
		for _, found := range fails.FindAllStringSubmatch(source, -1) {
			all[filled(unquoted(t, found[1]))] = file
		}
		for _, found := range denies.FindAllStringSubmatch(source, -1) {
			all[regexp.MustCompile(`\{\{.*?\}\}`).ReplaceAllString(found[1], value)] = file
		}
	}
	return all
}

// problems returns the texts of the pages that show why a request has no answer.
func problems(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	program(t, func(file string, node ast.Node) {
		if text := literal(node); strings.Contains(text, " ") && (strings.HasPrefix(file, "internal/access/") || strings.HasPrefix(file, "internal/web/")) {
			all[text] = file
		}
	})
	return all
}

func unquoted(t *testing.T, quoted string) string {
	t.Helper()
	text := literal(&ast.BasicLit{Kind: token.STRING, Value: quoted})
	if text == "" {
		t.Fatalf("%s is not a text", quoted)
	}
	return text
}

// pattern matches the message of the code that a page shows: a word in capitals and the name of a
// flag may be values there, and … any text.
func pattern(shown string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for _, part := range parts.FindAllString(shown, -1) {
		switch quoted := regexp.QuoteMeta(part); {
		case part == "…":
			b.WriteString(`(?s:.*)`)
		case strings.TrimSpace(part) == "":
			b.WriteString(`\s+`)
		case strings.HasPrefix(part, "--") && len(part) > 2:
			b.WriteString(`(?:` + quoted + `|--` + value + `)`)
		case capitals.MatchString(part):
			b.WriteString(`(?:` + quoted + `|` + value + `)`)
		default:
			b.WriteString(quoted)
		}
	}
	return regexp.MustCompile(b.String() + `\s*$`)
}

func TestThePageAboutMessagesHasEachMessage(t *testing.T) {
	const page = "docs/reference/messages.md"
	inCode := logged(t)
	maps.Copy(inCode, refusals(t))
	onPage := inBackquotes(read(t, page), firstColumn)
	if len(inCode) == 0 || len(onPage) == 0 {
		t.Fatalf("the code has %d messages, and the page %d", len(inCode), len(onPage))
	}
	isShown, onPages := map[string]bool{}, problems(t)
	for shown := range onPage {
		matches := pattern(shown)
		used := false
		for text := range onPages {
			used = used || matches.MatchString(text)
		}
		for text := range inCode {
			if matches.MatchString(text) {
				isShown[text], used = true, true
			}
		}
		if !used {
			t.Errorf("%s has a message that the code does not have: %s", page, shown)
		}
	}
	for text, file := range inCode {
		if !isShown[text] && words.MatchString(text) {
			t.Errorf("%s lacks the message of %s: %s", page, file, strings.ReplaceAll(text, value, "VALUE"))
		}
	}
}

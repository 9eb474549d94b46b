package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// To build the tests of a package takes far longer than most of them run. So all mutations within
// functions are built together, and a variable of the environment says which one counts: each
// function has one copy as it is, one for each of its mutations, and one under its own name that
// calls one of these.

// chosen is the variable with the number of the mutation that counts. None does without it.
const chosen = "REROLL_MUTANT"

// together is a folder with all mutations that can be built together.
type together struct {
	folder string
	// overlay is the file that makes the go command use what is in the folder.
	overlay string
	// alone are the numbers of the mutations that are outside of functions.
	alone []int
}

// buildTogether writes what is built.
func buildTogether(folder string, all []mutation) (together, error) {
	to := together{folder: folder}
	byFile := map[string][]int{}
	for i, m := range all {
		if !m.isRead() {
			byFile[m.file] = append(byFile[m.file], i)
		}
	}
	replace := map[string]string{}
	for file, numbers := range byFile {
		original, err := filepath.Abs(file)
		if err != nil {
			return together{}, err
		}
		code, err := os.ReadFile(file)
		if err != nil {
			return together{}, err
		}
		mutated, in, alone, err := withAll(file, code, numbers, all)
		if err != nil {
			return together{}, err
		}
		to.alone = append(to.alone, alone...)
		if len(alone) == len(numbers) {
			continue
		}
		at := filepath.Join(folder, strconv.Itoa(len(replace))+".go")
		replace[original] = at
		choice := filepath.Join(folder, in+".choice.go")
		replace[filepath.Join(filepath.Dir(original), "mutant_choice.go")] = choice
		text := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar mutant__ = os.Getenv(%q)\n", in, chosen)
		if err := os.WriteFile(at, mutated, 0o600); err != nil {
			return together{}, err
		}
		if err := os.WriteFile(choice, []byte(text), 0o600); err != nil {
			return together{}, err
		}
	}
	slices.Sort(to.alone)
	var err error
	to.overlay, err = writeOverlay(folder, replace)
	return to, err
}

// withAll returns the code of a file with all mutations of its functions, its package, and the
// numbers of the other mutations.
func withAll(file string, code []byte, numbers []int, all []mutation) (mutated []byte, in string, alone []int, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, code, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", nil, err
	}
	s := source{code, set}
	of := map[*ast.FuncDecl][]int{}
	for _, number := range numbers {
		at := bytes.Index(code, []byte(all[number].from))
		within := slices.IndexFunc(parsed.Decls, func(d ast.Decl) bool { return s.canCopy(d, at, at+len(all[number].from)) })
		if within < 0 {
			alone = append(alone, number)
			continue
		}
		f := parsed.Decls[within].(*ast.FuncDecl)
		of[f] = append(of[f], number)
	}
	var out bytes.Buffer
	rest := 0
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || of[f] == nil {
			continue
		}
		out.Write(code[rest:s.at(f.Pos())])
		rest = s.at(f.End())
		out.WriteString(s.dispatch(f, of[f]))
		out.WriteString(s.copyAs(f, "0", "", ""))
		for _, number := range of[f] {
			out.WriteString(s.copyAs(f, strconv.Itoa(number+1), all[number].from, all[number].to))
		}
	}
	out.Write(code[rest:])
	return out.Bytes(), parsed.Name.Name, alone, nil
}

// source is the code of a file.
type source struct {
	code []byte
	set  *token.FileSet
}

func (s source) at(pos token.Pos) int { return s.set.Position(pos).Offset }

func (s source) text(n ast.Node) string { return string(s.code[s.at(n.Pos()):s.at(n.End())]) }

// canCopy reports whether a declaration is a function whose body contains a part that can be replaced.
func (s source) canCopy(d ast.Decl, from, to int) bool {
	f, ok := d.(*ast.FuncDecl)
	return ok && f.Body != nil && f.Type.TypeParams == nil && f.Name.Name != "init" &&
		from >= s.at(f.Body.Lbrace) && to <= s.at(f.Body.Rbrace)+1
}

func copyOf(name, number string) string { return name + "__" + number }

// copyAs returns a copy of a function under a name with a number, in which one text is replaced.
func (s source) copyAs(f *ast.FuncDecl, number, from, to string) string {
	head := string(s.code[s.at(f.Pos()):s.at(f.Name.Pos())])
	tail := string(s.code[s.at(f.Name.End()):s.at(f.End())])
	if from != "" {
		tail = strings.Replace(tail, from, to, 1)
	}
	return head + copyOf(f.Name.Name, number) + tail + "\n\n"
}

// dispatch returns the function that calls the copy that counts. It gives its own names to the
// receiver and to the parameters, which may have none.
func (s source) dispatch(f *ast.FuncDecl, numbers []int) string {
	var params, args []string
	for _, field := range f.Type.Params.List {
		for range max(len(field.Names), 1) {
			name := "p__" + strconv.Itoa(len(args))
			params = append(params, name+" "+s.text(field.Type))
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			args = append(args, name)
		}
	}
	var out strings.Builder
	out.WriteString("func ")
	call := ""
	if f.Recv != nil {
		fmt.Fprintf(&out, "(r__ %s) ", s.text(f.Recv.List[0].Type))
		call = "r__."
	}
	results, verb := "", ""
	if f.Type.Results != nil {
		results, verb = s.text(f.Type.Results), "return "
	}
	fmt.Fprintf(&out, "%s(%s) %s {\n\tswitch mutant__ {\n", f.Name.Name, strings.Join(params, ", "), results)
	choose := func(number string) {
		fmt.Fprintf(&out, "\t\t%s%s%s(%s)\n", verb, call, copyOf(f.Name.Name, number), strings.Join(args, ", "))
	}
	for _, number := range numbers {
		fmt.Fprintf(&out, "\tcase \"%d\":\n", number+1)
		choose(strconv.Itoa(number + 1))
	}
	out.WriteString("\tdefault:\n")
	choose("0")
	out.WriteString("\t}\n}\n\n")
	return out.String()
}

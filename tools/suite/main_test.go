package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asMeter {
		os.Exit(meter(os.Getenv(meterInto), os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// tried runs go test on a module with these files.
func tried(t *testing.T, files map[string]string, args ...string) (out string, code int) {
	t.Helper()
	t.Chdir(t.TempDir())
	files["go.mod"] = "module example.test/tried\n\ngo 1.26\n"
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	var text strings.Builder
	if !slices.Contains(args, "--") {
		args = append(args, "./...")
	}
	code, err := run(args, &text, &text)
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), code
}

const passing = `package a

import (
	"fmt"
	"testing"
)

func TestQuiet(t *testing.T) { t.Log("of no interest") }

func TestDraws(t *testing.T) {
	fmt.Print("TestDraws: 7 histories from REROLL_BASE=5: 3 reloads\n  excuses: in doubt 1\n  faults: none\n")
}

func TestBusy(t *testing.T) {
	t.Run("hand", func(t *testing.T) {
		for sum := 0; sum < 5e8; sum++ {
		}
	})
}
`

func TestASuiteThatPassesEndsWithItsCost(t *testing.T) {
	out, code := tried(t, map[string]string{"a/a_test.go": passing})
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	for _, want := range []string{`^ok  \texample.test/tried/a\t`, `(?m)^Random histories:\nTestDraws: 7 histories from REROLL_BASE=5: 3 reloads\n  excuses: in doubt 1\n\nThe slowest`, `(?m)^The slowest tests:\n +\d+\.\ds  example.test/tried/a TestBusy/hand\n`, `(?m)^ +\d+\.\ds  all together$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("nothing like %q in:\n%s", want, out)
		}
	}
	for _, never := range []string{"of no interest", "faults: none", "TestBusy\n", "=== RUN", "PASS"} {
		if strings.Contains(out, never) {
			t.Errorf("%q in:\n%s", never, out)
		}
	}
}

func TestAVerboseSuiteShowsWhatPasses(t *testing.T) {
	out, _ := tried(t, map[string]string{"a/a_test.go": passing}, "--", "-v", "./a", "--", "-count=1", "./a")
	for _, want := range []string{"of no interest", "faults: none", "--- PASS: TestQuiet", "The slowest tests:"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("not once %q in:\n%s", want, out)
		}
	}
}

func TestEachRunHasItsOwnArguments(t *testing.T) {
	body := func(pkg string) string {
		return "package " + pkg + "\n\nimport (\n\"os\"\n\"testing\"\n)\n\nfunc TestOne(t *testing.T) { if os.Getenv(\"OF_ONE\") == \"\" { t.Error(\"it has no variable\") } }\n\nfunc TestOther(t *testing.T) { t.Error(\"it has\" + os.Getenv(\"OF_ONE\")) }\n"
	}
	files := map[string]string{"a/a_test.go": body("a"), "b/b_test.go": body("b")}
	out, code := tried(t, files, "-count=1", "--", "OF_ONE=1", "-run=One", "./a", "--", "-run=Other", "./b")
	if code == 0 {
		t.Error("exit code 0")
	}
	for _, want := range []string{"ok  \texample.test/tried/a", "s  example.test/tried/a TestOne\n", "FAIL\texample.test/tried/b", "--- FAIL: TestOther", "it has\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if strings.Count(out, "--- FAIL") != 1 || strings.Count(out, "all together") != 1 {
		t.Errorf("not one failure and one summary:\n%s", out)
	}
}

// The run that passes the same test ends it before the package of the other has ended.
func TestOneOfTwoRunsOfAPackageShowsWhatFailed(t *testing.T) {
	const body = `package a

import (
	"os"
	"testing"
)

func TestOne(t *testing.T) {
	if os.Getenv("FAILS") == "1" {
		t.Fatal("this is wrong")
	}
}

func TestTwo(t *testing.T) {
	if os.Getenv("FAILS") == "0" {
		if err := os.WriteFile(os.Getenv("PASSED"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for {
		if _, err := os.Stat(os.Getenv("PASSED")); err == nil {
			return
		}
	}
}
`
	t.Setenv("PASSED", filepath.Join(t.TempDir(), "passed"))
	out, code := tried(t, map[string]string{"a/a_test.go": body}, "-count=1", "./a", "--", "FAILS=1", "--", "FAILS=0")
	if code == 0 {
		t.Error("exit code 0")
	}
	for _, want := range []string{"--- FAIL: TestOne", "this is wrong", "FAIL\texample.test/tried/a", "ok  \texample.test/tried/a"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

func TestASuiteThatFailsShowsWhatFailed(t *testing.T) {
	fails := func(body string) string {
		return "package b\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) { t.Log(\"of no interest\") }\n\nfunc TestBad(t *testing.T) {\n" + body + "\n}\n"
	}
	for name, c := range map[string]struct {
		code  string
		args  []string
		wants []string
	}{
		"a test":                   {fails(`t.Error("this is wrong")`), nil, []string{"--- FAIL: TestBad", "this is wrong", "FAIL\texample.test/tried/b"}},
		"a subtest":                {fails(`t.Run("part", func(t *testing.T) { t.Error("this is wrong") })`), nil, []string{"--- FAIL: TestBad/part", "this is wrong"}},
		"a panic":                  {fails(`panic("out of order")`), nil, []string{"panic: out of order", "FAIL\texample.test/tried/b"}},
		"a compilation":            {fails(`noSuchThing()`), nil, []string{"undefined: noSuchThing", "[build failed]"}},
		"a test that hangs":        {fails(`select {}`), []string{"-timeout=10s"}, []string{"panic: test timed out after 10s", "TestBad"}},
		"a process that is killed": {fails("syscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}"), nil, []string{"the tests were ended: signal: killed", "FAIL\texample.test/tried/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.code, "syscall") {
				c.code = strings.Replace(c.code, "import \"testing\"", "import (\n\"os\"\n\"syscall\"\n\"testing\"\n)", 1)
			}
			out, code := tried(t, map[string]string{"a/a_test.go": passing, "b/b_test.go": c.code}, c.args...)
			if code == 0 {
				t.Errorf("exit code 0")
			}
			for _, want := range append(c.wants, "ok  \texample.test/tried/a") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in:\n%s", want, out)
				}
			}
			if strings.Contains(out, "of no interest") && name != "a panic" && name != "a test that hangs" {
				t.Errorf("what passed is shown:\n%s", out)
			}
		})
	}
}

// The path of a checkout may have blanks.
func TestThePackageThatRanTwiceIsAddedUp(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "used"), []byte("1500 /my code/a\n600 /my code/a\n7 /my code/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readMeasured(folder)
	if err != nil {
		t.Fatal(err)
	}
	sums := byFolder(all)
	slices.SortFunc(sums, func(a, b used) int { return strings.Compare(a.folder, b.folder) })
	if want := []used{{"/my code/a", 2100}, {"/my code/b", 7}}; !slices.Equal(sums, want) {
		t.Errorf("got %v, want %v", sums, want)
	}
}

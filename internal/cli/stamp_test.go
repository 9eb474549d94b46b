package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const unstamped = `apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: "1"}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {a: hunter2}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {example.org/auto: "true"}
spec:
  template:
    spec:
      containers: [{name: app, envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}]}]
`

const (
	addedStamp = "    metadata:\n      annotations:\n        checksum/config: "
	behind     = "  template:\n"
)

// stampedWith returns the manifest with a stamp of this value.
func stampedWith(value string) string {
	return strings.Replace(unstamped, behind, behind+addedStamp+value+"\n", 1)
}

func runStamp(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Main("reroll", append([]string{"stamp"}, args...), "1.2.3", func(string) string { return "" }, &out, &err)
	return code, out.String(), err.String()
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The golden files of the engine test the values. This test shows that each flag reaches the
// engine.
func TestTheFlagsOfStamp(t *testing.T) {
	file := write(t, "web.yaml", unstamped)
	key := write(t, "key", strings.Repeat("k", 32))
	const (
		configMapAlone = "reroll1:c2c1f58bbc9c02e306249810d08aad40"
		leftOut        = "web.yaml:11: Deployment web: Secret web is left out: Secrets count with --key-file, or with --secrets=plain\n"
	)
	seen := map[string]string{}
	for about, tc := range map[string]struct {
		args  []string
		value string // empty for any value that differs from those of the other cases
		notes bool
	}{
		"all":               {[]string{"--all"}, configMapAlone, true},
		"opted in":          {[]string{"--auto-annotation=example.org/auto"}, configMapAlone, true},
		"plain":             {[]string{"--all", "--secrets=plain"}, "", false},
		"a key":             {[]string{"--all", "--key-file=" + key}, "", false},
		"key and namespace": {[]string{"--all", "--key-file=" + key, "-n", "shop"}, "", false},
	} {
		t.Run(about, func(t *testing.T) {
			code, stdout, stderr := runStamp(append(tc.args, file)...)
			_, rest, _ := strings.Cut(stdout, addedStamp)
			value, _, _ := strings.Cut(rest, "\n")
			if stdout != stampedWith(value) || tc.value != "" && value != tc.value || code != 0 {
				t.Errorf("exit code %d, %s", code, stdout)
			}
			if strings.HasSuffix(stderr, leftOut) != tc.notes || stderr != "" != tc.notes {
				t.Errorf("standard error is %q", stderr)
			}
			if other, twice := seen[value]; twice && tc.value == "" {
				t.Errorf("the same as with %s", other)
			}
			seen[value] = about
		})
	}
	if code, stdout, stderr := runStamp(file); code != 0 || stdout != unstamped || !strings.Contains(stderr, "no workload is opted in") {
		t.Errorf("exit code %d, and what nobody has opted in is stamped:\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ := runStamp("--all", "--annotation=example.org/config", file); !strings.Contains(stdout, "        example.org/config: "+configMapAlone+"\n") {
		t.Errorf("another annotation:\n%s", stdout)
	}
	if code, stdout, stderr := runStamp("--all", "--missing=error", write(t, "part.yaml", unstamped[strings.LastIndex(unstamped, "---"):])); code != 2 ||
		stdout != "" || !strings.Contains(stderr, "part.yaml:2: Deployment web: ConfigMap web, which it needs, is not in these manifests") {
		t.Errorf("missing: exit code %d, %q, %q", code, stdout, stderr)
	}
	for flags, kind := range map[string]string{"": "batch/v1, kind: Job", "--jobs": "batch/v1, kind: Job", "--workload-kind=example.org/v1/Ship": "example.org/v2, kind: Ship"} {
		_, stdout, _ := runStamp(append(strings.Fields("--all "+flags), write(t, "one.yaml", "{apiVersion: "+kind+", metadata: {name: a}, spec: {template: {spec: {}}}}\n"))...)
		if strings.Contains(stdout, "no-config-data") != (flags != "") {
			t.Errorf("%s: %s", flags, stdout)
		}
	}
}

func TestStampChecks(t *testing.T) {
	stale, fine := write(t, "stale.yaml", stampedWith("reroll1:00000000000000000000000000000000")), write(t, "fine.yaml", "# nothing\n")
	code, stdout, stderr := runStamp("--check", "--all", stale, fine)
	if want := "--- " + stale + "\n+++ " + stale + `
@@ -20,1 +20,1 @@ Deployment web
-        checksum/config: reroll1:00000000000000000000000000000000
+        checksum/config: reroll1:c2c1f58bbc9c02e306249810d08aad40
`; code != 1 || stdout != want || !strings.HasSuffix(stderr, "reroll: not stamped, or stamped with other data: "+stale+"\n") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	good := write(t, "good.yaml", stampedWith("reroll1:c2c1f58bbc9c02e306249810d08aad40"))
	if code, stdout, _ := runStamp("--check", "--all", good); code != 0 || stdout != "" {
		t.Errorf("exit code %d, %s", code, stdout)
	}
}

// If only a part of the diff can be written, the command must fail. Otherwise a reader would take
// the part for the whole diff.
func TestACheckThatCannotBeWrittenFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	var stderr bytes.Buffer
	code := Main("reroll", []string{"stamp", "--check", "--all", write(t, "web.yaml", unstamped)}, "1.2.3", func(string) string { return "" }, full, &stderr)
	if code != 2 || !strings.Contains(stderr.String(), "no space left on device") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}

func TestStampInPlace(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link.yaml")
	file, other := write(t, "web.yaml", unstamped), write(t, "other.yaml", "# nothing\n")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(other)
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := runStamp("--in-place", "--all", link, other); code != 0 || stdout != "" {
		t.Fatalf("exit code %d, %s", code, stdout)
	}
	if got := read(t, file); got != stampedWith("reroll1:c2c1f58bbc9c02e306249810d08aad40") {
		t.Errorf("the file is\n%s", got)
	}
	if now, err := os.Lstat(link); err != nil || now.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none anymore: %v, %v", now, err)
	}
	if now, err := os.Stat(file); err != nil || now.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", now.Mode(), err)
	}
	if now, err := os.Stat(other); err != nil || !os.SameFile(before, now) {
		t.Errorf("a file without a stamp was written again: %v", err)
	}
}

func TestStampWritesNothingIfSomethingIsWrong(t *testing.T) {
	file := write(t, "web.yaml", unstamped)
	for about, other := range map[string]string{
		"broken":       write(t, "broken.yaml", "a: [\n"),
		"a key twice":  write(t, "twice.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\ndata: {}\n"),
		"no object":    write(t, "kindless.yaml", "a: b\n"),
		"not there":    "/nowhere/web.yaml",
		"a folder":     t.TempDir(),
		"another data": write(t, "again.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: '2'}}"),
	} {
		for _, how := range []string{"--in-place", "--all"} {
			code, stdout, stderr := runStamp("--all", how, file, other)
			if code != 2 || stdout != "" || !strings.Contains(stderr, other) || read(t, file) != unstamped {
				t.Errorf("%s: exit code %d, %q, %q", about, code, stdout, stderr)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWhatStampRefuses(t *testing.T) {
	short := write(t, "key", "short")
	for line, want := range map[string]string{
		"--missing=maybe":                         "--missing=maybe: must be ignore, warn or error",
		"--secrets=all":                           "--secrets=all: must be keyed or plain",
		"--secrets=plain --key-file=" + short:     "--key-file and --secrets=plain exclude each other: set one of them",
		"--in-place --check a.yaml":               "--in-place and --check exclude each other: set one of them",
		"--in-place":                              "--in-place needs files",
		"--in-place -":                            "--in-place needs files",
		"--annotation=a/b/c":                      "--annotation=a/b/c is not an annotation key",
		"--namespace=Shop":                        "--namespace=Shop is not a valid name of a namespace",
		"--workload-kind=Ship":                    "--workload-kind=Ship: write GROUP/VERSION/KIND",
		"--workload-kind=example.org/v1/Ship:a..": `"a.." is not a path to a pod template`,
		"a.yaml b.yaml a.yaml":                    "a.yaml is given twice",
		"--auto-annotation=":                      "--auto-annotation is empty",
		"--key-file=" + short + " a.yaml":         "digest key has 5 bytes, must have at least 32",
		"--key-file=/nowhere a.yaml":              "--key-file=/nowhere: no such file or directory",
	} {
		if code, stdout, stderr := runStamp(strings.Fields(line)...); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %q, %q", line, code, stdout, stderr)
		}
	}
}

// A pipeline must notice that it checks the wrong directory, or manifests without an opted-in
// workload.
func TestAWorkloadCanBeRequired(t *testing.T) {
	path := write(t, "all.yaml", unstamped)
	for about, tc := range map[string]struct {
		args []string
		code int
	}{
		"none is opted in":               {[]string{"--check", path}, 0},
		"none is opted in, one required": {[]string{"--check", "--require", path}, 2},
		"one is opted in":                {[]string{"--check", "--require", "--auto-annotation=example.org/auto", path}, 1},
	} {
		code, stdout, stderr := runStamp(tc.args...)
		if code != tc.code || tc.code == 2 && (stdout != "" || !strings.Contains(stderr, "no workload in these manifests is opted in, and --require is set")) {
			t.Errorf("%s: exit code %d, %q, %q", about, code, stdout, stderr)
		}
	}
}

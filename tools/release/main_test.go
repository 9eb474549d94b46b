package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func making(t *testing.T) *release {
	t.Helper()
	dir := t.TempDir()
	return &release{
		options: options{version: "1.2.3", repository: "registry.example.com/reroll", out: dir}, part: dir,
		date: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC), work: t.TempDir(), log: io.Discard,
	}
}

func (r *release) read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestACommandLineIsRefusedWithWhatWouldBeRight(t *testing.T) {
	for about, tc := range map[string]struct {
		args []string
		want string
	}{
		"no version":         {[]string{"-repository", "x/y"}, `-version "": want three numbers`},
		"a v in front":       {[]string{"-version", "v1.2.3", "-repository", "x/y"}, "no v in front"},
		"two numbers":        {[]string{"-version", "1.2", "-repository", "x/y"}, "want three numbers"},
		"no repository":      {[]string{"-version", "1.2.3-rc.1"}, "-repository is missing"},
		"something besides":  {[]string{"-version", "1.2.3", "all"}, `unexpected argument "all"`},
		"a flag of no such":  {[]string{"-publish"}, "-publish"},
		"another platform":   {[]string{"-version", "1.2.3", "-repository", "x/y", "-platforms", "linux/amd64,plan9/386"}, `-platforms "plan9/386": want some of`},
		"a version of build": {[]string{"-version", "1.2.3+4", "-repository", "x/y"}, "want three numbers"},
	} {
		if _, err := parse(tc.args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", about, err, tc.want)
		}
	}
	if _, err := parse([]string{"-version", "1.2.3-rc.1", "-repository", "x/y"}, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestAFolderOfSomethingElseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	if err := ours(dir); err != nil {
		t.Errorf("an empty one: %v", err)
	}
	if err := ours(filepath.Join(dir, "none")); err != nil {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ours(dir); err == nil || !strings.Contains(err.Error(), "something else than a release") {
		t.Errorf("one with a file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ours(dir); err != nil {
		t.Errorf("an earlier release: %v", err)
	}
}

func TestWhatIsPackedHasNoTraceOfWhoPackedIt(t *testing.T) {
	r := making(t)
	files := []packed{{"reroll", 0o755, []byte("program")}, {"LICENSE", 0o644, []byte("text")}}
	for _, write := range []func(string, []packed) error{r.tarball, r.zip} {
		if err := write("first", files); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
		if err := write("second", files); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.read(t, "first"), r.read(t, "second")) {
			t.Error("the order of the files shows")
		}
	}
	zr, err := zip.NewReader(bytes.NewReader(r.read(t, "first")), int64(len(r.read(t, "first"))))
	if err != nil {
		t.Fatal(err)
	}
	if f := zr.File[1]; f.Name != "reroll" || f.Mode() != 0o755 || !f.Modified.Equal(r.date) {
		t.Errorf("%+v", f.FileHeader)
	}
	if err := r.tarball("first", files); err != nil {
		t.Fatal(err)
	}
	for _, h := range headers(t, r.read(t, "first")) {
		if h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(r.date) {
			t.Errorf("%+v", h)
		}
	}
}

func headers(t *testing.T, archive []byte) []*tar.Header {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var all []*tar.Header
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
}

func TestTheChartAndTheManifestsNameTheRelease(t *testing.T) {
	t.Chdir("../..")
	r := making(t)
	if err := errors.Join(r.charts(t.Context()), r.manifests(t.Context())); err != nil {
		t.Fatal(err)
	}
	files, err := r.chartFiles(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for _, want := range map[string][]string{
			"Chart.yaml":  {"\nversion: 1.2.3\n", "\nappVersion: \"1.2.3\"\n"},
			"values.yaml": {"\n  repository: registry.example.com/reroll\n"},
		}[f.name] {
			if !strings.Contains(string(f.data), want) {
				t.Errorf("%s lacks %q", f.name, want)
			}
		}
	}
	text := string(r.read(t, "reroll.yaml"))
	if !strings.Contains(text, `image: "registry.example.com/reroll:1.2.3"`) || strings.Contains(text, "0.1.0-dev") {
		t.Errorf("reroll.yaml:\n%s", text)
	}
	if hs := headers(t, r.read(t, "reroll-1.2.3.tgz")); len(hs) < 8 || !slices.ContainsFunc(hs, func(h *tar.Header) bool { return h.Name == "reroll/Chart.yaml" }) {
		t.Errorf("the package of the chart: %d files", len(hs))
	}
}

func TestTheLibraryChartIsInTheRelease(t *testing.T) {
	t.Chdir("../..")
	r := making(t)
	if err := r.charts(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := output(t.Context(), nil, "tar", "-xzf", r.path("reroll-checksum-1.2.3.tgz"), "-C", dir); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(libraryDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, "reroll-checksum", strings.TrimPrefix(path, libraryDir)))
		if diff := cmp.Diff(strings.Replace(string(want), "\nversion: 0.1.0\n", "\nversion: 1.2.3\n", 1), string(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestALineThatIsNotThereOnceIsNotSet(t *testing.T) {
	for _, text := range []string{"name: x\n", "version: 1\nversion: 2\n"} {
		if _, err := setLine([]byte(text), chartVersion, "version: 3"); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// Any program with a module in it will do, and this one is quick to build.
func TestTheBillNamesWhatTheBinarySaysItConsistsOf(t *testing.T) {
	program := filepath.Join(t.TempDir(), "image")
	if _, err := output(t.Context(), nil, "go", "build", "-o", program, "../image"); err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	r := making(t)
	if err := r.listModules("x", program); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(r.read(t, "x.spdx.json"), &b); err != nil {
		t.Fatal(err)
	}
	want := []string{"reroll 1.2.3", "std " + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want = append(want, m.Path+" "+m.Version)
	}
	var got, ids []string
	for _, c := range b.Packages {
		got, ids = append(got, c.Name+" "+c.Version), append(ids, c.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(info.Deps) == 0 {
		t.Errorf("-binary +bill:\n%s", diff)
	}
	for _, rel := range b.Relationships[1:] {
		if rel.Element != "SPDXRef-reroll" || !slices.Contains(ids, rel.Related) {
			t.Errorf("%+v", rel)
		}
	}
	if b.Created.Created != "2026-01-02T03:04:06Z" || len(b.Relationships) != len(b.Packages) {
		t.Errorf("created %s, %d relations of %d packages", b.Created.Created, len(b.Relationships), len(b.Packages))
	}
}

func TestAnIdentifierHoldsWhatItMay(t *testing.T) {
	var b bill
	b.add(&debug.Module{Path: "example.com/a_b/v2", Version: "v2.0.0", Sum: "h1:AAAA"}, "DEPENDS_ON")
	c := b.Packages[0]
	if c.ID != "SPDXRef-example.com-a-b-v2" || c.Checksums[0].Value != "000000" || c.Refs[0].Locator != "pkg:golang/example.com/a_b/v2@v2.0.0" {
		t.Errorf("%+v", c)
	}
}

func TestChecksumsListEveryFile(t *testing.T) {
	r := making(t)
	for _, name := range []string{"b", "a"} {
		if err := r.write(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.checksums(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if got := string(r.read(t, marker)); got != want {
		t.Errorf("%s", got)
	}
}

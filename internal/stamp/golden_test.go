package stamp

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rules"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

// optionsOf reads the first lines of a case, one option each: "all", "jobs", "namespace shop" and
// so on. A line that begins with # is a comment.
func optionsOf(t *testing.T, comment []byte) Options {
	t.Helper()
	o := Options{Annotation: "checksum/config", Settings: rules.Settings{Names: annotations.DefaultNames()}, Missing: MissingWarn}
	var added []kinds.Added
	for line := range strings.Lines(string(comment)) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "#":
		case "all":
			o.AutoReloadAll = true
		case "jobs":
			o.Jobs = true
		case "plain":
			o.PlainSecrets = true
		case "key":
			key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
			if err != nil {
				t.Fatal(err)
			}
			o.Key = key
		case "annotation":
			o.Annotation = value
		case "namespace":
			o.Namespace = value
		case "missing":
			o.Missing = Missing(value)
		case "kind":
			kind, err := kinds.ParseAdded(value)
			if err != nil {
				t.Fatal(err)
			}
			added = append(added, kind)
		default:
			t.Fatalf("no such option: %q", line)
		}
	}
	o.Kinds = kinds.All(added...)
	return o
}

// stamped returns all results to compare.
func stamped(o Options, files []txtar.File) map[string]string {
	return stampedFrom(New(o), files)
}

func stampedFrom(s *Stream, files []txtar.File) map[string]string {
	for _, f := range files {
		if err := s.Read(f.Name, bytes.NewReader(f.Data)); err != nil {
			return map[string]string{"error": err.Error() + "\n"}
		}
	}
	result, err := s.Stamp()
	if err != nil {
		return map[string]string{"error": err.Error() + "\n"}
	}
	got := map[string]string{}
	var out bytes.Buffer
	_, _ = result.WriteTo(&out)
	got["out"] = out.String()
	for _, note := range result.Notes {
		got["notes"] += note + "\n"
	}
	for _, f := range result.Files {
		got["diff"] += f.Diff()
	}
	return got
}

func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var in []txtar.File
			want := map[string]string{}
			for _, f := range archive.Files {
				if name, ok := strings.CutPrefix(f.Name, "want/"); ok {
					want[name] = string(f.Data)
				} else {
					in = append(in, f)
				}
			}
			o := optionsOf(t, archive.Comment)
			got := stamped(o, in)
			if *update {
				archive.Files = in
				for _, name := range []string{"error", "notes", "diff", "out"} {
					if text := got[name]; text != "" {
						archive.Files = append(archive.Files, txtar.File{Name: "want/" + name, Data: []byte(text)})
					}
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, name := range []string{"error", "notes", "diff", "out"} {
				if diff := cmp.Diff(want[name], got[name]); diff != "" {
					t.Errorf("%s: -want +got\n%s", name, diff)
				}
			}
			part := New(o)
			part.long = 0
			if diff := cmp.Diff(got, stampedFrom(part, in)); diff != "" {
				t.Errorf("with the items of lists by themselves: -whole +items\n%s", diff)
			}
			if want["error"] == "" {
				everyWay(t, o, in, want["out"])
			}
		})
	}
}

// everyWay tries variants that must not change the result.
func everyWay(t *testing.T, o Options, in []txtar.File, want string) {
	t.Helper()
	changed := func(change func(string) string) []txtar.File {
		var all []txtar.File
		for _, f := range in {
			all = append(all, txtar.File{Name: f.Name, Data: []byte(change(string(f.Data)))})
		}
		return all
	}
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	if diff := cmp.Diff(crlf(want), stamped(o, changed(crlf))["out"]); diff != "" && len(in) == 1 {
		t.Errorf("with CRLF: -want +got\n%s", diff)
	}
	mark := func(s string) string { return byteOrderMark + s }
	if diff := cmp.Diff(mark(want), stamped(o, changed(mark))["out"]); diff != "" && len(in) == 1 {
		t.Errorf("with a byte order mark: -want +got\n%s", diff)
	}
	cutOff := func(s string) string { return strings.TrimRight(s, "\n") }
	if diff := cmp.Diff(cutOff(want), strings.TrimRight(stamped(o, changed(cutOff))["out"], "\n")); diff != "" {
		t.Errorf("without a line break at the end: -want +got\n%s", diff)
	}
	again := stamped(o, []txtar.File{{Name: "again", Data: []byte(want)}})
	if diff := cmp.Diff(want, again["out"]); diff != "" || again["diff"] != "" {
		t.Errorf("a second time: -want +got\n%s%s", diff, again["diff"])
	}
}

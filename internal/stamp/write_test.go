package stamp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// asApplied returns the names and the data of a stream as kubectl reads them: it searches for the
// separators itself, and uses the first document between two of them.
func asApplied(t *testing.T, stream string) (all []string) {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		var object struct {
			Metadata struct{ Name string }
			Data     map[string]string
		}
		if err := errors.Join(err, yaml.Unmarshal(text, &object)); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		if object.Metadata.Name != "" {
			all = append(all, object.Metadata.Name+" "+object.Data["a"])
		}
	}
}

// Whatever begins and ends files, their stream has all their objects.
func TestAStreamOfFilesHasWhatTheyHave(t *testing.T) {
	const (
		page  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n"
		page1 = page + "data: {a: \"1\"}\n"
		web   = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app, envFrom: [{configMapRef: {name: page}}]}]}}}\n"
	)
	block := func(how string) string { return page + "data:\n  a: " + how + "\n    b" }
	for about, tc := range map[string]struct {
		files, want []string
	}{
		"a byte order mark in the second":     {files: []string{page1, byteOrderMark + web}, want: []string{"page 1", "web "}},
		"one in each":                         {files: []string{byteOrderMark + page1, byteOrderMark + web}, want: []string{"page 1", "web "}},
		"one, and nothing else, in the first": {files: []string{byteOrderMark, byteOrderMark + web}, want: []string{"web "}},
		"one before a separator":              {files: []string{page1, byteOrderMark + "---\n" + web}, want: []string{"page 1", "web "}},
		"one before a directive":              {files: []string{page1, byteOrderMark + "%YAML 1.1\n---\n" + web}, want: []string{"page 1", "web "}},
		"a directive":                         {files: []string{page1, "%YAML 1.1\n---\n" + web}, want: []string{"page 1", "web "}},
		"an end":                              {files: []string{page1 + "...\n", web}, want: []string{"page 1", "web "}},
		"no line break behind braces":         {files: []string{strings.TrimSpace(page1), web}, want: []string{"page 1", "web "}},
		"no line break behind a block":        {files: []string{block("|"), web}, want: []string{"page b\n", "web "}},
		"nor behind a folded one":             {files: []string{block(">"), web}, want: []string{"page b\n", "web "}},
		"nor behind one that keeps them":      {files: []string{block("|+"), web}, want: []string{"page b\n", "web "}},
		"nor, with nothing between":           {files: []string{block("|"), "", web}, want: []string{"page b\n", "web "}},
		"a block that ends without one":       {files: []string{block("|-"), web}, want: []string{"page b", "web "}},
		"the last one":                        {files: []string{web, block("|")}, want: []string{"web ", "page b\n"}},
		"the last one with anything in it":    {files: []string{web, block("|"), ""}, want: []string{"web ", "page b\n"}},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(optionsOf(t, []byte("all")))
			for i, text := range tc.files {
				if err := s.Read(string(rune('0'+i))+".yaml", strings.NewReader(text)); err != nil {
					t.Fatal(err)
				}
			}
			result, err := s.Stamp()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if _, err := result.WriteTo(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, asApplied(t, out.String())); diff != "" {
				t.Errorf("-want +got\n%s%q", diff, out.String())
			}
			for i, f := range result.Files { // each file has its own mark and end
				var alone bytes.Buffer
				if _, err := f.WriteTo(&alone); err != nil || !f.Changed() && alone.String() != tc.files[i] {
					t.Errorf("%v, %q", err, alone.String())
				}
			}
			again := stamped(optionsOf(t, []byte("all")), []txtar.File{{Name: "all.yaml", Data: out.Bytes()}})
			if again["out"] != out.String() || again["error"] != "" {
				t.Errorf("another stamp the second time: %s%s", again["error"], again["diff"])
			}
		})
	}
}

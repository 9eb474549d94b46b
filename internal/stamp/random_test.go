package stamp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// objects reads a stream like kubectl, with another parser.
func objects(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	// The splitter of kubectl does not support a byte order mark, directives, or line breaks of two
	// characters.
	text = strings.ReplaceAll(strings.TrimPrefix(text, byteOrderMark), "\r\n", "\n")
	text = strings.TrimPrefix(text, "%YAML 1.1\n")
	documents := k8syaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var one map[string]any
		if err := yaml.UnmarshalStrict(raw, &one); err != nil {
			t.Fatalf("%v in\n%s", err, raw)
		}
		if one != nil {
			all = append(all, one)
		}
	}
}

// take removes and returns the stamp, and removes mappings that are empty then.
func take(obj map[string]any, keys ...string) (value string) {
	spec, _ := obj["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	meta, _ := template["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	for _, key := range keys {
		if text, ok := annotations[key].(string); ok && digest.IsStamp(text) {
			value += text
			delete(annotations, key)
		}
	}
	if len(annotations) == 0 {
		delete(meta, "annotations")
	}
	if len(meta) == 0 {
		delete(template, "metadata")
	}
	return value
}

// betweenEnds returns the part in which two texts differ, without their common beginning and end.
func betweenEnds(a, b string) (string, string) {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func stampText(t *testing.T, o Options, text string) string {
	t.Helper()
	got := stamped(o, []txtar.File{{Name: "in", Data: []byte(text)}})
	if got["error"] != "" {
		t.Fatalf("%s\n%s", got["error"], text)
	}
	return got["out"]
}

func stampOf(data string) string {
	cm := source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"a": data}}, annotations.DefaultNames())
	return digest.Stamp([]digest.StampedSource{{Kind: "ConfigMap", Name: "web", Digest: cm.Digest}})
}

const variants = 300

// In any style of manifests, the stamp is written, and no other byte differs.
func TestHoweverItIsWritten(t *testing.T) {
	o := optionsOf(t, []byte("all"))
	for seed := range uint64(variants) {
		write := func(data, label string) string {
			h := hand{Rand: rand.New(rand.NewPCG(seed, 1))}
			return h.stream(data, label)
		}
		in := write("x", "l")
		out := stampText(t, o, in)
		was, is := objects(t, in), objects(t, out)
		for i := range was {
			take(was[i], "checksum/config", "checksum/reroll")
		}
		value := ""
		for i := range is {
			value += take(is[i], "checksum/config", "checksum/reroll")
		}
		if diff := cmp.Diff(was, is); diff != "" || value != stampOf("x") {
			t.Fatalf("seed %d: %s is %q\n%s\n%s", seed, diff, value, in, out)
		}
		removed, _ := betweenEnds(in, out)
		switch strings.ToLower(removed) {
		case "", "null", "~", "no-config-data", "no-config-dat", "01230000000000000000000000000000":
		default:
			t.Fatalf("seed %d: %q was taken away\n%s\n%s", seed, removed, in, out)
		}
		if again := stampText(t, o, out); again != out {
			t.Fatalf("seed %d: a second time\n%s", seed, cmp.Diff(out, again))
		}
		// Only data counts.
		if other := stampText(t, o, write("x", "other")); !strings.Contains(other, value) {
			t.Fatalf("seed %d: another label changes the stamp", seed)
		}
		if other := stampText(t, o, write("y", "l")); strings.Contains(other, value) || !strings.Contains(other, stampOf("y")) {
			t.Fatalf("seed %d: other data does not change the stamp", seed)
		}
	}
}

// FuzzText stamps arbitrary text. The text is rejected, or only stamps differ.
func FuzzText(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	for seed := range uint64(50) {
		h := hand{Rand: rand.New(rand.NewPCG(seed, 2))}
		f.Add([]byte(h.stream("x", "l")))
	}
	o := optionsOf(&testing.T{}, []byte("all\njobs\nplain"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := stamped(o, []txtar.File{{Name: "in", Data: text}})
		part := New(o)
		part.long = 0
		if diff := cmp.Diff(got, stampedFrom(part, []txtar.File{{Name: "in", Data: text}})); diff != "" {
			t.Errorf("with the items of lists by themselves: -whole +items\n%s", diff)
		}
		if got["error"] != "" {
			return
		}
		if rest := withoutLines(got["out"]); rest != withoutLines(string(text)) && !bytes.Contains(text, []byte("{")) && !strings.Contains(strings.ToLower(string(text)), "null") && !bytes.Contains(text, []byte("~")) {
			t.Errorf("more than lines with stamps differs:\n%s", cmp.Diff(string(text), got["out"]))
		}
		if again := stamped(o, []txtar.File{{Name: "in", Data: []byte(got["out"])}}); again["out"] != got["out"] {
			t.Errorf("a second time: %s\n%s", again["error"], cmp.Diff(got["out"], again["out"]))
		}
	})
}

// withoutLines removes the lines that may belong to stamps.
func withoutLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case "metadata:", "annotations:":
			continue
		}
		if strings.Contains(line, "checksum/") {
			continue
		}
		fmt.Fprintln(&b, strings.TrimSpace(line))
	}
	return b.String()
}

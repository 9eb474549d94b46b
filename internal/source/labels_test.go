package source_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

func selector(t *testing.T, text string) *annotations.Selector {
	t.Helper()
	s, err := annotations.ReadSelector(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLabelsMatchAsKubernetesMatchesThem(t *testing.T) {
	sets := []labels.Set{
		nil, {"a": ""}, {"a": "b"}, {"a": "bc"}, {"aa": "b"}, {"a": "b", "c": "d"}, {"c": "a"}, {"x.org/a": "b"}, {"a": "7"},
	}
	for _, text := range []string{"a", "!a", "a=b", "a!=b", "a=", "aa=b", "a in (b,bc)", "a notin (b)", "x.org/a=b", "c=a,!a", "a>5", "a<8"} {
		s := selector(t, text)
		for _, set := range sets {
			parsed, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := source.LabelsOf(set).MatchedBy(s), parsed.Matches(set); got != want {
				t.Errorf("%s matches %v: %t", text, set, got)
			}
		}
		if (source.Labels{}).MatchedBy(s) {
			t.Errorf("%s matches labels that are unknown", text)
		}
		if !source.AnyLabels().MatchedBy(s) {
			t.Errorf("%s does not match what it has matched before", text)
		}
	}
	if source.AnyLabels().MatchedBy(nil) || source.LabelsOf(nil).MatchedBy(nil) {
		t.Error("no selector matches labels")
	}
}

func TestEqualLabelsAreEqual(t *testing.T) {
	if source.LabelsOf(map[string]string{"a": "b", "c": "d"}) != source.LabelsOf(map[string]string{"c": "d", "a": "b"}) {
		t.Error("the order of the map counts")
	}
	if source.LabelsOf(map[string]string{"a": "b"}) == source.LabelsOf(map[string]string{"a": "c"}) || source.LabelsOf(nil) == (source.Labels{}) {
		t.Error("different labels are equal")
	}
}

func TestMoreLabelsThanPeopleWriteMatchNoSelector(t *testing.T) {
	many := map[string]string{}
	for i := range 50 {
		many[fmt.Sprintf("%s-%02d", strings.Repeat("k", 60), i)] = strings.Repeat("v", 63)
	}
	if source.LabelsOf(many).MatchedBy(selector(t, "!a")) {
		t.Error("they match")
	}
	for want, set := range map[string]map[string]string{"its labels exceed 4 KiB": many, "[]": {"app": "shop"}} {
		src := source.FromSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token", Labels: set}}, digest.Key{}, annotations.DefaultNames())
		if got := fmt.Sprint(src.Mistakes); !strings.Contains(got, want) {
			t.Errorf("of %d labels, users are told %s", len(set), got)
		}
	}
}

// The labels of 50,000 sources must not take the memory of the digests: 8 bytes for each source, and
// the text once for all sources with equal labels.
func TestSourcesWithEqualLabelsShareThem(t *testing.T) {
	kept := func(labelsOf func(i int) map[string]string) int64 {
		all := make([]source.Labels, 50000)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			all[i] = source.LabelsOf(labelsOf(i))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(all)
		return (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / int64(len(all))
	}
	release := func(i int) map[string]string {
		return map[string]string{"app.kubernetes.io/name": "shop", "app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": fmt.Sprintf("release-%d", i)}
	}
	equal := kept(func(int) map[string]string { return release(1) })
	different := kept(release)
	t.Logf("%d bytes for each source with equal labels, %d for each with labels of its own", equal, different)
	if equal > 2 || different > 500 {
		t.Errorf("%d and %d bytes, must be at most 2 and 500", equal, different)
	}
}

// BenchmarkWorstSelector is what one source takes with the most labels that are kept, and a selector
// with the most requirements, all of which have to be compared.
func BenchmarkWorstSelector(b *testing.B) {
	set, text := map[string]string{}, ""
	for i := range 50 {
		set[fmt.Sprintf("%s-%02d", strings.Repeat("k", 30), i)] = strings.Repeat("v", 30)
		text += fmt.Sprintf(",!%s-%02d", strings.Repeat("z", 30), i)
	}
	s, err := annotations.ReadSelector(text[1:])
	if err != nil {
		b.Fatal(err)
	}
	l := source.LabelsOf(set)
	if !l.MatchedBy(s) {
		b.Fatal("it does not match")
	}
	b.ReportAllocs()
	for b.Loop() {
		l.MatchedBy(s)
	}
}

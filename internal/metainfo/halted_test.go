package metainfo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/clientsettest"
)

func TestAHaltIsWrittenOnceAndKeepsWhatAUserAccepted(t *testing.T) {
	info := Info{Namespace: "reroll"}
	accepted := map[string]string{annotations.Resumed: "1700000000", "other": "kept"}
	client := clientsettest.New(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "reroll", Name: Name, Annotations: accepted}})
	halted := Halted{Namespaces: []string{"shop"}, Why: "too many", Newest: 7}
	for _, tc := range []struct {
		about   string
		publish Halted
		writes  int
	}{{"none, as before", Halted{}, 0}, {"a halt", halted, 1}, {"the same one", halted, 1}, {"its end", Halted{}, 2}} {
		at, err := WriteHalted(t.Context(), client, info, tc.publish)
		if err != nil || at != 1700000000 {
			t.Fatalf("%s: accepted until %d, %v", tc.about, at, err)
		}
		cm, err := client.ConfigMaps("reroll").Get(t.Context(), Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if h, at, err := Published(t.Context(), client, info); at != 1700000000 || err != nil || h.Is() != tc.publish.Is() {
			t.Errorf("%s: published is %+v, accepted until %d, %v", tc.about, h, at, err)
		}
		if diff := cmp.Diff(tc.publish, ReadHalted(cm)); diff != "" || cm.Annotations["other"] != "kept" {
			t.Errorf("%s: %s", tc.about, diff)
		}
		writes := 0
		for _, action := range client.Actions() {
			if action.GetVerb() == "update" {
				writes++
			}
		}
		if writes != tc.writes {
			t.Errorf("%s: written %d times, want %d", tc.about, writes, tc.writes)
		}
	}
}

func TestWithoutTheConfigMapNothingIsAcceptedOrWritten(t *testing.T) {
	client := clientsettest.New()
	if h, at, err := Published(t.Context(), client, Info{Namespace: "reroll"}); h.Is() || at != 0 || err != nil {
		t.Errorf("published is %+v, accepted until %d, %v", h, at, err)
	}
	if at, err := WriteHalted(t.Context(), client, Info{Namespace: "reroll"}, Halted{All: true}); at != 0 || err != nil {
		t.Errorf("accepted until %d, %v", at, err)
	}
}

func TestOnlyATimeIsAccepted(t *testing.T) {
	for text, want := range map[string]int64{"1700000000": 1700000000, "": 0, "soon": 0, "-1": 0, "d41d8cd98f00b204e9800998ecf8427e": 0} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotations.Resumed: text}}}
		if got := ReadAccepted(cm); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if !(Halted{All: true}).In("shop") || (Halted{Namespaces: []string{"a"}}).In("shop") {
		t.Error("it applies elsewhere")
	}
}

package workload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// Stamps are in repositories: their input can never change without another prefix.
func TestAStampStaysAsItIs(t *testing.T) {
	web := source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"a": "1"}}, annotations.DefaultNames())
	db := source.FromSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Data: map[string][]byte{"a": []byte("1")}}, digest.Key{}, annotations.DefaultNames())
	a := digest.StampedSource{Kind: "ConfigMap", Name: "web", Digest: web.Digest}
	b := digest.StampedSource{Kind: "Secret", Name: "db", Digest: db.Digest}
	for want, sources := range map[string][]digest.StampedSource{
		"no-config-data": nil,
		"reroll1:c2c1f58bbc9c02e306249810d08aad40": {a},
		"reroll1:268ce60ffc8d0bc89dda7b59eeb24eb0": {a, b},
	} {
		if got := digest.Stamp(sources); got != want {
			t.Errorf("%v: %s, want %s", sources, got, want)
		}
	}
	c := digest.StampedSource{Kind: "Secret", Name: "db", Digest: web.Digest}
	if digest.Stamp([]digest.StampedSource{b, c}) != digest.Stamp([]digest.StampedSource{c, b}) || digest.Stamp([]digest.StampedSource{b, c}) == digest.Stamp([]digest.StampedSource{b}) {
		t.Error("two of one name are not taken together, in whatever order they come")
	}
	if digest.Stamp([]digest.StampedSource{b, a}) != digest.Stamp([]digest.StampedSource{a, b}) {
		t.Error("the order of the sources counts")
	}
}

// Only the form of the value counts, in any annotation of the pod template: not in an annotation of
// the object.
func TestAStampIsASignOfADelivery(t *testing.T) {
	for want, ann := range map[bool][]map[string]string{
		true:  {{"checksum/config": "reroll1:c2c1f58bbc9c02e306249810d08aad40"}, {"a": "b", "example.org/stamp": "reroll1:00000000000000000000000000000000"}, {"checksum/config": "no-config-data"}},
		false: {nil, {"checksum/config": "c2c1f58bbc9c02e306249810d08aad40"}, {"checksum/config": "reroll2:c2c1f58bbc9c02e306249810d08aad40"}, {"checksum/config": "reroll1:"}, {"checksum/config": "reroll1:0"}, {"checksum/config": "no-config-data-yet"}},
	} {
		for _, on := range ann {
			template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: on}}
			w := New(Kind{Name: "Deployment"}, &metav1.ObjectMeta{Name: "web"}, nil, template, annotations.DefaultNames())
			if w.Delivered() != want {
				t.Errorf("%v: %t", on, !want)
			}
		}
	}
	onItself := &metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"checksum/config": "reroll1:c2c1f58bbc9c02e306249810d08aad40"}}
	if w := New(Kind{Name: "Deployment"}, onItself, nil, &corev1.PodTemplateSpec{}, annotations.DefaultNames()); w.Delivered() {
		t.Error("one on the object rolls nothing, and counts")
	}
}

func TestStampsOfDifferentSourcesDiffer(t *testing.T) {
	one, two := digest.Digest{1}, digest.Digest{2}
	seen := map[string]int{}
	for i, sources := range [][]digest.StampedSource{
		{},
		{{Kind: "ConfigMap", Name: "a", Digest: one}},
		{{Kind: "ConfigMap", Name: "a", Digest: two}},
		{{Kind: "ConfigMap", Name: "b", Digest: one}},
		{{Kind: "Secret", Name: "a", Digest: one}},
		{{Kind: "SealedSecret", Name: "a", Digest: one}},
		{{Kind: "ConfigMap", Name: "a", Digest: one}, {Kind: "ConfigMap", Name: "b", Digest: one}},
		{{Kind: "ConfigMap", Name: "a", Digest: one}, {Kind: "ConfigMap", Name: "b", Digest: two}},
		{{Kind: "ConfigMap", Name: "a", Digest: two}, {Kind: "ConfigMap", Name: "b", Digest: one}},
		{{Kind: "ConfigMa", Name: "pa", Digest: one}},
	} {
		stamp := digest.Stamp(sources)
		if before, twice := seen[stamp]; twice {
			t.Errorf("%d and %d have the same stamp", before, i)
		}
		seen[stamp] = i
		if !digest.IsStamp(stamp) {
			t.Errorf("%s is not taken for a stamp", stamp)
		}
	}
	digits := strings.Repeat("0a", 16)
	for _, other := range []string{
		"", "no-config-data ", strings.Repeat("0", 64), "Reroll1:" + digits, "reroll2:" + digits, " reroll1:" + digits, "reroll1: " + digits,
		"reroll1:", "reroll1:by hand", "reroll1:" + digits[1:], "reroll1:" + digits + "0", "reroll1:" + digits + "\n", "reroll1:" + strings.ToUpper(digits),
		"reroll1:" + digits[1:] + "g", "reroll1:" + digits[1:] + " ",
	} {
		if digest.IsStamp(other) {
			t.Errorf("%q is taken for a stamp", other)
		}
	}
}

package reload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A stamp stands in repositories: what it is made of can never change without another prefix.
func TestAStampStaysAsItIs(t *testing.T) {
	web := FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"a": "1"}}, DefaultNames())
	db := FromSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Data: map[string][]byte{"a": []byte("1")}}, DigestKey{}, DefaultNames())
	a := StampedSource{"ConfigMap", "web", web.Digest}
	b := StampedSource{"Secret", "db", db.Digest}
	for want, sources := range map[string][]StampedSource{
		"no-config-data": nil,
		"reroll1:c2c1f58bbc9c02e306249810d08aad40": {a},
		"reroll1:268ce60ffc8d0bc89dda7b59eeb24eb0": {a, b},
	} {
		if got := Stamp(sources); got != want {
			t.Errorf("%v: %s, want %s", sources, got, want)
		}
	}
	c := StampedSource{"Secret", "db", web.Digest}
	if Stamp([]StampedSource{b, c}) != Stamp([]StampedSource{c, b}) || Stamp([]StampedSource{b, c}) == Stamp([]StampedSource{b}) {
		t.Error("two of one name are not taken together, in whatever order they come")
	}
	if Stamp([]StampedSource{b, a}) != Stamp([]StampedSource{a, b}) {
		t.Error("the order of the sources counts")
	}
}

// The form is all that is asked for, or that there is no data, in whatever annotation of the pod template: not in one of the object.
func TestAStampIsASignOfADelivery(t *testing.T) {
	for want, annotations := range map[bool][]map[string]string{
		true:  {{"checksum/config": "reroll1:c2c1f58bbc9c02e306249810d08aad40"}, {"a": "b", "example.org/stamp": "reroll1:00000000000000000000000000000000"}, {"checksum/config": "no-config-data"}},
		false: {nil, {"checksum/config": "c2c1f58bbc9c02e306249810d08aad40"}, {"checksum/config": "reroll2:c2c1f58bbc9c02e306249810d08aad40"}, {"checksum/config": "reroll1:"}, {"checksum/config": "reroll1:0"}, {"checksum/config": "no-config-data-yet"}},
	} {
		for _, on := range annotations {
			template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: on}}
			w := NewWorkload(WorkloadKind{Name: "Deployment"}, &metav1.ObjectMeta{Name: "web"}, nil, template, DefaultNames())
			if w.Delivered() != want {
				t.Errorf("%v: %t", on, !want)
			}
		}
	}
	onItself := &metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"checksum/config": "reroll1:c2c1f58bbc9c02e306249810d08aad40"}}
	if w := NewWorkload(WorkloadKind{Name: "Deployment"}, onItself, nil, &corev1.PodTemplateSpec{}, DefaultNames()); w.Delivered() {
		t.Error("one on the object rolls nothing, and counts")
	}
}

func TestAStampTellsItsSourcesApart(t *testing.T) {
	one, two := Digest{1}, Digest{2}
	seen := map[string]int{}
	for i, sources := range [][]StampedSource{
		{},
		{{"ConfigMap", "a", one}},
		{{"ConfigMap", "a", two}},
		{{"ConfigMap", "b", one}},
		{{"Secret", "a", one}},
		{{"SealedSecret", "a", one}},
		{{"ConfigMap", "a", one}, {"ConfigMap", "b", one}},
		{{"ConfigMap", "a", one}, {"ConfigMap", "b", two}},
		{{"ConfigMap", "a", two}, {"ConfigMap", "b", one}},
		{{"ConfigMa", "pa", one}},
	} {
		stamp := Stamp(sources)
		if before, twice := seen[stamp]; twice {
			t.Errorf("%d and %d have the same stamp", before, i)
		}
		seen[stamp] = i
		if !IsStamp(stamp) {
			t.Errorf("%s is not taken for a stamp", stamp)
		}
	}
	digits := strings.Repeat("0a", 16)
	for _, other := range []string{
		"", "no-config-data ", strings.Repeat("0", 64), "Reroll1:" + digits, "reroll2:" + digits, " reroll1:" + digits, "reroll1: " + digits,
		"reroll1:", "reroll1:by hand", "reroll1:" + digits[1:], "reroll1:" + digits + "0", "reroll1:" + digits + "\n", "reroll1:" + strings.ToUpper(digits),
		"reroll1:" + digits[1:] + "g", "reroll1:" + digits[1:] + " ",
	} {
		if IsStamp(other) {
			t.Errorf("%q is taken for a stamp", other)
		}
	}
}

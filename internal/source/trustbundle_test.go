package source

import (
	"encoding/pem"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func certificate(text string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(text)}))
}

func bundle(name, text string) Source {
	return FromTrustBundle(&metav1.ObjectMeta{Name: name, Labels: map[string]string{"stage": "live"}}, "example.com/internal", text, annotations.DefaultNames())
}

func TestTheDigestOfABundleIsThatOfItsSetOfCertificates(t *testing.T) {
	a, b, c := certificate("a"), certificate("b"), certificate("c")
	known := bundle("x", a+b)
	for about, tc := range map[string]struct {
		text string
		same bool
	}{
		"another order":              {b + a, true},
		"a comment between them":     {"# an authority\n" + a + "\nanother\n" + b, true},
		"one of them twice":          {a + b + a, true},
		"other line lengths":         {strings.ReplaceAll(a, "\n-----END", "\n\n-----END") + b, true},
		"one more":                   {a + b + c, false},
		"one less":                   {a, false},
		"another one":                {a + c, false},
		"a block of another type":    {a + strings.ReplaceAll(b, "CERTIFICATE", "PUBLIC KEY"), false},
		"none at all":                {"", false},
		"text without a certificate": {"no certificate", false},
	} {
		if got := bundle("x", tc.text); (got.Digest == known.Digest) != tc.same || (got.Reloader == known.Reloader) != tc.same {
			t.Errorf("%s: digest %s, before it was %s", about, got.Digest, known.Digest)
		}
	}
	if bundle("x", "no certificate").Digest == bundle("x", "another text").Digest {
		t.Error("two texts without a certificate have one digest")
	}
}

func TestTheTimeOfABundleIsThatOfItsCertificates(t *testing.T) {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC)}
	}
	entry := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Time: at(minute), FieldsV1: metav1.NewFieldsV1(fields)}
	}
	src := FromTrustBundle(&metav1.ObjectMeta{
		Name: "x", CreationTimestamp: *at(0),
		ManagedFields: []metav1.ManagedFieldsEntry{
			entry("trust", `{"f:spec":{"f:trustBundle":{}}}`, 3),
			entry("labels", `{"f:metadata":{"f:labels":{"f:stage":{}}}}`, 5),
		},
	}, "", certificate("a"), annotations.DefaultNames())
	if !src.DataTime.Equal(at(3).Time) || src.Writer != "trust" || src.EditedAt != at(3).Unix() {
		t.Errorf("written at %s by %s, edited at %d", src.DataTime, src.Writer, src.EditedAt)
	}
	if !src.Bundle.Written.Equal(at(5).Time) {
		t.Errorf("anything of it was written at %s", src.Bundle.Written)
	}
	// Other labels may change what belongs to a union.
	united, _ := Union{Selector: labels.Everything()}.Of([]*Source{&src})
	if !united.DataTime.Equal(at(5).Time) {
		t.Errorf("its union was written at %s", united.DataTime)
	}
}

func TestAUnionHasTheCertificatesOfItsBundles(t *testing.T) {
	live, _ := labels.Parse("stage=live")
	u := Union{Signer: "example.com/internal", Selector: live}
	of := func(all ...Source) Source {
		var bundles []*Source
		for i := range all {
			bundles = append(bundles, &all[i])
		}
		src, _ := u.Of(bundles)
		return src
	}
	a, b, c := certificate("a"), certificate("b"), certificate("c")
	known := of(bundle("x", a), bundle("y", b))
	for about, tc := range map[string]struct {
		now  Source
		same bool
	}{
		"the other way round":                 {of(bundle("y", b), bundle("x", a)), true},
		"one bundle with both":                {of(bundle("x", b+a)), true},
		"a bundle with a known certificate":   {of(bundle("x", a), bundle("y", b), bundle("z", a)), true},
		"a bundle with one more":              {of(bundle("x", a), bundle("y", b), bundle("z", c)), false},
		"a bundle less":                       {of(bundle("y", b)), false},
		"certificates moved between the both": {of(bundle("x", b), bundle("y", a)), true},
	} {
		if (tc.now.Digest == known.Digest) != tc.same {
			t.Errorf("%s: digest %s, before it was %s", about, tc.now.Digest, known.Digest)
		}
	}
	if lost := of(bundle("y", b)); !lost.OnlyLost(&known) {
		t.Error("the API server records when a bundle was deleted")
	}
	if _, ok := u.Of(nil); ok {
		t.Error("a union of no bundles exists")
	}
}

func TestAUnionIgnoresOnlyIfAllOfItsBundlesDo(t *testing.T) {
	u := Union{Signer: "example.com/internal", Selector: labels.Everything()}
	x, y := bundle("x", certificate("a")), bundle("y", certificate("b"))
	x.Annotations = Annotations{Ignore: true, Match: true}
	for want, bundles := range map[Annotations][]*Source{
		{Match: true}:               {&x, &y},
		{Ignore: true, Match: true}: {&x},
		{}:                          {&y},
	} {
		if src, _ := u.Of(bundles); src.Annotations != want {
			t.Errorf("%+v, want %+v", src.Annotations, want)
		}
	}
}

func TestTheKeyOfAUnionSaysWhatBelongsToIt(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "example.com/internal{}",
		"stage=live":                  "example.com/internal{stage=live}",
		"stage in (next,live),!alone": "example.com/internal{!alone,stage in (live,next)}",
	} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		key := Union{Signer: "example.com/internal", Selector: selector}.Key()
		u, ok := key.Union()
		if key.Name != want || !ok || u.Signer != "example.com/internal" || u.Key() != key || key.Signer() != u.Signer {
			t.Errorf("%s: the key %s is read as %+v", text, key, u)
		}
	}
	for _, other := range []LocalKey{
		{Kind: ClusterTrustBundle, Name: "company"}, {Kind: ConfigMap, Name: "x{}"}, {Kind: ClusterTrustBundle, Name: "x}"}, {Kind: ClusterTrustBundle, Name: "x{a b}"},
	} {
		if u, ok := other.Union(); ok {
			t.Errorf("%s is read as %+v", other, u)
		}
	}
}

func TestASourceWithoutANamespaceIsTheSameForAll(t *testing.T) {
	key := LocalKey{Kind: ClusterTrustBundle, Name: "company"}
	if key.In("shop") != key.In("bank") || key.In("shop").String() != "ClusterTrustBundle company" {
		t.Errorf("%s and %s", key.In("shop"), key.In("bank"))
	}
}

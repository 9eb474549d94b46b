package source

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

func TestASourceOfAnotherNamespaceHasANameOfItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		key     Key
		foreign bool
		origin  Key
	}{
		"its own":                {Key{ConfigMap, "shop", "ca"}, false, Key{ConfigMap, "shop", "ca"}},
		"of another namespace":   {Key{ConfigMap, "shop", "infra/ca"}, true, Key{ConfigMap, "infra", "ca"}},
		"a Secret":               {Key{Secret, "shop", "infra/ca"}, true, Key{Secret, "infra", "ca"}},
		"its own with a slash":   {Key{ConfigMap, "shop", "shop/ca"}, false, Key{ConfigMap, "shop", "shop/ca"}},
		"a class of CSI":         {Key{SecretProviderClass, "shop", "infra/ca"}, false, Key{SecretProviderClass, "shop", "infra/ca"}},
		"a signer":               {Key{ClusterTrustBundle, "", "example.com/ca{}"}, false, Key{ClusterTrustBundle, "", "example.com/ca{}"}},
		"no namespace":           {Key{ConfigMap, "shop", "/ca"}, false, Key{ConfigMap, "shop", "/ca"}},
		"two slashes":            {Key{ConfigMap, "shop", "a/b/c"}, false, Key{ConfigMap, "shop", "a/b/c"}},
		"a way out of a folder":  {Key{ConfigMap, "shop", "../ca"}, false, Key{ConfigMap, "shop", "../ca"}},
		"without a name":         {Key{ConfigMap, "shop", "infra/"}, false, Key{ConfigMap, "shop", "infra/"}},
		"a kind that is unknown": {Key{77, "shop", "infra/ca"}, false, Key{77, "shop", "infra/ca"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.key.IsForeign() != tc.foreign || tc.key.Origin() != tc.origin {
				t.Errorf("foreign %t, origin %v", tc.key.IsForeign(), tc.key.Origin())
			}
			if tc.foreign && (tc.origin.SeenFrom("shop") != tc.key || tc.key.Local().In("shop") != tc.key || !tc.key.Local().Keyed()) {
				t.Errorf("seen from shop it is %v", tc.origin.SeenFrom("shop"))
			}
		})
	}
	if key := (Key{ConfigMap, "shop", "infra/ca"}); key.String() != "ConfigMap infra/ca" {
		t.Error(key)
	}
	if key := (Key{ClusterTrustBundle, "", "ca"}); key.SeenFrom("shop") != key {
		t.Error("a bundle is in no namespace")
	}
}

func TestDigestsOfOtherNamespacesRevealNothing(t *testing.T) {
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := digest.NewKey([]byte(strings.Repeat("o", 32)))
	read := func(name, text string) Source {
		return FromConfigMap(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: name}, Data: map[string]string{"ca": text}}, annotations.DefaultNames())
	}
	seen := func(name, text, from string, key digest.Key) Source {
		src := read(name, text)
		src.Key = src.Key.SeenFrom(from)
		src.Conceal(key)
		return src
	}
	plain, first := read("ca", "one"), seen("ca", "one", "shop", key)
	same := seen("ca", "one", "shop", key)
	if first.Digest != same.Digest {
		t.Error("the same data differs")
	}
	for about, differs := range map[string]Source{
		"the plain digest":         plain,
		"other data":               seen("ca", "two", "shop", key),
		"for another namespace":    seen("ca", "one", "bank", key),
		"of another source":        seen("cb", "one", "shop", key),
		"with another key":         seen("ca", "one", "shop", other),
		"without a key":            seen("ca", "one", "shop", digest.Key{}),
		"a source of its own":      {Digest: plain.Digest},
		"concealed a second time?": func() Source { s := first; s.Conceal(key); return s }(),
	} {
		if first.Digest == differs.Digest {
			t.Errorf("%s has the same digest", about)
		}
	}
	if first.Reloader != ([20]byte{}) || first.Keys != nil || first.Certificate != (Certificate{}) {
		t.Errorf("it still shows %+v", first)
	}
	if gone := (Source{Key: first.Key}); func() bool { gone.Conceal(key); return !gone.Digest.IsZero() }() {
		t.Error("a source without data got a digest")
	}
}

func TestConsentIsReadFromTheSource(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "infra", Name: "ca", Annotations: map[string]string{annotations.AllowFromKey: "shop"}}
	names := annotations.DefaultNames()
	cm := FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta}, names)
	secret := FromSecret(&corev1.Secret{ObjectMeta: meta}, digest.Key{}, names)
	for _, src := range []Source{cm, secret} {
		if !src.Annotations.AllowFrom.Has("shop") || src.Annotations.AllowFrom.Has("bank") || len(src.Mistakes) > 0 {
			t.Errorf("%s: %+v, %v", src.Key, src.Annotations, src.Mistakes)
		}
	}
}

package source_test

import (
	"bytes"
	"crypto/sha1"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The SHA-1 that Reloader writes for a Secret can be guessed at offline by everybody who reads a
// dump of the memory.
func TestSourceKeepsNoSHA1OfASecret(t *testing.T) {
	s := secret(map[string][]byte{"password": []byte("hunter2")})
	sum := sha1.Sum([]byte("password=hunter2"))
	holds := func(key digest.Key) bool {
		src := source.FromSecret(s, key, annotations.DefaultNames())
		return slices.ContainsFunc(bytesOf(reflect.ValueOf(src)), func(b []byte) bool { return bytes.Contains(b, sum[:4]) })
	}
	if holds(digestKey(t, 1)) {
		t.Error("the SHA-1 stays in memory, and nobody asked for it")
	}
	if !holds(digestKey(t, 1).Showing(digest.SecretMarksSHA1)) {
		t.Error("the SHA-1 is not there for the marks that show it")
	}
}

// bytesOf are all texts and arrays of bytes that can be reached from a value.
func bytesOf(v reflect.Value) (all [][]byte) {
	switch v.Kind() {
	case reflect.String:
		return [][]byte{[]byte(v.String())}
	case reflect.Array, reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			var b []byte
			for i := range v.Len() {
				b = append(b, byte(v.Index(i).Uint()))
			}
			return [][]byte{b}
		}
		for i := range v.Len() {
			all = append(all, bytesOf(v.Index(i))...)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			all = append(all, bytesOf(field)...)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return bytesOf(v.Elem())
		}
	}
	return all
}

func TestAMarkOfReloaderIsRecognised(t *testing.T) {
	names := annotations.DefaultNames()
	one, two := digestKey(t, 1), digestKey(t, 2)
	s := secret(map[string][]byte{"key": []byte("value")})
	elsewhere := s.DeepCopy()
	elsewhere.Namespace += "-b"
	const mark, other = "dc30e0faa89a70dec1033016a2309bbeb9efcbd0", "da39a3ee5e6b4b0d3255bfef95601890afd80709"
	for about, tc := range map[string]struct {
		key  digest.Key
		src  source.Source
		mark string
		want bool
	}{
		"of a Secret":                      {one, source.FromSecret(s, one, names), mark, true},
		"of a Secret, shown":               {one.Showing(digest.SecretMarksSHA1), source.FromSecret(s, one.Showing(digest.SecretMarksSHA1), names), mark, true},
		"of a Secret, without a key":       {digest.Key{}, source.FromSecret(s, digest.Key{}, names), mark, true},
		"of a ConfigMap":                   {one, fromConfigMap(configMap(map[string]string{"key": "value"})), mark, true},
		"of other data":                    {one, source.FromSecret(s, one, names), other, false},
		"of a Secret read by another key":  {two, source.FromSecret(s, one, names), mark, false},
		"in capitals, as nobody writes it": {one, source.FromSecret(s, one, names), strings.ToUpper(mark), false},
		"cut":                              {one, source.FromSecret(s, one, names), mark[:38], false},
		"with more behind it":              {one, source.FromSecret(s, one, names), mark + "00", false},
		"no digits":                        {one, source.FromSecret(s, one, names), "from-git", false},
		"none":                             {one, source.FromSecret(s, one, names), "", false},
	} {
		if got := tc.src.IsReloaderMark(tc.key, tc.mark); got != tc.want {
			t.Errorf("%s: %t", about, got)
		}
	}
	if a, b := source.FromSecret(s, one, names), source.FromSecret(elsewhere, one, names); a.Reloader == b.Reloader {
		t.Error("equal data in two namespaces shows that it is equal")
	}
}

// Migration rolls nothing: the stored digest of a Secret still shows that its mark fits.
func TestAWorkloadThatReloaderMarkedForASecretIsAdopted(t *testing.T) {
	names, key := annotations.DefaultNames(), digestKey(t, 1)
	changed := time.Unix(200, 0)
	s := secret(map[string][]byte{"key": []byte("value")})
	s.CreationTimestamp = metav1.NewTime(changed)
	for about, tc := range map[string]struct {
		key  digest.Key
		mark string
		want reload.Action
	}{
		"its mark fits":                       {key, "dc30e0faa89a70dec1033016a2309bbeb9efcbd0", reload.Record},
		"its mark fits, and ours show it too": {key.Showing(digest.SecretMarksSHA1), "dc30e0faa89a70dec1033016a2309bbeb9efcbd0", reload.Record},
		"its mark is of other data":           {key, "da39a3ee5e6b4b0d3255bfef95601890afd80709", reload.ListPods},
	} {
		src := source.FromSecret(s, tc.key, names)
		uses := []workload.Use{{How: workload.UseEnvFrom, Container: "app"}}
		d := reload.Decide(reload.Facts{
			Workload: workload.Workload{
				Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "uid-1", Containers: []string{"app"},
				References: []workload.Reference{{Key: src.Key.Local(), Uses: uses}},
				Marks:      workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: workload.EnvVarName(src.Key), Value: tc.mark}}},
			},
			Concerns:     []reload.Concern{{Source: src, Uses: uses, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
			Installation: reload.Installation{Key: tc.key, Instance: tc.key.ID(), Installed: changed.Add(-time.Minute)},
		})
		if d.Action != tc.want {
			t.Errorf("%s: decided to %s, want %s: %s", about, d.Action, tc.want, d.Why)
		}
	}
}

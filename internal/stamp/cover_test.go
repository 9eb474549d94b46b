package stamp

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

const covered = `apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {from: the manifest}}
data: {b: "2", a: null}
binaryData: {c: AAEC}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
data:
  user: YWRt
  password: b2xk
stringData: {password: hunter2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: app, envFrom: [{secretRef: {name: db}}, {configMapRef: {name: web}}]}]}}}
`

// The manifests as the API server returns them have the same stamp, with the same key and
// namespace.
func TestAStampCanBeMadeAgainFromTheCluster(t *testing.T) {
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	made := func(ns string, key digest.Key) string {
		web := source.FromConfigMap(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web", Labels: map[string]string{"of": "somebody"}},
			Data:       map[string]string{"a": "", "b": "2"}, BinaryData: map[string][]byte{"c": {0, 1, 2}},
		}, annotations.DefaultNames())
		db := source.FromSecret(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"},
			Data:       map[string][]byte{"user": []byte("adm"), "password": []byte("hunter2")},
		}, key, annotations.DefaultNames())
		return digest.Stamp([]digest.StampedSource{{Kind: "ConfigMap", Name: "web", Digest: web.Digest}, {Kind: "Secret", Name: "db", Digest: db.Digest}})
	}
	is := func(options string) string {
		out := stampText(t, optionsOf(t, []byte(options)), covered)
		_, rest, _ := strings.Cut(out, `checksum/config": "`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	if got, want := is("all\nkey\nnamespace shop"), made("shop", key); got != want {
		t.Errorf("%s, and of the cluster %s", got, want)
	}
	for about, other := range map[string]string{
		"another namespace": made("elsewhere", key),
		"no key":            made("shop", digest.Key{}),
	} {
		if is("all\nkey\nnamespace shop") == other {
			t.Errorf("%s: the same stamp", about)
		}
	}
	if got, want := is("all\nplain"), made("shop", digest.Key{}); got != want {
		t.Errorf("without a key the namespace counts: %s, and of the cluster %s", got, want)
	}
}

// An ExternalSecret may create a ConfigMap or an object of another kind, which no pod template
// references.
func TestWhatAnExternalSecretMakes(t *testing.T) {
	const refers = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: app, envFrom: [{%s: {name: web, optional: true}}]}]}}}\n"
	makes := func(target, by string) bool {
		external := "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: web}\nspec: {target: {" + target + "}}\n"
		return strings.Contains(stampText(t, optionsOf(t, []byte("all")), external+strings.Replace(refers, "%s", by, 1)), digest.StampPrefix)
	}
	for target, want := range map[string][2]bool{
		"": {true, false},
		"manifest: {apiVersion: v1, kind: Secret}":                {true, false},
		"manifest: {apiVersion: v1, kind: ConfigMap}":             {false, true},
		"manifest: {apiVersion: example.org/v1, kind: Ship}":      {false, false},
		"name: web, manifest: {apiVersion: v1, kind: ConfigMap}":  {false, true},
		"name: else, manifest: {apiVersion: v1, kind: ConfigMap}": {false, false},
	} {
		if got := [2]bool{makes(target, "secretRef"), makes(target, "configMapRef")}; got != want {
			t.Errorf("{%s}: as a Secret and as a ConfigMap it is %v", target, got)
		}
	}
}

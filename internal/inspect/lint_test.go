package inspect

import (
	"fmt"
	"strings"
	"testing"
)

// lintable is a Deployment of namespace shop with annotations and the fields of a Pod spec.
func lintable(annotations, spec string) string {
	return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {` + annotations + `}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {` + spec + `}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: app, namespace: shop}, data: {a: b}}
`
}

func TestLintOfManifestsWithoutACluster(t *testing.T) {
	const (
		auto   = `reloader.stakater.com/auto: "true"`
		names  = `configmap.reloader.stakater.com/reload: `
		volume = `containers: [{name: app, image: a}], volumes: `
		env    = `containers: [{name: app, image: a, envFrom: [{configMapRef: {name: app}}]`
	)
	for about, tc := range map[string]struct {
		text string
		want []string // each a part of one finding; notes begin with "note: "
	}{
		"only trust bundles, which a controller may read": {
			lintable(auto, volume+`[{name: ca, projected: {sources: [{clusterTrustBundle: {name: root, path: ca.pem}}]}}]`),
			[]string{"note: it is opted in, but nothing rolls it: ClusterTrustBundle root: the controller does not read ClusterTrustBundles"},
		},
		"only secrets of CSI, which a controller may read": {
			lintable(auto, volume+`[{name: s, csi: {driver: secrets-store.csi.k8s.io, volumeAttributes: {secretProviderClass: vault}}}]`),
			[]string{"note: it is opted in, but nothing rolls it: it references only SecretProviderClasses, which count if the controller has --enable-csi-integration"},
		},
		"nothing at all": {
			lintable(auto, `containers: [{name: app, image: a}]`),
			[]string{"it is opted in, but nothing rolls it: it references no ConfigMap or Secret"},
		},
		"its own namespace": {
			lintable(names+`"shop/app,app"`, env+`}]`),
			[]string{`in its own namespace, write "app"`},
		},
		"no key counts": {
			lintable(auto+`, reroll.dev/keys: "configmap/app=a,!a"`, env+`}]`),
			[]string{"annotation reroll.dev/keys selects no key of ConfigMap app, so no change of it rolls this workload"},
		},
		"fields without an object": {
			lintable(auto, env+`, env: [{name: X, valueFrom: {fileKeyRef: {path: x, volumeName: v, key: k}}}, {name: Z, valueFrom: {configMapKeyRef: {name: app, jsonPointer: /a}}}]}]`),
			[]string{
				"note: spec.template.spec.containers[0].env[0].valueFrom.fileKeyRef: a container of the Pod writes this file",
				"note: spec.template.spec.containers[0].env[1].valueFrom.configMapKeyRef.jsonPointer: Reroll does not know this field",
				"note: spec.template.spec.containers[0].env[1].valueFrom.configMapKeyRef: it names no key",
			},
		},
		"the same of a workload that is not opted in": {
			lintable("", env+`, env: [{name: Z, valueFrom: {configMapKeyRef: {name: app, jsonPointer: /a}}}]}]`), nil,
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, "# ledger: none\n")
			s.objects.ReadManifests("web.yaml", strings.NewReader(tc.text))
			var all []string
			for _, f := range s.objects.Lint(true, noon) {
				text := f.Text
				if f.Note {
					text = "note: " + text
				}
				all = append(all, text)
			}
			if len(all) != len(tc.want) {
				t.Errorf("%d findings, must be %d: %q", len(all), len(tc.want), all)
			}
			for _, want := range tc.want {
				if !strings.Contains(strings.Join(all, "\n"), want) {
					t.Errorf("%q lacks %q", all, want)
				}
			}
		})
	}
}

func TestManifestsKeepNoSecret(t *testing.T) {
	s := tell(t, "# ledger: none\n")
	s.objects.ReadManifests("web.yaml", strings.NewReader(`{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, stringData: {password: hunter2}}`))
	if kept := fmt.Sprintf("%+v", s.objects); strings.Contains(kept, "hunter2") {
		t.Errorf("a Secret stays as it was written: %s", kept)
	}
}

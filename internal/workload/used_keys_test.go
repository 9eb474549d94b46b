package workload_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// usedKeys reads a Pod spec in JSON, and returns the keys of ConfigMap app that it uses.
func usedKeys(t *testing.T, spec string) string {
	t.Helper()
	var read corev1.PodSpec
	if err := json.Unmarshal([]byte(spec), &read); err != nil {
		t.Fatal(err)
	}
	w := workload.Workload{References: workload.References(&read)}
	return w.UsedKeys(source.LocalKey{Kind: source.ConfigMap, Name: "app"}).String()
}

func TestUsedKeys(t *testing.T) {
	const (
		container = `{"containers": [{"name": "c", `
		whole     = `"volumes": [{"name": "v", "configMap": {"name": "app"}}]}`
		items     = `"volumes": [{"name": "v", "configMap": {"name": "app", "items": [{"key": "a", "path": "a"}, {"key": "b", "path": "dir/b"}, {"key": "c", "path": "dir/c"}]}}]}`
		projected = `"volumes": [{"name": "v", "projected": {"sources": [
			{"configMap": {"name": "app", "items": [{"key": "a", "path": "a"}]}}, {"configMap": {"name": "other"}}, {"secret": {"name": "app"}}]}}]}`
	)
	for about, tc := range map[string]struct{ spec, want string }{
		"nothing": {`{"containers": []}`, "all keys"},
		"a variable": {
			container + `"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "a"}}}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "other", "key": "b"}}}]}]}`,
			"a",
		},
		"a variable without a key": {container + `"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "app"}}}]}]}`, "all keys"},
		"a variable and envFrom": {
			container + `"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "a"}}}], "envFrom": [{"configMapRef": {"name": "app"}}]}]}`, "all keys",
		},
		"a whole volume":                       {container + `"volumeMounts": [{"name": "v"}]}], ` + whole, "all keys"},
		"a volume that no container mounts":    {container + `"image": "i"}], ` + whole, "all keys"},
		"items that no container mounts":       {container + `"image": "i"}], ` + items, "a, b, c"},
		"items":                                {container + `"volumeMounts": [{"name": "v"}]}], ` + items, "a, b, c"},
		"an item without a key":                {container + `"volumeMounts": [{"name": "v"}]}], "volumes": [{"name": "v", "configMap": {"name": "app", "items": [{"path": "a"}]}}]}`, "all keys"},
		"a file":                               {container + `"volumeMounts": [{"name": "v", "subPath": "a.yaml"}]}], ` + whole, "a.yaml"},
		"a hidden file":                        {container + `"volumeMounts": [{"name": "v", "subPath": ".env"}]}], ` + whole, ".env"},
		"two files":                            {container + `"volumeMounts": [{"name": "v", "subPath": "b"}, {"name": "v", "subPath": "./a/"}]}], ` + whole, "a, b"},
		"a file and the whole volume":          {container + `"volumeMounts": [{"name": "v", "subPath": "b"}, {"name": "v"}]}], ` + whole, "all keys"},
		"a file of an init container":          {`{"initContainers": [{"name": "i", "volumeMounts": [{"name": "v", "subPath": "b"}]}], ` + whole, "b"},
		"the volume as a path":                 {container + `"volumeMounts": [{"name": "v", "subPath": "."}]}], ` + whole, "all keys"},
		"a path in a file":                     {container + `"volumeMounts": [{"name": "v", "subPath": "a/b"}]}], ` + whole, "all keys"},
		"a link of the kubelet":                {container + `"volumeMounts": [{"name": "v", "subPath": "..data/a"}]}], ` + whole, "all keys"},
		"an expression":                        {container + `"volumeMounts": [{"name": "v", "subPathExpr": "$(A)"}]}], ` + whole, "all keys"},
		"an expression with items":             {container + `"volumeMounts": [{"name": "v", "subPathExpr": "$(A)"}]}], ` + items, "a, b, c"},
		"the file of an item":                  {container + `"volumeMounts": [{"name": "v", "subPath": "dir/b"}]}], ` + items, "b"},
		"a directory of items":                 {container + `"volumeMounts": [{"name": "v", "subPath": "dir"}]}], ` + items, "b, c"},
		"a key that is no file":                {container + `"volumeMounts": [{"name": "v", "subPath": "b"}]}], ` + items, "a, b, c"},
		"a projected volume":                   {container + `"volumeMounts": [{"name": "v"}]}], ` + projected, "a"},
		"its file from a source":               {container + `"volumeMounts": [{"name": "v", "subPath": "a"}]}], ` + projected, "a"},
		"its file from another source":         {container + `"volumeMounts": [{"name": "v", "subPath": "b"}]}], ` + projected, "no key"},
		"a path that no source of it provides": {container + `"volumeMounts": [{"name": "v", "subPath": "b/c"}]}], ` + projected, "a"},
		"a file that is of no object": {container + `"volumeMounts": [{"name": "v", "subPath": "token"}]}], "volumes": [{"name": "v", "projected": {"sources": [
			{"configMap": {"name": "app", "items": [{"key": "a", "path": "a"}]}}, {"serviceAccountToken": {"path": "token"}}]}}]}`, "no key"},
		"the file of a ClusterTrustBundle": {container + `"volumeMounts": [{"name": "v", "subPath": "ca.pem"}]}], "volumes": [{"name": "v", "projected": {"sources": [
			{"configMap": {"name": "app", "items": [{"key": "a", "path": "a"}]}}, {"clusterTrustBundle": {"name": "ca", "path": "ca.pem"}}]}}]}`, "no key"},
	} {
		if got := usedKeys(t, tc.spec); got != tc.want {
			t.Errorf("%s: %s, want %s", about, got, tc.want)
		}
	}
}

func TestFieldNotes(t *testing.T) {
	const spec = `{
		"volumes": [{"name": "v", "hostPath": {}, "vault": {}}, 1,
			{"projected": {"sources": [{"podCertificate": {}}, {"configMap": {"name": "a", "items": [{"key": "", "jsonPointer": "/x"}], "since": 1}}, {"vault": {}}]}}],
		"initContainers": [{"envFrom": [{"prefix": "A", "configMapRef": {"name": "a"}}, {"vaultRef": {}}]}],
		"containers": [{"env": [{"name": "A", "value": "1"}, {"valueFrom": {"fileKeyRef": {}}}, {"valueFrom": {"secretKeyRef": {"key": "", "pointer": "/x"}}},
			{"valueFrom": {"configMapKeyRef": {"name": "a", "key": "k", "optional": true}}}, {"valueFrom": {"vaultRef": {}}}]}],
		"serviceAccountName": "x"
	}`
	var read map[string]any
	if err := json.Unmarshal([]byte(spec), &read); err != nil {
		t.Fatal(err)
	}
	const mayRefer = ": Reroll does not know this field; it may refer to an object whose changes roll nothing"
	const counts = ": Reroll does not know this field; changes of the object count all the same"
	const noKey = ": it names no key, so the key that it uses is unknown, and changes of all keys count"
	want := []string{
		"volumes[0].vault" + mayRefer,
		"volumes[2].projected.sources[0].podCertificate: the kubelet requests this certificate for each Pod; no object outside the Pod holds it",
		"volumes[2].projected.sources[1].configMap.since" + counts,
		"volumes[2].projected.sources[1].configMap.items[0].jsonPointer" + counts,
		"volumes[2].projected.sources[1].configMap.items[0]" + noKey,
		"volumes[2].projected.sources[2].vault" + mayRefer,
		"initContainers[0].envFrom[1].vaultRef" + mayRefer,
		"containers[0].env[1].valueFrom.fileKeyRef: a container of the Pod writes this file; no object outside the Pod holds its data",
		"containers[0].env[2].valueFrom.secretKeyRef.pointer" + counts,
		"containers[0].env[2].valueFrom.secretKeyRef" + noKey,
		"containers[0].env[4].valueFrom.vaultRef" + mayRefer,
	}
	if diff := cmp.Diff(want, workload.FieldNotes(read)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzFieldNotes checks that no spec makes it fail: custom kinds may have anything there.
func FuzzFieldNotes(f *testing.F) {
	f.Add(`{"volumes": {}, "containers": [[], {"env": 1, "envFrom": [null]}], "initContainers": "x"}`)
	f.Add(`{"volumes": [{"projected": {"sources": [null, {"configMap": []}]}}], "containers": [{"env": [{"valueFrom": {"secretKeyRef": "x"}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var spec map[string]any
		if json.Unmarshal([]byte(text), &spec) == nil && len(workload.FieldNotes(spec)) > 20 {
			t.Error("too many notes")
		}
	})
}

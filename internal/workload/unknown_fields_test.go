package workload_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/workload"
)

// refersByName matches the names of types that refer to a source, or choose what of it is used.
var refersByName = regexp.MustCompile(`^((ConfigMap|Secret)(VolumeSource|Projection|KeySelector|EnvSource)|KeyToPath|ClusterTrustBundleProjection|CSIVolumeSource|VolumeMount)$`)

// everyPath calls a function for the path of each struct that refers to a source, as the structs
// from the Pod spec on, each with the name of the field that has the next one.
func everyPath(t reflect.Type, path []string, visit func(path []string)) {
	if refersByName.MatchString(t.Name()) {
		visit(path)
	}
	if len(path) > 8 {
		return
	}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		of, list := field.Type, ""
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			if of.Kind() == reflect.Slice {
				list = "[0]"
			}
			of = of.Elem()
		}
		switch {
		case of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[corev1.PodSpec]().PkgPath():
		case name == "":
			everyPath(of, path, visit)
		default:
			everyPath(of, append(slices.Clone(path), name+list), visit)
		}
	}
}

// specWith is a Pod spec with an unknown field in the struct at a path.
func specWith(path []string) map[string]any {
	object := map[string]any{"someday": map[string]any{}, "key": "k"}
	if len(path) == 0 || !strings.Contains(path[len(path)-1], "KeyRef") && !strings.HasPrefix(path[len(path)-1], "items") {
		delete(object, "key")
	}
	for _, step := range slices.Backward(path) {
		if name, list := strings.CutSuffix(step, "[0]"); list {
			object = map[string]any{name: []any{object}}
		} else {
			object = map[string]any{step: object}
		}
	}
	return object
}

// A later version of Kubernetes may add a field anywhere between the Pod spec and a reference.
func TestAnUnknownFieldBesideAnyReferenceIsNoted(t *testing.T) {
	paths := map[string]bool{}
	everyPath(reflect.TypeFor[corev1.PodSpec](), nil, func(path []string) {
		for end := range len(path) + 1 {
			at := path[:end]
			name := strings.TrimPrefix(strings.Join(at, ".")+".someday", ".")
			if paths[name] {
				continue
			}
			paths[name] = true
			notes := workload.FieldNotes(specWith(at))
			if len(notes) != 1 || !strings.HasPrefix(notes[0], name+": Reroll does not know this field") {
				t.Errorf("%s: %q", name, notes)
			}
		}
	})
	for _, path := range []string{
		"someday", "containers[0].someday", "initContainers[0].env[0].someday", "containers[0].volumeMounts[0].someday", "volumes[0].projected.someday",
		"volumes[0].projected.sources[0].clusterTrustBundle.someday", "volumes[0].csi.someday", "containers[0].envFrom[0].configMapRef.someday",
	} {
		if !paths[path] {
			t.Errorf("%s was not tried", path)
		}
	}
	spec := specWith([]string{"containers[0]", "livenessProbe", "httpGet", "httpHeaders[0]", "valueFrom"})
	if notes := workload.FieldNotes(spec); len(notes) != 1 || !strings.HasPrefix(notes[0], "containers[0].livenessProbe.httpGet.httpHeaders[0].valueFrom: ") {
		t.Errorf("a reference where none can be today: %q", notes)
	}
	if notes := workload.FieldNotes(map[string]any{"nodeSelector": map[string]any{"secret": "y"}, "securityContext": map[string]any{"seccompProfile": map[string]any{"someday": 1.0}}}); len(notes) > 0 {
		t.Errorf("no reference by its name: %q", notes)
	}
	if notes := workload.FieldNotes(map[string]any{"containerConcurrency": 1.0, "nodeSelector": map[string]any{"x": "y"}, "affinity": map[string]any{"someday": 1.0}}); len(notes) > 0 {
		t.Errorf("beside no reference: %q", notes)
	}
}

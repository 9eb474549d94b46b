package workload_test

import (
	"path"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// fillPaths gives items and mounts a few paths, so that they meet, and leaves out some keys: beside
// a field of a later version of Kubernetes, the key may be empty.
func (f *filler) fillPaths(v reflect.Value) {
	of := func(field string, texts ...string) { v.FieldByName(field).SetString(texts[f.pick(len(texts))]) }
	switch v.Interface().(type) {
	case corev1.KeyToPath:
		of("Path", "a", "b/c", "b/d", "./e", "b//f")
		of("Key", "", v.FieldByName("Key").String(), v.FieldByName("Key").String())
	case corev1.ConfigMapKeySelector, corev1.SecretKeySelector:
		of("Key", "", v.FieldByName("Key").String(), v.FieldByName("Key").String())
	case corev1.ClusterTrustBundleProjection, corev1.ServiceAccountTokenProjection, corev1.DownwardAPIVolumeFile:
		of("Path", "a", "x", "b/c", "token")
	case corev1.VolumeMount:
		of("SubPath", "", "a", "b", "b/c", "./e", "x", "token", ".", "..data/a", "/a", "no/such")
		of("SubPathExpr", "", "", "", "$(X)")
	}
}

// keyed is one use of a source by a spec, as far as it is about keys: whether a key is used.
type keyed struct {
	uses    func(key string) bool
	unknown bool
}

// checkKeys compares, for many keys, whether they count with what the spec shows.
func checkKeys(t *testing.T, spec *corev1.PodSpec, ref workload.Reference) {
	t.Helper()
	if !ref.Key.Kind.HasKeys() {
		return
	}
	all := keyedUses(spec, ref.Key)
	unknown := false
	for _, use := range ref.Uses {
		unknown = unknown || use.Unknown
	}
	wantUnknown := false
	for _, use := range all {
		wantUnknown = wantUnknown || use.unknown
	}
	if unknown != wantUnknown {
		t.Errorf("%s: unknown keys are used: %t, want %t", ref.Key, unknown, wantUnknown)
	}
	w := workload.Workload{References: workload.References(spec)}
	got := w.UsedKeys(ref.Key)
	for _, key := range append(keysIn(spec), "a", "b", "x", "token", "another") {
		want := wantUnknown // it may be any key, and is not known to be one
		for _, use := range all {
			want = want || use.uses(key)
		}
		if got.Has(key) != want {
			t.Errorf("%s: key %q counts: %t, want %t", ref.Key, key, got.Has(key), want)
		}
	}
}

// keysIn are the keys that a spec names anywhere.
func keysIn(spec *corev1.PodSpec) []string {
	var keys []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if field.IsExported() && field.Name == "Key" && field.Type.Kind() == reflect.String && v.Field(i).String() != "" {
					keys = append(keys, v.Field(i).String())
				} else if field.IsExported() {
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(spec).Elem())
	return keys
}

// keyedUses are the uses of a source.
func keyedUses(spec *corev1.PodSpec, key source.LocalKey) []keyed {
	var uses []keyed
	named := func(kind source.Kind, name string) bool { return key == source.LocalKey{Kind: kind, Name: name} }
	one := func(name string) {
		uses = append(uses, keyed{func(key string) bool { return name != "" && key == name }, name == ""})
	}
	whole := func() { uses = append(uses, keyed{func(string) bool { return true }, false}) }
	containers := append(append([]corev1.Container{}, spec.Containers...), spec.InitContainers...)
	for _, c := range containers {
		for _, v := range c.Env {
			if v.ValueFrom != nil && v.ValueFrom.ConfigMapKeyRef != nil && named(source.ConfigMap, v.ValueFrom.ConfigMapKeyRef.Name) {
				one(v.ValueFrom.ConfigMapKeyRef.Key)
			}
			if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil && named(source.Secret, v.ValueFrom.SecretKeyRef.Name) {
				one(v.ValueFrom.SecretKeyRef.Key)
			}
		}
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil && named(source.ConfigMap, from.ConfigMapRef.Name) || from.SecretRef != nil && named(source.Secret, from.SecretRef.Name) {
				whole()
			}
		}
	}
	for _, v := range spec.Volumes {
		for _, shown := range shownBy(containers, v.Name) {
			for _, tree := range treesOf(&v) {
				for _, d := range tree {
					if named(d.kind, d.name) {
						uses = append(uses, d.shownAt(shown, tree))
					}
				}
			}
		}
	}
	return uses
}

// directory are the files of one part of a volume: each item, or a file for each key.
type directory struct {
	kind  source.Kind
	name  string
	items []corev1.KeyToPath
	each  bool
}

// treesOf are the directories that a volume shows together.
func treesOf(v *corev1.Volume) [][]directory {
	var trees [][]directory
	if src := v.ConfigMap; src != nil {
		trees = append(trees, []directory{{source.ConfigMap, src.Name, src.Items, len(src.Items) == 0}})
	}
	if src := v.Secret; src != nil {
		trees = append(trees, []directory{{source.Secret, src.SecretName, src.Items, len(src.Items) == 0}})
	}
	if v.Projected == nil {
		return trees
	}
	var tree []directory
	own := func(paths ...string) {
		for _, path := range paths {
			tree = append(tree, directory{items: []corev1.KeyToPath{{Path: path}}})
		}
	}
	for _, from := range v.Projected.Sources {
		if src := from.ConfigMap; src != nil {
			tree = append(tree, directory{source.ConfigMap, src.Name, src.Items, len(src.Items) == 0})
		}
		if src := from.Secret; src != nil {
			tree = append(tree, directory{source.Secret, src.Name, src.Items, len(src.Items) == 0})
		}
		if src := from.ClusterTrustBundle; src != nil {
			own(src.Path)
		}
		if src := from.ServiceAccountToken; src != nil {
			own(src.Path)
		}
		if src := from.DownwardAPI; src != nil {
			for _, file := range src.Items {
				own(file.Path)
			}
		}
		if src := from.PodCertificate; src != nil {
			own(src.CredentialBundlePath, src.KeyPath, src.CertificateChainPath)
		}
	}
	return append(trees, tree)
}

// shownBy are the paths of a volume that mounts show, empty for all of it. Without a mount, all of
// it counts.
func shownBy(containers []corev1.Container, volume string) []string {
	var paths []string
	for _, c := range containers {
		for _, m := range c.VolumeMounts {
			switch {
			case m.Name != volume:
			case m.SubPathExpr != "" && m.SubPath == "", m.SubPathExpr != "", strings.HasPrefix(m.SubPath, ".."), strings.HasPrefix(m.SubPath, "/"), path.Clean(m.SubPath) == ".":
				paths = append(paths, "")
			default:
				paths = append(paths, path.Clean(m.SubPath))
			}
		}
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// isAt reports whether a file is a path, or below it.
func isAt(file, shown string) bool {
	return shown == "" || path.Clean(file) == shown || strings.HasPrefix(path.Clean(file), shown+"/")
}

// provides reports whether it may have a file at a path.
func (d *directory) provides(shown string) bool {
	if d.each {
		return !strings.Contains(shown, "/")
	}
	for _, item := range d.items {
		if isAt(item.Path, shown) {
			return true
		}
	}
	return false
}

// shownAt is the use by a mount of a path of the tree. A path that nothing provides is all of it.
func (d *directory) shownAt(shown string, tree []directory) keyed {
	provided := false
	for i := range tree {
		provided = provided || tree[i].provides(shown)
	}
	if !provided {
		shown = ""
	}
	unknown := false
	for _, item := range d.items {
		unknown = unknown || item.Key == "" && isAt(item.Path, shown)
	}
	return keyed{func(key string) bool {
		if d.each {
			return isAt(key, shown)
		}
		for _, item := range d.items {
			if item.Key == key && isAt(item.Path, shown) {
				return true
			}
		}
		return false
	}, unknown}
}

package workload_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// squared mounts n of n items of ConfigMap app one by one, beside an init container that mounts them
// all, and a variable.
func squared(n int) *corev1.PodSpec {
	src := corev1.ConfigMapVolumeSource{LocalObjectReference: localName("app"), Optional: new(true)}
	web := corev1.Container{Name: "web", Env: []corev1.EnvVar{configMapEnv("A", "app", "a"), configMapEnv("B", "other", "b")}}
	for i := range n {
		src.Items = append(src.Items, corev1.KeyToPath{Key: fmt.Sprintf("key-%d", i), Path: fmt.Sprintf("file-%d", i)})
		web.VolumeMounts = append(web.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: fmt.Sprintf("file-%d", i)})
	}
	return &corev1.PodSpec{
		Containers: []corev1.Container{web}, InitContainers: []corev1.Container{mounting("setup", "v")},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &src}}, configMapVolume("w", "whole")},
	}
}

func configMap(name string) source.LocalKey {
	return source.LocalKey{Kind: source.ConfigMap, Name: name}
}

func TestATemplateWithTooManyUsesHasOneForEachSource(t *testing.T) {
	few := workload.Workload{References: workload.References(squared(60))}
	if ref, _ := few.Reference(configMap("app")); len(ref.Uses) != 62 || few.UsedKeys(ref.Key).Has("other") {
		t.Errorf("few have %d uses, of %s", len(ref.Uses), few.UsedKeys(ref.Key))
	}
	many := workload.Workload{References: workload.References(squared(70))}
	want := []workload.Reference{
		{Key: configMap("app"), Uses: []workload.Use{{How: workload.UseVolume, Container: "web", Volume: "v", Merged: true}}},
		{Key: configMap("other"), Uses: []workload.Use{{How: workload.UseEnv, Container: "web", Variable: "B", Merged: true}}},
		{Key: configMap("whole"), Uses: []workload.Use{{How: workload.UseVolume, Volume: "w", Merged: true}}},
	}
	if diff := cmp.Diff(want, many.References); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"app", "other", "whole"} {
		if keys := many.UsedKeys(configMap(name)); keys != nil {
			t.Errorf("of %s %s counts", name, keys)
		}
	}
	if got := many.References[0].Uses[0].String(); got != `volume "v", mounted by web (first use)` {
		t.Error(got)
	}
	spec := squared(70)
	spec.Containers[0].Env = spec.Containers[0].Env[1:]
	if ref := workload.References(spec)[0]; !workload.Optional(ref.Uses) {
		t.Error("it is not optional, although each of its uses is")
	}
}

package workload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func localName(name string) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: name}
}

func configMapVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: localName(name)},
	}}
}

func secretVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: name},
	}}
}

func mounting(container string, volumes ...string) corev1.Container {
	c := corev1.Container{Name: container}
	for _, volume := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume})
	}
	return c
}

func configMapEnv(variable, name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{
		ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: localName(name), Key: key},
	}}
}

func TestReferences(t *testing.T) {
	yes := true
	configMap := func(name string) source.LocalKey { return source.LocalKey{Kind: source.ConfigMap, Name: name} }
	secret := func(name string) source.LocalKey { return source.LocalKey{Kind: source.Secret, Name: name} }
	spc := func(name string) source.LocalKey {
		return source.LocalKey{Kind: source.SecretProviderClass, Name: name}
	}
	bundle := func(name string) source.LocalKey {
		return source.LocalKey{Kind: source.ClusterTrustBundle, Name: name}
	}
	type phrases map[source.LocalKey][]string

	for name, tc := range map[string]struct {
		spec *corev1.PodSpec
		want phrases
	}{
		"no template":    {nil, phrases{}},
		"empty template": {&corev1.PodSpec{}, phrases{}},
		"volumes of all kinds": {
			&corev1.PodSpec{
				Containers: []corev1.Container{mounting("app", "c", "s", "p", "x")},
				Volumes: []corev1.Volume{
					configMapVolume("c", "a"),
					secretVolume("s", "a"),
					{Name: "p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
						{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: localName("b")}},
						{Secret: &corev1.SecretProjection{LocalObjectReference: localName("b")}},
						{DownwardAPI: &corev1.DownwardAPIProjection{}},
					}}}},
					{Name: "x", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
						VolumeAttributes: map[string]string{"secretProviderClass": "vault", "other": "b"},
					}}},
				},
			},
			phrases{
				configMap("a"): {`volume "c", mounted by app`},
				secret("a"):    {`volume "s", mounted by app`},
				configMap("b"): {`projected volume "p", mounted by app`},
				secret("b"):    {`projected volume "p", mounted by app`},
				spc("vault"):   {`CSI volume "x", mounted by app`},
			},
		},
		"environments of all kinds": {
			&corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "app",
					Env: []corev1.EnvVar{
						{Name: "PLAIN", Value: "a"},
						{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
						configMapEnv("GREETING", "a", "greeting"),
						{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: localName("b"), Key: "p"}}},
					},
				}},
				InitContainers: []corev1.Container{{
					Name: "setup",
					EnvFrom: []corev1.EnvFromSource{
						{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: localName("a")}},
						{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: localName("c")}},
					},
					Env: []corev1.EnvVar{configMapEnv("MODE", "d", "mode")},
				}},
			},
			phrases{
				configMap("a"): {"env GREETING of app", "envFrom of setup (init)"},
				secret("b"):    {"env PASSWORD of app"},
				secret("c"):    {"envFrom of setup (init)"},
				configMap("d"): {"env MODE of setup (init)"},
			},
		},
		"one source used everywhere is one reference": {
			&corev1.PodSpec{
				InitContainers: []corev1.Container{mounting("setup", "two")},
				Containers: []corev1.Container{
					mounting("app", "one", "two"),
					{Name: "side", Env: []corev1.EnvVar{configMapEnv("A", "a", "x"), configMapEnv("B", "a", "y")}},
				},
				Volumes: []corev1.Volume{configMapVolume("one", "a"), configMapVolume("two", "a"), configMapVolume("three", "a")},
			},
			phrases{configMap("a"): {
				`volume "one", mounted by app`,
				`volume "two", mounted by app`,
				`volume "two", mounted by setup (init)`,
				`volume "three", mounted by no container`,
				"env A of side",
				"env B of side",
			}},
		},
		"a container that mounts parts of a volume": {
			&corev1.PodSpec{
				Containers: []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{
					{Name: "c", SubPath: "app.yaml"}, {Name: "c", SubPathExpr: "$(POD)"}, {Name: "c"},
				}}},
				Volumes: []corev1.Volume{configMapVolume("c", "a")},
			},
			phrases{configMap("a"): {
				`volume "c", subPath "app.yaml" mounted by app`,
				`volume "c", subPath "$(POD)" mounted by app`,
				`volume "c", mounted by app`,
			}},
		},
		"references without a name": {
			&corev1.PodSpec{
				Containers: []corev1.Container{{
					Name:    "app",
					Env:     []corev1.EnvVar{configMapEnv("A", "", "x")},
					EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{}}, {}},
				}},
				Volumes: []corev1.Volume{configMapVolume("c", ""), {Name: "x", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}}}},
			},
			phrases{},
		},
		"bundles of certificates, by name and by signer": {
			&corev1.PodSpec{
				Containers: []corev1.Container{mounting("app", "p")},
				Volumes: []corev1.Volume{{Name: "p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new("company")}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: new("")}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: new("example.com/a"), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "live", "b": "c"}}}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: new("example.com/all"), LabelSelector: &metav1.LabelSelector{}}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: new("example.com/none")}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{SignerName: new("example.com/wrong"), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a b": ""}}}},
					{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}},
				}}}}},
			},
			phrases{
				bundle("company"):                       {`projected volume "p", mounted by app`},
				bundle("example.com/a{b=c,stage=live}"): {`projected volume "p", mounted by app`},
				bundle("example.com/all{}"):             {`projected volume "p", mounted by app`},
			},
		},
		"secrets that pods need but that are no configuration": {
			&corev1.PodSpec{
				ImagePullSecrets: []corev1.LocalObjectReference{localName("pull")},
				Volumes: []corev1.Volume{
					{Name: "a", VolumeSource: corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "azure"}}},
					{Name: "b", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{NodePublishSecretRef: &corev1.LocalObjectReference{Name: "csi"}}}},
				},
				EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
					Name: "debug", Env: []corev1.EnvVar{configMapEnv("A", "a", "x")},
				}}},
			},
			phrases{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := phrases{}
			refs := workload.References(tc.spec)
			if len(refs) != len(tc.want) {
				t.Errorf("got %d references, want %d", len(refs), len(tc.want))
			}
			for _, ref := range refs {
				for _, use := range ref.Uses {
					got[ref.Key] = append(got[ref.Key], use.String())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	t.Run("what a use knows", func(t *testing.T) {
		optional := configMapEnv("A", "a", "key")
		optional.ValueFrom.ConfigMapKeyRef.Optional = &yes
		volume := secretVolume("v", "a")
		volume.Secret.Optional = &yes
		app := mounting("app", "v")
		app.Env = []corev1.EnvVar{optional, configMapEnv("B", "a", "other")}
		got := workload.References(&corev1.PodSpec{InitContainers: []corev1.Container{app}, Volumes: []corev1.Volume{volume}})
		want := []workload.Reference{
			{Key: configMap("a"), Uses: []workload.Use{
				{How: workload.UseEnv, Container: "app", Init: true, Optional: true, Variable: "A", Key: "key"},
				{How: workload.UseEnv, Container: "app", Init: true, Variable: "B", Key: "other"},
			}},
			{Key: secret("a"), Uses: []workload.Use{
				{How: workload.UseVolume, Container: "app", Init: true, Optional: true, Volume: "v"},
			}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("optional sources are references like all others", func(t *testing.T) {
		projection := func(optional *bool) []corev1.VolumeProjection {
			return []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: localName("c"), Optional: optional}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: localName("c"), Optional: optional}},
			}
		}
		volume := configMapVolume("a", "a")
		volume.ConfigMap.Optional = &yes
		spec := &corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "app",
				Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: localName("d"), Optional: &yes},
				}}},
				EnvFrom: []corev1.EnvFromSource{
					{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: localName("e"), Optional: &yes}},
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: localName("e"), Optional: &yes}},
				},
			}},
			Volumes: []corev1.Volume{volume, {Name: "p", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: projection(&yes)},
			}}},
		}
		refs := workload.References(spec)
		if len(refs) != 6 {
			t.Errorf("got %d references, want 6: %v", len(refs), refs)
		}
		for _, ref := range refs {
			if len(ref.Uses) != 1 || !ref.Uses[0].Optional {
				t.Errorf("%s: got %+v, want one optional use", ref.Key, ref.Uses)
			}
		}
	})

	t.Run("sorted by kind, then by name", func(t *testing.T) {
		got := workload.References(&corev1.PodSpec{Volumes: []corev1.Volume{
			secretVolume("1", "a"), configMapVolume("2", "b"), secretVolume("3", "c"), configMapVolume("4", "a"),
		}})
		keys := make([]source.LocalKey, 0, len(got))
		for _, ref := range got {
			keys = append(keys, ref.Key)
		}
		if diff := cmp.Diff([]source.LocalKey{configMap("a"), configMap("b"), secret("a"), secret("c")}, keys); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestUseOfUnknownKind(t *testing.T) {
	if got, want := (workload.Use{}).String(), "UseHow(0)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

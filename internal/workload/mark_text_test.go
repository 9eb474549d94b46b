package workload_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestEnvVarName(t *testing.T) {
	for name, tc := range map[string]struct {
		kind source.Kind
		name string
		want string
	}{
		"ConfigMap":                            {source.ConfigMap, "my-config", "STAKATER_MY_CONFIG_CONFIGMAP"},
		"Secret":                               {source.Secret, "my-config", "STAKATER_MY_CONFIG_SECRET"},
		"SecretProviderClass":                  {source.SecretProviderClass, "vault", "STAKATER_VAULT_SECRETPROVIDERCLASS"},
		"a dot is like a dash":                 {source.ConfigMap, "my.config", "STAKATER_MY_CONFIG_CONFIGMAP"},
		"a run becomes one":                    {source.ConfigMap, "a-.-b", "STAKATER_A_B_CONFIGMAP"},
		"digits stay":                          {source.ConfigMap, "2nd-try-3", "STAKATER_2ND_TRY_3_CONFIGMAP"},
		"capitals stay":                        {source.ConfigMap, "aB", "STAKATER_AB_CONFIGMAP"},
		"the first are dropped":                {source.ConfigMap, "--.a", "STAKATER_A_CONFIGMAP"},
		"the last become one":                  {source.ConfigMap, "a-.", "STAKATER_A__CONFIGMAP"},
		"nothing left":                         {source.ConfigMap, "---", "STAKATER__CONFIGMAP"},
		"no name":                              {source.ConfigMap, "", "STAKATER__CONFIGMAP"},
		"letters of other alphabets are a run": {source.ConfigMap, "aßé1", "STAKATER_A_1_CONFIGMAP"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := workload.EnvVarName(source.Key{Kind: tc.kind, Namespace: "shop", Name: tc.name}); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestMarkContainer(t *testing.T) {
	withEnv := func(container string) corev1.Container {
		return corev1.Container{Name: container, Env: []corev1.EnvVar{configMapEnv("A", "config", "a")}}
	}
	withEnvFrom := func(container string) corev1.Container {
		return corev1.Container{Name: container, EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: localName("config")}},
		}}
	}
	volumes := []corev1.Volume{configMapVolume("one", "config"), configMapVolume("two", "config"), configMapVolume("other", "other")}

	for name, tc := range map[string]struct {
		init, regular []corev1.Container
		named         bool
		want          string
	}{
		"the container that mounts it":                 {regular: []corev1.Container{mounting("a", "other"), mounting("b", "one")}, want: "b"},
		"the first of those that mount it":             {regular: []corev1.Container{mounting("a"), mounting("b", "one"), mounting("c", "one")}, want: "b"},
		"the first container, through a second volume": {regular: []corev1.Container{mounting("a", "two"), mounting("b", "one")}, want: "a"},
		"only a second volume is mounted":              {regular: []corev1.Container{mounting("a"), mounting("b", "two")}, want: "b"},
		"a mount counts more than an earlier env":      {regular: []corev1.Container{withEnv("a"), mounting("b", "one")}, want: "b"},
		"a mount in an init container counts more than env": {
			init: []corev1.Container{mounting("setup", "one")}, regular: []corev1.Container{mounting("a"), withEnv("b")}, want: "a",
		},
		"a mount in a regular container before one in an init container": {
			init: []corev1.Container{mounting("setup", "one")}, regular: []corev1.Container{mounting("a"), mounting("b", "two")}, want: "b",
		},
		"the container whose env refers to it":     {regular: []corev1.Container{mounting("a", "other"), withEnv("b"), withEnv("c")}, want: "b"},
		"the container whose envFrom refers to it": {regular: []corev1.Container{mounting("a"), withEnvFrom("b"), withEnv("c")}, want: "b"},
		"env in an init container": {
			init: []corev1.Container{withEnv("setup")}, regular: []corev1.Container{mounting("a"), mounting("b")}, want: "a",
		},
		"env in a regular container before one in an init container": {
			init: []corev1.Container{withEnv("setup")}, regular: []corev1.Container{mounting("a"), withEnv("b")}, want: "b",
		},
		"a named source is used by none":     {regular: []corev1.Container{mounting("a"), mounting("b")}, named: true, want: "a"},
		"a source that is used by none":      {regular: []corev1.Container{mounting("a", "other"), mounting("b")}},
		"no regular container":               {init: []corev1.Container{mounting("setup", "one")}, named: true},
		"a named source that is used":        {regular: []corev1.Container{mounting("a"), withEnv("b")}, named: true, want: "b"},
		"a named source used by init":        {init: []corev1.Container{withEnv("setup")}, regular: []corev1.Container{mounting("a"), mounting("b")}, named: true, want: "a"},
		"a container of unrelated env":       {regular: []corev1.Container{{Name: "a", Env: []corev1.EnvVar{configMapEnv("A", "other", "a")}}}},
		"an init container of the same name": {init: []corev1.Container{mounting("b", "one")}, regular: []corev1.Container{mounting("a"), mounting("b")}, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			var uses []workload.Use
			spec := &corev1.PodSpec{InitContainers: tc.init, Containers: tc.regular, Volumes: volumes}
			for _, ref := range workload.References(spec) {
				if ref.Key == (source.LocalKey{Kind: source.ConfigMap, Name: "config"}) {
					uses = ref.Uses
				}
			}
			var names []string
			for _, container := range tc.regular {
				names = append(names, container.Name)
			}
			got, ok := workload.MarkContainer(uses, names, tc.named)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, tc.want)
			}
		})
	}
}

func TestMarkHash(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"key": []byte("value")}}
	key, err := digest.NewKey(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	cm := source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": "value"}}, annotations.DefaultNames())
	keyed := source.FromSecret(secret, key, annotations.DefaultNames())
	shown := source.FromSecret(secret, key.Showing(digest.SecretMarksSHA1), annotations.DefaultNames())
	spc := source.Source{Key: source.Key{Kind: source.SecretProviderClass}, Reloader: cm.Reloader}
	const reloader = "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"

	for name, tc := range map[string]struct {
		src   source.Source
		marks digest.SecretMarks
		want  string
	}{
		"a ConfigMap is marked as ever":                  {cm, digest.SecretMarksKeyed, reloader},
		"a SecretProviderClass is marked as ever":        {spc, digest.SecretMarksKeyed, reloader},
		"a Secret is marked by its keyed digest":         {keyed, digest.SecretMarksKeyed, "522b6ba82a6d935c6c9e3fa738b07db3adcac07d"},
		"a Secret that may be marked either way":         {shown, digest.SecretMarksKeyed, "522b6ba82a6d935c6c9e3fa738b07db3adcac07d"},
		"a Secret is marked as ever if the user says so": {shown, digest.SecretMarksSHA1, reloader},
		"a ConfigMap does not care":                      {cm, digest.SecretMarksSHA1, reloader},
	} {
		t.Run(name, func(t *testing.T) {
			if got := workload.MarkHash(tc.src, tc.marks); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}

	t.Run("the mark of a Secret follows from its digest alone", func(t *testing.T) {
		known := source.Source{Key: keyed.Key, Digest: keyed.Digest}
		if got, want := workload.MarkHash(known, digest.SecretMarksKeyed), workload.MarkHash(keyed, digest.SecretMarksKeyed); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})

	t.Run("the delete marker has the shape of a mark", func(t *testing.T) {
		if raw, err := hex.DecodeString(workload.DeleteMarker); err != nil || len(raw) != len(cm.Reloader) {
			t.Errorf("%s: %d bytes, %v", workload.DeleteMarker, len(raw), err)
		}
	})
}

func TestReloadedFrom(t *testing.T) {
	mark := workload.ReloadedFrom{
		Source:     source.Key{Kind: source.ConfigMap, Namespace: "default", Name: "my-config"},
		Hash:       "dc30e0faa89a70dec1033016a2309bbeb9efcbd0",
		Containers: []string{"app"},
		ObservedAt: 1754800000,
	}
	const text = `{"type":"CONFIGMAP","name":"my-config","namespace":"default","hash":"dc30e0faa89a70dec1033016a2309bbeb9efcbd0","containerRefs":["app"],"observedAt":1754800000}`
	if diff := cmp.Diff(text, mark.JSON()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := workload.ParseReloadedFrom(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mark, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	none := workload.ReloadedFrom{Source: mark.Source, Hash: "x"}.JSON()
	if !strings.Contains(none, `"containerRefs":[]`) {
		t.Errorf("a mark without containers is %s", none)
	}
}

func TestParseReloadedFromRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty text":        {``, "must be a JSON object"},
		"no JSON":           {`reloaded`, "must be a JSON object"},
		"a list":            {`[]`, "must be a JSON object"},
		"no type":           {`{"name":"a","hash":"x"}`, `type is "", must be one of CONFIGMAP, SECRET, SECRETPROVIDERCLASS`},
		"an unknown type":   {`{"type":"ConfigMap","name":"a","hash":"x"}`, `type is "ConfigMap", must be one of CONFIGMAP`},
		"no name":           {`{"type":"SECRET","hash":"x"}`, `name "" and hash "x", must have both`},
		"no hash":           {`{"type":"SECRET","name":"a"}`, `name "a" and hash "", must have both`},
		"a time in letters": {`{"type":"SECRET","name":"a","hash":"x","observedAt":"now"}`, "must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := workload.ParseReloadedFrom(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
			if diff := cmp.Diff(workload.ReloadedFrom{}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseReloadedFrom(f *testing.F) {
	f.Add(`{"type":"CONFIGMAP","name":"a","namespace":"b","hash":"c","containerRefs":["d"],"observedAt":1}`)
	f.Add(`{"type":"SECRET","name":"a","hash":"c","containerRefs":null,"more":{}}`)
	f.Add("{\"type\":\"SECRET\",\"name\":\"\xff<\",\"hash\":\"c\"}")
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		mark, err := workload.ParseReloadedFrom(text)
		if err != nil {
			return
		}
		again, err := workload.ParseReloadedFrom(mark.JSON())
		if err != nil {
			t.Fatalf("what was read from %s is refused: %v", text, err)
		}
		if diff := cmp.Diff(mark, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-read +again):\n%s", diff)
		}
	})
}

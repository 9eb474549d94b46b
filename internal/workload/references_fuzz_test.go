package workload_test

import (
	compare "cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// workload_test.FuzzReferences fills whatever a PodSpec can hold, every string another one,
// so also the fields of which the code under test knows nothing. Which names
// are references is then read off the paths of the marshalled spec.
func FuzzReferences(f *testing.F) {
	for seed := range 400 {
		f.Add(binary.LittleEndian.AppendUint32(nil, uint32(seed)))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		var spec corev1.PodSpec
		newFiller(choices).fill(reflect.ValueOf(&spec).Elem())

		want := referencesByPath(t, &spec)
		refs := workload.References(&spec)
		got := make([]source.LocalKey, 0, len(refs))
		for _, ref := range refs {
			if ref.Key.IsUnion() {
				continue // its name is made from a signer and labels
			}
			got = append(got, ref.Key)
			checkUses(t, &spec, ref)
			checkKeys(t, &spec, ref)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("references (-want +got):\n%s", diff)
		}
	})
}

// checkUses looks up the container, the mount and the variable of every use.
func checkUses(t *testing.T, spec *corev1.PodSpec, ref workload.Reference) {
	t.Helper()
	if len(ref.Uses) == 0 {
		t.Errorf("%s has no use", ref.Key)
	}
	for _, use := range ref.Uses {
		containers := spec.Containers
		if use.Init {
			containers = spec.InitContainers
		}
		mounts := func(c corev1.Container) bool {
			return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == use.Volume })
		}
		if use.How.Mounts() && use.Container == "" {
			if slices.ContainsFunc(spec.Containers, mounts) || slices.ContainsFunc(spec.InitContainers, mounts) {
				t.Errorf("%s: a container mounts volume %q", ref.Key, use.Volume)
			}
			continue
		}
		if !slices.ContainsFunc(containers, func(c corev1.Container) bool {
			hasVariable := slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == use.Variable })
			switch {
			case c.Name != use.Container:
				return false
			case use.How.Mounts():
				return mounts(c)
			default:
				return use.How == workload.UseEnvFrom || use.How == workload.UseEnv && hasVariable
			}
		}) {
			t.Errorf("%s: no container is as this use says: %s", ref.Key, use)
		}
	}
}

// referencesByPath returns the values in the marshalled spec at one of the paths that reference a
// source.
func referencesByPath(t *testing.T, spec *corev1.PodSpec) []source.LocalKey {
	t.Helper()
	raw, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}

	const containers = `^\.(containers|initContainers)\[\]`
	places := []struct {
		path *regexp.Regexp
		kind source.Kind
	}{
		{regexp.MustCompile(containers + `\.env\[\]\.valueFrom\.configMapKeyRef\.name$`), source.ConfigMap},
		{regexp.MustCompile(containers + `\.env\[\]\.valueFrom\.secretKeyRef\.name$`), source.Secret},
		{regexp.MustCompile(containers + `\.envFrom\[\]\.configMapRef\.name$`), source.ConfigMap},
		{regexp.MustCompile(containers + `\.envFrom\[\]\.secretRef\.name$`), source.Secret},
		{regexp.MustCompile(`^\.volumes\[\]\.configMap\.name$`), source.ConfigMap},
		{regexp.MustCompile(`^\.volumes\[\]\.secret\.secretName$`), source.Secret},
		{regexp.MustCompile(`^\.volumes\[\]\.projected\.sources\[\]\.configMap\.name$`), source.ConfigMap},
		{regexp.MustCompile(`^\.volumes\[\]\.projected\.sources\[\]\.secret\.name$`), source.Secret},
		{regexp.MustCompile(`^\.volumes\[\]\.projected\.sources\[\]\.clusterTrustBundle\.name$`), source.ClusterTrustBundle},
		{regexp.MustCompile(`^\.volumes\[\]\.csi\.volumeAttributes\.secretProviderClass$`), source.SecretProviderClass},
	}
	found := []source.LocalKey{}
	var walk func(path string, node any)
	walk = func(path string, node any) {
		switch node := node.(type) {
		case map[string]any:
			for key, child := range node {
				walk(path+"."+key, child)
			}
		case []any:
			for _, child := range node {
				walk(path+"[]", child)
			}
		case string:
			for _, place := range places {
				if place.path.MatchString(path) {
					found = append(found, source.LocalKey{Kind: place.kind, Name: node})
				}
			}
		}
	}
	walk("", tree)

	slices.SortFunc(found, func(a, b source.LocalKey) int {
		return compare.Or(compare.Compare(a.Kind, b.Kind), compare.Compare(a.Name, b.Name))
	})
	return found
}

// filler takes its choices from bytes, and from numbers that follow from the
// bytes once these are used up.
type filler struct {
	choices []byte
	more    *rand.Rand
	strings int
}

func newFiller(choices []byte) *filler {
	seed := uint64(len(choices))
	for _, b := range choices {
		seed = seed*131 + uint64(b)
	}
	return &filler{choices: choices, more: rand.New(rand.NewPCG(seed, 0))}
}

// pick returns a number below n.
func (f *filler) pick(n int) int {
	if len(f.choices) == 0 {
		return f.more.IntN(n)
	}
	choice := int(f.choices[0]) % n
	f.choices = f.choices[1:]
	return choice
}

// fill leaves alone what it does not know how to fill, like quantities.
func (f *filler) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		f.strings++
		v.SetString(fmt.Sprintf("s%d", f.strings))
	case reflect.Bool:
		v.SetBool(f.pick(2) == 1)
	case reflect.Pointer:
		if f.pick(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), f.pick(3), 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() {
			f.strings++
			v.Set(reflect.ValueOf(map[string]string{
				[]string{"secretProviderClass", "other"}[f.pick(2)]: fmt.Sprintf("s%d", f.strings),
			}))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				return
			}
			f.fill(v.Field(i))
		}
		f.fillPaths(v)
		// Volumes and mounts share a few names, so that they meet.
		if kind := v.Type(); kind == reflect.TypeFor[corev1.Volume]() || kind == reflect.TypeFor[corev1.VolumeMount]() {
			v.FieldByName("Name").SetString(fmt.Sprintf("volume-%d", f.pick(4)))
		}
	}
}

package workload

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
)

// Reference is a source that a pod template references, with all places. The source is in the
// namespace of the workload, or in none.
type Reference struct {
	Key  source.LocalKey
	Uses []Use
}

// UseHow is a way in which a pod template can reference a source.
type UseHow uint8

// The ways to reference a source.
const (
	UseVolume UseHow = iota + 1
	UseProjectedVolume
	UseCSIVolume
	UseEnv
	UseEnvFrom
)

// Mounts reports whether containers read the data as files.
func (h UseHow) Mounts() bool {
	return h == UseVolume || h == UseProjectedVolume || h == UseCSIVolume
}

// Use is one place where a pod template references a source: a mount of a volume
// by a container, a volume that no container mounts, an environment variable,
// or an envFrom entry.
type Use struct {
	How UseHow
	// Container is empty for a volume that no container mounts.
	Container string
	// Init is set for an init container.
	Init bool
	// Optional is set if Pods start even without the source.
	Optional bool

	// Volume is the name of the volume.
	Volume string
	// SubPath is the mounted part of the volume, if only a part is mounted. Such files never change
	// after the container started.
	SubPath string
	// Keys are the keys of a ConfigMap or Secret that the mount shows; nil for all.
	Keys []string
	// Unknown reports whether a key is used that the template does not name, for example because
	// another field selects the value. It may be any key.
	Unknown bool
	// Merged reports whether it stands for all uses of the source, because the template has too many
	// uses. Then all keys of the source count as used.
	Merged bool

	// Variable is the name of the environment variable, and Key the key of the source with its
	// value, empty if the template names none.
	Variable string
	Key      string
}

// String says in a few words where the use is, like
//
//	volume "config", mounted by app
//	env GREETING of app
//	envFrom of setup (init)
func (u Use) String() string {
	container := u.Container
	if u.Init {
		container += " (init)"
	}
	if u.Merged {
		container += " (first use)"
	}
	switch u.How {
	case UseVolume:
		return u.volumePhrase("volume", container)
	case UseProjectedVolume:
		return u.volumePhrase("projected volume", container)
	case UseCSIVolume:
		return u.volumePhrase("CSI volume", container)
	case UseEnv:
		return fmt.Sprintf("env %s of %s", u.Variable, container)
	case UseEnvFrom:
		return "envFrom of " + container
	default:
		return fmt.Sprintf("UseHow(%d)", uint8(u.How))
	}
}

func (u Use) volumePhrase(volume, container string) string {
	phrase := fmt.Sprintf("%s %q", volume, u.Volume)
	switch {
	case u.Container == "":
		return phrase + ", mounted by no container"
	case u.SubPath != "":
		return fmt.Sprintf("%s, subPath %q mounted by %s", phrase, u.SubPath, container)
	default:
		return phrase + ", mounted by " + container
	}
}

// References returns the references of a pod template, sorted by kind and name, each source once.
// The uses of a source are in the order of the template: volumes before environments, regular
// containers before init containers.
//
// Ephemeral containers are ignored: they belong to a running Pod, and the API server rejects them
// in a template.
func References(spec *corev1.PodSpec) []Reference {
	if spec == nil {
		return nil
	}
	containers := make([]templateContainer, 0, len(spec.Containers)+len(spec.InitContainers))
	for i := range spec.Containers {
		containers = append(containers, templateContainer{Container: &spec.Containers[i]})
	}
	for i := range spec.InitContainers {
		containers = append(containers, templateContainer{Container: &spec.InitContainers[i], init: true})
	}

	found, mounts := references{uses: map[source.LocalKey][]Use{}}, mountsOf(containers)
	found.scan(spec.Volumes, mounts, containers)
	if found.tooMany() {
		found = references{uses: map[source.LocalKey][]Use{}, merged: true}
		found.scan(spec.Volumes, mounts, containers)
	}
	found.boundUnions()
	return found.sorted()
}

type templateContainer struct {
	*corev1.Container
	init bool
}

// mounts are the mounts of a pod template by volume, because a template may have thousands of both.
type mounts map[string][]mount

// mount is a mount of a volume by a container.
type mount struct {
	Use
	// expression reports whether the environment decides which part of the volume it shows.
	expression bool
}

func mountsOf(containers []templateContainer) mounts {
	by := mounts{}
	for _, container := range containers {
		for i := range container.VolumeMounts {
			m := &container.VolumeMounts[i]
			use := Use{Container: container.Name, Init: container.init, SubPath: cmp.Or(m.SubPath, m.SubPathExpr)}
			by[m.Name] = append(by[m.Name], mount{use, m.SubPathExpr != ""})
		}
	}
	return by
}

// mostUses bounds the uses of one template and the keys in them. Each container that mounts a volume
// uses each of its sources with each of its items. Without a bound, a template of 100 KiB would have
// millions of uses.
const mostUses = 4096

// references are the uses of sources that were found in a template.
type references struct {
	uses map[source.LocalKey][]Use
	// count is how many uses and keys the template has, as far as it was read.
	count int
	// merged reports whether each source gets one use, because there are too many.
	merged bool
	// shown is reused for each mount.
	shown [][]string
}

func (r *references) tooMany() bool { return r.count > mostUses && !r.merged }

func (r *references) scan(volumes []corev1.Volume, by mounts, containers []templateContainer) {
	for i := range volumes {
		r.volume(&volumes[i], by)
	}
	for _, container := range containers {
		r.environment(container)
	}
}

// add skips a reference without a name. The API allows it, and it references nothing. It also allows
// a slash, with which no object exists: no template references a source of another namespace.
func (r *references) add(kind source.Kind, name string, use Use) {
	key := source.LocalKey{Kind: kind, Name: name}
	if name == "" || key.IsForeign() {
		return
	}
	uses := r.uses[key]
	if r.merged && len(uses) > 0 {
		uses[0].Optional = uses[0].Optional && use.Optional
		return
	}
	if r.merged {
		use.Merged, use.Keys, use.Key, use.Unknown = true, nil, "", false
	}
	r.uses[key] = append(uses, use)
}

func (r *references) sorted() []Reference {
	list := make([]Reference, 0, len(r.uses))
	for key, uses := range r.uses {
		list = append(list, Reference{Key: key, Uses: uses})
	}
	slices.SortFunc(list, func(a, b Reference) int { return source.CompareLocalKeys(a.Key, b.Key) })
	return list
}

func (r *references) volume(volume *corev1.Volume, by mounts) {
	if src := volume.ConfigMap; src != nil {
		use := Use{How: UseVolume, Volume: volume.Name, Optional: isTrue(src.Optional)}
		r.mounted(by, files{source.ConfigMap, src.Name, use, src.Items})
	}
	if src := volume.Secret; src != nil {
		use := Use{How: UseVolume, Volume: volume.Name, Optional: isTrue(src.Optional)}
		r.mounted(by, files{source.Secret, src.SecretName, use, src.Items})
	}
	if volume.Projected != nil {
		r.projected(volume, by)
	}
	if volume.CSI != nil {
		use := Use{How: UseCSIVolume, Volume: volume.Name}
		r.mounted(by, files{kind: source.SecretProviderClass, name: volume.CSI.VolumeAttributes["secretProviderClass"], use: use})
	}
}

func (r *references) projected(volume *corev1.Volume, by mounts) {
	var all []files
	for i := range volume.Projected.Sources {
		all = append(all, projected(volume.Name, &volume.Projected.Sources[i])...)
	}
	r.mounted(by, all...)
}

// mounted adds one use per mount and source of a volume. A volume that no container mounts counts
// too, as a whole, because a webhook may add the container to each Pod.
func (r *references) mounted(by mounts, volume ...files) {
	if len(volume) == 0 {
		return
	}
	mounts := by[volume[0].use.Volume]
	if len(mounts) == 0 {
		mounts = []mount{{}}
	}
	if r.merged {
		mounts = []mount{{Use: Use{Container: mounts[0].Container, Init: mounts[0].Init}}}
	}
	for i := range volume {
		r.count += len(mounts) * (1 + len(volume[i].items))
	}
	if r.tooMany() {
		return
	}
	for i := range mounts {
		mount := &mounts[i]
		r.shown = keysAt(r.shown[:0], volume, mount)
		for at, of := range volume {
			use := of.use
			use.Container, use.Init, use.SubPath, use.Keys = mount.Container, mount.Init, mount.SubPath, r.shown[at]
			use.Unknown = of.isUnknown(use.Keys)
			r.add(of.kind, of.name, use)
		}
	}
}

func (r *references) environment(container templateContainer) {
	use := Use{Container: container.Name, Init: container.init}
	for i := range container.Env {
		variable := &container.Env[i]
		if variable.ValueFrom == nil {
			continue
		}
		r.count++
		use := use
		use.How, use.Variable = UseEnv, variable.Name
		if src := variable.ValueFrom.ConfigMapKeyRef; src != nil {
			use.Key, use.Unknown, use.Optional = src.Key, src.Key == "", isTrue(src.Optional)
			r.add(source.ConfigMap, src.Name, use)
		}
		if src := variable.ValueFrom.SecretKeyRef; src != nil {
			use.Key, use.Unknown, use.Optional = src.Key, src.Key == "", isTrue(src.Optional)
			r.add(source.Secret, src.Name, use)
		}
	}
	for i := range container.EnvFrom {
		r.count++
		use := use
		use.How = UseEnvFrom
		if src := container.EnvFrom[i].ConfigMapRef; src != nil {
			use.Optional = isTrue(src.Optional)
			r.add(source.ConfigMap, src.Name, use)
		}
		if src := container.EnvFrom[i].SecretRef; src != nil {
			use.Optional = isTrue(src.Optional)
			r.add(source.Secret, src.Name, use)
		}
	}
}

func isTrue(b *bool) bool {
	return b != nil && *b
}

// Optional reports whether pods start without a source that they use in these places.
func Optional(uses []Use) bool {
	return len(uses) > 0 && !slices.ContainsFunc(uses, func(u Use) bool { return !u.Optional })
}

// Required reports whether a Pod template uses a source, and each container that does requires it. A
// source may be neither.
func Required(uses []Use) bool {
	return len(uses) > 0 && !slices.ContainsFunc(uses, func(u Use) bool { return u.Optional })
}

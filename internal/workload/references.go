package workload

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
)

// Reference is a source that a pod template references, with all places. The source is in the
// namespace of the workload.
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

	// Variable is the name of the environment variable, and Key the key of the source with its
	// value.
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

	found, mounts := references{}, mountsOf(containers)
	for i := range spec.Volumes {
		found.volume(&spec.Volumes[i], mounts)
	}
	for _, container := range containers {
		found.environment(container)
	}
	return found.sorted()
}

type templateContainer struct {
	*corev1.Container
	init bool
}

// mounts are the mounts of a pod template by volume, because a template may have thousands of both.
type mounts map[string][]Use

func mountsOf(containers []templateContainer) mounts {
	by := mounts{}
	for _, container := range containers {
		for i := range container.VolumeMounts {
			mount := &container.VolumeMounts[i]
			by[mount.Name] = append(by[mount.Name], Use{Container: container.Name, Init: container.init, SubPath: cmp.Or(mount.SubPath, mount.SubPathExpr)})
		}
	}
	return by
}

type references map[source.LocalKey][]Use

// add skips a reference without a name. The API allows it, and it references nothing.
func (r references) add(kind source.Kind, name string, use Use) {
	if name == "" {
		return
	}
	key := source.LocalKey{Kind: kind, Name: name}
	r[key] = append(r[key], use)
}

func (r references) sorted() []Reference {
	list := make([]Reference, 0, len(r))
	for key, uses := range r {
		list = append(list, Reference{Key: key, Uses: uses})
	}
	slices.SortFunc(list, func(a, b Reference) int { return source.CompareLocalKeys(a.Key, b.Key) })
	return list
}

func (r references) volume(volume *corev1.Volume, by mounts) {
	if src := volume.ConfigMap; src != nil {
		use := Use{How: UseVolume, Volume: volume.Name, Optional: isTrue(src.Optional)}
		r.mounted(source.ConfigMap, src.Name, use, by)
	}
	if src := volume.Secret; src != nil {
		use := Use{How: UseVolume, Volume: volume.Name, Optional: isTrue(src.Optional)}
		r.mounted(source.Secret, src.SecretName, use, by)
	}
	if volume.Projected != nil {
		for _, projection := range volume.Projected.Sources {
			use := Use{How: UseProjectedVolume, Volume: volume.Name}
			if src := projection.ConfigMap; src != nil {
				use.Optional = isTrue(src.Optional)
				r.mounted(source.ConfigMap, src.Name, use, by)
			}
			if src := projection.Secret; src != nil {
				use.Optional = isTrue(src.Optional)
				r.mounted(source.Secret, src.Name, use, by)
			}
		}
	}
	if volume.CSI != nil {
		use := Use{How: UseCSIVolume, Volume: volume.Name}
		r.mounted(source.SecretProviderClass, volume.CSI.VolumeAttributes["secretProviderClass"], use, by)
	}
}

// mounted adds one use per mount. A volume that no container mounts counts too, because a webhook
// may add the container to each Pod.
func (r references) mounted(kind source.Kind, name string, use Use, by mounts) {
	for _, mount := range by[use.Volume] {
		use.Container, use.Init, use.SubPath = mount.Container, mount.Init, mount.SubPath
		r.add(kind, name, use)
	}
	if len(by[use.Volume]) == 0 {
		r.add(kind, name, use)
	}
}

func (r references) environment(container templateContainer) {
	use := Use{Container: container.Name, Init: container.init}
	for i := range container.Env {
		variable := &container.Env[i]
		if variable.ValueFrom == nil {
			continue
		}
		use := use
		use.How, use.Variable = UseEnv, variable.Name
		if src := variable.ValueFrom.ConfigMapKeyRef; src != nil {
			use.Key, use.Optional = src.Key, isTrue(src.Optional)
			r.add(source.ConfigMap, src.Name, use)
		}
		if src := variable.ValueFrom.SecretKeyRef; src != nil {
			use.Key, use.Optional = src.Key, isTrue(src.Optional)
			r.add(source.Secret, src.Name, use)
		}
	}
	for i := range container.EnvFrom {
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

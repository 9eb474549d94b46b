package workload

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// KeysOf returns which keys of a source with some labels count for the workload.
func (w *Workload) KeysOf(key source.LocalKey, labels source.Labels, byDefault policy.KeyMode) policy.KeyVerdict {
	return w.KeysUnder(w.Policy.KeyRule(), key, labels, byDefault)
}

// KeysUnder is KeysOf with another rule.
func (w *Workload) KeysUnder(rule policy.KeyRule, key source.LocalKey, labels source.Labels, byDefault policy.KeyMode) policy.KeyVerdict {
	if !rule.Restricts(byDefault) {
		return rule.Of(key, nil, 0, byDefault) // most workloads
	}
	return rule.Of(key, w.UsedKeys(key), w.Policy.WithoutReference(key, labels), byDefault)
}

// UsedKeys are the keys of a source that the pod template uses; nil if it uses the whole source, or
// does not reference it.
func (w *Workload) UsedKeys(key source.LocalKey) *source.Keys {
	ref, refers := w.Reference(key)
	if !refers || ref.UsesAll() {
		return nil
	}
	var names []string
	for i := range ref.Uses {
		names = append(names, ref.Uses[i].keys()...)
	}
	return source.OnlyKeys(names)
}

// UsesAll reports whether all keys of the source count as used.
func (r *Reference) UsesAll() bool {
	for i := range r.Uses {
		if r.Uses[i].UsesAll() {
			return true
		}
	}
	return false
}

// UsesAll reports whether the place uses the whole source, or the keys that it uses are unknown.
func (u *Use) UsesAll() bool {
	switch u.How {
	case UseEnv:
		return u.Unknown || u.Merged
	case UseVolume, UseProjectedVolume:
		return u.Keys == nil
	default:
		return true
	}
}

func (u *Use) keys() []string {
	if u.How == UseEnv {
		return []string{u.Key}
	}
	return u.Keys
}

// files are the files of one source in a volume.
type files struct {
	kind source.Kind
	name string
	use  Use
	// items are the keys that are files, all if there are none.
	items []corev1.KeyToPath
}

// projected are the files of each part of a projected volume. If a part has no name, no object
// outside the Pod has its data.
func projected(volume string, from *corev1.VolumeProjection) []files {
	var all []files
	put := func(kind source.Kind, name string, optional *bool, items []corev1.KeyToPath) {
		all = append(all, files{kind, name, Use{How: UseProjectedVolume, Volume: volume, Optional: isTrue(optional)}, items})
	}
	if src := from.ConfigMap; src != nil {
		put(source.ConfigMap, src.Name, src.Optional, src.Items)
	}
	if src := from.Secret; src != nil {
		put(source.Secret, src.Name, src.Optional, src.Items)
	}
	if src := from.ClusterTrustBundle; src != nil {
		put(source.ClusterTrustBundle, bundlesOf(src), src.Optional, []corev1.KeyToPath{{Path: src.Path}})
	}
	if own := ownFiles(from); len(own) > 0 {
		put(0, "", nil, own)
	}
	return all
}

// ownFiles are the files of a projected volume that the kubelet makes for each Pod.
func ownFiles(from *corev1.VolumeProjection) []corev1.KeyToPath {
	var all []corev1.KeyToPath
	if src := from.ServiceAccountToken; src != nil {
		all = append(all, corev1.KeyToPath{Path: src.Path})
	}
	if src := from.DownwardAPI; src != nil {
		for i := range src.Items {
			all = append(all, corev1.KeyToPath{Path: src.Items[i].Path})
		}
	}
	if src := from.PodCertificate; src != nil {
		for _, path := range []string{src.CredentialBundlePath, src.KeyPath, src.CertificateChainPath} {
			all = append(all, corev1.KeyToPath{Path: path})
		}
	}
	return all
}

// whole reports whether any key may be a file. An item without a key may choose its data in a way
// that this version does not know.
func (f *files) whole() bool {
	return len(f.items) == 0 || slices.ContainsFunc(f.items, func(item corev1.KeyToPath) bool { return item.Key == "" })
}

// isUnknown reports whether an item that a mount shows names no key.
func (f *files) isUnknown(shown []string) bool {
	return shown == nil && len(f.items) > 0 && f.kind.HasKeys()
}

// all are the keys of all files; nil for all keys.
func (f *files) all() []string {
	if f.whole() {
		return nil
	}
	keys := make([]string, 0, len(f.items))
	for i := range f.items {
		keys = append(keys, f.items[i].Key)
	}
	return keys
}

// below are the keys whose files are a path in the volume, or are in it; nil for all keys. A path
// that is no file of this source uses none of its keys.
func (f *files) below(sub string) []string {
	keys := []string{}
	if len(f.items) == 0 {
		if !strings.Contains(sub, "/") {
			keys = append(keys, sub)
		}
		return keys
	}
	for i := range f.items {
		if at := path.Clean(f.items[i].Path); at == sub || strings.HasPrefix(at, sub+"/") {
			if f.items[i].Key == "" {
				return nil
			}
			keys = append(keys, f.items[i].Key)
		}
	}
	return keys
}

// keysAt appends the keys of each source of a volume that a mount shows. A path that may be any file,
// or that no source provides, counts as the whole volume.
func keysAt(found [][]string, volume []files, mount *mount) [][]string {
	sub, some := path.Clean(mount.SubPath), false
	if mount.expression || strings.HasPrefix(sub, "/") || strings.HasPrefix(sub, "..") {
		sub = "." // the kubelet has links such as "..data" in the volume, and no key begins like that
	}
	for i := range volume {
		if sub != "." {
			keys := volume[i].below(sub)
			found = append(found, keys)
			some = some || keys == nil || len(keys) > 0
		}
	}
	if some {
		return found
	}
	found = found[:0]
	for i := range volume {
		found = append(found, volume[i].all())
	}
	return found
}

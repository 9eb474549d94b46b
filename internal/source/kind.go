package source

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Kind is a kind of object with configuration. The zero value is no kind.
type Kind uint8

// The kinds of source.
const (
	ConfigMap Kind = iota + 1
	Secret
	SecretProviderClass
	ClusterTrustBundle

	KindCount = int(ClusterTrustBundle)
)

// sourceTraits are the differences between the kinds of source, except for how an object is read.
type sourceTraits struct {
	kind Kind
	// name is the kind in manifests, apiVersion the apiVersion of its objects, and resource their
	// plural.
	name, apiVersion, resource string
	// keyed reports whether its digests are made with the digest.Key.
	keyed bool
	// reported reports whether the data is in reports of Pods. It may have existed before the first
	// report, and exists after the last one.
	reported bool
	// cluster reports whether its objects are in no namespace.
	cluster bool
	// keys are the annotations for it.
	keys func(*annotations.Names) annotations.KindNames
}

// sourceTable is the list of all kinds.
func sourceTable() [KindCount]sourceTraits {
	return [...]sourceTraits{
		{
			kind: ConfigMap, name: "ConfigMap", apiVersion: "v1", resource: "configmaps",
			keys: (*annotations.Names).OfConfigMap,
		},
		{
			kind: Secret, name: "Secret", apiVersion: "v1", resource: "secrets", keyed: true,
			keys: (*annotations.Names).OfSecret,
		},
		{
			kind: SecretProviderClass, name: "SecretProviderClass", apiVersion: "secrets-store.csi.x-k8s.io/v1", resource: "secretproviderclasses", reported: true,
			keys: (*annotations.Names).OfProviderClass,
		},
		{
			kind: ClusterTrustBundle, name: "ClusterTrustBundle", apiVersion: "certificates.k8s.io/v1", resource: "clustertrustbundles", cluster: true,
			keys: (*annotations.Names).OfTrustBundle,
		},
	}
}

// traits returns the row of a kind, and false for an unknown kind.
func (k Kind) traits() (sourceTraits, bool) {
	table := sourceTable()
	if k < 1 || int(k) > len(table) {
		return sourceTraits{}, false
	}
	return table[k-1], true
}

// Kinds are all kinds, in the order of the table. It is an array to avoid an allocation for each
// decision.
func Kinds() [KindCount]Kind {
	var kinds [KindCount]Kind
	for i, t := range sourceTable() {
		kinds[i] = t.kind
	}
	return kinds
}

// Known reports whether it is one of the kinds of source.
func (k Kind) Known() bool { return k >= 1 && int(k) <= KindCount }

// Keys are the annotations for it; none for an unknown kind.
func (k Kind) Keys(names *annotations.Names) annotations.KindNames {
	t, ok := k.traits()
	if !ok {
		return annotations.KindNames{}
	}
	return t.keys(names)
}

// String returns the name of the kind as manifests spell it.
func (k Kind) String() string {
	if t, ok := k.traits(); ok {
		return t.name
	}
	return fmt.Sprintf("SourceKind(%d)", uint8(k))
}

// APIVersion is the apiVersion of the objects, for references to one.
func (k Kind) APIVersion() string {
	t, _ := k.traits()
	return t.apiVersion
}

// Resource is the plural of the objects.
func (k Kind) Resource() string {
	t, _ := k.traits()
	return t.resource
}

// Type returns the spelling used in marks, events and alerts.
func (k Kind) Type() string {
	return strings.ToUpper(k.String())
}

// Keyed reports whether digests of the kind are made with the digest.Key.
func (k Kind) Keyed() bool {
	t, _ := k.traits()
	return t.keyed
}

// ClusterScoped reports whether the objects of the kind are in no namespace, so that workloads of
// every namespace may use them.
func (k Kind) ClusterScoped() bool {
	t, _ := k.traits()
	return t.cluster
}

// HasKeys reports whether such sources have keys that Pods can use one by one.
func (k Kind) HasKeys() bool { return k == ConfigMap || k == Secret }

// Reported reports whether the data of such sources is in reports of Pods.
func (k Kind) Reported() bool {
	t, _ := k.traits()
	return t.reported
}

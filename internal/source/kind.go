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

// sourceTable has a row for each kind, in their order.
//
//nolint:gochecknoglobals // a constant: each event of a workload asks for the traits of kinds dozens of times
var sourceTable = [KindCount]sourceTraits{
	{
		name: "ConfigMap", apiVersion: "v1", resource: "configmaps",
		keys: (*annotations.Names).OfConfigMap,
	},
	{
		name: "Secret", apiVersion: "v1", resource: "secrets", keyed: true,
		keys: (*annotations.Names).OfSecret,
	},
	{
		name: "SecretProviderClass", apiVersion: "secrets-store.csi.x-k8s.io/v1", resource: "secretproviderclasses", reported: true,
		keys: (*annotations.Names).OfProviderClass,
	},
	{
		name: "ClusterTrustBundle", apiVersion: "certificates.k8s.io/v1", resource: "clustertrustbundles", cluster: true,
		keys: (*annotations.Names).OfTrustBundle,
	},
}

// traits returns the row of a kind, and one without anything for an unknown kind.
func (k Kind) traits() *sourceTraits {
	if !k.Known() {
		return &sourceTraits{}
	}
	return &sourceTable[k-1]
}

// Kinds are all kinds, in the order of the table. It is an array to avoid an allocation for each
// decision.
func Kinds() [KindCount]Kind {
	var kinds [KindCount]Kind
	for i := range kinds {
		kinds[i] = Kind(i + 1)
	}
	return kinds
}

// Known reports whether it is one of the kinds of source.
func (k Kind) Known() bool { return k >= 1 && int(k) <= KindCount }

// Keys are the annotations for it; none for an unknown kind.
func (k Kind) Keys(names *annotations.Names) annotations.KindNames {
	if !k.Known() {
		return annotations.KindNames{}
	}
	return k.traits().keys(names)
}

// String returns the name of the kind as manifests spell it.
func (k Kind) String() string {
	if k.Known() {
		return k.traits().name
	}
	return fmt.Sprintf("SourceKind(%d)", uint8(k))
}

// APIVersion is the apiVersion of the objects, for references to one.
func (k Kind) APIVersion() string {
	return k.traits().apiVersion
}

// Resource is the plural of the objects.
func (k Kind) Resource() string {
	return k.traits().resource
}

// Type returns the spelling used in marks, events and alerts.
func (k Kind) Type() string {
	return strings.ToUpper(k.String())
}

// Keyed reports whether digests of the kind are made with the digest.Key.
func (k Kind) Keyed() bool {
	return k.traits().keyed
}

// ClusterScoped reports whether the objects of the kind are in no namespace, so that workloads of
// every namespace may use them.
func (k Kind) ClusterScoped() bool {
	return k.traits().cluster
}

// HasKeys reports whether such sources have keys that Pods can use one by one.
func (k Kind) HasKeys() bool { return k == ConfigMap || k == Secret }

// Reported reports whether the data of such sources is in reports of Pods.
func (k Kind) Reported() bool {
	return k.traits().reported
}

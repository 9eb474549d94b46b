package reload

import (
	"fmt"
	"strings"
)

// SourceKind is a kind of object that carries configuration. The zero value is
// none of them.
type SourceKind uint8

// The kinds of source.
const (
	ConfigMap SourceKind = iota + 1
	Secret
	SecretProviderClass

	kindsOfSource = int(SecretProviderClass)
)

// sourceTraits are all that differs between the kinds of source, but how an
// object is read.
type sourceTraits struct {
	kind SourceKind
	// name is as manifests spell it, and apiVersion is that of its objects.
	name, apiVersion string
	// keyed tells that its digests are made with the DigestKey.
	keyed bool
	// reported tells that pods report what they have of it. It may have been there
	// before one did, and when no pod does it is not gone.
	reported bool
	// keys are the annotations about it.
	keys func(*Names) kindNames
}

// sourceTable is where a kind is added.
func sourceTable() [kindsOfSource]sourceTraits {
	return [...]sourceTraits{
		{
			kind: ConfigMap, name: "ConfigMap", apiVersion: "v1",
			keys: (*Names).ofConfigMap,
		},
		{
			kind: Secret, name: "Secret", apiVersion: "v1", keyed: true,
			keys: (*Names).ofSecret,
		},
		{
			kind: SecretProviderClass, name: "SecretProviderClass", apiVersion: "secrets-store.csi.x-k8s.io/v1", reported: true,
			keys: (*Names).ofProviderClass,
		},
	}
}

// traits returns the row of a kind; for what is no kind of source there is none.
func (k SourceKind) traits() (sourceTraits, bool) {
	table := sourceTable()
	if k < 1 || int(k) > len(table) {
		return sourceTraits{}, false
	}
	return table[k-1], true
}

// SourceKinds are all there are, in the order of the table. It is an array
// because it is asked for with each decision.
func SourceKinds() [kindsOfSource]SourceKind {
	var kinds [kindsOfSource]SourceKind
	for i, t := range sourceTable() {
		kinds[i] = t.kind
	}
	return kinds
}

// known reports whether it is one of the kinds of source.
func (k SourceKind) known() bool { return k >= 1 && int(k) <= kindsOfSource }

// keys are the annotations about it; none for what is no kind of source.
func (k SourceKind) keys(names *Names) kindNames {
	t, ok := k.traits()
	if !ok {
		return kindNames{}
	}
	return t.keys(names)
}

// String returns the name of the kind as manifests spell it.
func (k SourceKind) String() string {
	if t, ok := k.traits(); ok {
		return t.name
	}
	return fmt.Sprintf("SourceKind(%d)", uint8(k))
}

// APIVersion is that of the objects, for who refers to one.
func (k SourceKind) APIVersion() string {
	t, _ := k.traits()
	return t.apiVersion
}

// Type returns the spelling used in marks, events and alerts.
func (k SourceKind) Type() string {
	return strings.ToUpper(k.String())
}

// keyed tells that digests of the kind are made with the DigestKey.
func (k SourceKind) keyed() bool {
	t, _ := k.traits()
	return t.keyed
}

// Reported tells that what pods have of sources of the kind is reported by them.
func (k SourceKind) Reported() bool {
	t, _ := k.traits()
	return t.reported
}

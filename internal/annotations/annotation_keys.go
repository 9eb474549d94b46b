// Package annotations defines all annotation keys, parses the lists in their values, and finds
// mistakes in them. It does not know what the annotations mean for a workload.
package annotations

import (
	"slices"
	"strings"
)

// The annotations of Reroll, which cannot be renamed.
const (
	// Ledger is on the workload and contains the text of its ledger.
	Ledger = "reroll.dev/ledger"
	// Rolled is on the pod template, for reloads whose mark alone would not change the template.
	Rolled = "reroll.dev/rolled"
	// Settle is on the workload or its namespace and sets the settle period of the workload.
	Settle = "reroll.dev/settle"
	// Churn is on the workload or its namespace and limits how often the workload is reloaded.
	Churn = "reroll.dev/churn"
	// Window is on the workload, its namespace or a source and sets when reloads may start.
	Window = "reroll.dev/window"
	// Mode is on the workload or its namespace and sets whether Reroll reloads the workload, or only
	// notifies of changes.
	Mode = "reroll.dev/mode"
	// Sources is on the workload and selects sources by their labels.
	Sources = "reroll.dev/sources"
)

// ExcludeTrustBundles is on the workload and excludes ClusterTrustBundles, by their names or the name
// of their signer.
const ExcludeTrustBundles = "reroll.dev/exclude-cluster-trust-bundles"

// AutoOfNamespace is on the namespace and opts its workloads in. On a workload, the key is Names.Auto.
const AutoOfNamespace = "reroll.dev/auto"

// The keys that only Reroll writes, on its own objects and on Jobs.
const (
	// About is on the Secret with the digest key, and explains it.
	About = "reroll.dev/about"
	// Coverage, Instance and Halted are on the ConfigMap reloader-meta-info.
	Coverage = "reroll.dev/coverage"
	Instance = "reroll.dev/instance"
	Halted   = "reroll.dev/halted"
	// Held and StaysSuspended are on a Job that waits for a write of Reroll.
	Held           = "reroll.dev/held"
	StaysSuspended = "reroll.dev/stays-suspended"
	// Replaces and Deletes are on the copy of a Job that is being recreated.
	Replaces = "reroll.dev/replaces"
	Deletes  = "reroll.dev/deletes"
	// Signed is on every Job that Reroll creates, and Run is a label there.
	Signed = "reroll.dev/signed"
	Run    = "reroll.dev/run"
)

// Fixed returns the keys in the domain of Reroll. Users cannot rename them.
func Fixed() []string {
	return []string{Ledger, Rolled, Settle, Churn, Window, Mode, Keys, Sources, AllowFromKey, Wave, MaxRolling, Soak, MaxFailures, Urgent, Resumed, Freeze, Approval, Approved, About, Coverage, Instance, Halted, Held, StaysSuspended, Replaces, Deletes, Signed, Run, ExcludeTrustBundles}
}

// Names are the keys of the annotations that users may rename, a field for each.
type Names struct {
	// The lists of sources that a workload names.
	ConfigMap, Secret, SecretProviderClass string
	// The lists of sources that a workload excludes.
	ConfigMapExclude, SecretExclude, SPCExclude string
	// Auto opts a workload in for all its references, the others for its references of one kind.
	Auto, ConfigMapAuto, SecretAuto, SPCAuto string
	// Search is on the workload, Match on the source: both are required.
	Search, Match string
	// Ignore is on the source.
	Ignore string
	// RolloutStrategy is on an Argo Rollout.
	RolloutStrategy string
	// PausePeriod and PausedAt are on a Deployment.
	PausePeriod, PausedAt string
	// LastReloadedFrom is the mark on a pod template.
	LastReloadedFrom string
}

// DefaultNames returns the keys of Reloader.
func DefaultNames() Names {
	return Names{
		ConfigMap:           "configmap.reloader.stakater.com/reload",
		Secret:              "secret.reloader.stakater.com/reload",
		SecretProviderClass: "secretproviderclass.reloader.stakater.com/reload",
		ConfigMapExclude:    "configmaps.exclude.reloader.stakater.com/reload",
		SecretExclude:       "secrets.exclude.reloader.stakater.com/reload",
		SPCExclude:          "secretproviderclasses.exclude.reloader.stakater.com/reload",
		Auto:                "reloader.stakater.com/auto",
		ConfigMapAuto:       "configmap.reloader.stakater.com/auto",
		SecretAuto:          "secret.reloader.stakater.com/auto",
		SPCAuto:             "secretproviderclass.reloader.stakater.com/auto",
		Search:              "reloader.stakater.com/search",
		Match:               "reloader.stakater.com/match",
		Ignore:              "reloader.stakater.com/ignore",
		RolloutStrategy:     "reloader.stakater.com/rollout-strategy",
		PausePeriod:         "deployment.reloader.stakater.com/pause-period",
		PausedAt:            "deployment.reloader.stakater.com/paused-at",
		LastReloadedFrom:    "reloader.stakater.com/last-reloaded-from",
	}
}

// KindNames are the keys for one kind of source.
type KindNames struct {
	Named, Exclude, Auto string
}

// OfConfigMap are the keys for ConfigMaps.
func (n *Names) OfConfigMap() KindNames {
	return KindNames{n.ConfigMap, n.ConfigMapExclude, n.ConfigMapAuto}
}

// OfSecret are the keys for Secrets.
func (n *Names) OfSecret() KindNames {
	return KindNames{n.Secret, n.SecretExclude, n.SecretAuto}
}

// OfProviderClass are the keys for SecretProviderClasses.
func (n *Names) OfProviderClass() KindNames {
	return KindNames{n.SecretProviderClass, n.SPCExclude, n.SPCAuto}
}

// OfTrustBundle are the keys for ClusterTrustBundles. Reloader does not know the kind, so no list
// names them.
func (*Names) OfTrustBundle() KindNames {
	return KindNames{Exclude: ExcludeTrustBundles}
}

func (n *Names) ofKinds() []KindNames {
	return []KindNames{n.OfConfigMap(), n.OfSecret(), n.OfProviderClass()}
}

// Opting are the keys that select sources of a kind. The pod template is read if the workload has
// none of them.
func (n *Names) Opting(kind KindNames) []string {
	return []string{kind.Named, n.Search, n.Auto, kind.Auto}
}

// Asking are the keys that select sources, of any kind. It is an array to avoid an allocation for
// each workload that the watch reports.
func (n *Names) Asking() [9]string {
	return [...]string{n.Auto, n.ConfigMapAuto, n.SecretAuto, n.SPCAuto, n.Search, n.ConfigMap, n.Secret, n.SecretProviderClass, Sources}
}

// written are the keys that users write: first the keys of workloads and namespaces, and last those
// of sources. It is an array to avoid an allocation for each annotation of each object.
func (n *Names) written() [30]string {
	return [...]string{
		n.Auto, n.ConfigMapAuto, n.SecretAuto, n.SPCAuto, n.Search, n.ConfigMap, n.Secret, n.SecretProviderClass,
		n.ConfigMapExclude, n.SecretExclude, n.SPCExclude, n.RolloutStrategy, n.PausePeriod, Settle, Churn, Window, Mode, Keys, Sources, Wave, Freeze, Approval,
		ExcludeTrustBundles, n.Match, n.Ignore, MaxRolling, Soak, MaxFailures, Urgent, AllowFromKey,
	}
}

// IsOfSource reports whether users write a key on sources.
func (n *Names) IsOfSource(key string) bool {
	switch key {
	case n.Match, n.Ignore, AllowFromKey, MaxRolling, Soak, MaxFailures, Urgent, Resumed:
		return true
	default:
		return false
	}
}

// Known reports whether any program reads or writes a key.
func (n *Names) Known(key string) bool {
	written := n.written()
	return slices.Contains(written[:], key) ||
		key == n.PausedAt || key == n.LastReloadedFrom ||
		strings.HasPrefix(key, ownDomain+"/") && slices.Contains(Fixed(), key)
}

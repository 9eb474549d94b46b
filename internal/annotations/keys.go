// Package annotations knows every key that Reroll reads or writes, how the lists in their values are
// read, and what users get wrong about them. It does not know what any of it means for a workload.
package annotations

import (
	"slices"
	"strings"
)

// The annotations that are Reroll's own and cannot be renamed.
const (
	// Ledger is on the workload and holds the text of its Ledger.
	Ledger = "reroll.dev/ledger"
	// Rolled is on the pod template, for reloads whose mark alone
	// would leave the template as it was.
	Rolled = "reroll.dev/rolled"
	// Settle is on the workload and sets how long its sources must
	// have been quiet before it is rolled.
	Settle = "reroll.dev/settle"
)

// The keys that only Reroll writes, on its own objects and on Jobs.
const (
	// About is on the Secret with the digest key, and explains it.
	About = "reroll.dev/about"
	// Coverage is on the ConfigMap reloader-meta-info.
	Coverage = "reroll.dev/coverage"
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
	return []string{Ledger, Rolled, Settle, About, Coverage, Held, StaysSuspended, Replaces, Deletes, Signed, Run}
}

// Names are the keys of the annotations that users may rename.
type Names struct {
	// The lists of sources that a workload names.
	ConfigMap, Secret, SecretProviderClass string
	// The lists of sources that a workload wants nothing to do with.
	ConfigMapExclude, SecretExclude, SPCExclude string
	// Auto opts a workload in for everything it references, the others for what
	// it references of one kind.
	Auto, ConfigMapAuto, SecretAuto, SPCAuto string
	// Search is on the workload, Match on the source: both must be there.
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

// DefaultNames returns the keys that users of Reloader know.
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

// KindNames are the keys that are about one kind of source.
type KindNames struct {
	Named, Exclude, Auto string
}

// OfConfigMap are the keys about ConfigMaps.
func (n *Names) OfConfigMap() KindNames {
	return KindNames{n.ConfigMap, n.ConfigMapExclude, n.ConfigMapAuto}
}

// OfSecret are the keys about Secrets.
func (n *Names) OfSecret() KindNames {
	return KindNames{n.Secret, n.SecretExclude, n.SecretAuto}
}

// OfProviderClass are the keys about SecretProviderClasses.
func (n *Names) OfProviderClass() KindNames {
	return KindNames{n.SecretProviderClass, n.SPCExclude, n.SPCAuto}
}

func (n *Names) ofKinds() []KindNames {
	return []KindNames{n.OfConfigMap(), n.OfSecret(), n.OfProviderClass()}
}

// Opting are the keys that say which sources of a kind concern a workload. Those of
// the pod template count where the workload has none of them.
func (n *Names) Opting(kind KindNames) []string {
	return []string{kind.Named, n.Search, n.Auto, kind.Auto}
}

// Asking are the keys by which workloads ask for sources, of whatever kind. It is an array because it is asked for with each
// workload that comes.
func (n *Names) Asking() [8]string {
	return [...]string{n.Auto, n.ConfigMapAuto, n.SecretAuto, n.SPCAuto, n.Search, n.ConfigMap, n.Secret, n.SecretProviderClass}
}

// written are the keys that users write: those of workloads, and last the two of
// sources. It is an array because it is asked for with each annotation of each
// object that comes.
func (n *Names) written() [16]string {
	return [...]string{
		n.Auto, n.ConfigMapAuto, n.SecretAuto, n.SPCAuto, n.Search, n.ConfigMap, n.Secret, n.SecretProviderClass,
		n.ConfigMapExclude, n.SecretExclude, n.SPCExclude, n.RolloutStrategy, n.PausePeriod, Settle,
		n.Match, n.Ignore,
	}
}

// IsOfSource reports whether a key is one that users write on sources.
func (n *Names) IsOfSource(key string) bool { return key == n.Match || key == n.Ignore }

// Known reports whether a key is one that Reroll reads or writes.
func (n *Names) Known(key string) bool { return n.isMeaningful(key) }

// isMeaningful reports whether a key is one that is read, by whomever it is written.
func (n *Names) isMeaningful(key string) bool {
	written := n.written()
	return slices.Contains(written[:], key) ||
		key == n.PausedAt || key == n.LastReloadedFrom ||
		strings.HasPrefix(key, ownDomain+"/") && slices.Contains(Fixed(), key)
}

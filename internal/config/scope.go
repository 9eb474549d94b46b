package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/reroll-dev/reroll/internal/metainfo"
)

// Scope describes which objects the settings cover. If the Scope differs from the recorded one, it
// covers no earlier change.
func (c *Config) Scope() metainfo.Scope {
	selector := func(s interface{ String() string }) string {
		if s == nil {
			return ""
		}
		return s.String()
	}
	all := []any{ // strings, and lists and maps of strings, can always be encoded
		c.Namespaces, c.Selectors.NamespacesToIgnore, selector(c.Selectors.Namespaces), selector(c.Selectors.Resources),
		c.Ignored.Sources, c.Ignored.Kinds, c.Names, c.CSI, c.ArgoRollouts, c.WorkloadKinds, c.ReloadOnCreate,
	}
	if c.TrustBundles {
		all = append(all, "clustertrustbundles") // without them, the scope stays that of earlier versions
	}
	if c.ReferenceGrants {
		all = append(all, "referencegrants") // they may have allowed a source before they counted
	}
	text, _ := json.Marshal(all)
	sum := sha256.Sum256(text)
	return metainfo.Scope{AutoReloadAll: c.AutoReloadAll, Settings: hex.EncodeToString(sum[:8])}
}

package config

import "github.com/reroll-dev/reroll/internal/rules"

// Rules are the settings that decisions depend on, after Validate.
func (c *Config) Rules() rules.Settings {
	return rules.Settings{
		AutoReloadAll: c.AutoReloadAll, Names: c.Names,
		Settle: c.Settle, SettleMax: c.SettleMax, SettleGitOps: c.SettleGitOps,
		Churn: c.Gates.Churn, Window: c.Gates.Window, Keys: c.Gates.Keys, Mode: c.Gates.Mode, Approval: c.Gates.Approval, Waves: c.Gates.Waves, Halt: c.Gates.Halt, Strategy: c.Marks.Strategy, OnRevert: c.Marks.OnRevert, SecretMarks: c.Marks.Secrets,
		ReloadOnCreate: c.ReloadOnCreate, ReloadOnDelete: c.ReloadOnDelete, NotifyOnly: c.Webhook != nil,
		Kinds: c.Kinds, IgnoredSources: c.Ignored.Sources, TrustBundles: c.TrustBundles, ReferenceGrants: c.ReferenceGrants,
		Namespaces: c.Namespaces, NamespacesToIgnore: c.Selectors.NamespacesToIgnore,
		NamespaceSelector: c.Selectors.Namespaces, SourceSelector: c.Selectors.Resources,
	}
}

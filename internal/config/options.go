package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// optionFlags are the flags that Reloader also has, by the names in its records.
func optionFlags() map[string]string {
	return map[string]string{
		"autoReloadAll":                     "auto-reload-all",
		"autoSearchAnnotation":              "auto-search-annotation",
		"configmapReloaderAutoAnnotation":   "configmap-auto-annotation",
		"configmapUpdateOnChangeAnnotation": "configmap-annotation",
		"enableCSIIntegration":              "enable-csi-integration",
		"enableHA":                          "enable-ha",
		"enablePProf":                       "enable-pprof",
		"ignoreResourceAnnotation":          "ignore-annotation",
		"isArgoRollouts":                    "is-Argo-Rollouts",
		"logFormat":                         "log-format",
		"logLevel":                          "log-level",
		"namespaceSelectors":                "namespace-selector",
		"namespacesToIgnore":                "namespaces-to-ignore",
		"pauseDeploymentAnnotation":         "pause-deployment-annotation",
		"pauseDeploymentTimeAnnotation":     "pause-deployment-time-annotation",
		"pprofAddr":                         "pprof-addr",
		"reloadOnCreate":                    "reload-on-create",
		"reloadOnDelete":                    "reload-on-delete",
		"reloadStrategy":                    "reload-strategy",
		"reloaderAutoAnnotation":            "auto-annotation",
		"resourceSelectors":                 "resource-label-selector",
		"resourcesToIgnore":                 "resources-to-ignore",
		"searchMatchAnnotation":             "search-match-annotation",
		"secretReloaderAutoAnnotation":      "secret-auto-annotation",
		"secretUpdateOnChangeAnnotation":    "secret-annotation",
		"syncAfterRestart":                  "sync-after-restart",
		"webhookUrl":                        webhookFlag,
		"workloadTypesToIgnore":             ignoredWorkloadsFlag,
	}
}

// ownOptionFlags are flags that Reloader does not have, by the names in our records. Decisions or
// their time depend on them.
func ownOptionFlags() map[string]string {
	return map[string]string{
		"approval":                  "approval",
		"churn":                     "churn",
		"enableClusterTrustBundles": trustBundlesFlag,
		"enableReferenceGrants":     grantsFlag,
		"gateUrl":                   gateFlag,
		"haltWhenFailing":           "halt-when-failing",
		"keys":                      "keys",
		"maxFailures":               "max-failures",
		"maxRolling":                "max-rolling",
		"namespaces":                "namespaces",
		"onRevert":                  "on-revert",
		"secretMarks":               "secret-marks",
		"settle":                    "settle",
		"settleGitOps":              "settle-gitops",
		"settleMax":                 "settle-max",
		"soak":                      "soak",
		"window":                    "window",
		"mode":                      "mode",
		"workloadKinds":             workloadKindFlag,
	}
}

// recordedFlags are all recorded flags.
func recordedFlags() map[string]string {
	all := optionFlags()
	maps.Copy(all, ownOptionFlags())
	return all
}

// trustBundlesFlag lets the controller read ClusterTrustBundles.
const trustBundlesFlag = "enable-cluster-trust-bundles"

// grantsFlag lets the controller read ReferenceGrants.
const grantsFlag = "enable-reference-grants"

// webhookFlag and gateFlag are the flags with addresses.
const (
	webhookFlag = "webhook-url"
	gateFlag    = "gate-url"
)

func isAddress(flag string) bool { return flag == webhookFlag || flag == gateFlag }

// Options returns the flags of the controller under the names of Reloader, and under similar names
// if Reloader does not have them. Parts that may be a token are left out. Values from the
// environment are included in their flags.
func (c *Config) Options(flags *pflag.FlagSet) map[string]any {
	all := map[string]any{
		"configmapExcludeReloaderAnnotation":           c.Names.ConfigMapExclude,
		"rolloutStrategyAnnotation":                    c.Names.RolloutStrategy,
		"secretExcludeReloaderAnnotation":              c.Names.SecretExclude,
		"secretProviderClassExcludeReloaderAnnotation": c.Names.SPCExclude,
		"secretProviderClassReloaderAutoAnnotation":    c.Names.SPCAuto,
		"secretProviderClassUpdateOnChangeAnnotation":  c.Names.SecretProviderClass,
	}
	for name, flag := range recordedFlags() {
		f := flags.Lookup(flag)
		if f == nil {
			continue // no such flag yet
		}
		text := f.Value.String()
		switch list, isList := f.Value.(pflag.SliceValue); {
		case isList:
			all[name] = append([]string{}, list.GetSlice()...)
		case slices.Contains([]string{"true", "false"}, text):
			all[name] = text == "true"
		case isAddress(flag):
			all[name] = WithoutToken(text)
		default:
			all[name] = text
		}
	}
	return all
}

// WithoutToken returns the parts of an address that may be shown: scheme and host.
func WithoutToken(address string) string {
	if strings.TrimSpace(address) == "" {
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "redacted"
	}
	if u.Path == "" && u.RawQuery == "" && u.Fragment == "" {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://" + u.Host + "/redacted"
}

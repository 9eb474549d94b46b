package annotations

import (
	"slices"
	"testing"
)

func renamedNames() Names {
	names := DefaultNames()
	names.Auto, names.Match, names.Ignore, names.Search = "our.company/reload", "our.company/match", "our.company/ignore", "rolls"
	return names
}

func TestTyposSuggestTheKeyThatWasMeant(t *testing.T) {
	names := DefaultNames()
	for key, want := range map[string]string{
		"reloader.stakater.com/atuo":                               names.Auto,
		"reloader.stakater.com/Auto":                               names.Auto,
		"reloader.stakater.com/AUTO":                               names.Auto,
		"reloader.stakater.com/autos":                              names.Auto,
		"reloader.staketer.com/auto":                               names.Auto,
		"reloader.stakater.io/auto":                                names.Auto,
		"reloader.stakater.co/auto":                                names.Auto,
		"reloder.stakater.com/auto":                                names.Auto,
		"relaoder.stakatre.com/auto":                               names.Auto,
		"reloader.stakater.com/serch":                              names.Search,
		"reloader.stakater.com/mach":                               names.Match,
		"reloader.stakater.com/ingore":                             names.Ignore,
		"configmaps.reloader.stakater.com/reload":                  names.ConfigMap,
		"confgimap.reloader.stakater.com/auto":                     names.ConfigMapAuto,
		"secrets.reloader.stakater.com/reload":                     names.Secret,
		"configmap.exclude.reloader.stakater.com/reload":           names.ConfigMapExclude,
		"secretproviderclass.exclude.reloader.stakater.com/reload": names.SPCExclude,
		"reloader.stakater.com/rollout_stategy":                    names.RolloutStrategy,
		"deployment.reloader.stakater.com/pauseperiod":             names.PausePeriod,
		"deployments.reloader.stakater.com/pause-period":           names.PausePeriod,
		"reroll.dev/setle":                                         Settle,
		"rerol.dev/settle":                                         Settle,
	} {
		if got, near := names.Nearest(key); got != want || near != (want != "") {
			t.Errorf("%s is taken for %q, want %q", key, got, want)
		}
	}
	renamed := renamedNames()
	for key, want := range map[string]string{
		"our.company/relaod": "our.company/reload",
		"our.company/reoad":  "our.company/reload",
		"our.compnay/reload": "our.company/reload",
		"our.company/mach":   "our.company/match",
		// Even the correct spelling has no meaning here.
		"reloader.stakater.com/atuo":              "",
		"configmaps.reloader.stakater.com/reload": names.ConfigMap,
	} {
		if got, near := renamed.Nearest(key); got != want || near != (want != "") {
			t.Errorf("with other names, %s is taken for %q, want %q", key, got, want)
		}
	}
}

// A key in the domain of Reloader that nobody reads, and whose name is one that is read elsewhere.
func TestUnknownKeysInTheDomainOfReloader(t *testing.T) {
	names, renamed := DefaultNames(), renamedNames()
	for key, tc := range map[string]struct {
		here, renamed []string
		not           bool
	}{
		"reloader.stakater.com/reload":                     {here: []string{names.ConfigMap, names.Secret, names.SecretProviderClass}},
		"workload.reloader.stakater.com/reload":            {here: []string{names.ConfigMap, names.Secret, names.SecretProviderClass}},
		"configmap.reloader.stakater.com/search":           {here: []string{names.Search}, renamed: []string{renamed.Search}},
		"secret.reloader.stakater.com/match":               {here: []string{names.Match}, renamed: []string{renamed.Match}},
		"deployment.reloader.stakater.com/auto":            {here: []string{names.Auto}, renamed: []string{renamed.Auto}},
		"reloader.stakater.com/pause-period":               {here: []string{names.PausePeriod}},
		"reloader.stakater.com/something-else":             {},
		"reloader.stakater.com/auto":                       {not: true},
		"reloader.stakater.com/search":                     {not: true},
		"reloader.stakater.com/atuo":                       {not: true},
		"reloader.stakater.com/last-reloaded-from":         {not: true},
		"deployment.reloader.stakater.com/paused-at":       {not: true},
		"secrets.exclude.reloader.stakater.com/reload":     {not: true},
		"reloader.example.com/reload":                      {not: true},
		"stakater.com/reload":                              {not: true},
		"reroll.dev/ledger":                                {not: true},
		"reload":                                           {not: true},
		"secretproviderclass.reloader.stakater.com/reload": {not: true},
	} {
		if tc.renamed == nil {
			tc.renamed = tc.here
		}
		for about, of := range map[string]struct {
			names Names
			want  []string
		}{"by default": {names, tc.here}, "with other names": {renamed, tc.renamed}} {
			if got, strayed := of.names.strayed(key); strayed == tc.not || !slices.Equal(got, of.want) {
				t.Errorf("%s, for %s there is %q, strayed: %t; want %q", about, key, got, strayed, of.want)
			}
		}
	}
}

func TestTheNearestIsMeant(t *testing.T) {
	names := DefaultNames()
	names.Auto, names.Search = "reloader.stakater.com/switch-on", "reloader.stakater.com/switch-in-all"
	names.ConfigMapAuto = "reloader.stakater.com/switch-one"
	if got, _ := names.Nearest("reloader.stakater.com/switch-onee"); got != names.ConfigMapAuto {
		t.Errorf("got %s", got)
	}
}

// Keys of other programs, and keys of the users' own, are no mistakes.
func TestKeysOfOthersAreLeftAlone(t *testing.T) {
	for _, key := range []string{
		"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "kubectl.kubernetes.io/last-applied-configuration",
		"kubectl.kubernetes.io/restartedAt", "deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation",
		"kubernetes.io/service-account.name", "kubernetes.io/change-cause", "prometheus.io/scrape", "prometheus.io/path",
		"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/sync-wave", "argocd.argoproj.io/refresh", "rollout.argoproj.io/revision",
		"meta.helm.sh/release-name", "helm.sh/hook", "helm.sh/resource-policy", "kustomize.toolkit.fluxcd.io/reconcile",
		"reconcile.fluxcd.io/requestedAt", "sealedsecrets.bitnami.com/managed", "sealedsecrets.bitnami.com/patch",
		"cert-manager.io/certificate-name", "cert-manager.io/issuer-kind", "external-secrets.io/target", "reconcile.external-secrets.io/data-hash",
		"replicator.v1.mittwald.de/replicate-to", "reflector.v1.k8s.emberstack.com/reflection-allowed", "keel.sh/policy",
		"forecastle.stakater.com/expose", "monitor.stakater.com/enabled", "xposer.stakater.com/config", "stakater.com/auto",
		"example.org/auto", "example.org/atuo", "reload", "auto", "match", "reloader", "wave.pusher.com/update-on-config-change",
		"reloader.example.com/auto", "configmap.example.com/reload", "config.reloader.dev/auto", "reloader.stakater.com/something-else",
		"reloader.stakater.com/last-reloaded-from", "deployment.reloader.stakater.com/paused-at", "reroll.dev/ledger", "reroll.dev/rolled",
		"reloader.stakater.com/last-reloaded-frm", "deployment.reloader.stakater.com/pausedat", "reroll.dev/leger",
		"our.company/reloads", "our.company/preload", "our.company/upload", "our.company/reloaded-by", "our.company/watch",
		"our.company/patch", "our.company/ignored", "our.company/owner", "her.company/relaod", "role", "roll", "x.company/match",
	} {
		for about, names := range map[string]Names{"by default": DefaultNames(), "with other names": renamedNames()} {
			if right, near := names.Nearest(key); near {
				t.Errorf("%s, %s is taken for %s", about, key, right)
			}
		}
	}
	for about, names := range map[string]Names{"by default": DefaultNames(), "with other names": renamedNames()} {
		written := names.written()
		for _, key := range append(written[:], names.PausedAt, names.LastReloadedFrom, Ledger, Rolled) {
			if right, near := names.Nearest(key); near {
				t.Errorf("%s, %s is taken for %s", about, key, right)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"auto", "auto"}: 0, {"auto", "atuo"}: 1, {"auto", "aut"}: 1, {"auto", "autos"}: 1, {"auto", "aito"}: 1,
		{"auto", ""}: 4, {"auto", "match"}: 4,
	} {
		if got := distance(words[0], words[1]); got != want {
			t.Errorf("%q and %q differ by %d, want %d", words[0], words[1], got, want)
		}
	}
}

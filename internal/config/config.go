// Package config turns flags and environment into one validated Config.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
)

// Config is the configuration of the controller. It has many fields because it has one for each
// flag, unless flags of a part of the controller are grouped.
type Config struct {
	AutoReloadAll bool
	Namespaces    []string
	Settle        time.Duration
	SettleMax     time.Duration
	SettleGitOps  time.Duration
	// settleMaxSet reports whether SettleMax was set by a flag.
	settleMaxSet  bool
	AdoptRate     float64
	DryRun        bool
	ListenAddress string
	// PProfAddress is the address of profiles, if PProf is set.
	PProf        bool
	PProfAddress string
	// UIAddress is the address of the UI, or empty.
	UIAddress string
	// SyncAfterRestart reports whether the flag was set. It has no effect.
	SyncAfterRestart bool
	LogFormat        string
	LogLevel         string
	Lease            Lease
	Requests         Requests
	Alerts           Alerts
	Marks            Marks
	Gates            Gates
	// ReloadOnCreate and ReloadOnDelete select whether the creation or deletion of a ConfigMap or
	// Secret counts as a change.
	ReloadOnCreate, ReloadOnDelete bool
	// Names are the annotation keys, including renamed ones.
	Names     annotations.Names
	Ignored   Ignored
	Selectors Selectors
	// CSI reports whether the controller watches the objects of a CSI driver.
	CSI bool
	// TrustBundles reports whether the controller watches ClusterTrustBundles.
	TrustBundles bool
	// ReferenceGrants reports whether ReferenceGrants of the Gateway API allow sources of other
	// namespaces, too.
	ReferenceGrants bool
	// Webhook is the receiver that is notified of changes instead of a reload, or nil. It may
	// contain a token, so it is never shown completely.
	Webhook    *url.URL
	webhookURL string
	// ArgoRollouts selects whether Rollouts are watched. If it is nil, they are watched if the API
	// server serves them and they may be listed.
	ArgoRollouts *bool
	// WorkloadKinds are the custom kinds from flags. Kinds are all kinds of workloads, including
	// these. Validate sets Kinds.
	WorkloadKinds []string
	Kinds         kinds.Set
	// CountByNamespace adds a metric of reloads by namespace.
	CountByNamespace bool
	// Warnings are findings of Validate that do not prevent the start.
	Warnings []string

	// PodName and PodNamespace identify the Pod of the controller. They are empty outside of a Pod.
	PodName, PodNamespace string
	// MetaNamespace is the namespace of the ConfigMap with the settings of the controller.
	// DeploymentName is the Deployment that this ConfigMap names.
	MetaNamespace, DeploymentName string
	// InPod reports whether the process runs in a Pod.
	InPod bool
}

// BindFlags adds the flags, with their defaults.
func (c *Config) BindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.AutoReloadAll, "auto-reload-all", false, "opt in every workload that does not opt out")
	flags.StringSliceVar(&c.Namespaces, "namespaces", nil, "namespaces to watch (default: all, or the one in KUBERNETES_NAMESPACE)")
	flags.DurationVar(&c.Settle, "settle", time.Second, "settle period: how long to wait after the last change of a source before rolling its workloads; 0 rolls at once")
	flags.DurationVar(&c.SettleMax, "settle-max", 10*time.Second, "longest time that a workload waits if its sources keep changing; longer if --settle-gitops or reroll.dev/settle is longer; follows --settle if that is longer and this flag is unset")
	settleMax := flags.Lookup("settle-max")
	settleMax.Value = noting{settleMax.Value, &c.settleMaxSet}
	flags.DurationVar(&c.SettleGitOps, "settle-gitops", 5*time.Second, "minimum settle period for workloads that Argo CD, Flux or Helm manages, or that reroll stamp has stamped")
	flags.Float64Var(&c.AdoptRate, "adopt-rate", 20, "how many workloads to adopt per second; writing the first ledger rolls nothing")
	flags.BoolVar(&c.DryRun, "dry-run", false, "log decisions without writing to the cluster")
	flags.StringVar(&c.ListenAddress, "listen-address", ":9090", "address on which to serve /metrics, /live, /healthz and /readyz")
	flags.BoolVar(&c.PProf, "enable-pprof", false, "serve pprof profiles, see --pprof-addr")
	flags.StringVar(&c.PProfAddress, "pprof-addr", "127.0.0.1:6060", "address on which to serve /debug/pprof/, and nothing else, with --enable-pprof; :6060 for all interfaces")
	flags.StringVar(&c.UIAddress, "ui-address", "", "address on which to serve the UI to readers with a token of the cluster: HOST:PORT, or :PORT for all interfaces (default: no UI)")
	flags.BoolVar(&c.SyncAfterRestart, "sync-after-restart", false, "no effect: Reroll always detects changes that were made while the controller was down")
	c.Lease.bindFlags(flags)
	c.Requests.bindFlags(flags)
	bindNames(&c.Names, flags)
	c.Marks.bindFlags(flags)
	c.Gates.bindFlags(flags)
	flags.BoolVar(&c.ReloadOnCreate, "reload-on-create", false, "roll a workload when a ConfigMap or Secret that it uses is created after it")
	flags.BoolVar(&c.ReloadOnDelete, "reload-on-delete", false, "roll workloads when a ConfigMap or Secret that they use is deleted")
	c.Ignored.bindFlags(flags)
	flags.BoolVar(&c.CSI, "enable-csi-integration", false, "roll workloads when the Secrets Store CSI driver rotates a secret that they mount; its CustomResourceDefinitions may be installed later")
	flags.BoolVar(&c.TrustBundles, trustBundlesFlag, false, "roll workloads when the certificates of ClusterTrustBundles change that their volumes project; needs a ClusterRole that may list and watch them, and waits until the cluster serves them")
	flags.BoolVar(&c.ReferenceGrants, grantsFlag, false, "let ReferenceGrants of the Gateway API allow workloads to name ConfigMaps and Secrets of another namespace, too; needs the permission to list and watch them, and waits until the cluster serves them")
	flags.StringVar(&c.webhookURL, webhookFlag, "", "URL to notify by POST of changes and the workloads that they concern, instead of reloading these: http://… or https://…")
	bindArgoRollouts(&c.ArgoRollouts, flags)
	bindKinds(&c.WorkloadKinds, flags)
	c.Selectors.bindFlags(flags)
	flags.StringVar(&c.LogFormat, "log-format", "", "text or json (default: text)")
	flags.StringVar(&c.LogLevel, "log-level", "info", "trace, debug, info, warn, error, fatal or panic")
}

// noting is a flag value that records whether it was set, even if it was set to its default.
type noting struct {
	pflag.Value
	given *bool
}

// Set sets the value.
func (n noting) Set(text string) error {
	*n.given = true
	return n.Value.Set(text)
}

// ReadEnvironment reads environment variables. Flags override them.
func (c *Config) ReadEnvironment(getenv func(string) string) {
	c.PodName = getenv("POD_NAME")
	c.PodNamespace = getenv("POD_NAMESPACE")
	c.MetaNamespace = getenv("RELOADER_NAMESPACE")
	c.DeploymentName = getenv("RELOADER_DEPLOYMENT_NAME")
	c.InPod = getenv("KUBERNETES_SERVICE_HOST") != ""
	if ns := getenv("KUBERNETES_NAMESPACE"); ns != "" && len(trimmed(c.Namespaces)) == 0 {
		c.Namespaces = []string{ns}
	}
	c.CountByNamespace = getenv("METRICS_COUNT_BY_NAMESPACE") == "enabled"
	c.Alerts.readEnvironment(getenv)
}

// Validate returns all mistakes, not only the first one.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	warn := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }

	c.Namespaces = trimmed(c.Namespaces)

	if c.Settle < 0 {
		refuse("--settle=%s: must be 0 or more, such as 1s", c.Settle)
	}
	if !c.settleMaxSet {
		// A longer settle period without a maximum must be valid.
		c.SettleMax = max(c.SettleMax, c.Settle)
	}
	if c.SettleMax < c.Settle {
		refuse("--settle-max=%s is shorter than --settle=%s: set it to at least --settle", c.SettleMax, c.Settle)
	}
	if c.SettleGitOps < 0 {
		refuse("--settle-gitops=%s: must be 0 or more, such as 5s", c.SettleGitOps)
	}
	if c.AdoptRate <= 0 {
		refuse("--adopt-rate=%g: must be more than 0, such as 20", c.AdoptRate)
	}
	if to := strings.TrimSpace(c.webhookURL); to != "" {
		var ok bool
		if c.Webhook, ok = address(to, "http", "https"); !ok {
			refuse("--%s is not a URL: write one such as https://host/path", webhookFlag)
		}
	}
	validateAddress("listen-address", c.ListenAddress, refuse)
	if c.PProf {
		validateAddress("pprof-addr", c.PProfAddress, refuse)
	}
	validateAddress("ui-address", c.UIAddress, refuse)
	c.Gates.validate(refuse)
	c.Lease.validate(c.PodName, c.PodNamespace, refuse)
	c.Requests.validate(refuse)
	validateNames(&c.Names, refuse)
	c.Marks.validate(refuse)
	c.Ignored.validate(refuse, warn)
	c.validateKinds(refuse)
	c.Selectors.validate(len(c.Namespaces) == 0, refuse, warn)
	return errors.Join(errs...)
}

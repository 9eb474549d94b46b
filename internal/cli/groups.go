package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group has the flags of run under one heading of its help.
type group struct {
	title string
	flags []string
}

// annotationFlags is the suffix of the flags about annotations, which have a group of their own.
const annotationFlags = "-annotation"

// groups returns the groups of run. The flags that most users need come first.
func groups() []group {
	return []group{
		{"Sources and workloads", []string{
			"auto-reload-all", "keys", "reload-on-create", "reload-on-delete", "resources-to-ignore", "ignored-workload-types", "is-Argo-Rollouts", "workload-kind",
			"enable-csi-integration", "enable-cluster-trust-bundles", "enable-reference-grants",
		}},
		{"Namespaces and selectors", []string{"namespaces", "namespaces-to-ignore", "namespace-selector", "resource-label-selector"}},
		{"Timing", []string{"settle", "settle-max", "settle-gitops", "churn", "window", "gate-url", "mode", "approval", "max-rolling", "soak", "max-failures", "halt-when-failing", "adopt-rate", "sync-after-restart"}},
		{"Reloads", []string{"reload-strategy", "secret-marks", "on-revert", "webhook-url", "dry-run"}},
		{"High availability", []string{"enable-ha", "leader-election-lease-duration", "leader-election-renew-deadline", "leader-election-retry-period"}},
		{"API server, endpoints and logs", []string{"kube-api-qps", "kube-api-burst", "listen-address", "ui-address", "enable-pprof", "pprof-addr", "log-format", "log-level"}},
	}
}

const (
	annotationTitle = "Keys of annotations"
	otherTitle      = "Other flags"
)

// titleOf returns the heading of a flag.
func titleOf(name string) string {
	for _, g := range groups() {
		if slices.Contains(g.flags, name) {
			return g.title
		}
	}
	if strings.HasSuffix(name, annotationFlags) {
		return annotationTitle
	}
	return otherTitle
}

// groupedUsage prints the flags of a command under headings.
func groupedUsage(cmd *cobra.Command) error {
	var titles []string
	for _, g := range groups() {
		titles = append(titles, g.title)
	}
	out := cmd.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
	for _, title := range append(titles, annotationTitle, otherTitle) {
		some := pflag.NewFlagSet(title, pflag.ContinueOnError)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if titleOf(f.Name) == title {
				some.AddFlag(f)
			}
		})
		fmt.Fprintf(out, "\n%s:\n%s", title, some.FlagUsages())
	}
	return nil
}

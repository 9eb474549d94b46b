package cluster

import (
	"context"
	"path/filepath"
)

// Of the Prometheus operator nothing is built: what the chart makes for it only has to be of the
// shape that it serves.
const (
	monitoring    = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
	monitoringSum = "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="
)

// InstallMonitoringCRDs installs ServiceMonitor, PodMonitor and PrometheusRule, and returns when
// the API server serves them.
func (c *Cluster) InstallMonitoringCRDs(ctx context.Context) error {
	dir, err := moduleAt(ctx, monitoring, monitoringSum)
	if err != nil {
		return err
	}
	for _, kind := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		crds, err := readCRDs(filepath.Join(dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+kind+".yaml"))
		if err != nil {
			return err
		}
		if err := c.installCRDs(ctx, crds); err != nil {
			return err
		}
	}
	return nil
}

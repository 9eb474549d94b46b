package cli

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/reload"
)

func writesMetaInfo(cfg *config.Config) bool { return cfg.MetaNamespace != "" && !cfg.DryRun }

// writeMetaInfo waits until this replica is the leader and has recorded since when its settings
// apply, because that record is in the same ConfigMap. Then it writes the ConfigMap. Nothing else
// depends on it.
func writeMetaInfo(ctx context.Context, covered <-chan struct{}, client clientset.Interface, cfg *config.Config, options map[string]any, build buildinfo.Info, instance func() string, log *slog.Logger) {
	if !writesMetaInfo(cfg) {
		return
	}
	select {
	case <-covered:
	case <-ctx.Done():
		return
	}
	info := infoOf(cfg)
	info.Build, info.Options, info.Instance = build, options, instance()
	err := metainfo.Write(ctx, client, info)
	if err != nil && ctx.Err() == nil {
		log.Warn("could not write the ConfigMap reloader-meta-info", "error", err.Error())
	}
}

func infoOf(cfg *config.Config) metainfo.Info {
	return metainfo.Info{Namespace: cfg.MetaNamespace, Deployment: cfg.DeploymentName, IgnoreAnnotation: cfg.Names.Ignore}
}

// halts publishes in the same ConfigMap that no reload starts, and reads there what a user accepts.
type halts struct {
	client clientset.Interface
	info   metainfo.Info
}

// newHalts returns nil if nothing may be written.
func newHalts(client clientset.Interface, cfg *config.Config) controller.Halts {
	if !writesMetaInfo(cfg) {
		return nil
	}
	return halts{client, infoOf(cfg)}
}

// Published implements controller.Halts.
func (h halts) Published(ctx context.Context) (halted metainfo.Halted, accepted int64, err error) {
	return metainfo.Published(ctx, h.client, h.info)
}

// Publish implements controller.Halts.
func (h halts) Publish(ctx context.Context, halted metainfo.Halted) (int64, error) {
	return metainfo.WriteHalted(ctx, h.client, h.info, halted)
}

// freezes reads in the same ConfigMap whether the reloads of all namespaces are frozen.
type freezes struct {
	client    clientset.Interface
	namespace string
}

// newFreezes returns nil if there is no such ConfigMap.
func newFreezes(client clientset.Interface, cfg *config.Config) controller.Freezes {
	if !writesMetaInfo(cfg) {
		return nil
	}
	return freezes{client, cfg.MetaNamespace}
}

// Namespace implements controller.Freezes.
func (f freezes) Namespace() string { return f.namespace }

// Frozen implements controller.Freezes.
func (f freezes) Frozen(ctx context.Context) (string, error) {
	return metainfo.Freeze(ctx, f.client, f.namespace)
}

// coverageAgain is the time after which the ConfigMap is written again if the API server did not
// answer.
const coverageAgain = time.Second

// loadCoverage returns a function that records since when the settings apply, or nil if nothing may
// be written. If the API server rejects the record, the controller still reloads workloads, but
// does not know since when the settings apply. The function closes covered at its end.
func loadCoverage(client clientset.Interface, cfg *config.Config, c clock.Clock, log *slog.Logger, covered chan<- struct{}) func(context.Context) (reload.Coverage, error) {
	if !writesMetaInfo(cfg) {
		return nil
	}
	return func(ctx context.Context) (reload.Coverage, error) {
		defer close(covered)
		for {
			coverage, err := metainfo.Coverage(ctx, client, infoOf(cfg), cfg.Scope())
			switch {
			case err == nil:
				return coverage, nil
			case isRefused(err):
				log.Warn("could not record since when these settings apply: Reroll has less evidence about changes that it did not observe and that precede the first ledger of a workload", "error", err.Error())
				return reload.Coverage{}, nil
			}
			log.Warn("could not read or record since when these settings apply; retrying", "error", err.Error())
			timer := c.NewTimer(coverageAgain)
			select {
			case <-timer.C():
			case <-ctx.Done():
				timer.Stop()
				return reload.Coverage{}, ctx.Err()
			}
		}
	}
}

// isRefused reports whether the API server rejected a request in a way that a retry does not
// change.
func isRefused(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Code >= http.StatusBadRequest && status.ErrStatus.Code < http.StatusInternalServerError &&
		!apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsTooManyRequests(err)
}

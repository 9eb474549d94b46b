package cli

import (
	"context"
	"log/slog"

	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

func writesMetaInfo(cfg *config.Config) bool { return cfg.MetaNamespace != "" && !cfg.DryRun }

// writeMetaInfo waits until this is the instance that acts, so that what is written is about that one. Nothing else
// depends on it.
func writeMetaInfo(ctx context.Context, leading <-chan struct{}, client kubernetes.Interface, cfg *config.Config, options map[string]any, build buildinfo.Info, log *slog.Logger) {
	if !writesMetaInfo(cfg) {
		return
	}
	select {
	case <-leading:
	case <-ctx.Done():
		return
	}
	err := metainfo.Write(ctx, client, metainfo.Info{
		Build: build, Options: options, Namespace: cfg.MetaNamespace, Deployment: cfg.DeploymentName, IgnoreAnnotation: cfg.Names.Ignore,
	})
	if err != nil && ctx.Err() == nil {
		log.Warn("what runs here could not be written down", "error", err.Error())
	}
}

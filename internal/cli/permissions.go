package cli

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/permissions"
)

// needed returns the permissions for everything that is enabled, in the order of the chart.
func needed(cfg *config.Config, own string) []permissions.Permission {
	all := slices.Concat(watchPermissions(cfg), controller.KeyPermissions(own, cfg.DryRun), leasePermissions(cfg), uiPermissions(cfg))
	if writesMetaInfo(cfg) {
		all = append(all, metainfo.Permissions(cfg.MetaNamespace)...)
	}
	return all
}

func watchPermissions(cfg *config.Config) []permissions.Permission {
	settings := cfg.Rules()
	all := controller.SourcePermissions(&settings)
	if cfg.CSI {
		all = append(all, controller.ClassPermissions()...)
	}
	if cfg.ReferenceGrants {
		all = append(all, controller.GrantPermissions()...)
	}
	for _, kind := range settings.Kinds {
		if !kind.Expected() {
			// The user did not configure this kind, so a missing permission is not a mistake.
			continue
		}
		if kind.Resource.Resource == "" {
			// Only the API server knows the plural of this kind. If a request is forbidden, the log
			// has it.
			continue
		}
		all = append(all, permissions.To(kind.Resource.Group, kind.Resource.Resource, "list", "watch")...)
		if !cfg.DryRun {
			all = append(all, permissions.To(kind.Resource.Group, kind.Resource.Resource, "patch")...)
			all = append(all, jobPermissions(kind)...)
		}
	}
	all = once(append(all, permissions.To("", "pods", "list")...))
	if !cfg.DryRun {
		all = append(all, permissions.Permission{
			Group: eventsv1.GroupName, Resource: "events", Verb: "create",
			Without: "no events are emitted",
		})
	}
	all = permissions.In(cfg.Namespaces, all...)
	if cfg.TrustBundles {
		all = append(all, controller.TrustBundlePermissions()...)
	}
	if !settings.WatchesNamespaces() {
		return all
	}
	for _, r := range permissions.To("", "namespaces", "list", "watch") {
		if settings.NamespaceSelector == nil {
			r.Without = "workloads are also rolled in namespaces that are being deleted"
		}
		all = append(all, r)
	}
	return all
}

// once removes duplicates.
func once(all []permissions.Permission) []permissions.Permission {
	var kept []permissions.Permission
	for _, r := range all {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// jobPermissions returns the further permissions for a kind if its reloads create Jobs.
func jobPermissions(kind kinds.Kind) []permissions.Permission {
	jobs := kinds.Jobs().Resource
	if kind.Resource == jobs {
		return permissions.To(jobs.Group, jobs.Resource, "create", "delete")
	}
	if _, ok := kind.Adapter.(kinds.Runner); !ok {
		return nil
	}
	return append(permissions.To(kind.Resource.Group, kind.Resource.Resource, "get"),
		permissions.To(jobs.Group, jobs.Resource, "list", "watch", "create", "patch")...)
}

// leasePermissions returns the permissions for the lease, or nil if no lease is held.
func leasePermissions(cfg *config.Config) []permissions.Permission {
	if !holdsLease(cfg) {
		return nil
	}
	all := lease.Permissions(cfg.PodNamespace)
	if !cfg.Lease.HA {
		for i := range all {
			all[i].Without = "nothing prevents another replica from acting at the same time"
		}
	}
	return all
}

// ready returns nil if the caches are filled and no permission is missing. Otherwise it returns the
// reason.
func ready(guard *permissions.Guard, ctl *controller.Controller) error {
	if err := guard.Err(); err != nil {
		return err
	}
	if ctl.Ready() {
		return nil
	}
	// The caches may be waiting for one of the other permissions.
	return errors.New(strings.TrimSpace("the caches are not synced yet\n" + guard.Missing()))
}

// keyAgain is the time after which the key is read again if the request was forbidden. The
// permission may be granted after the start.
const keyAgain = 5 * time.Second

func loadKey(ctx context.Context, client clientset.Interface, namespace string, dryRun bool, c clock.Clock, log *slog.Logger) (digest.Key, time.Time, error) {
	warned := false
	for {
		key, made, err := controller.LoadDigestKey(ctx, client, namespace, dryRun)
		if !apierrors.IsForbidden(err) {
			return key, made, err
		}
		if !warned {
			warned = true
			log.Warn("reading or creating the digest key for Secrets was forbidden; retrying", "error", err.Error())
		}
		timer := c.NewTimer(keyAgain)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return key, made, ctx.Err()
		}
	}
}

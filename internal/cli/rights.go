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
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/rights"
)

// needed are the rights that what is switched on takes, in the order of the chart.
func needed(cfg *config.Config, own string) []rights.Right {
	all := slices.Concat(watchRights(cfg), controller.KeyRights(own, cfg.DryRun), leaseRights(cfg))
	if writesMetaInfo(cfg) {
		all = append(all, metainfo.Rights(cfg.MetaNamespace)...)
	}
	return all
}

func watchRights(cfg *config.Config) []rights.Right {
	settings := cfg.Rules()
	all := controller.SourceRights(&settings)
	if cfg.CSI {
		all = append(all, controller.ClassRights()...)
	}
	for _, kind := range settings.Kinds {
		if !kind.Expected() {
			continue // no user configured it, so a missing permission is not a mistake
		}
		if kind.Resource.Resource == "" {
			continue // only the API server knows its plural, and the log has it when a request is forbidden
		}
		all = append(all, rights.To(kind.Resource.Group, kind.Resource.Resource, "list", "watch")...)
		if !cfg.DryRun {
			all = append(all, rights.To(kind.Resource.Group, kind.Resource.Resource, "patch")...)
			all = append(all, jobRights(kind)...)
		}
	}
	all = once(append(all, rights.To("", "pods", "list")...))
	if !cfg.DryRun {
		all = append(all, rights.Right{
			Group: eventsv1.GroupName, Resource: "events", Verb: "create",
			Without: "no events are emitted",
		})
	}
	all = rights.In(cfg.Namespaces, all...)
	if !settings.WatchesNamespaces() {
		return all
	}
	for _, r := range rights.To("", "namespaces", "list", "watch") {
		if settings.NamespaceSelector == nil {
			r.Without = "workloads are also rolled in namespaces that are being deleted"
		}
		all = append(all, r)
	}
	return all
}

// once leaves out what is there already.
func once(all []rights.Right) []rights.Right {
	var kept []rights.Right
	for _, r := range all {
		if !slices.Contains(kept, r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// jobRights are what a kind takes besides whose reloads are Jobs.
func jobRights(kind kinds.Kind) []rights.Right {
	jobs := kinds.Jobs().Resource
	if kind.Resource == jobs {
		return rights.To(jobs.Group, jobs.Resource, "create", "delete")
	}
	if _, ok := kind.Adapter.(kinds.Runner); !ok {
		return nil
	}
	return append(rights.To(kind.Resource.Group, kind.Resource.Resource, "get"),
		rights.To(jobs.Group, jobs.Resource, "list", "watch", "create", "patch")...)
}

// leaseRights are none where there is no lease to hold.
func leaseRights(cfg *config.Config) []rights.Right {
	if !holdsLease(cfg) {
		return nil
	}
	all := lease.Rights(cfg.PodNamespace)
	if !cfg.Lease.HA {
		for i := range all {
			all[i].Without = "nothing prevents another replica from acting at the same time"
		}
	}
	return all
}

// ready returns nil when the caches are filled and all rights are there, without which something would not be done.
func ready(guard *rights.Guard, ctl *controller.Controller) error {
	if err := guard.Err(); err != nil {
		return err
	}
	if ctl.Ready() {
		return nil
	}
	// It may be one of the others that is waited for.
	return errors.New(strings.TrimSpace("the caches are not synced yet\n" + guard.Missing()))
}

// keyAgain is how soon the key is read again after that was forbidden. The permission may be granted after the start.
const keyAgain = 5 * time.Second

func loadKey(ctx context.Context, client kubernetes.Interface, namespace string, dryRun bool, c clock.Clock, log *slog.Logger) (digest.Key, time.Time, error) {
	told := false
	for {
		key, made, err := controller.LoadDigestKey(ctx, client, namespace, dryRun)
		if !apierrors.IsForbidden(err) {
			return key, made, err
		}
		if !told {
			told = true
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

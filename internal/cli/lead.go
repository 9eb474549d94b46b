package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/lease"
)

// leadership is the part of a replica in the leader election.
type leadership struct {
	holder *lease.Holder // nil if there is no lease to hold
	cfg    config.Lease
	log    *slog.Logger
}

// newLeadership returns a leadership with a lease if there is a namespace for the lease. Even a
// single replica holds a lease, because two versions of the controller must not act at the same
// time during an upgrade. A dry run writes nothing, not even the lease, and does not prevent
// another replica from acting.
func newLeadership(cfg *config.Config, client clientset.Interface, log *slog.Logger) leadership {
	l := leadership{cfg: cfg.Lease, log: log}
	if !holdsLease(cfg) {
		return l
	}
	l.holder = lease.New(lease.Options{
		Namespace: cfg.PodNamespace, Identity: identity(cfg.PodName),
		Duration: cfg.Lease.Duration, RenewDeadline: cfg.Lease.RenewDeadline, RetryPeriod: cfg.Lease.RetryPeriod,
		Alone: !cfg.Lease.HA,
	}, client, clock.RealClock{}, log)
	return l
}

func holdsLease(cfg *config.Config) bool { return cfg.PodNamespace != "" && !cfg.DryRun }

// identity returns the name of the Pod. Without that name, the hostname shows where the process
// runs. Pods on the host network share a hostname, and a replica acquires a lease of its own
// identity at once. So a random suffix makes the identity unique.
func identity(podName string) string {
	if podName != "" {
		return podName
	}
	host, err := os.Hostname()
	if err != nil {
		host = "reroll"
	}
	return host + "_" + string(uuid.NewUUID())
}

// lead returns when this replica may write, with a function that reports whether it still may.
// Before that, lead calls another each time another leader has renewed the lease.
func (l leadership) lead(ctx context.Context, another func()) (func() bool, error) {
	always := func() bool { return true }
	if l.holder == nil {
		return always, nil
	}
	l.holder.OnAnother(another)
	err := l.holder.Acquire(ctx)
	if _, missing := errors.AsType[*lease.PermissionError](err); missing && !l.cfg.HA {
		l.log.Warn("continuing without the lease: nothing prevents another replica from acting at the same time", "error", err.Error())
		return always, nil
	}
	return l.holder.Held, err
}

// watch calls end when the lease is lost. It returns after that, or when the context ends.
func (l leadership) watch(ctx context.Context, end context.CancelCauseFunc) {
	if l.holder == nil {
		return
	}
	select {
	case <-l.holder.Lost():
		end(l.holder.Err())
	case <-ctx.Done():
	}
}

// release releases the lease. It must be called after the last write.
func (l leadership) release() {
	if l.holder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.RenewDeadline/2)
	defer cancel()
	l.holder.Release(ctx)
}

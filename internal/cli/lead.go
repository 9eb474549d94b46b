package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/lease"
)

// leadership is what this replica has to do with the lease.
type leadership struct {
	holder *lease.Holder // nil if there is none to hold
	cfg    config.Lease
	log    *slog.Logger
}

// newLeadership holds a lease wherever there is a place for it, with one replica too: two versions of the controller
// are not to act at once while one takes the place of the other. A dry run writes nothing, not even that, and keeps
// nobody from acting.
func newLeadership(cfg *config.Config, client kubernetes.Interface, log *slog.Logger) leadership {
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

// identity is the name of the Pod. Without it, the host name shows where the process runs, and a random part makes it
// unique: Pods on the network of their node share its name, and a replica acquires at once a lease of its own identity.
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

// lead returns when this replica may write, with a function that reports whether it still may. Until then, it calls another each
// time it sees another leader act.
func (l leadership) lead(ctx context.Context, another func()) (func() bool, error) {
	always := func() bool { return true }
	if l.holder == nil {
		return always, nil
	}
	l.holder.OnAnother(another)
	err := l.holder.Acquire(ctx)
	if _, missing := errors.AsType[*lease.RightsError](err); missing && !l.cfg.HA {
		l.log.Warn("continuing without the lease: nothing prevents another replica from acting at the same time", "error", err.Error())
		return always, nil
	}
	return l.holder.Held, err
}

// watch calls end when the lease is lost, and returns when it has or the context ends.
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

// release is called when nothing is written any more.
func (l leadership) release() {
	if l.holder == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.RenewDeadline/2)
	defer cancel()
	l.holder.Release(ctx)
}

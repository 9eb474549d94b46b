package inspect

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reconnect is the time between two tries to read a cluster, and probe that between two checks
// whether it still answers.
const (
	reconnect = 5 * time.Second
	probe     = 10 * time.Second
)

// Connect returns a client for a cluster, the settings of its controller, and the namespace to show,
// empty for all.
type Connect func(context.Context) (*Cluster, *Settings, string, error)

// Follow reads a cluster, and follows it until the context ends. If the cluster cannot be read, the
// view shows why, and Follow tries again.
func (v *View) Follow(ctx context.Context, connect Connect) {
	for ctx.Err() == nil {
		if err := v.followOnce(ctx, connect); err != nil && ctx.Err() == nil {
			v.Fail(err.Error())
		}
		v.pause(ctx, reconnect)
	}
}

func (v *View) pause(ctx context.Context, d time.Duration) {
	timer := v.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// followOnce returns when the settings have to be read again, with an error if the cluster cannot be
// read.
func (v *View) followOnce(ctx context.Context, connect Connect) error {
	cluster, settings, ns, err := connect(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &follower{objects: NewFollowed(settings), changed: make(chan struct{}, 1)}
	f.objects.scope = ns
	defer f.running.Wait()
	defer cancel(nil)
	if err := v.answering(ctx, cluster); err != nil {
		return err
	}
	if err := cluster.start(ctx, cancel, settings, ns, v.clock, f); err != nil {
		return err
	}
	v.again(ctx, cluster, f, ns)
	v.show(&origin{objects: f.objects, locked: &f.mu, cluster: cluster, pods: newKeptPods(settings.Rules.Names)})
	v.Refresh(ctx)
	for {
		v.pause(ctx, probe)
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if err := v.answering(ctx, cluster); err != nil {
			v.Fail(err.Error())
			continue
		}
		v.Fail("")
		v.again(ctx, cluster, f, ns)
		if settings.Assumed != "" && cluster.Describes(ctx, "", ns) {
			return nil // a controller was installed: its settings count
		}
	}
}

// again reads again what no watch brings: the namespaces, the sources of other ones, and whether the
// controller runs.
func (v *View) again(ctx context.Context, c *Cluster, f *follower, ns string) {
	read := NewObjects(f.objects.settings)
	c.readNamespaces(ctx, f.objects.settings, read, ns)
	heard := *f.objects.settings
	heard.hear(ctx, c.Interface)
	f.mu.RLock()
	named := f.objects.foreignKeys()
	f.mu.RUnlock()
	known, found, err := c.readForeign(ctx, named)
	granted, unread := c.readGrants(ctx, f.objects, named)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		f.objects.putForeign(known, found)
	}
	if unread == nil {
		f.objects.putGrants(granted)
	}
	f.objects.keepNamespaces(read)
	f.objects.settings.sign = heard.sign
}

// answering returns why the API server does not answer, or nil if it does.
func (v *View) answering(ctx context.Context, c *Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, reconnect)
	defer cancel()
	err := c.Discovery().Get().AbsPath("/version").Do(ctx).Error()
	if _, answered := err.(apierrors.APIStatus); err == nil || answered && !apierrors.IsUnauthorized(err) {
		return nil
	}
	return fmt.Errorf("read the cluster: %w", err)
}

// MayListAll reports whether the user may list workloads in all namespaces.
func (c *Cluster) MayListAll(ctx context.Context) bool {
	_, err := c.Deployments("").List(ctx, metav1.ListOptions{Limit: 1})
	return !apierrors.IsForbidden(err)
}

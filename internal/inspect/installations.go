package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Installations returns the namespaces of the controllers that may watch a namespace, or any
// namespace if ns is empty. alive is the reason why they may still run, or empty if all have ended.
// at is the namespace of the controller that the user named. A controller may have been killed just
// after a renewal of its Lease, so Installations watches the Lease until a renewal or its expiry.
func (c *Cluster) Installations(ctx context.Context, at, ns string, clk clock.Clock) (namespaces []string, alive string, err error) {
	found, why, err := written(ctx, c.Interface, at, ns)
	if err != nil {
		return nil, "", fmt.Errorf("read the cluster: %w", err)
	}
	var all []string
	known := knownNamespace(ctx, c.Interface, ns)
	for i := range found {
		one, err := readSelf(&found[i])
		switch {
		case err != nil:
			all = append(all, "whether the controller in namespace "+found[i].Namespace+" runs is unknown: "+err.Error())
			continue
		case one.foreign, one.watchesNamespace(ns, known) == watchesOthers && at == "" && ns != "":
			continue
		}
		namespaces = append(namespaces, one.namespace)
		evidence := c.observe(ctx, one.namespace, one.deployment, clk)
		if text := evidence.running(one.namespace, clk.Now()); text != "" {
			all = append(all, text)
		}
	}
	switch {
	case len(found) > 0:
	case at != "":
		// An interrupted removal may have deleted the ConfigMap already.
		namespaces = []string{at}
		if text := c.Undescribed(ctx, at, clk); text != "" {
			all = append(all, text)
		}
	case why == partly:
		all = append(all, "whether a controller runs is unknown: "+partly+"; name its namespace with --controller-namespace")
	}
	return namespaces, strings.Join(all, "; "), nil
}

// Undescribed returns why a controller in a namespace without its ConfigMap may still run, or empty
// if it has ended. A controller without a Lease may have run outside of a cluster, where nothing
// shows that it runs.
func (c *Cluster) Undescribed(ctx context.Context, ns string, clk clock.Clock) string {
	evidence := c.observe(ctx, ns, "", clk)
	if evidence.absent {
		return ""
	}
	return evidence.running(ns, clk.Now())
}

// running returns why a controller may still run, or empty if it has ended.
func (s *sign) running(ns string, now time.Time) string {
	switch s.life(now) {
	case lifeEnded:
		return ""
	case lifeRunning:
		return "the controller in namespace " + ns + " runs"
	default:
		return "whether the controller in namespace " + ns + " runs is unknown: " + s.unsure
	}
}

// between is the time between two reads of a Lease. A leader renews the Lease at the same interval.
const between = 2 * time.Second

// observe returns the evidence of whether a controller runs. Before the Lease expires, only a
// renewal is evidence.
func (c *Cluster) observe(ctx context.Context, ns, deployment string, clk clock.Clock) sign {
	first := listen(ctx, c.Interface, ns, deployment)
	for begun := clk.Now(); first.alive(clk.Now()) && !first.Heard.IsZero(); {
		timer := clk.NewTimer(between)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return first
		}
		if next := listen(ctx, c.Interface, ns, deployment); !next.Heard.Equal(first.Heard) {
			return next
		}
		if clk.Since(begun) > first.lasts {
			return sign{Heard: first.Heard, Silent: true}
		}
	}
	return first
}

// Observe replaces the evidence of whether the controller runs by what its Lease shows in the next
// seconds.
func (c *Cluster) Observe(ctx context.Context, s *Settings, clk clock.Clock) {
	if s.Controller != "" {
		s.sign = c.observe(ctx, s.Controller, s.deployment, clk)
	}
}

// knownNamespace reads a namespace. It returns nil if the user lacks the permission. Then no
// selector is assumed to exclude the namespace.
func knownNamespace(ctx context.Context, client clientset.Interface, ns string) *corev1.Namespace {
	if ns == "" {
		return nil
	}
	found, err := client.Namespaces().Get(ctx, ns, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return found
}

// EachWorkload reads all objects of all kinds of workloads once, and returns the resources that may
// not be listed.
func (c *Cluster) EachWorkload(ctx context.Context, s *Settings, ns string, each func(kinds.Kind, runtime.Object)) (unread []string, err error) {
	for _, kind := range s.Rules.Kinds {
		for _, watched := range c.served(ctx, []kubeapi.Watched{kubeapi.WatchedKind(kind, ns)}) {
			watched.Required = true
			err := c.list(ctx, watched, func(obj runtime.Object) { each(kind, obj) })
			switch {
			case err == nil, watched.Custom && apierrors.IsNotFound(err):
			case apierrors.IsForbidden(err):
				unread = append(unread, watched.String())
			default:
				return nil, fmt.Errorf("list %s: %w", watched, err)
			}
		}
	}
	return unread, nil
}

// Again reads a workload again, and returns nil if it no longer exists. The command needs the
// permission to list anyway, so Again uses a list request.
func (c *Cluster) Again(ctx context.Context, kind kinds.Kind, key workload.Key) (found runtime.Object, err error) {
	watched := kubeapi.WatchedKind(kind, key.Namespace)
	watched.Required = true
	watched.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	err = c.list(ctx, watched, func(obj runtime.Object) { found = obj })
	return found, err
}

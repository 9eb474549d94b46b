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
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Installations returns the namespaces of the controllers that may watch a namespace, or any if it is empty, and why they may
// still run; empty if all have ended. At is the namespace of the controller that the user named. A controller that wrote its
// Lease just now may have been killed since, so its Lease is watched until it is renewed or expires.
func (c *Cluster) Installations(ctx context.Context, at, ns string, clk clock.Clock) (namespaces []string, alive string, err error) {
	found, why, err := written(ctx, c, at, ns)
	if err != nil {
		return nil, "", fmt.Errorf("read the cluster: %w", err)
	}
	var all []string
	known := knownNamespace(ctx, c, ns)
	for i := range found {
		one, err := readSelf(&found[i])
		switch {
		case err != nil:
			all = append(all, "whether the controller in namespace "+found[i].Namespace+" runs is unknown: "+err.Error())
			continue
		case one.foreign, one.look(ns, known) == watchesOthers && at == "" && ns != "":
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
		// A removal that was interrupted may have deleted the ConfigMap already.
		namespaces = []string{at}
		evidence := c.observe(ctx, at, "", clk)
		if text := evidence.running(at, clk.Now()); text != "" && !evidence.absent {
			all = append(all, text)
		}
	case why == partly:
		all = append(all, "whether a controller runs is unknown: "+partly+"; name its namespace with --controller-namespace")
	}
	return namespaces, strings.Join(all, "; "), nil
}

// running returns why a controller may still run, empty if it has ended.
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

// between is the time between two reads of a Lease. A holder renews it as often.
const between = 2 * time.Second

// observe returns the evidence of whether a controller runs. Within the duration of its Lease, only a renewal is evidence.
func (c *Cluster) observe(ctx context.Context, ns, deployment string, clk clock.Clock) sign {
	first := listen(ctx, c, ns, deployment)
	for begun := clk.Now(); first.alive(clk.Now()) && !first.Heard.IsZero(); {
		timer := clk.NewTimer(between)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return first
		}
		if next := listen(ctx, c, ns, deployment); !next.Heard.Equal(first.Heard) {
			return next
		}
		if clk.Since(begun) > first.lasts {
			return sign{Heard: first.Heard, Silent: true}
		}
	}
	return first
}

// knownNamespace reads a namespace. Without the permission it is nil, and no selector is taken to leave it out.
func knownNamespace(ctx context.Context, client kubernetes.Interface, ns string) *corev1.Namespace {
	if ns == "" {
		return nil
	}
	found, err := client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return found
}

// EachWorkload reads all objects of all kinds of workload once, and returns the resources that may not be listed.
func (c *Cluster) EachWorkload(ctx context.Context, s *Settings, ns string, each func(kinds.Kind, runtime.Object)) (unread []string, err error) {
	for _, kind := range s.Kinds {
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

// Again reads one of them again, nil if it no longer exists. It lists it, because that is the permission that the command needs
// anyway.
func (c *Cluster) Again(ctx context.Context, kind kinds.Kind, key workload.Key) (found runtime.Object, err error) {
	watched := kubeapi.WatchedKind(kind, key.Namespace)
	watched.Required = true
	watched.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, key.Name).String()
	err = c.list(ctx, watched, func(obj runtime.Object) { found = obj })
	return found, err
}

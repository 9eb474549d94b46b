package inspect

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/workload"
)

// life is whether a controller runs. Its ConfigMap does not show that, because the ConfigMap
// remains after the controller ends.
type life int8

const (
	lifeEnded   life = -1
	lifeUnknown life = 0
	lifeRunning life = 1
)

// String returns the value for the JSON documents.
func (l life) String() string {
	switch l {
	case lifeRunning:
		return "running"
	case lifeEnded:
		return "ended"
	default:
		return "unknown"
	}
}

// silence is the time without a renewal after which a controller counts as ended. It is longer than
// most Leases last, because another clock set the time in the Lease.
const silence = time.Minute

// sign is the evidence of whether a controller runs: its Lease, or its Deployment if the Lease
// cannot be read or does not exist.
type sign struct {
	// Heard is the time when the controller last wrote its Lease, or zero if that is unknown.
	Heard time.Time
	// Holder is the identity in its Lease, if that is known.
	Holder string
	// Silent reports whether the controller certainly does not run: it released its Lease, or has
	// no Pods.
	Silent bool
	// lasts is the duration of the Lease.
	lasts time.Duration
	// ready reports whether the controller has ready Pods. It is only read if the Lease shows
	// nothing.
	ready bool
	// unsure is the reason why it is unknown whether the controller runs. absent reports whether
	// the Lease does not exist.
	unsure string
	absent bool
}

func (s *sign) life(now time.Time) life {
	switch {
	case s.Silent:
		return lifeEnded
	case s.ready:
		return lifeRunning
	case s.Heard.IsZero():
		return lifeUnknown
	case now.Sub(s.Heard) < max(silence, s.lasts):
		return lifeRunning
	default:
		return lifeEnded
	}
}

func (s *sign) alive(now time.Time) bool { return s.life(now) == lifeRunning }

// gone reports whether the settings are those of a controller that has ended.
func (s *Settings) gone(now time.Time) bool { return s.Controller != "" && s.life(now) == lifeEnded }

// ending returns how and when the controller ended. A killed controller does not release its Lease.
func (s *Settings) ending(now time.Time) string {
	switch {
	case s.Heard.IsZero():
		return "has ended"
	case s.Silent:
		return "ended " + s.ago(s.Heard, now)
	default:
		return "was last active " + s.ago(s.Heard, now)
	}
}

// listen reads the evidence. A missing permission is not an error.
func listen(ctx context.Context, client clientset.Interface, namespace, deployment string) sign {
	held, err := client.Leases(namespace).Get(ctx, lease.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		if workload.WrittenByOthers(held.ManagedFields, "renewTime") {
			// Reloader uses a Lease of the same name, for example after a migration back.
			return sign{Silent: true}
		}
		return signOf(&held.Spec)
	case apierrors.IsNotFound(err):
		// Without POD_NAMESPACE or without the permission, a controller runs without a Lease.
		s := signOfPods(ctx, client, namespace, deployment, "there is no Lease of it")
		s.absent = true
		return s
	case apierrors.IsForbidden(err):
		return signOfPods(ctx, client, namespace, deployment, "you may not read its Lease")
	default:
		return sign{unsure: "its Lease could not be read"}
	}
}

func signOf(held *coordinationv1.LeaseSpec) sign {
	holder := ptr.Deref(held.HolderIdentity, "")
	s := sign{
		Holder: holder, Silent: holder == "",
		lasts: time.Duration(ptr.Deref(held.LeaseDurationSeconds, 0)) * time.Second,
	}
	if held.RenewTime != nil {
		s.Heard = held.RenewTime.Time
	}
	return s
}

// signOfPods reads the Deployment, because one request shows whether the controller has Pods.
func signOfPods(ctx context.Context, client clientset.Interface, namespace, deployment, unsure string) sign {
	if deployment == "" {
		return sign{unsure: unsure}
	}
	found, err := client.Deployments(namespace).Get(ctx, deployment, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && found.Status.Replicas == 0:
		return sign{Silent: true}
	case err != nil:
		return sign{unsure: unsure + ", and Deployment " + deployment + " could not be read"}
	case found.Status.ReadyReplicas == 0:
		return sign{unsure: unsure + ", and no Pod of Deployment " + deployment + " is ready"}
	default:
		return sign{ready: true}
	}
}

package lease

import (
	"fmt"
	"math"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The fields have the same meaning as in the leader election of client-go.

func holderOf(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

// taken returns the lease for the write of a new holder. from is nil if the lease does not exist.
func (h *Holder) taken(from *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: Name, Namespace: h.opts.Namespace}}
	transitions := int32(0)
	if from != nil {
		l = from.DeepCopy()
		transitions = ptr.Deref(from.Spec.LeaseTransitions, 0)
		if holderOf(from) != h.opts.Identity {
			transitions++
		}
	}
	l.Spec.HolderIdentity = &h.opts.Identity
	l.Spec.LeaseDurationSeconds = new(seconds(h.opts.Duration))
	// The time changes even if a replica with the same name had the lease, to distinguish the two.
	l.Spec.AcquireTime = new(metav1.NewMicroTime(now))
	l.Spec.RenewTime = l.Spec.AcquireTime
	l.Spec.LeaseTransitions = &transitions
	return l
}

// renewal returns the held lease with a new renewal time.
func (h *Holder) renewal(now time.Time) *coordinationv1.Lease {
	l := h.current.DeepCopy()
	l.Spec.RenewTime = new(metav1.NewMicroTime(now))
	return l
}

// released returns the held lease without a holder, so that the next holder does not have to wait.
// The API server would reject a duration of 0.
func (h *Holder) released(now time.Time) *coordinationv1.Lease {
	l := h.renewal(now)
	l.Spec.HolderIdentity = new("")
	l.Spec.LeaseDurationSeconds = new(int32(1))
	l.Spec.AcquireTime = l.Spec.RenewTime
	return l
}

// seconds rounds up. The record has only whole seconds, and other replicas must wait for at least
// the duration.
func seconds(d time.Duration) int32 {
	return int32(math.Ceil(min(d.Seconds(), math.MaxInt32)))
}

// notOurs returns why a lease is not, or no longer, the one that is held here. It returns nil if
// other clients changed only fields that do not matter, such as a label.
func (h *Holder) notOurs(l *coordinationv1.Lease) error {
	switch holder := holderOf(l); {
	case holder == "":
		return fmt.Errorf("%s was lost: another client removed its holder", h)
	case holder != h.opts.Identity:
		return fmt.Errorf("%s was lost: %s holds it now", h, holder)
	case l.UID != h.current.UID, !l.Spec.AcquireTime.Equal(h.current.Spec.AcquireTime):
		return fmt.Errorf("%s was lost: another process with the identity %s acquired it", h, holder)
	default:
		return nil
	}
}

// sighting is a record of another holder, and the time since when the record has not changed. The
// times in the record are those of another clock. So only our own clock shows the age of the
// record.
type sighting struct {
	uid   types.UID
	spec  coordinationv1.LeaseSpec
	since time.Time
}

// see stores the record that was just read. It reports whether the holder has renewed the lease
// since the previous read, and so was alive.
func (s *sighting) see(l *coordinationv1.Lease, now time.Time) (renewed bool) {
	if s.uid == l.UID && apiequality.Semantic.DeepEqual(s.spec, l.Spec) {
		return false
	}
	renewed = s.uid == l.UID && s.spec.HolderIdentity != nil && holderOf(l) == *s.spec.HolderIdentity
	*s = sighting{uid: l.UID, spec: *l.Spec.DeepCopy(), since: now}
	return renewed
}

// expired reports whether the holder has not renewed the lease for its duration. If the record has
// no duration, ours applies.
func (s *sighting) expired(now time.Time, duration time.Duration) bool {
	if secs := s.spec.LeaseDurationSeconds; secs != nil {
		duration = time.Duration(*secs) * time.Second
	}
	return !now.Before(s.since.Add(duration))
}

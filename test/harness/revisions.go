package harness

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lineage is the row of revisions of one workload object.
type lineage struct {
	workload Ref
	// current is the revision with the highest number. Kubernetes gives a revision that is brought
	// back, as by kubectl rollout undo, a new highest one.
	current  types.UID
	number   int64
	known    map[types.UID]bool
	rollouts int
}

// seeRevision counts a revision if it takes the place of the current one.
func (o *Observer) seeRevision(c change, kind string, owner *metav1.OwnerReference, number int64) {
	id := c.object.GetUID()
	l, found := o.lineages[owner.UID]
	if !found {
		l = &lineage{workload: Ref{Kind: strings.ToLower(owner.Kind), Name: owner.Name}, known: map[types.UID]bool{}}
		o.lineages[owner.UID] = l
	}
	known, first := l.known[id], l.current == ""
	l.known[id] = true
	if !first && number <= l.number {
		return
	}
	same := l.current == id
	l.current, l.number = id, number
	if same || c.baseline {
		return
	}
	why := "made"
	switch {
	case first:
		o.note(l.workload, fmt.Sprintf("first revision: %s %s", kind, c.object.GetName()), false)
		return
	case known:
		why = "brought back"
	}
	l.rollouts++
	o.note(l.workload, fmt.Sprintf("rollout %d: revision %d, %s %s was %s", l.rollouts, number, kind, c.object.GetName(), why), true)
}

// Sighting is something that the observer saw.
type Sighting struct {
	Time   time.Time
	Object Ref
	What   string
	// Rollout reports whether it counted as one.
	Rollout bool
}

// String returns the sighting as a line of a timeline.
func (s Sighting) String() string {
	mark := " "
	if s.Rollout {
		mark = "*"
	}
	return fmt.Sprintf("%s %s %-30s %s", s.Time.Format("15:04:05.000"), mark, s.Object, s.What)
}

func (o *Observer) note(object Ref, what string, rollout bool) {
	o.timeline = append(o.timeline, Sighting{Time: time.Now(), Object: object, What: what, Rollout: rollout})
}

// Timeline returns everything noted so far, in the order in which it was seen.
func (o *Observer) Timeline() []Sighting {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Sighting(nil), o.timeline...)
}

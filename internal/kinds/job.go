package kinds

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/workload"
)

// job is the kind of Jobs that users created. The pod template of a Job is immutable, so a reload
// recreates the Job under its name.
func job() Kind {
	k := Jobs()
	k.Adapter = jobAdapter{builtIn[*batchv1.Job]{k.Name, func(o *batchv1.Job) Parts {
		return Parts{
			Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template, RolledOut: true,
			Runs: &workload.Runs{
				Suspended: suspends(o) && !hasBegun(o), Begun: suspends(o) && hasBegun(o), Once: true,
				Last: unsuspendedAt(o), LastAtLeast: o.Status.StartTime == nil || succeededEarlier(o),
			},
			LeftAlone: leftAlone(o), Ended: Ended(o),
		}
	}}}
	return k
}

// jobAdapter also recreates Jobs.
type jobAdapter struct{ builtIn[*batchv1.Job] }

func suspends(o *batchv1.Job) bool { return o.Spec.Suspend != nil && *o.Spec.Suspend }

// hasBegun reports whether a Job has Pods that survive resuming it. Kubernetes deletes the Pods of
// a suspended Job with a delay, and a terminating Pod may still succeed. A completed index does not
// run again.
func hasBegun(o *batchv1.Job) bool {
	return o.Status.Active > 0 || o.Status.Succeeded > 0 || Ended(o) || o.Status.Terminating != nil && *o.Status.Terminating > 0
}

// beginOf is when the Job was created, or resumed later: its Pods are no older.
func beginOf(o *batchv1.Job) time.Time {
	begin := o.CreationTimestamp.Time
	if succeededEarlier(o) {
		return begin
	}
	if at := o.Status.StartTime; at != nil && at.After(begin) {
		begin = at.Time
	}
	return begin
}

// succeededEarlier reports whether Pods of a Job may have succeeded before it was suspended and
// resumed.
func succeededEarlier(o *batchv1.Job) bool {
	return o.Status.Succeeded > 0 && slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}

// leftAlone is why another controller recreates a Job, or why it has to run once at a certain time.
func leftAlone(o *batchv1.Job) string {
	if len(o.OwnerReferences) > 0 {
		owner := o.OwnerReferences[0]
		return fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
	}
	for _, hook := range []string{"helm.sh/hook", "argocd.argoproj.io/hook"} {
		if _, ok := o.Annotations[hook]; ok {
			return "it is a hook, by its annotation " + hook
		}
	}
	return ""
}

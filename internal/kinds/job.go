package kinds

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/reload"
)

// job is the kind of Jobs that users have made. What a Job runs cannot be changed: a reload makes it again under its name.
func job() Kind {
	k := Jobs()
	k.Adapter = jobAdapter{builtIn[*batchv1.Job]{k.Name, func(o *batchv1.Job) Parts {
		return Parts{
			Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template, AtRest: true,
			Runs:      &reload.Runs{Suspended: suspends(o), Once: true, Last: letGoAt(o)},
			LeftAlone: leftAlone(o), Ended: Ended(o),
		}
	}}}
	return k
}

// jobAdapter also makes what takes the place of a Job.
type jobAdapter struct{ builtIn[*batchv1.Job] }

func suspends(o *batchv1.Job) bool { return o.Spec.Suspend != nil && *o.Spec.Suspend }

// beginOf is when it was made, or resumed later: its pods are no older.
func beginOf(o *batchv1.Job) time.Time {
	begin := o.CreationTimestamp.Time
	if at := o.Status.StartTime; at != nil && at.After(begin) {
		begin = at.Time
	}
	return begin
}

// leftAlone is why a Job is made again by somebody else, or is to run once at a certain time.
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

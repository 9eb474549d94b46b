package kinds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

func cronJob() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "CronJob"},
		Resource: batchv1.SchemeGroupVersion.WithResource("cronjobs"),
		NewList:  func() runtime.Object { return &batchv1.CronJobList{} },
		Template: []string{"spec", "jobTemplate", "spec", "template"},
		Adapter: cronJobAdapter{builtIn[*batchv1.CronJob]{"CronJob", func(o *batchv1.CronJob) Parts {
			return Parts{
				Meta: &o.ObjectMeta, Template: &o.Spec.JobTemplate.Spec.Template, RolledOut: true,
				Runs: runsOf(o),
			}
		}}},
	}
}

func runsOf(o *batchv1.CronJob) *workload.Runs {
	r := &workload.Runs{
		Suspended: o.Spec.Suspend != nil && *o.Spec.Suspend,
		Alone:     o.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent,
		Last:      lastRunOf(o),
	}
	for i := range o.Status.Active {
		if r.Alone {
			r.Beside = append(r.Beside, o.Status.Active[i].Name)
		}
	}
	return r
}

// lastRunOf is the scheduled time, which is never later than the start of the Pods.
func lastRunOf(o *batchv1.CronJob) time.Time {
	last := o.CreationTimestamp.Time
	if at := o.Status.LastScheduleTime; at != nil && at.After(last) {
		last = at.Time
	}
	return last
}

// cronJobAdapter never marks the template: new Jobs read the current data anyway.
type cronJobAdapter struct{ builtIn[*batchv1.CronJob] }

// instantiate is set on a Job that was created manually, as kubectl create job --from does.
const instantiate = "cronjob.kubernetes.io/instantiate"

// Run returns a Job as the schedule would create it, with the mark.
func (a cronJobAdapter) Run(obj runtime.Object, w *workload.Workload, ledger ledger.Ledger, m *workload.Marking, names annotations.Names) (*batchv1.Job, error) {
	o, ok := obj.(*batchv1.CronJob)
	if !ok {
		return nil, fmt.Errorf("got a %T, want a %s", obj, a.kind)
	}
	template := o.Spec.JobTemplate.DeepCopy()
	isController := true
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: madeName(w, ledger.Counter, &template.Spec),
			Labels: maps.Clone(template.Labels), Annotations: maps.Clone(template.Annotations),
			// BlockOwnerDeletion is unset, because a cluster may require permission for finalizers
			// of the owner.
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: batchv1.SchemeGroupVersion.String(), Kind: w.Key.Kind, Name: o.Name, UID: o.UID, Controller: &isController,
			}},
		},
		Spec: template.Spec,
	}
	setAnnotation(&job.ObjectMeta, instantiate, "manual")
	hold(job, ledger.Counter, ledger.String())
	markTemplate(&job.Spec.Template, m, names)
	return job, nil
}

// madeName is the same at each try of a reload, so that a retry finds the Job of the first try.
func madeName(w *workload.Workload, counter int64, spec *batchv1.JobSpec) string {
	sum := sha256.Sum256([]byte(string(w.UID) + "/" + strconv.FormatInt(counter, 10)))
	const digits = 10
	stem, room := w.Key.Name, validation.DNS1123LabelMaxLength-len("-")-digits-indexOf(spec)
	if len(stem) > room {
		stem = strings.TrimRight(stem[:room], ".")
	}
	return fmt.Sprintf("%s-%s", stem, hex.EncodeToString(sum[:])[:digits])
}

// indexOf is the length of the highest index that Kubernetes appends to the name of a Job, which
// has to fit into a label.
func indexOf(spec *batchv1.JobSpec) int {
	if spec.CompletionMode == nil || *spec.CompletionMode != batchv1.IndexedCompletion || spec.Completions == nil {
		return 0
	}
	return len("-") + len(strconv.FormatInt(int64(max(*spec.Completions-1, 0)), 10))
}

// Package uninstall knows what Reroll leaves on a cluster, and removes what can be removed without
// a rollout. It does not know what the annotations mean for a reload, and never writes a pod
// template.
package uninstall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Leftover is what Reroll left on one workload.
type Leftover struct {
	Key workload.Key
	// Annotations and Labels are the keys in its own metadata that only Reroll writes.
	Annotations, Labels []string
	// Resumes reports whether Reroll paused it, so that nobody else resumes it.
	Resumes bool
	// Markers are in its pod template. They stay, because a change of the template rolls the
	// workload.
	Markers []string
	// Undecided is why its user has to decide. Then nothing of it is removed.
	Undecided string

	kind    kinds.Kind
	uid     types.UID
	version string
}

// Of returns what Reroll left on an object.
func Of(kind kinds.Kind, obj runtime.Object, names annotations.Names) (Leftover, error) {
	parts, err := kind.Parts(obj)
	if err != nil {
		return Leftover{}, err
	}
	w, err := kind.Read(obj, names)
	if err != nil {
		return Leftover{}, err
	}
	l := Leftover{Key: w.Key, kind: kind, uid: w.UID, version: w.ResourceVersion, Markers: markers(w.Marks, names)}
	if parts.Meta.DeletionTimestamp != nil {
		return Leftover{Key: w.Key}, nil // all of it goes
	}
	if job, ok := obj.(*batchv1.Job); ok {
		l.Undecided = undecided(job)
	}
	switch {
	case l.Undecided != "":
		return l, nil
	case w.Pause.Ours() && !w.Pause.Own:
		// Reloader writes the same annotation, and may be about to resume the workload.
		l.Undecided = "it is paused, and its managed fields do not show that Reroll paused it"
		return l, nil
	}
	l.Resumes = w.Pause.Ours()
	l.own(parts.Meta, names)
	return l, nil
}

// own collects the keys. Those that users write, such as annotations.Settle, are not among them.
func (l *Leftover) own(meta *metav1.ObjectMeta, names annotations.Names) {
	for _, key := range []string{annotations.Ledger, annotations.Held, annotations.StaysSuspended, annotations.Signed, names.PausedAt} {
		if _, there := meta.Annotations[key]; there {
			l.Annotations = append(l.Annotations, key)
		}
	}
	if _, there := meta.Labels[annotations.Run]; there {
		l.Labels = append(l.Labels, annotations.Run)
	}
}

func markers(marks workload.Marks, names annotations.Names) []string {
	var all []string
	for _, env := range marks.Env {
		if !slices.Contains(all, env.Variable) {
			all = append(all, env.Variable)
		}
	}
	if marks.ReloadedFrom != "" {
		all = append(all, names.LastReloadedFrom)
	}
	if marks.Rolled != "" {
		all = append(all, annotations.Rolled)
	}
	return all
}

// undecided returns why a Job that Reroll was working on stays as it is: it may be the only record
// of a Job, or start Pods.
func undecided(job *batchv1.Job) string {
	_, held := job.Annotations[annotations.Held]
	switch {
	case kinds.IsCopy(job):
		of := "a Job"
		if c, err := kinds.ReadCopy(job); err == nil {
			of = "Job " + c.Name
		}
		return "it is the suspended copy of " + of + ", which Reroll was recreating. If that Job is missing, create it from this spec; then delete the copy"
	case held && ptr.Deref(job.Spec.Suspend, false):
		return "Reroll created it suspended. To run it, set spec.suspend to false; otherwise delete it"
	default:
		return ""
	}
}

// Any reports whether there is anything to list.
func (l *Leftover) Any() bool { return l.Removable() || len(l.Markers) > 0 || l.Undecided != "" }

// Removable reports whether there is anything to remove, or to resume.
func (l *Leftover) Removable() bool {
	return l.Undecided == "" && (l.Resumes || len(l.Annotations)+len(l.Labels) > 0)
}

// Patch changes metadata, and the field that pauses rollouts. The API server rejects it if the
// object has changed since.
func (l *Leftover) Patch() (kinds.Patch, error) {
	meta := map[string]any{"uid": l.uid, "resourceVersion": l.version}
	for field, keys := range map[string][]string{"annotations": l.Annotations, "labels": l.Labels} {
		if len(keys) == 0 {
			continue
		}
		gone := map[string]any{}
		for _, key := range keys {
			gone[key] = nil
		}
		meta[field] = gone
	}
	body := map[string]any{"metadata": meta}
	if l.Resumes {
		body["spec"] = map[string]any{"paused": false}
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return kinds.Patch{}, fmt.Errorf("encode the patch of %s: %w", l.Key, err)
	}
	return kinds.Patch{Type: types.MergePatchType, Body: raw}, nil
}

// removal describes the patch: what it would do, or has done.
func (l *Leftover) removal(done bool) string {
	remove, resume, would := "removed", "resumed", ""
	if !done {
		remove, resume, would = "remove", "resume", "would "
	}
	var parts []string
	if l.Resumes {
		parts = append(parts, resume+" it, which rolls out its pending change")
	}
	for _, key := range l.Annotations {
		parts = append(parts, remove+" annotation "+key)
	}
	for _, key := range l.Labels {
		parts = append(parts, remove+" label "+key)
	}
	return would + strings.Join(parts, ", ")
}

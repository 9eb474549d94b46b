//go:build !race

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// Deed is what a controller does about a workload after a change.
type Deed struct {
	Workload workload.Key
	// After is how long it has waited.
	After time.Duration
}

// Played is what came of a change.
type Played struct {
	// Objects are those that there are then, with their ledgers.
	Objects []runtime.Object
	Deeds   []Deed
	Now     time.Time
	// Lacking is how many workloads require a ConfigMap that does not exist then.
	Lacking int
}

// Play has a controller with some settings adopt objects, and then see one of them change. It is
// for the tests that compare it with the commands that explain it. If the object is marked as
// deleted, the controller sees that.
func Play(t *testing.T, settings rules.Settings, objects []runtime.Object, changed runtime.Object, installed, now time.Time) Played {
	t.Helper()
	a := &agreement{T: t, settings: settings, objects: objects, version: 50}
	c := New(Options{Settings: settings, AdoptRate: 1000}, a, clocktesting.NewFakeClock(installed.Add(time.Hour)), slog.New(slog.DiscardHandler), noReport{}, noReport{})
	c.installation.Installed = installed
	c.acting.Store(true)
	feeds := append(append(c.namespaceFeeds(), c.workloadFeeds()...), c.sourceFeeds()...)
	for i, f := range feeds {
		named := map[types.NamespacedName]struct{}{}
		for _, obj := range objects {
			if a.brings(i, obj) {
				head := obj.(metav1.Object)
				named[types.NamespacedName{Namespace: head.GetNamespace(), Name: head.GetName()}] = struct{}{}
				f.Handler.Put(watch.Added, obj, false)
			}
		}
		f.Handler.SnapshotComplete(named, "")
	}
	clock := c.clock.(*clocktesting.FakeClock)
	a.play(c, clock)
	clock.SetTime(now)
	a.began, a.deeds = now, nil
	for i, f := range feeds {
		switch {
		case !a.brings(i, changed):
		case deleted(changed):
			f.Handler.Delete(changed)
		default:
			f.Handler.Put(watch.Modified, changed, true)
		}
	}
	a.replace(changed)
	a.play(c, clock)
	a.objects = slices.DeleteFunc(a.objects, func(obj runtime.Object) bool { return obj == changed && deleted(changed) })
	return Played{Objects: a.objects, Deeds: a.deeds, Now: now.Add(time.Second), Lacking: c.LackingSource(source.ConfigMap)}
}

func deleted(obj runtime.Object) bool { return obj.(metav1.Object).GetDeletionTimestamp() != nil }

// agreement is an API server that has what it is given, and does not change it but by patches.
type agreement struct {
	*testing.T
	API

	settings rules.Settings
	objects  []runtime.Object
	version  int
	opened   []kubeapi.Watched
	// at is the workload that is reconciled.
	at    workload.Key
	clock *clocktesting.FakeClock
	began time.Time
	deeds []Deed
}

// play reconciles what is due within a minute.
func (a *agreement) play(c *Controller, clock *clocktesting.FakeClock) {
	a.clock = clock
	reconciling := duty{queue: c.queue, do: func(ctx context.Context, key workload.Key) workqueue.Result {
		a.at = key
		return c.reconcileKey(ctx, key)
	}}
	for end := clock.Now().Add(time.Minute); clock.Now().Before(end); {
		switch did, wait := reconciling.once(a.Context()); {
		case did:
		case wait > 0:
			clock.Step(wait)
		default:
			return
		}
	}
}

// Open implements API.
func (a *agreement) Open(w kubeapi.Watched) intake.Opener {
	a.opened = append(a.opened, w)
	return listed{a, w}
}

// listed is what the controller asks for by itself, which are Jobs.
type listed struct {
	*agreement
	kubeapi.Watched
}

// List implements intake.Opener.
func (l listed) List(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	selector, err := fields.ParseSelector(l.FieldSelector + opts.FieldSelector)
	jobs := &batchv1.JobList{}
	for _, obj := range l.objects {
		job, ok := obj.(*batchv1.Job)
		if ok && err == nil && l.LabelSelector == "" && selector.Matches(fields.Set{"metadata.namespace": job.Namespace, "metadata.name": job.Name}) {
			jobs.Items = append(jobs.Items, *job)
		}
	}
	return jobs, err
}

// Watch implements intake.Opener.
func (listed) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errors.New("what happens is brought by the test")
}

// brings reports whether a watch delivers an object.
func (a *agreement) brings(watched int, obj runtime.Object) bool {
	w, head, said := a.opened[watched], obj.(metav1.Object), obj.GetObjectKind().GroupVersionKind()
	var resource schema.GroupResource
	if kind, ok := a.settings.Kinds.Of(said.Group, said.Kind); ok {
		resource = kind.Resource.GroupResource()
	}
	if said.Kind == "Namespace" {
		resource.Resource = "namespaces"
	}
	if grants := kubeapi.ReferenceGrants(""); said.Kind == grants.Kind {
		resource = grants.Resource.GroupResource()
	}
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind.String() == said.Kind {
			resource = k.Resource.Resource.GroupResource()
		}
	}
	selector, err := fields.ParseSelector(w.FieldSelector)
	if err != nil {
		a.Fatal(err)
	}
	in := fields.Set{"metadata.namespace": head.GetNamespace(), "metadata.name": head.GetName()}
	return w.LabelSelector == "" && resource == w.Resource.GroupResource() && (w.Namespace == "" || w.Namespace == head.GetNamespace()) && selector.Matches(in)
}

func (a *agreement) replace(with runtime.Object) {
	is := func(obj runtime.Object) string {
		head := obj.(metav1.Object)
		return obj.GetObjectKind().GroupVersionKind().GroupKind().String() + head.GetNamespace() + head.GetName()
	}
	for i, obj := range a.objects {
		if is(obj) == is(with) {
			a.objects[i] = with
		}
	}
}

func (a *agreement) find(kind kinds.Kind, key workload.Key) runtime.Object {
	for _, obj := range a.objects {
		head := obj.(metav1.Object)
		if obj.GetObjectKind().GroupVersionKind().GroupKind() == kind.Object().GroupKind() && head.GetNamespace() == key.Namespace && head.GetName() == key.Name {
			return obj.DeepCopyObject()
		}
	}
	a.Fatalf("there is no %s", key)
	return nil
}

func (a *agreement) did() {
	a.deeds = append(a.deeds, Deed{a.at, a.clock.Since(a.began)})
}

// Patch implements API: it takes the ledger, and leaves the template as it was.
func (a *agreement) Patch(_ context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	var body struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     json.RawMessage   `json:"spec"`
	}
	if err := json.Unmarshal(patch.Body, &body); err != nil {
		a.Fatalf("%s: %v", patch.Body, err)
	}
	if body.Spec != nil {
		a.did()
		return nil, errors.New("what was written does not matter any more")
	}
	obj := a.find(kind, key)
	head := obj.(metav1.Object)
	all := map[string]string{annotations.Ledger: body.Metadata.Annotations[annotations.Ledger]}
	maps.Copy(all, head.GetAnnotations())
	a.version++
	head.SetAnnotations(all)
	head.SetResourceVersion(strconv.Itoa(a.version))
	a.replace(obj)
	return obj, nil
}

// Get implements API.
func (a *agreement) Get(_ context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error) {
	return a.find(kind, key), nil
}

// Create implements API: a Job is created for the workload that is reconciled.
func (a *agreement) Create(context.Context, kinds.Kind, string, runtime.Object) (runtime.Object, error) {
	a.did()
	return nil, errors.New("what was created does not matter any more")
}

// TryCreate implements API: no admission controller changes a Job.
func (a *agreement) TryCreate(_ context.Context, _ kinds.Kind, _ string, obj runtime.Object) (runtime.Object, error) {
	return obj, nil
}

// Pods implements API: one is as old as the workload.
func (a *agreement) Pods(context.Context, *workload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	pods.Add(reload.ReadStart(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.NewTime(a.began.Add(-24 * time.Hour))}}))
	return pods, nil
}

// Running implements API.
func (a *agreement) Running(context.Context, *workload.Workload, annotations.Names) ([]rollout.Pod, error) {
	return nil, nil
}

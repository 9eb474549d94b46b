// Package simapi checks the API in memory against a real one: each case is run on both.
package simapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// server is what a case asks of either.
type server interface {
	create(ctx context.Context, obj simapi.Object, manager string) (simapi.Object, error)
	update(ctx context.Context, obj simapi.Object, manager string) (simapi.Object, error)
	patch(ctx context.Context, resource, name, body, manager string) (simapi.Object, error)
	// apply is server-side apply of a source.
	apply(ctx context.Context, obj simapi.Object, manager string, force bool) (simapi.Object, error)
	// forgetManagers takes all managed fields away.
	forgetManagers(ctx context.Context, resource, name, manager string) (simapi.Object, error)
	get(ctx context.Context, resource, name string) (simapi.Object, error)
	remove(ctx context.Context, resource, name string) error
	delete(ctx context.Context, resource, name string, opts metav1.DeleteOptions) error
	// settle waits until an object is so, and returns it, or the error that it is gone with.
	settle(ctx context.Context, resource, name string, is func(simapi.Object) bool) (simapi.Object, error)
	// pods are those of a Job that are not about to end, and finish has one of them succeed.
	pods(ctx context.Context, job string) ([]*corev1.Pod, error)
	finish(ctx context.Context, pod *corev1.Pod) error
	// jobs are all Jobs. In memory, all controllers have done then what there was to do.
	jobs(ctx context.Context) ([]*batchv1.Job, error)
	// events returns the next n events of a resource after a version, or fewer with the error that
	// ended it.
	events(ctx context.Context, resource, version string, n int) ([]watch.Event, error)
	// wait lets the clock of the server go on.
	wait(d time.Duration)
}

// outcome is what a case saw, in words that do not depend on versions, uids and times.
type outcome struct{ lines []string }

func (o *outcome) say(format string, args ...any) {
	o.lines = append(o.lines, fmt.Sprintf(format, args...))
}

// refused says how a server answers.
func refused(err error) string {
	switch {
	case err == nil:
		return "accepted"
	case apierrors.IsConflict(err):
		return "409 conflict"
	case apierrors.IsInvalid(err):
		return "422 invalid"
	case apierrors.IsNotFound(err):
		return "404 not found"
	case apierrors.IsAlreadyExists(err):
		return "409 exists"
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return "410 expired"
	default:
		return err.Error()
	}
}

// cases are run on both servers; what they say must be the same, and what is expected here.
func cases() map[string]struct {
	run  func(ctx context.Context, s server, o *outcome) error
	want []string
} {
	type one = struct {
		run  func(ctx context.Context, s server, o *outcome) error
		want []string
	}
	all := map[string]one{
		"a patch with an old version is refused": {patchWithVersion, []string{"old version: 409 conflict", "present version: accepted"}},
		"a patch with the uid of another object is refused": {patchWithUID, []string{
			"other uid: 422 invalid", "other uid and version: 409 conflict", "own uid: accepted", "gone: 404 not found",
		}},
		"an update with an old version or another uid is refused": {updateConditions, []string{
			"old version: 409 conflict", "other uid: 409 conflict",
		}},
		"a patch that changes nothing makes no version": {patchOfNothing, []string{"same version: true", "events: 0"}},
		"variables and containers merge by name":        {patchByName, []string{"app: A=1 B=2 STAKATER_X=hash", "side: ", "app: A=1 B=2 STAKATER_X=other"}},
		"annotations merge, and null removes one":       {patchAnnotations, []string{"a=1 b=2", "b=2"}},
		"the generation follows the kind": {generations, []string{
			"deployments: annotation +1, template +1, status-free label +0",
			"statefulsets: annotation +0, template +1, status-free label +0",
			"daemonsets: annotation +0, template +1, status-free label +0",
		}},
		"a source shows when its content was written": {dataTimes, []string{
			"created: at creation", "key added: later", "key taken away by another: unchanged", "label by another: unchanged",
			"key taken away by its owner: earlier", "label by an owner of content: later", "deleted and made again: at creation",
		}},
		"a namespace has a label with its name, so it shows who labels it": {namespaceManagers, []string{
			"helm, later: false: labels/. labels/kubernetes.io/metadata.name", "kubectl-label, later: true: labels/x",
		}},
		"times have whole seconds":                     {wholeSeconds, []string{"creation: true", "managed fields: true"}},
		"a watch goes on after a version, in order":    {watchOrder, []string{"ADDED MODIFIED DELETED", "versions rise: true", "from the middle: MODIFIED DELETED", "a deletion has a version of its own: true"}},
		"versions of all resources are of one order":   {oneOrder, []string{"rises across resources: true"}},
		"an object that is made again has another uid": {madeAgain, []string{"other uid: true", "exists: 409 exists"}},
	}
	for name, c := range jobCases() {
		all[name] = one(c)
	}
	for name, c := range cronJobCases() {
		all[name] = one(c)
	}
	for name, c := range managerCases() {
		all[name] = one{func(ctx context.Context, s server, o *outcome) error { return managers(ctx, s, o, c.steps) }, c.want}
	}
	return all
}

// patchWithVersion is about a ConfigMap: to workloads, the controllers of a real cluster write as
// well.
func patchWithVersion(ctx context.Context, s server, o *outcome) error {
	first, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	second, err := s.patch(ctx, "configmaps", "a", `{"data":{"a":"2"}}`, "helm")
	if err != nil {
		return err
	}
	patch := `{"metadata":{"resourceVersion":"%s"},"data":{"a":"3"}}`
	_, err = s.patch(ctx, "configmaps", "a", fmt.Sprintf(patch, first.GetResourceVersion()), "reroll")
	o.say("old version: %s", refused(err))
	_, err = s.patch(ctx, "configmaps", "a", fmt.Sprintf(patch, second.GetResourceVersion()), "reroll")
	o.say("present version: %s", refused(err))
	return nil
}

func patchWithUID(ctx context.Context, s server, o *outcome) error {
	obj, err := s.create(ctx, deployment("web"), "helm")
	if err != nil {
		return err
	}
	_, err = s.patch(ctx, "deployments", "web", `{"metadata":{"uid":"other","annotations":{"a":"2"}}}`, "reroll")
	o.say("other uid: %s", refused(err))
	_, err = s.patch(ctx, "deployments", "web", `{"metadata":{"uid":"other","resourceVersion":"7","annotations":{"a":"2"}}}`, "reroll")
	o.say("other uid and version: %s", refused(err))
	_, err = s.patch(ctx, "deployments", "web", fmt.Sprintf(`{"metadata":{"uid":"%s","annotations":{"a":"2"}}}`, obj.GetUID()), "reroll")
	o.say("own uid: %s", refused(err))
	_, err = s.patch(ctx, "deployments", "none", fmt.Sprintf(`{"metadata":{"uid":"%s","annotations":{"a":"2"}}}`, obj.GetUID()), "reroll")
	o.say("gone: %s", refused(err))
	return nil
}

func updateConditions(ctx context.Context, s server, o *outcome) error {
	first, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	if _, err := s.update(ctx, changed(first, "a", "2"), "helm"); err != nil {
		return err
	}
	_, err = s.update(ctx, changed(first, "a", "3"), "helm")
	o.say("old version: %s", refused(err))
	other := changed(first, "a", "3")
	other.SetResourceVersion("")
	other.SetUID("other")
	_, err = s.update(ctx, other, "helm")
	o.say("other uid: %s", refused(err))
	return nil
}

func patchOfNothing(ctx context.Context, s server, o *outcome) error {
	if _, err := s.create(ctx, configMap("a", "1"), "helm"); err != nil {
		return err
	}
	body := `{"metadata":{"annotations":{"a":"1"}},"data":{"a":"2"}}`
	first, err := s.patch(ctx, "configmaps", "a", body, "reroll")
	if err != nil {
		return err
	}
	second, err := s.patch(ctx, "configmaps", "a", body, "reroll")
	if err != nil {
		return err
	}
	o.say("same version: %v", first.GetResourceVersion() == second.GetResourceVersion())
	events, err := s.events(ctx, "configmaps", first.GetResourceVersion(), 0)
	o.say("events: %d", len(events))
	return err
}

func patchByName(ctx context.Context, s server, o *outcome) error {
	if _, err := s.create(ctx, deployment("web"), "helm"); err != nil {
		return err
	}
	mark := `{"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"STAKATER_X","value":"%s"}]}]}}}}`
	obj, err := s.patch(ctx, "deployments", "web", fmt.Sprintf(mark, "hash"), "reroll")
	if err != nil {
		return err
	}
	o.say("app: %s", env(obj, 0))
	o.say("side: %s", env(obj, 1))
	if obj, err = s.patch(ctx, "deployments", "web", fmt.Sprintf(mark, "other"), "reroll"); err != nil {
		return err
	}
	o.say("app: %s", env(obj, 0))
	return nil
}

// env is sorted by name: the order in which a merge puts variables is nobody's promise.
func env(obj simapi.Object, container int) string {
	var list []string
	for _, e := range obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[container].Env {
		list = append(list, e.Name+"="+e.Value)
	}
	return sortedWords(list)
}

func patchAnnotations(ctx context.Context, s server, o *outcome) error {
	if _, err := s.create(ctx, deployment("web"), "helm"); err != nil {
		return err
	}
	for _, body := range []string{`{"metadata":{"annotations":{"a":"1","b":"2"}}}`, `{"metadata":{"annotations":{"a":null}}}`} {
		obj, err := s.patch(ctx, "deployments", "web", body, "reroll")
		if err != nil {
			return err
		}
		var list []string
		for key, value := range obj.GetAnnotations() {
			if !strings.Contains(key, "/") { // the controllers of a cluster write theirs
				list = append(list, key+"="+value)
			}
		}
		o.say("%s", sortedWords(list))
	}
	return nil
}

func generations(ctx context.Context, s server, o *outcome) error {
	for _, obj := range []simapi.Object{deployment("web"), statefulSet("db"), daemonSet("agent")} {
		resource, name := simapi.ResourceOf(obj), obj.GetName()
		made, err := s.create(ctx, obj, "helm")
		if err != nil {
			return err
		}
		before := made.GetGeneration()
		rise := func(body string) (int64, error) {
			obj, err := s.patch(ctx, resource, name, body, "reroll")
			if err != nil {
				return 0, err
			}
			rose := obj.GetGeneration() - before
			before = obj.GetGeneration()
			return rose, nil
		}
		ledger, err := rise(`{"metadata":{"annotations":{"` + annotations.Ledger + `":"1"}}}`)
		if err != nil {
			return err
		}
		template, err := rise(`{"spec":{"template":{"metadata":{"annotations":{"x":"1"}}}}}`)
		if err != nil {
			return err
		}
		label, err := rise(`{"metadata":{"labels":{"x":"1"}}}`)
		if err != nil {
			return err
		}
		o.say("%s: annotation +%d, template +%d, status-free label +%d", resource, ledger, template, label)
	}
	return nil
}

// TestInMemory runs the cases on the API in memory.
func TestInMemory(t *testing.T) {
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			check(t, c.want, c.run, newInMemory())
		})
	}
}

func check(t *testing.T, want []string, run func(context.Context, server, *outcome) error, s server) {
	t.Helper()
	var o outcome
	if err := run(t.Context(), s, &o); err != nil {
		t.Fatalf("%v, after %q", err, o.lines)
	}
	if got, want := strings.Join(o.lines, "\n"), strings.Join(want, "\n"); got != want {
		t.Errorf("it says\n%s\nexpected is\n%s", got, want)
	}
}

const namespace = "default"

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

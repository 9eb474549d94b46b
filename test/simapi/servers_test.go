package simapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/simapi"
)

// TestRealServer runs the same cases on a real API server, each in a namespace of its own. The cluster has
// no nodes, because no Pod may run by itself, so it is shared with no other package.
func TestRealServer(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Nodes: cluster.NoNodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for name, c := range cases() {
		i++
		ns := "case-" + strconv.Itoa(i)
		t.Run(name, func(t *testing.T) {
			if _, waits := cronJobCases()[name]; waits {
				t.Parallel() // for minutes, all of them the same ones
			}
			_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			check(t, c.want, c.run, realServer{client: client, namespace: ns})
		})
	}
}

// inMemory is the API in memory.
type inMemory struct {
	*simapi.Server
	making *simapi.Pods
}

func newInMemory() inMemory {
	s := simapi.New(time.Now())
	return inMemory{s, simapi.NewPods(s, 0)}
}

func (s inMemory) create(_ context.Context, obj simapi.Object, manager string) (simapi.Object, error) {
	return s.Create(obj, manager)
}

func (s inMemory) update(_ context.Context, obj simapi.Object, manager string) (simapi.Object, error) {
	return s.Update(obj, manager)
}

func (s inMemory) patch(_ context.Context, resource, name, body, manager string) (simapi.Object, error) {
	return s.Patch(resource, named(name), []byte(body), manager)
}

func (s inMemory) apply(_ context.Context, obj simapi.Object, manager string, force bool) (simapi.Object, error) {
	return s.Apply(obj, manager, force)
}

func (s inMemory) forgetManagers(_ context.Context, resource, name, manager string) (simapi.Object, error) {
	if err := s.ForgetManagers(resource, named(name), manager); err != nil {
		return nil, err
	}
	return s.Get(resource, named(name))
}

func (s inMemory) get(_ context.Context, resource, name string) (simapi.Object, error) {
	return s.Get(resource, named(name))
}

func (s inMemory) remove(_ context.Context, resource, name string) error {
	return s.Delete(resource, named(name))
}

func (s inMemory) events(_ context.Context, resource, from string, n int) ([]watch.Event, error) {
	at, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return nil, err
	}
	w, err := s.Watch(resource, at)
	if err != nil {
		return nil, err
	}
	var events []watch.Event
	for {
		e, ok := w.Next()
		if !ok {
			break
		}
		events = append(events, watch.Event{Type: e.Type, Object: e.Object})
	}
	if len(events) < n {
		return events, errors.New("fewer events than expected")
	}
	return events, nil
}

func (s inMemory) wait(d time.Duration) { s.Advance(d) }

// realServer is one namespace of a cluster.
type realServer struct {
	client    kubernetes.Interface
	namespace string
}

func (s realServer) rest(resource string) rest.Interface {
	switch {
	case strings.HasSuffix(resource, "sets") || resource == "deployments":
		return s.client.AppsV1().RESTClient()
	case strings.HasSuffix(resource, "jobs"):
		return s.client.BatchV1().RESTClient()
	}
	return s.client.CoreV1().RESTClient()
}

func (s realServer) moved(obj simapi.Object) simapi.Object {
	obj = obj.DeepCopyObject().(simapi.Object)
	if !isNamespace(obj) {
		obj.SetNamespace(s.namespace)
	}
	return obj
}

func isNamespace(obj simapi.Object) bool {
	_, is := obj.(*corev1.Namespace)
	return is
}

func object(obj runtime.Object, err error) (simapi.Object, error) {
	if err != nil {
		return nil, err
	}
	return obj.(simapi.Object), nil
}

func (s realServer) create(ctx context.Context, obj simapi.Object, manager string) (simapi.Object, error) {
	resource := simapi.ResourceOf(obj)
	return object(s.rest(resource).Post().NamespaceIfScoped(s.namespace, !isNamespace(obj)).Resource(resource).
		VersionedParams(&metav1.CreateOptions{FieldManager: manager}, scheme.ParameterCodec).Body(s.moved(obj)).Do(ctx).Get())
}

func (s realServer) update(ctx context.Context, obj simapi.Object, manager string) (simapi.Object, error) {
	resource := simapi.ResourceOf(obj)
	return object(s.rest(resource).Put().NamespaceIfScoped(s.namespace, !isNamespace(obj)).Resource(resource).Name(obj.GetName()).
		VersionedParams(&metav1.UpdateOptions{FieldManager: manager}, scheme.ParameterCodec).Body(s.moved(obj)).Do(ctx).Get())
}

func (s realServer) patch(ctx context.Context, resource, name, body, manager string) (simapi.Object, error) {
	return object(s.rest(resource).Patch(types.StrategicMergePatchType).Namespace(s.namespace).Resource(resource).Name(name).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager}, scheme.ParameterCodec).Body([]byte(body)).Do(ctx).Get())
}

func (s realServer) apply(ctx context.Context, obj simapi.Object, manager string, force bool) (simapi.Object, error) {
	resource, next := simapi.ResourceOf(obj), s.moved(obj)
	next.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: strings.TrimPrefix(fmt.Sprintf("%T", obj), "*v1.")})
	body, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	return object(s.rest(resource).Patch(types.ApplyPatchType).Namespace(s.namespace).Resource(resource).Name(obj.GetName()).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager, Force: &force}, scheme.ParameterCodec).Body(body).Do(ctx).Get())
}

func (s realServer) forgetManagers(ctx context.Context, resource, name, manager string) (simapi.Object, error) {
	return object(s.rest(resource).Patch(types.MergePatchType).Namespace(s.namespace).Resource(resource).Name(name).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager}, scheme.ParameterCodec).Body([]byte(`{"metadata":{"managedFields":[{}]}}`)).Do(ctx).Get())
}

func (s realServer) get(ctx context.Context, resource, name string) (simapi.Object, error) {
	return object(s.rest(resource).Get().Namespace(s.namespace).Resource(resource).Name(name).Do(ctx).Get())
}

func (s realServer) remove(ctx context.Context, resource, name string) error {
	return s.rest(resource).Delete().Namespace(s.namespace).Resource(resource).Name(name).Do(ctx).Error()
}

// quiet is how long no event must come to say that there is none.
const quiet = 500 * time.Millisecond

func (s realServer) events(ctx context.Context, resource, from string, n int) ([]watch.Event, error) {
	w, err := s.rest(resource).Get().Namespace(s.namespace).Resource(resource).
		VersionedParams(&metav1.ListOptions{ResourceVersion: from, Watch: true}, scheme.ParameterCodec).Watch(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var events []watch.Event
	for {
		select {
		case e, ok := <-w.ResultChan():
			switch {
			case !ok:
				return events, errors.New("the watch ended")
			case e.Type == watch.Error:
				return events, apierrors.FromObject(e.Object)
			}
			if obj, ok := e.Object.(metav1.Object); ok && obj.GetName() == "kube-root-ca.crt" {
				continue // the cluster puts it into each new namespace, some time
			}
			events = append(events, e)
			if n > 0 && len(events) == n {
				return events, nil
			}
		case <-time.After(max(quiet, time.Duration(n)*10*time.Second)):
			if n > 0 {
				return events, fmt.Errorf("%d events came, %d were expected", len(events), n)
			}
			return events, nil
		}
	}
}

func (s realServer) wait(d time.Duration) { time.Sleep(d) }

func typesOf(events []watch.Event) string {
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
	}
	return strings.Join(types, " ")
}

func rises(events []watch.Event) bool {
	return slices.IsSortedFunc(events, func(a, b watch.Event) int {
		return int(version(a.Object.(simapi.Object))) - int(version(b.Object.(simapi.Object)))
	})
}

func version(obj metav1.Object) uint64 {
	v, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64) // a version that is no number fails the case
	return v
}

func sortedWords(list []string) string {
	slices.Sort(list)
	return strings.Join(list, " ")
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(name), Data: map[string]string{"a": value}}
}

func changed(obj simapi.Object, key, value string) simapi.Object {
	cm := obj.DeepCopyObject().(*corev1.ConfigMap)
	cm.Data[key] = value
	return cm
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Image: "app", Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}},
			{Name: "side", Image: "side"},
		}},
	}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
}

// The workloads are paused or without replicas as far as they can be: the controllers of the
// cluster write less then.
func deployment(name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(0)), Paused: true, Selector: selector(), Template: template(),
	}}
}

func statefulSet(name string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: meta(name), Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(0)), Selector: selector(), Template: template(),
	}}
}

func daemonSet(name string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: meta(name), Spec: appsv1.DaemonSetSpec{Selector: selector(), Template: template()}}
}

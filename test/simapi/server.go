// Package simapi is an API server in memory, for tests that need many thousands of histories. It
// keeps what decides whether a controller is right: versions, uids, the times and owners of fields,
// conflicts, strategic merge patches, and watches that lag. Nothing in it runs on its own: time
// moves, pods start and events arrive when a test says so.
package simapi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is what the server keeps. What it hands out is shared and must not be written to.
type Object interface {
	runtime.Object
	metav1.Object
}

// Server is the API server. It is not safe for concurrent use.
type Server struct {
	now time.Time
	// skew is asked at each write by how much the clock is off of the server that takes it, and off
	// is the answer.
	skew func() time.Duration
	off  time.Duration

	version uint64
	uids    uint64
	kept    map[string]map[types.NamespacedName]Object
	owners  map[types.UID]owners
	logs    map[string]*log
	observe []func(Event)
	// collected is what bundles amount to, by source, until one of them is written.
	collected map[Source]written
}

// New returns an empty one, whose clock shows now.
func New(now time.Time) *Server {
	return &Server{
		now:    now,
		kept:   map[string]map[types.NamespacedName]Object{},
		owners: map[types.UID]owners{},
		logs:   map[string]*log{},
	}
}

// Now is the time by the server's clock.
func (s *Server) Now() time.Time { return s.now }

// Advance moves the clock.
func (s *Server) Advance(d time.Duration) { s.now = s.now.Add(d) }

// Version is that of the newest write. All resources share one order.
func (s *Server) Version() uint64 { return s.version }

// Observe calls f after each write that changed something, before any watch brings it.
func (s *Server) Observe(f func(Event)) { s.observe = append(s.observe, f) }

// Skew has writes go to servers whose clocks do not agree: it is asked at each write by how much
// the clock is off of the one that takes it.
func (s *Server) Skew(by func() time.Duration) { s.skew = by }

// begin is called by each write before it looks at the clock.
func (s *Server) begin() {
	if s.skew != nil {
		s.off = s.skew()
	}
}

// stamp is what the API shows of the present time.
func (s *Server) stamp() time.Time { return s.now.Add(s.off).Truncate(time.Second) }

// second is that as objects have it.
func (s *Server) second() metav1.Time { return metav1.NewTime(s.stamp()) }

// Get returns an object.
func (s *Server) Get(resource string, name types.NamespacedName) (Object, error) {
	obj, ok := s.kept[resource][name]
	if !ok {
		return nil, apierrors.NewNotFound(groupResource(resource), name.Name)
	}
	return obj, nil
}

// List returns the objects of a resource, ordered by namespace and name.
func (s *Server) List(resource string) []Object {
	return sorted(s.kept[resource])
}

func sorted(objects map[types.NamespacedName]Object) []Object {
	list := make([]Object, 0, len(objects))
	for _, obj := range objects {
		list = append(list, obj)
	}
	slices.SortFunc(list, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return list
}

// Create takes what a manager made.
func (s *Server) Create(obj Object, manager string) (Object, error) {
	resource, name := ResourceOf(obj), nameOf(obj)
	if _, ok := s.kept[resource][name]; ok {
		return nil, apierrors.NewAlreadyExists(groupResource(resource), name.Name)
	}
	s.begin()
	next := clone(obj)
	s.make(next)
	s.own(nil, next, manager)
	s.put(resource, name, next, Event{Type: watch.Added, Manager: manager})
	return next, nil
}

// make gives an object what only the server can give.
func (s *Server) make(next Object) {
	s.uids++
	next.SetUID(types.UID(fmt.Sprintf("uid-%06d", s.uids)))
	next.SetCreationTimestamp(s.second())
	_, custom := next.(*unstructured.Unstructured)
	if _, ok := template(next); ok || custom {
		next.SetGeneration(1)
	}
	setDefaults(next)
}

// Update replaces an object. An object that names a version or a uid is refused where the one
// standing has another.
func (s *Server) Update(obj Object, manager string) (Object, error) {
	resource, name := ResourceOf(obj), nameOf(obj)
	old, err := s.Get(resource, name)
	if err != nil {
		return nil, err
	}
	if obj.GetUID() != "" && obj.GetUID() != old.GetUID() {
		return nil, apierrors.NewConflict(groupResource(resource), name.Name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", obj.GetUID(), old.GetUID())) //nolint:staticcheck // the server's own words
	}
	if err := cmp.Or(sameVersion(obj.GetResourceVersion(), old), immutable(old, obj)); err != nil {
		return nil, err
	}
	return s.replace(old, clone(obj), manager), nil
}

// Edit changes what stands there, as a client does that reads, writes and tries again on a
// conflict.
func (s *Server) Edit(resource string, name types.NamespacedName, manager string, edit func(Object)) (Object, error) {
	old, err := s.Get(resource, name)
	if err != nil {
		return nil, err
	}
	next := clone(old)
	edit(next)
	return s.replace(old, next, manager), nil
}

// editStatus changes the status of what stands there and nothing else, by the subresource: whatever
// it is, it raises no generation.
func (s *Server) editStatus(old Object, manager string, edit func(Object)) {
	next := clone(old)
	edit(next)
	s.put(ResourceOf(next), nameOf(next), next, Event{Type: watch.Modified, Old: old, Manager: manager})
}

// Delete takes an object away.
func (s *Server) Delete(resource string, name types.NamespacedName) error {
	old, err := s.Get(resource, name)
	if err != nil {
		return err
	}
	delete(s.kept[resource], name)
	s.forget(resource)
	delete(s.owners, old.GetUID())
	gone := clone(old)
	s.version++
	gone.SetResourceVersion(strconv.FormatUint(s.version, 10))
	s.tell(resource, Event{Type: watch.Deleted, Object: gone, Old: old, Version: s.version})
	return nil
}

// replace writes next, unless it does not differ: a write that changes nothing makes no version.
func (s *Server) replace(old, next Object, manager string) Object {
	next.SetUID(old.GetUID())
	next.SetCreationTimestamp(old.GetCreationTimestamp())
	next.SetResourceVersion(old.GetResourceVersion())
	next.SetGeneration(old.GetGeneration())
	next.SetManagedFields(old.GetManagedFields())
	if equality.Semantic.DeepEqual(old, next) {
		return old
	}
	s.begin()
	if raisesGeneration(old, next) {
		next.SetGeneration(old.GetGeneration() + 1)
	}
	s.own(old, next, manager)
	s.put(ResourceOf(next), nameOf(next), next, Event{Type: watch.Modified, Old: old, Manager: manager})
	return next
}

func (s *Server) put(resource string, name types.NamespacedName, obj Object, e Event) {
	s.version++
	obj.SetResourceVersion(strconv.FormatUint(s.version, 10))
	if s.kept[resource] == nil {
		s.kept[resource] = map[types.NamespacedName]Object{}
	}
	s.kept[resource][name] = obj
	s.forget(resource)
	e.Object, e.Version, e.Time = obj, s.version, s.stamp()
	s.tell(resource, e)
}

// raisesGeneration follows the strategies of the real server: that of a Deployment counts
// annotations too, because its controller copies them to the ReplicaSet.
func raisesGeneration(old, next Object) bool {
	switch o := old.(type) {
	case *appsv1.Deployment:
		n := next.(*appsv1.Deployment)
		return !equality.Semantic.DeepEqual(o.Spec, n.Spec) || !equality.Semantic.DeepEqual(o.Annotations, n.Annotations)
	case *appsv1.StatefulSet:
		return !equality.Semantic.DeepEqual(o.Spec, next.(*appsv1.StatefulSet).Spec)
	case *appsv1.DaemonSet:
		return !equality.Semantic.DeepEqual(o.Spec, next.(*appsv1.DaemonSet).Spec)
	case *batchv1.Job:
		return !equality.Semantic.DeepEqual(o.Spec, next.(*batchv1.Job).Spec)
	case *batchv1.CronJob:
		return !equality.Semantic.DeepEqual(o.Spec, next.(*batchv1.CronJob).Spec)
	case *unstructured.Unstructured: // those that there are have no subresource for their status
		n := next.(*unstructured.Unstructured)
		return !equality.Semantic.DeepEqual(o.Object["spec"], n.Object["spec"]) || !equality.Semantic.DeepEqual(o.Object["status"], n.Object["status"])
	default:
		return false
	}
}

func sameVersion(wanted string, obj Object) error {
	if wanted == "" || wanted == obj.GetResourceVersion() {
		return nil
	}
	return apierrors.NewConflict(groupResource(ResourceOf(obj)), obj.GetName(),
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// ResourceOf is the plural name of an object's kind.
func ResourceOf(obj Object) string {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		kind := strings.ToLower(o.GetKind())
		if strings.HasSuffix(kind, "s") {
			return kind + "es"
		}
		return kind + "s"
	case *corev1.ConfigMap:
		return "configmaps"
	case *corev1.Secret:
		return "secrets"
	case *corev1.Namespace:
		return "namespaces"
	case *corev1.Pod:
		return "pods"
	case *appsv1.Deployment:
		return "deployments"
	case *appsv1.StatefulSet:
		return "statefulsets"
	case *appsv1.DaemonSet:
		return "daemonsets"
	case *batchv1.CronJob:
		return "cronjobs"
	case *batchv1.Job:
		return "jobs"
	default:
		return fmt.Sprintf("%T", obj)
	}
}

func groupResource(resource string) schema.GroupResource {
	switch resource {
	case "deployments", "statefulsets", "daemonsets":
		return schema.GroupResource{Group: appsv1.GroupName, Resource: resource}
	case "cronjobs", "jobs":
		return schema.GroupResource{Group: batchv1.GroupName, Resource: resource}
	case ClassResource, StatusResource:
		return schema.GroupResource{Group: ClassGroup, Resource: resource}
	case BundleResource:
		return schema.GroupResource{Group: bundleGroup, Resource: resource}
	default:
		return schema.GroupResource{Resource: resource}
	}
}

// template returns the pod template of a workload.
func template(obj Object) (*corev1.PodTemplateSpec, bool) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template, true
	case *appsv1.StatefulSet:
		return &o.Spec.Template, true
	case *appsv1.DaemonSet:
		return &o.Spec.Template, true
	case *batchv1.Job:
		return &o.Spec.Template, true
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, true
	default:
		return nil, false
	}
}

func nameOf(obj Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func clone(obj Object) Object { return obj.DeepCopyObject().(Object) }

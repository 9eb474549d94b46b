package controller

import (
	"errors"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// bundleStage has a Deployment that projects a bundle, and the feed of bundles.
type bundleStage struct {
	*stage
	bundles *handler
	watch   *intake.Feed
	version int
}

func newBundleStage(t *testing.T) *bundleStage {
	s := &bundleStage{stage: newStage(t), version: 1000}
	s.opts().TrustBundles, s.opts().ReloadOnDelete = true, true
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind == source.ClusterTrustBundle {
			f := s.controller.trustBundleFeed(k)
			s.watch, s.bundles = f.Feed, f.Handler.(*handler)
		}
	}
	d := webDeployment()
	d.Spec.Template.Spec.Containers[0].EnvFrom = nil
	name := "company"
	d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "trust", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: &name}}},
	}}}}
	d.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}}
	made, err := s.server.Create(d, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().isListed(made)
	return s
}

// company is the bundle with a text in it.
func (s *bundleStage) company(text string) *unstructured.Unstructured {
	s.version++
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"trustBundle": text}}}
	o.SetAPIVersion("certificates.k8s.io/v1beta1")
	o.SetKind("ClusterTrustBundle")
	o.SetName("company")
	o.SetUID("company")
	o.SetResourceVersion(strconv.Itoa(s.version))
	o.SetCreationTimestamp(metav1.NewTime(s.server.Now().Add(-2 * time.Hour)))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "trust", Time: &metav1.Time{Time: s.server.Now()}, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:trustBundle":{}}}`)}})
	return o
}

// snapshot puts the result of a list of all bundles.
func (s *bundleStage) snapshot(all ...*unstructured.Unstructured) {
	named := map[types.NamespacedName]struct{}{}
	for _, o := range all {
		s.bundles.isListed(o)
		named[types.NamespacedName{Name: o.GetName()}] = struct{}{}
	}
	s.bundles.SnapshotComplete(named, strconv.Itoa(s.version))
}

// adopt brings the bundle with the certificate that all Pods have.
func (s *bundleStage) adopt() {
	s.Helper()
	s.snapshot(s.company("a"))
	s.rolls("adopted", 0)
	s.oldPods = true
}

// rolls plays, and fails unless the Deployment was rolled so often since the start.
func (s *bundleStage) rolls(about string, want int) {
	s.Helper()
	s.play(time.Minute)
	if s.marked != want {
		s.Errorf("%s: it was rolled %d times, want %d", about, s.marked, want)
	}
}

// answered is how the API server answers a request for bundles.
func (s *bundleStage) answered(err error) {
	s.watch.Open.(attended).answered(err)
}

func TestABundleThatChangesRollsItsWorkload(t *testing.T) {
	s := newBundleStage(t)
	s.adopt()
	s.server.Advance(time.Minute)
	s.bundles.arrives(s.company("b"))
	s.rolls("another certificate", 1)
	s.bundles.arrives(s.company("b"))
	s.rolls("the same one", 1)
	s.bundles.departs(types.NamespacedName{Name: "company"}, "5000")
	s.rolls("deleted, which counts here", 2)
}

// A kind that the cluster no longer serves, or that may not be read, is not a kind without objects:
// that a bundle is missing then is no deletion.
func TestBundlesThatAreNotServedAreNotDeleted(t *testing.T) {
	resource := kubeapi.TrustBundleVersions()[0].GroupResource()
	for about, err := range map[string]error{
		"not served":   apierrors.NewNotFound(resource, ""),
		"not allowed":  apierrors.NewForbidden(resource, "", errors.New("no")),
		"not answered": apierrors.NewInternalError(errors.New("no")),
	} {
		t.Run(about, func(t *testing.T) {
			s := newBundleStage(t)
			s.adopt()
			for range 3 {
				s.answered(err)
				s.clock.Step(absenceCounts)
			}
			s.rolls("gone", 0)
			s.controller.enqueue(named("web"), true)
			s.rolls("reconciled meanwhile", 0)
			s.answered(nil)
			s.snapshot(s.company("a"))
			s.rolls("back with the same certificate", 0)
			s.server.Advance(time.Minute)
			s.snapshot(s.company("b"))
			s.rolls("back with another one", 1)
		})
	}
}

// startedUnserved is a controller that started where the kind was not served, and has decided about a
// workload whose ledger has the bundle. Now the kind is served.
func startedUnserved(t *testing.T) *bundleStage {
	t.Helper()
	s := newBundleStage(t)
	s.adopt()
	web, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	next := newBundleStage(t)
	next.server, *next.installation(), next.oldPods = s.server, *s.installation(), true
	next.deployments().isListed(web)
	next.answered(apierrors.NewNotFound(kubeapi.TrustBundleVersions()[0].GroupResource(), ""))
	next.controller.enqueue(named("web"), false)
	next.rolls("started", 0)
	next.answered(nil)
	return next
}

// A controller that starts where the kind is not served decides about all else, and keeps the entries
// of ledgers.
func TestTheStartWithoutBundlesKeepsTheLedger(t *testing.T) {
	next := startedUnserved(t)
	next.server.Advance(time.Minute)
	next.snapshot(next.company("b"))
	next.rolls("the kind returns with another certificate", 1)
}

// signed is a stage with a Deployment that projects all bundles of a signer. Bundles a and b are in
// the API, with versions that have an order with those of the Deployment.
func signed(t *testing.T) *bundleStage {
	s := newBundleStage(t)
	s.opts().ReloadOnDelete = false
	s.change(func(d *appsv1.Deployment) {
		bundleUse{sources: []simapi.Source{allBundles}}.apply(&d.Spec.Template.Spec)
	})
	for _, name := range []string{"a", "b"} {
		if _, err := s.server.Create(simapi.NewBundle(name, internalSigner, []string{name}), "trust"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// relist delivers all bundles of the API as a snapshot.
func (s *bundleStage) relist() {
	named := map[types.NamespacedName]struct{}{}
	for _, obj := range s.server.List(simapi.BundleResource) {
		s.bundles.isListed(obj)
		named[types.NamespacedName{Name: obj.GetName()}] = struct{}{}
	}
	s.bundles.SnapshotComplete(named, strconv.FormatUint(s.server.Version(), 10))
}

func (s *bundleStage) editBundle(name string, live bool, edit func(simapi.Object)) {
	s.Helper()
	s.server.Advance(time.Minute)
	changed, err := s.server.Edit(simapi.BundleResource, types.NamespacedName{Name: name}, "trust", edit)
	if err != nil {
		s.Fatal(err)
	}
	if live {
		s.bundles.arrives(changed)
	}
}

func (s *bundleStage) deleteBundle(name string) {
	s.Helper()
	if err := s.server.Delete(simapi.BundleResource, types.NamespacedName{Name: name}); err != nil {
		s.Fatal(err)
	}
}

// Nothing of a deleted bundle is left, and the others of its signer are older than the last rollout.
func TestABundleThatIsDeletedUnseenRollsTheUsersOfItsSigner(t *testing.T) {
	s := signed(t)
	s.relist()
	s.oldPods = true
	s.rolls("adopted", 0)
	s.editBundle("a", true, func(obj simapi.Object) { simapi.SetCertificates(obj, []string{"other"}) })
	s.rolls("another certificate", 1)
	s.oldPods = false
	s.deleteBundle("b")
	s.relist()
	s.rolls("one is deleted while the watch is cut", 2)
	s.relist()
	s.rolls("nothing is new", 2)
}

// An annotation moves the time of a bundle. It is no sign that Pods which started later do not have
// the certificates of another bundle, which is deleted since.
func TestTheTimeOfAnotherBundleHidesNoDeletion(t *testing.T) {
	s := signed(t)
	s.relist()
	s.rolls("adopted", 0)
	s.editBundle("a", false, func(obj simapi.Object) { obj.SetAnnotations(map[string]string{"note": "new"}) })
	s.deleteBundle("b")
	s.relist()
	s.rolls("one is deleted while the watch is cut", 1)
}

// The controller has decided about all workloads before the kind is served, and keeps what ledgers
// have of bundles. What is missing then is decided about when bundles are known.
func TestABundleThatIsMissingWhenTheKindIsServedIsDeleted(t *testing.T) {
	next := startedUnserved(t)
	next.snapshot()
	next.rolls("the kind is served, without the bundle", 1)
}

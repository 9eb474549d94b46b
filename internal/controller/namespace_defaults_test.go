package controller

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// setNamespace writes the namespace, with the version and the time of the API in memory. Live is
// false for a namespace that a snapshot brings.
func (s *stage) setNamespace(values map[string]string, live bool) {
	s.Helper()
	ns := s.namespaceWith(values)
	s.showsNamespace(ns, live)
}

func (s *stage) namespaceWith(values map[string]string) *corev1.Namespace {
	s.Helper()
	s.namespaces++
	stamped, err := s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: fmt.Sprint("version-", s.namespaces)}}, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	fields := `{"f:metadata": {"f:annotations": {`
	sep := ""
	for key := range values {
		fields += sep + `"f:` + key + `": {}`
		sep = ", "
	}
	at := metav1.NewTime(s.server.Now())
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, UID: "u-shop", ResourceVersion: stamped.GetResourceVersion(), Annotations: values,
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-annotate", Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields + `}}}`),
		}},
	}}
}

func optIn(value string) map[string]string {
	return map[string]string{annotations.AutoOfNamespace: value}
}

// unannotated is a stage with a workload whose chart sets no annotations.
func unannotated(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.oldPods = true
	s.add("web", true, "")
	s.change(func(d *appsv1.Deployment) { d.Annotations = nil })
	s.play(3 * time.Second)
	s.says = nil
	return s
}

func (s *stage) reloaded(about string, want int) {
	s.Helper()
	if s.marked != want {
		s.Errorf("%s: %d reloads, want %d", about, s.marked, want)
	}
}

func TestANamespaceOptsInItsWorkloadsWithoutAnyRollout(t *testing.T) {
	s := unannotated(t)
	s.editAndPlay("2")
	s.reloaded("not opted in", 0)
	s.setNamespace(optIn("true"), true)
	s.play(untilReported)
	s.reloaded("the namespace opts it in", 0)
	s.heard("the namespace opts it in", "web Watching: A change of ConfigMap 'web' (reroll.dev/auto on the namespace) rolls this Deployment")
	s.editAndPlay("3")
	s.reloaded("a change after that", 1)
	for i, out := range []string{"false", "yes", ""} {
		s.setNamespace(optIn(out), true)
		s.editAndPlay("out " + out)
		s.reloaded("opted out by "+out, 1+i)
		s.setNamespace(optIn("1"), true)
		s.play(untilReported)
		s.reloaded("opted in again", 1+i)
		s.editAndPlay("in after " + out)
		s.reloaded("a change after that", 2+i)
	}
}

func TestAWorkloadThatOptsOutBeatsItsNamespace(t *testing.T) {
	s := unannotated(t)
	s.change(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"reloader.stakater.com/auto": "false"} })
	s.setNamespace(optIn("true"), true)
	s.editAndPlay("2")
	s.reloaded("it opts out", 0)
	s.change(func(d *appsv1.Deployment) {
		d.Annotations, d.Spec.Template.Annotations = nil, map[string]string{"reloader.stakater.com/auto": "false"}
	})
	s.editAndPlay("3")
	s.reloaded("its template opts out", 0)
}

func TestANamespaceThatOptsOutBeatsTheFlag(t *testing.T) {
	s := newStage(t)
	s.opts().AutoReloadAll = true
	s.controller = New(*s.opts(), s, s.clock, s.controller.log, s.controller.report, s.controller.counter)
	s.installation().Installed = s.clock.Now().Add(-time.Hour)
	s.lead()
	s.add("web", true, "")
	s.change(func(d *appsv1.Deployment) { d.Annotations = nil })
	s.setNamespace(optIn("false"), true)
	s.play(3 * time.Second)
	s.editAndPlay("2")
	s.reloaded("the namespace opts out", 0)
	s.setNamespace(optIn("nein"), true)
	s.play(3 * time.Second)
	s.reloaded("a value that is not a boolean has no effect", 0)
	s.editAndPlay("3")
	s.reloaded("the flag counts", 1)
}

// A namespace is annotated while no controller runs. What its workloads have missed counts from
// then on.
func TestANamespaceThatIsAnnotatedWhileNoControllerRunsRollsNothing(t *testing.T) {
	for about, tc := range map[string]struct {
		annotatedFirst bool
		want           int
	}{"edited, then annotated": {false, 0}, "annotated, then edited": {true, 1}} {
		t.Run(about, func(t *testing.T) {
			s := unannotated(t)
			var ns *corev1.Namespace
			if tc.annotatedFirst {
				s.server.Advance(time.Minute)
				ns = s.namespaceWith(optIn("true"))
			}
			s.server.Advance(time.Minute)
			s.edit("web", "2")
			s.server.Advance(time.Minute)
			if ns == nil {
				ns = s.namespaceWith(optIn("true"))
			}
			next := s.restartedIn(ns)
			next.play(time.Minute)
			next.reloaded("after the restart", tc.want)
			next.editAndPlay("3")
			next.reloaded("a change after that", tc.want+1)
		})
	}
}

// restartedIn is restarted, with a namespace in the first snapshot.
func (s *stage) restartedIn(ns *corev1.Namespace) *stage {
	s.Helper()
	next := s.restarted()
	next.showsNamespace(ns, false)
	next.known().KeepNamespaces(func(string) bool { return true })
	return next
}

// The namespace opted them out, and a user removes that while no controller runs. Nothing tells
// when, but for the time of its other annotations.
func TestANamespaceThatOptsOutNoLongerRollsNothing(t *testing.T) {
	s := unannotated(t)
	s.opts().AutoReloadAll = true
	s.installation().Coverage.AllSince = s.server.Now().Add(-time.Hour)
	s.setNamespace(optIn("false"), true)
	s.server.Advance(time.Minute)
	s.editAndPlay("2") // the Pods are older
	s.reloaded("opted out", 0)
	s.server.Advance(time.Minute)
	next := s.restartedIn(s.namespaceWith(map[string]string{"owner": "shop"}))
	*next.installation() = *s.installation()
	next.play(time.Minute)
	next.reloaded("opted in by the flag", 0)
	next.editAndPlay("3")
	next.reloaded("a change", 1)
}

// The snapshot of the namespaces may come after that of the workloads.
func TestDefaultsOfASnapshotApplyToAllWorkloads(t *testing.T) {
	s := unannotated(t)
	ns := s.namespaceWith(optIn("true"))
	next := s.restartedIn(ns)
	next.play(time.Minute)
	if w, _ := next.known().Workload(named("web")); w.LedgerText == "" {
		t.Error("it has no ledger")
	}
	next.editAndPlay("2")
	next.reloaded("a change", 1)
}

func TestTheSettlePeriodOfANamespaceIsADefault(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.setNamespace(map[string]string{annotations.Settle: "9s"}, true)
	s.play(10 * time.Second)
	s.editAndPlay("2")
	s.reloaded("after five seconds", 0)
	s.play(5 * time.Second)
	s.reloaded("after ten seconds", 1)
	s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Settle] = "1s" })
	s.editAndPlay("3")
	s.reloaded("the workload has its own", 2)
	s.setNamespace(map[string]string{annotations.Settle: "soon"}, true)
	s.play(time.Second)
	s.heard("a bad value", "web Watching", `shop AnnotationIgnored: annotation reroll.dev/settle has "soon": has no effect; write a duration`)
}

// Mistakes in the annotations of a namespace are reported there, and the annotation of namespaces
// remains a mistake on a workload.
func TestMistakesInDefaultsAreReported(t *testing.T) {
	s := unannotated(t)
	s.setNamespace(map[string]string{annotations.AutoOfNamespace: "yes", annotations.Mode: "quiet", "reroll.dev/atuo": "true", "reloader.stakater.com/auto": "true"}, true)
	s.heard("the namespace", `shop AnnotationIgnored: annotation reroll.dev/auto has "yes": has no effect; write "true" or "false", or remove the annotation & `+
		`annotation reroll.dev/mode has "quiet": cannot be read, so Reroll only notifies; write "reload" or "notify" & `+
		`annotation reroll.dev/atuo has "true": does nothing here. Did you mean reroll.dev/auto? & `+
		`annotation reloader.stakater.com/auto has "true": does nothing here. Did you mean reroll.dev/auto?`)
	s.change(func(d *appsv1.Deployment) { d.Annotations = optIn("true") })
	s.heard("the workload", `web AnnotationIgnored: annotation reroll.dev/auto has "true": does nothing. Did you mean reloader.stakater.com/auto?`)
	s.editAndPlay("2")
	s.reloaded("not opted in", 0)
}

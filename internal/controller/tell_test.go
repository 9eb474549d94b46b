package controller

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Watching implements Report.
func (r stageReport) Watching(w *reload.Workload, concerns []reload.Concern) {
	r.says = append(r.says, fmt.Sprintf("%s watching %d", w.Key.Name, len(concerns)))
}

// Missing implements Report.
func (r stageReport) Missing(w *reload.Workload, named []reload.NamedSource) {
	for _, n := range named {
		r.says = append(r.says, fmt.Sprintf("%s missing %s %s", w.Key.Name, n.Kind, n.Text))
	}
}

// heard is what was told since it was asked last.
func (s *stage) heard(about string, want ...string) {
	s.Helper()
	if diff := cmp.Diff(want, s.says); diff != "" {
		s.Errorf("%s: (-want +got):\n%s", about, diff)
	}
	s.says = nil
}

func (s *stage) annotate(annotations map[string]string) {
	s.Helper()
	s.change(func(d *appsv1.Deployment) { maps.Copy(d.Annotations, annotations) })
	s.play(3 * time.Second)
}

func TestWhatIsNamedAndNotThereIsToldOnce(t *testing.T) {
	s := newStage(t)
	s.acting.Store(true)
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("opted in", "web watching 1")

	list := reload.DefaultNames().ConfigMap
	s.annotate(map[string]string{list: "web, my.config, app-.*"})
	s.heard("a name and an expression that nothing fits", "web missing ConfigMap my.config", "web missing ConfigMap app-.*")
	s.annotate(map[string]string{list: "we., my.config, app-.*, other"})
	s.heard("one more", "web missing ConfigMap other")
	s.annotate(map[string]string{reload.SettleAnnotation: "2s"})
	s.heard("something else")

	// Nobody knows which of these exist.
	s.opts.IgnoredSources = []reload.SourceKind{reload.Secret}
	s.annotate(map[string]string{reload.DefaultNames().Secret: "a", reload.DefaultNames().SecretProviderClass: "b"})
	s.heard("of kinds that are not read")
}

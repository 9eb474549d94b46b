package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// remove deletes a ConfigMap; the watch brings that, or a snapshot does later.
func (s *stage) remove(name string, live bool) {
	s.Helper()
	if err := s.server.Delete("configmaps", inShop(name)); err != nil {
		s.Fatal(err)
	}
	if live {
		s.configMaps().departs(inShop(name), "")
	} else {
		s.configMaps().hasOnly(map[types.NamespacedName]struct{}{})
	}
}

func (s *stage) create(name, value string) {
	s.Helper()
	made, err := s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"v": value}}, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(made)
}

// deploy creates a Deployment without its ConfigMap.
func (s *stage) deploy(live bool) {
	s.Helper()
	made, err := s.server.Create(webDeployment(), "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().put(made, live)
}

func (s *stage) lacks(about string, want int) {
	s.Helper()
	if configMaps, secrets := s.controller.LackingSource(source.ConfigMap), s.controller.LackingSource(source.Secret); configMaps != want || secrets != 0 {
		s.Errorf("%s: %d workloads lack a ConfigMap and %d a Secret, want %d and 0", about, configMaps, secrets, want)
	}
}

func TestADeletedSourceIsReportedOncePerDeletion(t *testing.T) {
	const deleted = "web SourceMissing: ConfigMap shop/web was deleted; new Pods of this Deployment cannot start & If it is created with other data"
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("all exists", "web Watching")
	s.lacks("all exists", 0)

	s.remove("web", true)
	s.play(5 * time.Second)
	s.heard("it may be created again at once")
	s.lacks("it was deleted", 1)
	s.play(untilReported)
	s.heard("it stayed deleted", deleted)
	s.annotate(map[string]string{annotations.Settle: "2s"})
	s.heard("nothing new")
	s.lacks("it stayed deleted", 1)

	patched := s.marked
	s.create("web", "1")
	s.play(untilReported)
	s.lacks("it was created again", 0)
	if s.marked != patched {
		t.Error("the same data caused a reload")
	}
	s.remove("web", false)
	s.play(untilReported)
	s.heard("it was deleted again, while the watch was interrupted", deleted)
	s.create("web", "2")
	s.play(untilReported)
	s.heard("it was created again, with other data")
	if s.marked != patched+1 {
		t.Error("other data caused no reload")
	}
	s.remove("web", true)
	s.play(3 * time.Second)
	s.lacks("it was deleted", 1)
	s.deployments().departs(inShop("web"), "")
	s.lacks("the workload was deleted, too", 0)
	s.play(untilReported)
	s.heard("the workload was deleted, too")
}

func TestWhenAMissingSourceIsReported(t *testing.T) {
	for about, tc := range map[string]struct {
		when  func(s *stage)
		want  []string
		lacks int
	}{
		"a workload is created without its source": {
			func(s *stage) { s.deploy(true) },
			[]string{"web Watching", "web SourceMissing: ConfigMap shop/web does not exist; new Pods of this Deployment cannot start"}, 1,
		},
		"a workload is created some seconds before its source": {
			func(s *stage) { s.deploy(true); s.play(8 * time.Second); s.create("web", "1") }, []string{"web Watching"}, 0,
		},
		"a source is replaced by deleting and creating it": {
			func(s *stage) {
				s.add("web", false, "")
				s.play(3 * time.Second)
				s.remove("web", true)
				s.play(8 * time.Second)
				s.create("web", "1")
			}, nil, 0,
		},
		"it was missing at the start": {func(s *stage) { s.deploy(false) }, nil, 1},
		"its kind is not watched": {
			func(s *stage) { s.opts().IgnoredSources = []source.Kind{source.ConfigMap}; s.deploy(true) }, []string{"web Watching"}, 0,
		},
		"the namespace is being deleted": {
			func(s *stage) {
				s.add("web", false, "")
				s.play(3 * time.Second)
				s.known().PutNamespace(namespace, true)
				s.remove("web", true)
			}, nil, 0,
		},
		"another installation reloads the workload": {
			func(s *stage) {
				s.add("web", false, "")
				s.play(3 * time.Second)
				s.configMaps().arrives(elsewhere("key-0"))
				s.adoptedElsewhere("key-0")
				s.remove("web", true)
			}, nil, 0,
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.lead()
			tc.when(s)
			s.play(untilReported)
			s.heard(about, tc.want...)
			s.lacks(about, tc.lacks)
		})
	}
}

func TestWhatIsKeptOfMissingSourcesIsBounded(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", false, "")
	s.play(3 * time.Second)
	var names []string
	for i := range 10 * mostLacking {
		names = append(names, fmt.Sprintf("missing-%d", i))
	}
	s.annotate(map[string]string{annotations.DefaultNames().ConfigMap: strings.Join(names, ",")})
	s.heard("the first ones are reported", "web SourceMissing: ConfigMap shop/missing-0 & 97 more do not exist")
	s.annotate(map[string]string{annotations.Settle: "2s"})
	s.heard("once")
	if kept := len(s.controller.recordOf(named("web")).missing.due); kept != mostLacking {
		t.Errorf("%d are kept, want %d", kept, mostLacking)
	}
}

// The ledger still has what an earlier selector has selected.
func TestASelectorThatSelectsNothingIsReportedAtOnce(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	made, err := s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "board", Labels: map[string]string{"plugins": "grafana"}}}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.configMaps().arrives(made)
	selects := func(selector string) {
		s.change(func(d *appsv1.Deployment) { d.Annotations = map[string]string{annotations.Sources: selector} })
		s.play(untilReported)
	}
	selects("plugins=grafana")
	s.heard("a selector", "web Watching")
	selects("plugins=grafana=x")
	s.heard("none", "web AnnotationIgnored")
	selects("plugins=none")
	s.heard("another", "web Watching", "web SourceMissing: 'plugins=none' matches no ConfigMap or Secret")
}

package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// elsewhere makes or edits a ConfigMap of another namespace, which allows some.
func (s *stage) elsewhere(in, name, value, allow string) {
	s.Helper()
	set := func(obj simapi.Object) {
		obj.SetAnnotations(map[string]string{})
		if allow != "" {
			obj.SetAnnotations(map[string]string{annotations.AllowFromKey: allow})
		}
		obj.(*corev1.ConfigMap).Data = map[string]string{"v": value}
	}
	at := types.NamespacedName{Namespace: in, Name: name}
	obj, err := s.server.Edit("configmaps", at, "kubectl", set)
	if err != nil {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name}}
		set(made)
		obj, err = s.server.Create(made, "kubectl")
	}
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(obj)
}

// names lets the Deployment name sources of other namespaces.
func (s *stage) names(entries ...string) {
	s.change(func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{annotations.DefaultNames().ConfigMap: strings.Join(entries, ",")}
	})
}

func TestBothSidesHearOnceThatConsentIsMissing(t *testing.T) {
	const here = "web SourceNotAllowed: No change of ConfigMap infra/ca reloads this Deployment: it does not exist, or does not allow namespace shop"
	const there = "ca SourceNotAllowed: Workloads of namespace shop name this ConfigMap, which does not allow that"
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("at the start", "web Watching")
	s.names("web", "infra/ca")
	s.play(untilReported)
	s.heard("it does not exist", here)
	s.elsewhere("infra", "ca", "1", "bank")
	s.play(untilReported)
	s.heard("it does not allow the namespace, which is news only to its owner", there)
	s.elsewhere("infra", "ca", "1", "shop")
	s.play(untilReported)
	s.heard("it allows the namespace")
	s.elsewhere("infra", "ca", "1", "")
	s.play(untilReported)
	s.heard("consent is withdrawn, and its owner has heard of that", here)
	for i := range 5 {
		s.elsewhere("infra", "ca", fmt.Sprint(i), "shop")
		s.play(untilReported)
		s.says = nil
		s.elsewhere("infra", "ca", fmt.Sprint(i), "")
		s.play(untilReported)
		s.heard("it is withdrawn again", here)
	}
}

func TestTheOwnersOfManySourcesHearOnLaterDays(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	names := []string{"web"}
	for i := range mostAsksOfOne + 2 {
		name := fmt.Sprintf("ca-%d", i)
		names = append(names, "infra/"+name)
		s.elsewhere("infra", name, "1", "")
	}
	s.names(names...)
	asked := func() (n int) {
		for _, text := range s.says {
			if strings.Contains(text, "Workloads of namespace shop name this ConfigMap") {
				n++
			}
		}
		s.says = nil
		return n
	}
	s.says = nil
	for day, want := range []int{mostAsksOfOne, 2, 0, 0} {
		if s.play(asksPeriod); asked() != want {
			t.Errorf("day %d: want %d events on sources", day, want)
		}
	}
}

func TestAWorkloadThatLacksMuchHearsOfConsent(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.says = nil
	var names []string
	for i := range mostLacking {
		names = append(names, fmt.Sprintf("absent-%d", i))
	}
	s.names(append(names, "infra/ca")...)
	s.play(untilReported)
	if !slices.ContainsFunc(s.says, func(text string) bool { return strings.Contains(text, "No change of ConfigMap infra/ca reloads this") }) {
		t.Errorf("events %q", s.says)
	}
}

func TestANamespaceHearsOfFewWhoNameItsSources(t *testing.T) {
	s := newStage(t)
	key := func(i int) source.Key {
		return source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: fmt.Sprintf("ca-%d", i)}
	}
	ask := func(sources, namespaces int) (heard int) {
		for i := range sources {
			for j := range namespaces {
				if may, _ := s.controller.mayAsk(key(i), fmt.Sprintf("team-%d", j)); may {
					heard++
				}
			}
		}
		return heard
	}
	if heard := ask(100, 1); heard != mostAsksOfOne {
		t.Errorf("one namespace that asks: %d events", heard)
	}
	s.clock.Step(asksPeriod)
	if heard := ask(1, 100); heard != mostAsksOfSource {
		t.Errorf("one source: %d events", heard)
	}
	if heard := ask(1000, 100); heard != mostAsksOfNamespace-mostAsksOfSource {
		t.Errorf("all sources: %d more events", heard)
	}
	if may, _ := s.controller.mayAsk(source.Key{Kind: source.ConfigMap, Namespace: "other", Name: "ca"}, "team-0"); !may {
		t.Error("another namespace hears nothing")
	}
	s.clock.Step(asksPeriod)
	if heard := ask(1, 1); heard != 1 {
		t.Errorf("a day later: %d events", heard)
	}
}

func TestAThousandNamesOfOtherNamespacesHarmNobody(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.add("api", true, "")
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("infra/ca-%d", i), fmt.Sprintf("a/b/%d", i), fmt.Sprintf("../%d", i))
	}
	s.names(append(names, "web")...)
	for i := range 40 {
		s.elsewhere("infra", fmt.Sprintf("ca-%d", i), "1", "shop")
	}
	s.play(untilReported)
	patched := s.marked
	s.elsewhere("infra", "ca-3", "2", "shop")
	s.play(3 * time.Second)
	s.elsewhere("infra", "ca-39", "2", "shop")
	s.play(3 * time.Second)
	if s.marked != patched+1 {
		t.Errorf("%d reloads, want one for the name within the bound", s.marked-patched)
	}
	s.edit("api", "2")
	s.play(3 * time.Second)
	if s.marked != patched+2 {
		t.Error("the other workload was not reloaded")
	}
}

func TestTheLabelsOfANamespaceShowToNobodyElse(t *testing.T) {
	const general, precise = "it does not exist, or does not allow namespace shop", "because Reroll does not watch that namespace"
	for allow, want := range map[string]string{"": general, "bank": general, "shop": precise} {
		s := newStage(t)
		s.lead()
		s.opts().NamespaceSelector = labels.SelectorFromSet(labels.Set{"team": "a"})
		s.showsNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}}, false)
		s.add("web", true, "")
		s.play(3 * time.Second)
		s.elsewhere("infra", "ca", "1", allow)
		s.says = nil
		s.names("web", "infra/ca")
		s.play(untilReported)
		if len(s.says) != 1 || !strings.Contains(s.says[0], want) {
			t.Errorf("allow %q: %q", allow, s.says)
		}
	}
}

package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// Notify implements Report.
func (r stageReport) Notify(n notice.Notice) {
	if n.Once != "" && r.stage.standsAlready(n) {
		return
	}
	r.stage.says = append(r.stage.says, n.About.Name+" "+n.Reason+": "+n.Text)
	if n.Alert {
		r.stage.alerts++
	}
}

// expires is when the API server deletes an event.
const expires = time.Hour

// standsAlready reports whether an earlier controller emitted a notice, as package report does.
func (s *stage) standsAlready(n notice.Notice) bool {
	name := fmt.Sprintf("%s %s %s", n.About.UID, n.Reason, n.Once)
	if s.given[name] {
		return false
	}
	s.given[name] = true
	at, stands := s.events[name]
	if stands = stands && s.clock.Since(at) < expires; !stands {
		s.events[name] = s.clock.Now()
	}
	return stands
}

// heard are the notices since the last call. Each expected notice is the name of an object and a
// reason, and after a colon the texts that have to be contained, with & between them.
func (s *stage) heard(about string, want ...string) {
	s.Helper()
	if !slices.EqualFunc(want, s.says, says) {
		s.Errorf("%s: want %q, got %q", about, want, s.says)
	}
	s.says = nil
}

func says(want, got string) bool {
	head, words, _ := strings.Cut(want, ": ")
	for word := range strings.SplitSeq(words, " & ") {
		if !strings.HasPrefix(got, head) || !strings.Contains(got, word) {
			return false
		}
	}
	return true
}

// untilReported is after how long a missing source was reported.
const untilReported = 13 * time.Second

func (s *stage) annotate(annotations map[string]string) {
	s.Helper()
	s.change(func(d *appsv1.Deployment) { maps.Copy(d.Annotations, annotations) })
	s.play(untilReported)
}

func TestNamedSourcesThatDoNotExistAreReportedOnce(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("opted in", "web Watching")

	list := annotations.DefaultNames().ConfigMap
	s.annotate(map[string]string{list: "web, my.config, app-.*"})
	s.heard("a name and an expression that nothing fits", "web SourceMissing: ConfigMap shop/my.config does not exist & 'app-.*' matches no ConfigMap")
	s.annotate(map[string]string{list: "we., my.config, app-.*, other"})
	s.heard("one more", "web SourceMissing: ConfigMap shop/other does not exist")
	s.annotate(map[string]string{annotations.Settle: "2s"})
	s.heard("something else")

	// Nobody knows which of these exist.
	s.opts().IgnoredSources = []source.Kind{source.Secret}
	s.annotate(map[string]string{annotations.DefaultNames().Secret: "a", annotations.DefaultNames().SecretProviderClass: "b"})
	s.heard("of kinds that are not read")
}

// annotateSource writes annotations on a ConfigMap; the watch brings them, or a snapshot does
// later.
func (s *stage) annotateSource(live bool, annotations map[string]string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop("web"), "kubectl", func(obj simapi.Object) { obj.SetAnnotations(annotations) })
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().put(changed, live)
}

func TestAMistakeOnASourceIsReportedOnce(t *testing.T) {
	const typo = "reloader.stakater.com/mach"
	match := annotations.DefaultNames().Match
	s := newStage(t)
	s.add("web", true, "")
	s.annotateSource(false, map[string]string{typo: "true"})
	s.begins()
	s.edit("web", "2")
	s.heard("it stood there before")
	s.annotateSource(true, map[string]string{typo: "true", match: "True"})
	s.heard("one more", "web AnnotationIgnored: "+match)
	s.edit("web", "3")
	s.heard("an edit of the content")
	s.annotateSource(true, nil)
	s.annotateSource(true, map[string]string{match: "yes"})
	s.heard("written again", "web AnnotationIgnored: "+match)
	if err := s.server.Delete("configmaps", inShop("web")); err != nil {
		t.Fatal(err)
	}
	made, err := s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "web", Annotations: map[string]string{match: "yes"},
	}}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.configMaps().arrives(made)
	s.heard("another object with the same mistake", "web AnnotationIgnored: "+match)
}

// watched is a handler behind a feed, which has brought all there is once.
func watched(s *handler, objects ...simapi.Object) *handler {
	s.counter, s.firstSynced = noReport{}, func() {}
	snapshot(s, objects...)
	return s
}

// snapshot is how things stand after a gap.
func snapshot(s *handler, objects ...simapi.Object) {
	names := map[types.NamespacedName]struct{}{}
	for _, obj := range objects {
		s.Put(watch.Added, obj, false)
		names[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = struct{}{}
	}
	s.SnapshotComplete(names, "")
}

func TestMistakesWrittenDuringAWatchGapAreReportedOnce(t *testing.T) {
	const typo, slip = "reloader.stakater.com/atuo", "reloader.stakater.com/mach"
	s := newStage(t)
	write := func(resource, name string, annotations map[string]string) {
		t.Helper()
		if _, err := s.server.Edit(resource, inShop(name), "kubectl", func(obj simapi.Object) {
			all := maps.Clone(obj.GetAnnotations())
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, annotations)
			obj.SetAnnotations(all)
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.add("web", false, "")
	s.add("old", false, "")
	for _, resource := range []string{"deployments", "configmaps"} {
		write(resource, "old", map[string]string{typo: "true"})
	}
	deployments := watched(s.deployments(), s.server.List("deployments")...)
	configMaps := watched(s.configMaps(), s.server.List("configmaps")...)
	gap := func() {
		snapshot(configMaps, s.server.List("configmaps")...)
		snapshot(deployments, s.server.List("deployments")...)
		s.play(untilReported)
	}
	s.lead()
	s.play(3 * time.Second)
	s.heard("what stood there at the start")
	gap()
	s.heard("a gap in which nothing happened")

	write("deployments", "web", map[string]string{typo: "true", annotations.DefaultNames().ConfigMap: "nothing"})
	write("configmaps", "web", map[string]string{slip: "true"})
	gap()
	s.heard("after the gap", "web AnnotationIgnored: "+slip, "web AnnotationIgnored: "+typo, "web SourceMissing: ConfigMap shop/nothing does not exist")
	gap()
	s.heard("after another gap")
	write("deployments", "web", map[string]string{annotations.Settle: "soon"})
	gap()
	s.heard("one more mistake", "web AnnotationIgnored: "+annotations.Settle)

	d := webDeployment()
	d.Name = "made-in-the-gap"
	d.Annotations[typo] = "true"
	if _, err := s.server.Create(d, "kubectl"); err != nil {
		t.Fatal(err)
	}
	gap()
	s.heard("one that is new", "made-in-the-gap AnnotationIgnored: "+typo, "made-in-the-gap Watching")

	// What is denied for so long that it is taken for gone may come back as it was.
	deployments.forget()
	gap()
	s.heard("all of them are back")
}

package lease_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod creates the Pod of a replica with this name.
func (p *place) pod(name string, finalizers ...string) {
	p.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "reroll", Image: "reroll"}}},
	}
	// The request is rejected until the namespace has its ServiceAccount.
	p.await("the pod "+name+" to be made", func() string {
		if _, err := p.admin.CoreV1().Pods(p.namespace).Create(p.ctx, pod, metav1.CreateOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (p *place) deletePod(name string) {
	p.Helper()
	if err := p.admin.CoreV1().Pods(p.namespace).Delete(p.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		p.Fatal(err)
	}
}

// doesNotWait are words of the log line about the missing Pod.
const doesNotWait = "the Pod that held the lease no longer exists"

func TestALeaseWhosePodIsGoneIsNotWaitedFor(t *testing.T) {
	p := newPlace(t)
	p.instance("first", as{}).acquires() // its clock stops here
	p.pod("second")
	second := p.instance("second", as{}).waits(p.ctx)
	second.tick(retry)
	if second.Held() {
		t.Fatal("taken before the holder could have renewed it")
	}
	second.tick(retry)
	if !second.Held() || p.heldBy() != "second" {
		t.Fatalf("%s holds the lease, whose pod is gone", p.heldBy())
	}
	if lines := second.log.with("level=INFO", doesNotWait, "holder=first", "identity=second"); len(lines) != 1 {
		t.Errorf("want one line, got %q", second.log.with())
	}
	if l := p.lease(); *l.Spec.LeaseTransitions != 1 {
		t.Errorf("record: %+v", l.Spec)
	}
}

func TestTheLeaseOfADeletedPodIsAcquiredAtTheNextTry(t *testing.T) {
	p := newPlace(t)
	p.pod("first")
	p.pod("second")
	p.instance("first", as{}).acquires()
	second := p.instance("second", as{}).waits(p.ctx)
	second.tick(retry)
	if second.Held() {
		t.Fatal("taken from a pod that is there")
	}
	p.deletePod("first")
	second.tick(retry)
	if !second.Held() || len(second.log.with(doesNotWait, "holder=first")) != 1 {
		t.Errorf("not taken at the first look after the pod was gone: %q", second.log.with())
	}
}

func TestAStandbyWaitsUnlessThePodIsProvablyGone(t *testing.T) {
	mayNotListPods := as{user: user}
	for about, tc := range map[string]struct {
		holder string
		waits  as
		pods   func(*place)
	}{
		"it is there":                        {"first", as{}, func(p *place) { p.pod("first"); p.pod("second") }},
		"it is about to end":                 {"first", as{}, func(p *place) { p.pod("first", "example.org/stays"); p.deletePod("first"); p.pod("second") }},
		"who asks is in no pod":              {"first", as{}, func(*place) {}},
		"pods may not be listed":             {"first", mayNotListPods, func(p *place) { p.pod("second"); p.grant(rule("get", "create", "update")) }},
		"the holder is named after its host": {"node_0b1a4f9e-4c0c-4b0e-9f0e-3f7a5c1d2e6b", as{}, func(p *place) { p.pod("second") }},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			tc.pods(p)
			p.instance(tc.holder, as{}).acquires() // its clock stops here
			second := p.instance("second", tc.waits).waits(p.ctx)
			for passed := retry; passed < duration; passed += retry {
				second.tick(retry)
				if second.Held() {
					t.Fatalf("taken after %s, before it has run out", passed)
				}
			}
			second.tick(retry)
			if !second.Held() {
				t.Errorf("not taken though it has run out: %q", second.log.with())
			}
			if lines := second.log.with(doesNotWait); len(lines) > 0 {
				t.Errorf("it says that the pod is gone: %q", lines)
			}
		})
	}
}

func TestWhoRenewsTheLeaseIsAliveWhateverBecomesOfItsPod(t *testing.T) {
	p := newPlace(t)
	p.pod("first")
	p.pod("second")
	first := p.instance("first", as{}).acquires()
	second := p.instance("second", as{}).waits(p.ctx)
	p.deletePod("first") // a forced deletion, and the process continues
	for range 20 {
		first.tick(retry)
		second.tick(retry)
	}
	if asked := second.wire.askedForPods(); asked > 0 || second.Held() {
		t.Errorf("asked for pods %d times, held: %t, while the holder renews", asked, second.Held())
	}
	second.tick(retry)
	second.tick(retry)
	if !second.Held() {
		t.Fatal("not taken when the holder has no pod and does not renew")
	}
	first.tick(retry)
	if err := first.awaitLost(); !strings.Contains(err.Error(), "second holds it now") {
		t.Errorf("error: %v", err)
	}
}

func TestOneOfManyThatFindThePodGoneGetsTheLease(t *testing.T) {
	p := newPlace(t)
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range append(names, "first") {
		p.pod(name)
	}
	p.instance("first", as{}).acquires()
	var standbys []*instance
	for _, name := range names {
		standbys = append(standbys, p.instance(name, as{}).waits(p.ctx))
	}
	p.deletePod("first")
	for _, s := range standbys {
		s.clock.Step(2 * retry)
	}
	holders, said := 0, 0
	for _, s := range standbys {
		s.rests()
		if s.Held() {
			holders++
			if s.name != p.heldBy() {
				t.Errorf("%s thinks it holds what %s does", s.name, p.heldBy())
			}
		}
		said += len(s.log.with(doesNotWait))
	}
	if holders != 1 || said != 1 {
		t.Errorf("%d hold it, %d say that they did not wait", holders, said)
	}
}

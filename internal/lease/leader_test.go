package lease_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// at gives the Pod of a replica an address.
func (p *place) at(name, ip string) {
	p.Helper()
	// The scheduler writes to the Pod, too.
	p.await("the address of "+name, func() string {
		pod, err := p.admin.CoreV1().Pods(p.namespace).Get(p.ctx, name, metav1.GetOptions{})
		if err == nil {
			pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
			_, err = p.admin.CoreV1().Pods(p.namespace).UpdateStatus(p.ctx, pod, metav1.UpdateOptions{})
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
}

// leadsAt fails the test unless the replica finds the leader at this address.
func (i *instance) leadsAt(want string) {
	i.place.Helper()
	if got, err := i.LeaderIP(i.place.ctx); err != nil || got != want {
		i.place.Errorf("%s finds the leader at %q (%v), want %q", i.name, got, err, want)
	}
}

func TestAStandbyFindsThePodOfTheLeader(t *testing.T) {
	p := newPlace(t)
	p.pod("first")
	p.pod("second")
	p.at("first", "10.1.2.3")
	first, second := p.instance("first", as{}), p.instance("second", as{})
	second.leadsAt("") // it has not read the lease
	first.acquires().leadsAt("")
	second.waits(p.ctx).leadsAt("10.1.2.3")
	if holder, renewed := first.Seen(); holder != "first" || renewed.IsZero() {
		t.Errorf("the first sees %q, renewed at %s", holder, renewed)
	}
	if holder, renewed := second.Seen(); holder != "first" || !renewed.IsZero() {
		t.Errorf("the second sees %q, renewed at %s", holder, renewed)
	}
	second.wire.askedForPods() // the count begins again
	for range 10 {
		second.leadsAt("10.1.2.3")
	}
	if again := second.wire.askedForPods(); again != 0 {
		t.Errorf("asked for Pods %d times more", again)
	}
	p.at("first", "10.1.2.4") // its sandbox was created again
	second.tick(10 * time.Second)
	second.leadsAt("10.1.2.4")
}

func TestATokenIsSentToNoPodOfAnotherAccount(t *testing.T) {
	p := newPlace(t)
	p.pod("second")
	other := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	if _, err := p.admin.CoreV1().ServiceAccounts(p.namespace).Create(p.ctx, other, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger"},
		Spec:       corev1.PodSpec{ServiceAccountName: "other", Containers: []corev1.Container{{Name: "x", Image: "x"}}},
	}
	if _, err := p.admin.CoreV1().Pods(p.namespace).Create(p.ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.at("stranger", "10.6.6.6")
	p.instance("stranger", as{}).acquires()
	p.instance("second", as{}).waits(p.ctx).leadsAt("")
}

func TestAStandbyThatMayNotListPodsKnowsThatItDoesNotKnow(t *testing.T) {
	p := newPlace(t)
	p.pod("first")
	p.grant(rule("get", "create", "update"))
	p.instance("first", as{}).acquires()
	second := p.instance("second", as{user: user}).waits(p.ctx)
	if ip, err := second.LeaderIP(p.ctx); err == nil {
		t.Errorf("got %q and no error", ip)
	}
}

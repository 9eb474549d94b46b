package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// The knowledge of the oracle about objects that a class may have been given just before a Pod started.
//
// The driver reads a class before it writes the status of a Pod, so a Pod that starts soon after an
// object was added may still be given it. A status that was written again does not show which of its
// objects are new: only other statuses may show that one was known before.

// ofClass is an object of a class.
type ofClass struct{ class, id string }

// takeAdded is for a write after which the running controller knows since when a class has its objects.
func (p *partsLook) takeAdded(told *toldOfPod, versions map[string]string) {
	for _, id := range classObjects() {
		of := ofClass{told.class, id}
		_, known := p.added[of]
		switch {
		case versions[id] == "" && told.rotated:
			delete(p.added, of)
		case versions[id] != "" && !known:
			p.added[of] = told.date
		}
	}
}

// lastAdded returns since when the controller knew the last of the objects of a class. It is zero
// without any report.
func (l *classLook) lastAdded(class string) time.Time {
	var last time.Time
	for of, at := range l.added {
		if of.class == class && at.After(last) {
			last = at
		}
	}
	return last
}

// mayBeGiven reports whether a Pod started without an object of the latest rotation that the running
// controller was shown, and so soon after the first status with it that the Pod may still be given it.
func (o *oracle) mayBeGiven(pod *corev1.Pod, class string, added map[ofClass]time.Time, last rotation) bool {
	if last.turn < 0 {
		return false
	}
	given, _ := o.h.driver.Given(pod.UID, class)
	began := o.firstTold(pod, class)
	for _, id := range classObjects() {
		at, known := added[ofClass{class, id}]
		lacks := o.h.driver.Turn(class, last.turn)[id] != "" && o.h.driver.Turn(class, given.Started)[id] == ""
		if lacks && known && !began.After(at.Add(startLag)) {
			return true
		}
	}
	return false
}

// firstTold returns when the status of a Pod was first written for it.
func (o *oracle) firstTold(pod *corev1.Pod, class string) time.Time {
	status := simapi.StatusName(pod, class)
	for _, told := range o.classes.told {
		if told.status == status && told.pod == pod.UID && told.first {
			return told.date
		}
	}
	return time.Time{}
}

package controller

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Some controllers start in a namespace with defaults. It opts in all workloads in place of
// --auto-reload-all, since the time at which that was turned on. Or its mode is notify, which ends
// before the history comes to rest: what is out of date then is judged as any other change.

// drawDefaults draws whether the namespace opts in all workloads in place of the flag, and whether
// the controller starts in the mode notify.
func (h *history) drawDefaults(r *rand.Rand, all bool) (flag bool) {
	h.optsIn = r.IntN(2) == 0 && all && !h.inNamespace
	h.notifies = r.IntN(5) == 0 && !h.inNamespace && !h.calm
	return all && !h.optsIn
}

// startDefaults shows the namespace to a new controller, before any workload.
func (h *history) startDefaults() {
	if h.optsIn || h.notifies {
		h.showNamespace(false)
		h.c.state.KeepNamespaces(func(string) bool { return true })
	}
}

// endNotifyOnly lets the controller reload again.
func (h *history) endNotifyOnly() {
	notified := h.notifies
	h.notifies = false
	if notified && h.c != nil {
		h.showNamespace(true)
	}
}

func (h *history) showNamespace(live bool) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, ResourceVersion: fmt.Sprint(h.server.Version()), Annotations: map[string]string{annotations.Mode: "reload"},
	}}
	if h.notifies {
		h.count("notifies")
		ns.Annotations[annotations.Mode] = "notify"
	}
	if h.optsIn {
		h.count("opted in by the namespace")
		ns.Annotations[annotations.AutoOfNamespace] = "true"
		ns.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Time: &metav1.Time{Time: h.allSince()}, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata": {"f:annotations": {"f:` + annotations.AutoOfNamespace + `": {}}}}`),
		}}
	}
	h.say("the namespace has %v", ns.Annotations)
	h.c.putNamespace(ns, live)
}

// judgeMode checks that no reload starts while users roll the workloads.
func (h *history) judgeMode(key workload.Key, body []byte) {
	if h.notifies && h.kind == "" && bytes.Contains(body, []byte(`"template"`)) {
		h.oracle.fail("%s is rolled, although Reroll only notifies", key)
	}
}

package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// In these histories, controllers watch the namespace only while it has a label. At other times,
// changes in it do not count.

// shop is the namespace, as the oracle knows what the controller was shown of it.
var shop = simapi.Source{Resource: "namespaces", Name: namespace}

func (u *users) createNamespace() {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if u.h.rand.IntN(4) > 0 {
		u.label(ns, selectLabel, selectValue)
	}
	_, _ = u.h.server.Create(ns, u.manager()) // no such namespace
}

// selectNamespace adds or removes the label.
func (u *users) selectNamespace() bool {
	_, err := u.h.server.Edit(shop.Resource, types.NamespacedName{Name: namespace}, u.manager(), func(obj simapi.Object) {
		value := selectValue
		if obj.GetLabels()[selectLabel] == selectValue {
			value = ""
		}
		u.label(obj, selectLabel, value)
	})
	return err == nil
}

func (o *oracle) namespace(e simapi.Event) {
	o.unselected = e.Object.GetLabels()[selectLabel] != selectValue
	o.h.say("user: %s is selected at %d: %t", e.Object.GetName(), e.Version, !o.unselected)
	o.coverAll(turn{e.Version, byNamespace}, e.Version)
}

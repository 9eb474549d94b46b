package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// The canary also uses a ConfigMap whose window cannot be read. It waits for both, and the other
// workloads of ca wait for no mistake in a ConfigMap that they do not use.
func TestABadWindowOfOneSourceHoldsUpNobodyOfAnother(t *testing.T) {
	s := inWaves(t, nil, "0", "1")
	s.alsoUses("w0", map[string]string{annotations.Window: "sometimes"})
	s.change("2")
	s.want("own has not changed, so its window does not count", "w0")
	s.roll("w0", true)
	s.roll("w1", true)
	s.server.Advance(5 * time.Second)
	s.edit("own", "2")
	s.play(time.Minute)
	s.change("3")
	s.want("the window of own cannot be read", "w1")
	s.roll("w1", true)
	changed, err := s.server.Edit("configmaps", inShop("own"), "kubectl", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Annotations[annotations.Window] = "allow 00:00-24:00 UTC"
	})
	if err != nil {
		t.Fatal(err)
	}
	s.configMaps().arrives(changed)
	s.play(5 * time.Second)
	s.want("the window is corrected", "w0 w1")
}

package controller

import (
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// All tenants trust one bundle. One of them gives his workload the lowest wave, and never lets it be
// rolled.
func TestATenantHoldsUpNoWorkloadOfAnotherThatUsesTheSameBundle(t *testing.T) {
	for about, own := range map[string]map[string]string{
		"no wave":              {annotations.Approval: annotations.Required},
		"the lowest wave":      {annotations.Approval: annotations.Required, annotations.Wave: "-1"},
		"a window that is bad": {annotations.Window: "sometimes", annotations.Wave: "-1"},
		"a window of the past": {annotations.Window: "allow 2020-01-01 UTC", annotations.Wave: "-1"},
	} {
		t.Run(about, func(t *testing.T) {
			s := newBundleStage(t)
			s.lead()
			s.adopt()
			mine, err := s.server.Get("deployments", inShop("web"))
			if err != nil {
				t.Fatal(err)
			}
			d := mine.(*appsv1.Deployment).DeepCopy()
			d.Namespace, d.Name, d.UID, d.ResourceVersion = "tenant", "blocker", "", ""
			d.Annotations = map[string]string{annotations.DefaultNames().Auto: "true"}
			maps.Copy(d.Annotations, own)
			made, err := s.server.Create(d, "kubectl")
			if err != nil {
				t.Fatal(err)
			}
			s.deployments().arrives(made)
			s.rolls("created", 0)
			s.server.Advance(5 * time.Second)
			next := s.company("b")
			next.SetAnnotations(map[string]string{annotations.MaxRolling: "1"})
			s.bundles.arrives(next)
			s.rolls("another certificate", 1)
		})
	}
}

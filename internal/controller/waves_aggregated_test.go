package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// The ledger of w1 has one digest for all of its ConfigMaps.
func TestAWorkloadWithHundredsOfSourcesWaitsForItsTurn(t *testing.T) {
	s := inWaves(t, nil, "0", "1")
	s.edited("w1", func(d *appsv1.Deployment) {
		d.Annotations[annotations.DefaultNames().ConfigMap] = "many-.*,ca"
	})
	for i := range 400 {
		src, err := s.server.Create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("many-%03d-with-a-long-name", i)}, Data: map[string]string{"v": "1"},
		}, "kubectl")
		if err != nil {
			t.Fatal(err)
		}
		s.configMaps().arrives(src)
	}
	s.play(5 * time.Minute)
	if w, _ := s.known().Workload(named("w1")); !strings.Contains(w.LedgerText, `"all":{"cm":`) {
		t.Fatal("its ledger has an entry for each")
	}
	s.change("2")
	s.want("the canary", "w0")
	s.roll("w0", false)
	s.play(12 * time.Minute)
	s.want("the canary has failed", "w0")
	s.change("3")
	s.roll("w0", true)
	s.want("the next data", "w0 w1")
}

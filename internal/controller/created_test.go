package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// By the API server, the source was created a second later in both cases. Only the time of the
// comparison distinguishes them.
func TestASourceThatIsMadeAboutASecondAfterItsWorkload(t *testing.T) {
	for about, tc := range map[string]struct {
		apart time.Duration
		want  int
	}{
		"within the quiet period": {900 * time.Millisecond, 0},
		"after it":                {1100 * time.Millisecond, 1},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.opts().ReloadOnCreate = true
			s.server.Advance(500 * time.Millisecond)
			web, err := s.server.Create(webDeployment(), "kubectl")
			if err != nil {
				t.Fatal(err)
			}
			s.deployments().arrives(web)
			s.server.Advance(tc.apart)
			s.play(tc.apart)
			source, err := s.server.Create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Data: map[string]string{"v": "1"},
			}, "kubectl")
			if err != nil {
				t.Fatal(err)
			}
			if apart := source.GetCreationTimestamp().Sub(web.GetCreationTimestamp().Time); apart != time.Second {
				t.Fatalf("they are %s apart by what the API server says", apart)
			}
			s.configMaps().arrives(source)
			s.play(time.Minute)
			if s.marked != tc.want {
				t.Errorf("it was rolled %d times, want %d", s.marked, tc.want)
			}
		})
	}
}

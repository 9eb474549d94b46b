package inspect

import (
	"strings"
	"testing"
)

// The status of a Deployment counts three Pods, and none matches its selector.
func TestPodsThatAreNotFoundAreNotUpToDate(t *testing.T) {
	_, config, _ := strings.Cut(web, "---\n")
	edited := "# then\n" + instead(t, config, "data: {text: hello}", "data: {text: moin}", `"80", creationTimestamp: "2026-02-01T00:00:00Z"`, `"120", creationTimestamp: "2026-03-01T10:00:00Z"`)
	none := func(text string) string {
		return instead(t, text, running, "status: {observedGeneration: 1, replicas: 0, updatedReplicas: 0}", "replicas: 3", "replicas: 0")
	}
	for about, tc := range map[string]struct {
		text string
		want State
		why  string
	}{
		"a receiver was told of a change":                      {hooked + told + web, Unknown, "its status counts 3 Pods, and no Pod has the labels app=web"},
		"a receiver was told, and there are no pods":           {hooked + told + none(web), UpToDate, ""},
		"the Secret cannot be compared, and no pods are to be": {strings.ReplaceAll(instead(t, secretive, "replicas: 1\n", "replicas: 0\n"), "replicas: 1, updatedReplicas: 1", "replicas: 0, updatedReplicas: 0"), UpToDate, ""},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, tc.text)
			s.pods = nil
			a := s.status(t, "shop").Answers[0]
			if a.State != tc.want || a.Detail != tc.why {
				t.Errorf("%s: %q", a.State, a.Detail)
			}
		})
	}

	// An edit of a source shows nothing about the data of Pods that cannot be found.
	if a := tell(t, web+edited).status(t, "shop").Answers[0]; a.State == UpToDate || len(a.Unknown) != 1 {
		t.Errorf("%s: %q, %q", a.State, a.Detail, a.Unknown)
	}
}

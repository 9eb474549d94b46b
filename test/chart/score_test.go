package chart

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// excused are the critical findings of kube-score that the defaults of the chart leave, each with
// the reason. The values that mend them are in the second case of the test.
func excused() map[string]string {
	const user = "The image has the user and the group 65532. OpenShift assigns its own, and rejects Pods that name another one."
	return map[string]string{
		"CPU limit is not set":                           "A throttled controller rolls workloads late, and may lose its lease.",
		"ImagePullPolicy is not set to Always":           "An image that was loaded into the nodes is in no registry. The tag is a version, which does not move.",
		"The container is running with a low user ID":    user,
		"The container running with a low group ID":      user,
		"The pod does not have a matching NetworkPolicy": "The ports of the API server depend on the cluster. A wrong one would cut the controller off.",
	}
}

// critical are the critical findings of kube-score about what these values render, tests of the
// release included.
func critical(t *testing.T, values string) map[string]bool {
	t.Helper()
	rendered, err := template(t, release, values)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program(t, "KUBE_SCORE", "kube-score"), "score", "--kubernetes-version=v"+strings.TrimSuffix(oldestCluster, ".0"), "--output-format=json", "-")
	cmd.Stdin = strings.NewReader(rendered)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var scored []struct {
		Checks []struct {
			Check    struct{ ID string }
			Grade    int
			Skipped  bool
			Comments []struct{ Summary string }
		}
	}
	// It ends with 1 if anything is critical.
	if json.Unmarshal(stdout.Bytes(), &scored) != nil || len(scored) == 0 {
		t.Fatalf("%v\n%s\n%s", err, stderr.String(), stdout.String())
	}
	found := map[string]bool{}
	for _, object := range scored {
		for _, c := range object.Checks {
			if c.Skipped || c.Grade != 1 {
				continue
			}
			if len(c.Comments) == 0 {
				found[c.Check.ID] = true
			}
			for _, comment := range c.Comments {
				found[comment.Summary] = true
			}
		}
	}
	return found
}

func TestKubeScoreFindsNothingCriticalThatHasNoExcuse(t *testing.T) {
	for about, tc := range map[string]struct {
		values string
		want   map[string]string
	}{
		"the defaults": {"", excused()},
		"the values that mend the rest": {`
image: {pullPolicy: Always}
reloader:
  enableHA: true
  netpol: {enabled: true}
  podDisruptionBudget: {enabled: true}
  service: {port: 9090}
  deployment:
    replicas: 2
    resources: {limits: {cpu: 1}, requests: {cpu: 100m}}
    securityContext: {runAsUser: 65532, runAsGroup: 65532}
`, map[string]string{
			"The pod does not have a matching NetworkPolicy": "The Pod of helm test listens at no port, and ends within two minutes.",
		}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			want := slices.Sorted(maps.Keys(tc.want))
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(critical(t, tc.values)))); diff != "" {
				t.Errorf("critical findings (-excused +found):\n%s", diff)
			}
		})
	}
}

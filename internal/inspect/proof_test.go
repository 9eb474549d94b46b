package inspect

import (
	"strings"
	"testing"
)

// web is a Deployment that uses a ConfigMap and a Secret, with what some stories have otherwise.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u-web, resourceVersion: "100", generation: 1, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}
status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, namespace: shop, uid: u-greeting, resourceVersion: "80", creationTimestamp: "2026-02-01T00:00:00Z"}
data: {text: hello}
`

const running = "status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3}"

// instead puts others in the place of parts of a text.
func instead(t *testing.T, text string, replaced ...string) string {
	t.Helper()
	for i := 0; i < len(replaced); i += 2 {
		if strings.Count(text, replaced[i]) != 1 {
			t.Fatalf("%q stands there %d times", replaced[i], strings.Count(text, replaced[i]))
		}
		text = strings.Replace(text, replaced[i], replaced[i+1], 1)
	}
	return text
}

// Exit code 0 is for what is known to be in step.
func TestFineIsOnlyWhatIsKnownToBe(t *testing.T) {
	other := func(kind, status string) string {
		return instead(t, web, "kind: Deployment", "kind: "+kind, running, status)
	}
	for about, tc := range map[string]struct {
		text string
		code int
		says string
	}{
		"all pods run":                                  {web, CodeInStep, "deployment/web  in step"},
		"no pod is wanted":                              {instead(t, web, "replicas: 3\n", "replicas: 0\n", running, "status: {observedGeneration: 1}"), CodeInStep, "in step"},
		"all pods are gone and none is new":             {"# marks: standing\n" + instead(t, web, running, "status: {observedGeneration: 1}"), CodeNotInStep, "deployment/web  rolling 0 of 3"},
		"no reload, and no pods":                        {instead(t, web, running, "status: {observedGeneration: 1}"), CodeNotInStep, "rolling 0 of 3"},
		"a quota, with the strategy Recreate":           {"# marks: standing\n" + instead(t, web, running, `status: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", message: "exceeded quota: cpu"}]}`), CodeNotInStep, "rolling 0 of 3: a quota leaves no room"},
		"a StatefulSet without pods":                    {other("StatefulSet", "status: {observedGeneration: 1}"), CodeNotInStep, "statefulset/web  rolling 0 of 3"},
		"a DaemonSet without pods":                      {other("DaemonSet", "status: {observedGeneration: 1, desiredNumberScheduled: 2}"), CodeNotInStep, "daemonset/web  rolling 0 of 2"},
		"a DaemonSet that is to run on no node":         {other("DaemonSet", "status: {observedGeneration: 1}"), CodeInStep, "in step"},
		"a namespace that is left out":                  {"# flags: --namespaces-to-ignore=shop\n" + web, CodeNotInStep, "deployment/web  stale because the controller leaves namespace shop out"},
		"a namespace that is not named":                 {"# flags: --namespaces=bank\n" + web, CodeNotInStep, "deployment/web  stale because the controller watches other namespaces"},
		"a namespace that another controller may watch": {"# flags: --namespaces=bank\n# beside: also\n" + web, CodeUnknown, "deployment/web  unknown: the controller watches other namespaces"},
	} {
		t.Run(about, func(t *testing.T) {
			status := tell(t, tc.text).status(t, "shop")
			text := strings.Join(strings.Fields(status.Text(Paint{}, false)), " ")
			if status.Code() != tc.code || !strings.Contains(text, strings.Join(strings.Fields(tc.says), " ")) {
				t.Errorf("exit code %d instead of %d, and it says\n%s\nnot %q", status.Code(), tc.code, text, tc.says)
			}
		})
	}
}

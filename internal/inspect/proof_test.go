package inspect

import (
	"strings"
	"testing"
)

// web is a Deployment that uses a ConfigMap and a Secret. Some stories replace parts of this text.
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

// nightly is a CronJob that uses the same sources.
const nightly = `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop, uid: u-nightly, resourceVersion: "101", generation: 1, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec:
  schedule: 0 3 * * *
  jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}}}}
`

// hooked are the flags of a controller that notifies a receiver. told means that the receiver has
// accepted the latest change. youngPod is from after the notification.
const (
	hooked   = "# flags: --webhook-url=https://hooks.example.com/hunter2\n"
	told     = "# told: 2026-03-01T11:50:00Z\n"
	youngPod = `---
apiVersion: v1
kind: Pod
metadata: {name: web-b, namespace: shop, creationTimestamp: "2026-03-01T11:55:00Z", labels: {app: web}}
`
)

const running = "status: {observedGeneration: 1, replicas: 3, updatedReplicas: 3}"

// secretive is a Deployment that uses a Secret, with Pods of February.
const secretive = `# nokey: you may not read the digest key of the controller
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u-web, resourceVersion: "100", generation: 1, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{secretRef: {name: db}}]}]}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}
---
` + db + pod

const db = `apiVersion: v1
kind: Secret
metadata: {name: db, namespace: shop, uid: u-db, resourceVersion: "81", creationTimestamp: "2026-02-01T00:00:00Z"}
data: {a: b25l, b: dHdv}
`

const pod = `---
apiVersion: v1
kind: Pod
metadata: {name: web-a, namespace: shop, creationTimestamp: "2026-02-02T00:00:00Z", labels: {app: web}}
`

// instead replaces parts of a text.
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

// Exit code 0 is only for workloads that are known to be up to date.
func TestFineIsOnlyWhatIsKnownToBe(t *testing.T) {
	other := func(kind, status string) string {
		return instead(t, web, "kind: Deployment", "kind: "+kind, running, status)
	}
	const canary = `---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: canary, namespace: shop, uid: u-canary, resourceVersion: "101", generation: 1, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec: {replicas: 3, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: gone}}
status: {observedGeneration: "1", workloadObservedGeneration: "1", replicas: 3, updatedReplicas: 3}
`
	rollout := instead(t, web, "kind: Deployment", "kind: Rollout", "apiVersion: apps/v1", "apiVersion: argoproj.io/v1alpha1", running, `status: {observedGeneration: "1", replicas: 3, updatedReplicas: 3}`)
	gone, config, _ := strings.Cut(web, "---\n")
	config = "---\n" + config
	edited := "# then\n" + instead(t, config, "data: {text: hello}", `data: {text: moin}`, `"80", creationTimestamp: "2026-02-01T00:00:00Z"`, `"120", creationTimestamp: "2026-03-01T10:00:00Z"`, "u-greeting", "u-other")
	unasked := instead(t, nightly, `annotations: {reloader.stakater.com/auto: "true"}`, "annotations: {}")
	_, keyed, _ := strings.Cut(secretive, "\n")
	const deleted = "# deleted: configmaps\n"
	const one = "status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}"
	anew := "# then\n" + instead(t, db, "2026-02-01T", "2026-03-01T", "u-db", "u-other", "b25l", "c2l4")
	lost := "# then\n" + instead(t, db, ", b: dHdv", "", `"81"`, `"120"`)
	for about, tc := range map[string]struct {
		text string
		code int
		says string
	}{
		"all pods run":                                      {web, CodeUpToDate, "deployment/web  up-to-date"},
		"no pod is wanted":                                  {instead(t, web, "replicas: 3\n", "replicas: 0\n", running, "status: {observedGeneration: 1}"), CodeUpToDate, "up-to-date"},
		"all pods are gone and none is new":                 {"# marks: standing\n" + instead(t, web, running, "status: {observedGeneration: 1}"), CodeNotUpToDate, "deployment/web  in-progress 0 of 3"},
		"no reload, and no pods":                            {instead(t, web, running, "status: {observedGeneration: 1}"), CodeNotUpToDate, "in-progress 0 of 3"},
		"a quota, with the strategy Recreate":               {"# marks: standing\n" + instead(t, web, running, `status: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: "True", message: "exceeded quota: cpu"}]}`), CodeNotUpToDate, "in-progress 0 of 3: a quota leaves no room"},
		"a StatefulSet without pods":                        {other("StatefulSet", "status: {observedGeneration: 1}"), CodeNotUpToDate, "statefulset/web  in-progress 0 of 3"},
		"a DaemonSet without pods":                          {other("DaemonSet", "status: {observedGeneration: 1, desiredNumberScheduled: 2}"), CodeNotUpToDate, "daemonset/web  in-progress 0 of 2"},
		"a DaemonSet that is to run on no node":             {other("DaemonSet", "status: {observedGeneration: 1}"), CodeUpToDate, "up-to-date"},
		"a namespace that is left out":                      {"# flags: --namespaces-to-ignore=shop\n" + web, CodeNotUpToDate, "deployment/web  out-of-date because the controller ignores namespace shop (--na"},
		"a namespace that is not named":                     {"# flags: --namespaces=bank\n" + web, CodeNotUpToDate, "deployment/web  out-of-date because the controller watches other namespaces"},
		"a namespace that another controller may watch":     {"# flags: --namespaces=bank\n# beside: also\n" + web, CodeUnknown, "deployment/web  unknown: the controller watches other namespaces"},
		"a Rollout whose Deployment is missing":             {web + canary, CodeUnknown, "deployment/web up-to-date rollout/canary unknown: Deployment shop/gone, which has its pod"},
		"a Rollout that no controller reads":                {"# flags: --is-Argo-Rollouts=false\n" + rollout, CodeNotUpToDate, "rollout/web out-of-date because the controller does not roll Rollouts (--is-Ar"},
		"a Rollout with the template of another":            {"# flags: --is-Argo-Rollouts=false\n" + web + instead(t, canary, "name: gone", "name: web"), CodeNotUpToDate, "deployment/web up-to-date rollout/canary out-of-date because the controller"},
		"Rollouts that nobody may list":                     {"# unread: rollouts\n" + web, CodeUnknown, "1 up-to-date. You may not list rollouts."},
		"Rollouts that the controller does not read either": {"# unread: rollouts\n# flags: --is-Argo-Rollouts=false\n" + web, CodeUpToDate, "1 up-to-date."},
		"a CronJob": {web + nightly, CodeUpToDate, "cronjob/nightly up-to-date deployment/web up-to-date"},
		"a CronJob, of a kind that is left alone":                          {"# flags: --ignored-workload-types=cronjobs\n" + web + nightly, CodeNotUpToDate, "cronjob/nightly out-of-date because the controller ignores CronJobs (--ignored"},
		"such a CronJob, opted in with all others alone":                   {"# flags: --ignored-workload-types=cronjobs --auto-reload-all\n" + web + unasked, CodeUpToDate, "1 workload: 1 up-to-date."},
		"a CronJob that is opted in with all others":                       {"# flags: --auto-reload-all\n" + web + unasked, CodeUpToDate, "2 workloads: 2 up-to-date."},
		"CronJobs that nobody may list":                                    {"# unread: cronjobs\n" + web, CodeUnknown, "1 up-to-date. You may not list cronjobs."},
		"CronJobs that the controller leaves alone":                        {"# unread: cronjobs jobs\n# flags: --ignored-workload-types=jobs,cronjobs\n" + web, CodeUpToDate, "1 up-to-date."},
		"a receiver that was told of nothing yet":                          {hooked + web + youngPod, CodeUpToDate, "1 workload: 1 up-to-date. The controller rolls nothing, and notifies a receiver of changes instead (--webhook-url)."},
		"a receiver was told, and has done nothing yet":                    {hooked + told + web + pod, CodeNotUpToDate, "deployment/web out-of-date since 10m ago: 1 of 1 Pods are older than the notif"},
		"it was told, and a pod is from before":                            {hooked + told + web + youngPod + pod, CodeNotUpToDate, "deployment/web out-of-date since 10m ago: 1 of 2 Pods are older than the notif"},
		"it was told, and has rolled it":                                   {hooked + told + web + youngPod, CodeUpToDate, "1 up-to-date."},
		"it was told in the second in which the pods were made":            {hooked + "# told: 2026-03-01T11:55:00Z\n" + web + youngPod, CodeUpToDate, "1 up-to-date."},
		"it was told, and is rolling it":                                   {hooked + told + instead(t, web, running, "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1}") + youngPod + pod, CodeNotUpToDate, "in-progress 1 of 3"},
		"it was told, and no pod is wanted":                                {hooked + told + instead(t, web, "replicas: 3\n", "replicas: 0\n", running, "status: {observedGeneration: 1}"), CodeUpToDate, "up-to-date"},
		"it was told, and pods may not be listed":                          {"# unread: pods\n" + hooked + told + web, CodeUnknown, "deployment/web unknown: you may not list the pods of namespace shop"},
		"the data differs, and pods may not be listed":                     {"# unread: pods\n" + web + edited, CodeUnknown, "deployment/web unknown: the age of its Pods decides, and you may not list them"},
		"it was told, and there is none any more":                          {told + web + pod, CodeNotUpToDate, "deployment/web out-of-date since 10m ago: 1 of 1 Pods are older than the notif"},
		"it was told of a CronJob":                                         {hooked + told + nightly + config, CodeNotUpToDate, "cronjob/nightly out-of-date since 10m ago: its latest run began before the rec"},
		"it was told of a CronJob, which has run since":                    {hooked + told + nightly + "status: {lastScheduleTime: \"2026-03-01T11:55:00Z\"}\n" + config, CodeUpToDate, "cronjob/nightly up-to-date"},
		"it was told of a CronJob, which is suspended":                     {hooked + told + instead(t, nightly, "  schedule", "  suspend: true\n  schedule") + config, CodeUpToDate, "cronjob/nightly up-to-date"},
		"it does not take the message":                                     {hooked + web + pod + edited, CodeNotUpToDate, "deployment/web out-of-date since 2h ago: ConfigMap shop/greeting changed, and "},
		"a Rollout that cannot be understood":                              {"# skipped: one\n" + web + instead(t, canary, `"1", replicas: 3`, `"1", replicas: many`), CodeUnknown, "1 up-to-date. Could not read Rollout shop/canary: "},
		"a ConfigMap that the template requires and that never existed":    {"# ledger: none\n" + gone, CodeNotUpToDate, "deployment/web missing: ConfigMap shop/greeting does not exist; new Pods cannot start"},
		"a ConfigMap that was deleted":                                     {deleted + web + pod, CodeNotUpToDate, "deployment/web missing: ConfigMap shop/greeting was deleted; new Pods cannot start 1 workload: 1 missing."},
		"a ConfigMap that was deleted, and Pods may not be listed":         {"# unread: pods\n" + deleted + web, CodeNotUpToDate, "deployment/web missing: ConfigMap shop/greeting was deleted"},
		"a ConfigMap that was deleted, and is optional":                    {deleted + instead(t, web, "{name: greeting}}]", "{name: greeting, optional: true}}]"), CodeUpToDate, "up-to-date"},
		"a ConfigMap of a kind that nobody may list":                       {"# unread: configmaps\n" + web, CodeUnknown, "unknown: ConfigMap greeting: you may not read ConfigMaps"},
		"a ConfigMap of a kind that the controller does not read":          {deleted + "# flags: --resources-to-ignore=configmaps\n" + web, CodeUpToDate, "up-to-date"},
		"a ConfigMap of a namespace that is left out":                      {deleted + "# flags: --namespaces-to-ignore=shop\n" + web, CodeNotUpToDate, "out-of-date because the controller ignores namespace shop"},
		"a ConfigMap that only the annotations name":                       {instead(t, web, `auto: "true"`, `auto: "true", configmap.reloader.stakater.com/reload: greting`), CodeNotUpToDate, "missing: ConfigMap shop/greting does not exist; the annotations name it"},
		"an expression that matches nothing":                               {instead(t, web, `auto: "true"`, `auto: "true", configmap.reloader.stakater.com/reload: gret.*g`), CodeUpToDate, "up-to-date"},
		"a ConfigMap that was deleted, during a rollout":                   {deleted + instead(t, web, running, "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1}") + pod, CodeNotUpToDate, "missing: ConfigMap shop/greeting was deleted; new Pods cannot start"},
		"a ConfigMap that was deleted, of a paused rollout":                {deleted + "# marks: standing\n" + instead(t, web, running, "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1}", "  replicas: 3", "  paused: true\n  replicas: 3") + pod, CodeNotUpToDate, "out-of-date with 1 of 3 Pods updated: this Deployment is paused"},
		"a name in a list that never existed, during a rollout":            {instead(t, web, `auto: "true"`, `auto: "true", configmap.reloader.stakater.com/reload: greting`, running, "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1}") + pod, CodeNotUpToDate, "in-progress 1 of 3"},
		"a ConfigMap that was deleted, and no Pod is wanted":               {deleted + instead(t, web, "replicas: 3\n", "replicas: 0\n", running, "status: {observedGeneration: 1}"), CodeNotUpToDate, "missing: ConfigMap shop/greeting was deleted"},
		"a ConfigMap of a CronJob that was deleted":                        {deleted + nightly + config, CodeNotUpToDate, "cronjob/nightly missing: ConfigMap shop/greeting was deleted; new Pods cannot start"},
		"a ConfigMap that pods may do without":                             {"# ledger: none\n" + instead(t, gone, "{name: greeting}", "{name: greeting, optional: true}"), CodeUpToDate, "up-to-date"},
		"a Secret, without the key":                                        {secretive, CodeUnknown, "unknown: Secret db cannot be compared: you may not read"},
		"a Secret, with the key":                                           {keyed, CodeUpToDate, "up-to-date"},
		"a Secret that was made anew, without the key":                     {secretive + anew, CodeUnknown, "unknown: Secret db: 1 of 1 Pods are older than its data;"},
		"a Secret that was made anew, with the key":                        {keyed + anew, CodeNotUpToDate, "changed"},
		"a Secret that has lost a key, without the key":                    {secretive + lost, CodeUnknown, "unknown: Secret db cannot be compared:"},
		"a Secret that has lost a key, with the key":                       {keyed + lost, CodeNotUpToDate, "changed"},
		"a Secret that cannot be compared, and no pods that could have it": {instead(t, secretive, pod, "", "replicas: 1\n", "replicas: 0\n", one, "status: {observedGeneration: 1}"), CodeUpToDate, "up-to-date"},
	} {
		t.Run(about, func(t *testing.T) {
			status := tell(t, tc.text).status(t, "shop")
			text := strings.Join(strings.Fields(status.Text(Paint{}, Layout{})), " ")
			if status.Code() != tc.code || !strings.Contains(text, strings.Join(strings.Fields(tc.says), " ")) {
				t.Errorf("exit code %d instead of %d, and it says\n%s\nnot %q", status.Code(), tc.code, text, tc.says)
			}
		})
	}
}

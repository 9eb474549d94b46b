package node_test

// failing is a Deployment whose ConfigMap decides how its container fails. It is scaled up when its
// pod spec is complete. The deadline is a day until the Pod has failed. Then it is a second. The
// node is fixed, so that a failure can depend on it.
const failing = `
apiVersion: v1
kind: ConfigMap
metadata: {name: mode}
data: {mode: --http-port=8080}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra}
data: {text: A}
---
apiVersion: v1
kind: Secret
metadata: {name: extra}
stringData: {text: A}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  replicas: 0
  progressDeadlineSeconds: 86400
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      nodeSelector: {kubernetes.io/hostname: node-1}
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve, $(MODE)]
        resources: {limits: {memory: 64Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        env:
        - name: MODE
          valueFrom: {configMapKeyRef: {name: mode, key: mode}}
`

// failure is a way in which a rollout gets stuck, and the answers of Reroll.
type failure struct {
	// adds is a strategic merge patch of the pod spec of the Deployment, before all.
	adds string
	// breaks makes the next Pods fail, and causes a reload.
	breaks func(*place)
	// shown is nil as soon as Kubernetes shows the failure.
	shown func(*place) error
	// event is the note of NotRolled, and answer what `reroll status` and `reroll why` show, from
	// the state on. Both are regular expressions.
	event, answer string
	// says is the word by which the simulated kubelet of the scenarios produces this failure, if it
	// does.
	says string
}

// editsMode changes the ConfigMap from which the next Pods get their arguments.
func editsMode(change string) func(*place) {
	return func(p *place) { p.edit("configmap", "mode", change) }
}

var failures = map[string]failure{
	"a container that exits": {
		breaks: editsMode("mode=--exit=3"), shown: waiting("CrashLoopBackOff"),
		says:   "crash-loop",
		event:  `container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code 3\)\. See .*#crash-loop$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code 3\)`,
	},
	"a container that uses too much memory": {
		breaks: editsMode("mode=--fill-memory"), shown: waiting("CrashLoopBackOff"),
		says:   "out-of-memory",
		event:  `container app of the new Pod app-[0-9a-z-]+ runs out of memory \(OOMKilled, exit code 137\)\. See .*#out-of-memory$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ runs out of memory \(OOMKilled, exit code 137\)`,
	},
	// The probe can fail before the program handles signals. Then it takes a SIGKILL to end it, or the
	// runtime of Go ends it with exit code 2.
	"a container that its liveness probe kills": {
		adds:   `{"terminationGracePeriodSeconds":1,"containers":[{"name":"app","livenessProbe":{"httpGet":{"path":"/readyz","port":8080},"periodSeconds":1,"failureThreshold":1}}]}`,
		breaks: editsMode("mode=--never-ready"), shown: restarted,
		event:  `container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code (0|2|137)\)\. See .*#crash-loop$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code (0|2|137)\)`,
	},
	"an init container that exits": {
		adds:   `{"initContainers":[{"name":"first","image":"localhost/reroll-test-app:1","args":["serve","--exit=0","$(MODE)"],"env":[{"name":"MODE","valueFrom":{"configMapKeyRef":{"name":"mode","key":"mode"}}}]}]}`,
		breaks: editsMode("mode=--exit=3"), shown: waiting("CrashLoopBackOff"),
		event:  `container first of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code 3\)\. See .*#crash-loop$`,
		answer: `stuck 1 of 1: container first of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|Error|Completed|started [0-9]+ times), exit code 3\)`,
	},
	"a container that never becomes ready": {
		breaks: editsMode("mode=--never-ready"), shown: runningButNotReady,
		says:   "unready",
		event:  `container app of the new Pod app-[0-9a-z-]+ is running but not ready\. See .*#readiness$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ is running but not ready`,
	},
	"an image that cannot be pulled": {
		breaks: func(p *place) {
			// Nothing listens there. A name would have to be resolved, which takes longer to fail.
			p.kubectl("set", "image", "deployment/app", "app=127.0.0.1:1/none:1")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: waiting("ImagePullBackOff"),
		says:   "image-pull",
		event:  `the new Pod app-[0-9a-z-]+ cannot pull image "127\.0\.0\.1:1/none:1" \((ImagePullBackOff|ErrImagePull)\)\. See .*#image-pull$`,
		answer: `stuck 1 of 1: the new Pod app-[0-9a-z-]+ cannot pull image "127\.0\.0\.1:1/none:1" \((ImagePullBackOff|ErrImagePull)\)`,
	},
	"a program that is not in the image": {
		breaks: func(p *place) {
			p.patchPodSpec(`{"containers":[{"name":"app","command":["/none"]}]}`)
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: waiting("CrashLoopBackOff"),
		event:  `container app of the new Pod app-[0-9a-z-]+ (keeps crashing \(CrashLoopBackOff, exit code 128\)|does not start \(RunContainerError\))\. See .*#(crash-loop|cannot-start)$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ (keeps crashing \(CrashLoopBackOff, exit code 128\)|does not start \(RunContainerError\))`,
	},
	"a key that is missing": {
		breaks: editsMode("mode-"), shown: waiting("CreateContainerConfigError"),
		says:   "config-error",
		event:  `container app of the new Pod app-[0-9a-z-]+ does not start \(CreateContainerConfigError: couldn't find key mode in ConfigMap [^ ]+\)\. See .*#cannot-start$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ does not start \(CreateContainerConfigError: couldn't find key mode in ConfigMap [^ ]+\)`,
	},
	"a source that is missing, for a variable": {
		adds: `{"containers":[{"name":"app","envFrom":[{"configMapRef":{"name":"extra"}}]}]}`,
		breaks: func(p *place) {
			p.kubectl("delete", "configmap", "extra")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: waiting("CreateContainerConfigError"),
		event:  `container app of the new Pod app-[0-9a-z-]+ does not start \(CreateContainerConfigError: configmap "extra" not found\)\. See .*#cannot-start$`,
		answer: `missing: ConfigMap [^ ]+/extra was deleted; new Pods cannot start`,
	},
	"a source that is missing, for a volume": {
		adds: `{"containers":[{"name":"app","volumeMounts":[{"name":"extra","mountPath":"/etc/extra"}]}],"volumes":[{"name":"extra","configMap":{"name":"extra"}}]}`,
		breaks: func(p *place) {
			p.kubectl("delete", "configmap", "extra")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: failedMount(`configmap "extra" not found`),
		event:  `the new Pod app-[0-9a-z-]+ has not started yet \((ContainerCreating|Pending)\)\. See .*#cannot-start$`,
		answer: `missing: ConfigMap [^ ]+/extra was deleted; new Pods cannot start`,
	},
	"a Secret that is missing, for a variable": {
		adds: `{"containers":[{"name":"app","envFrom":[{"secretRef":{"name":"extra"}}]}]}`,
		breaks: func(p *place) {
			p.kubectl("delete", "secret", "extra")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: waiting("CreateContainerConfigError"),
		says:   "config-error",
		event:  `container app of the new Pod app-[0-9a-z-]+ does not start \(CreateContainerConfigError: secret "extra" not found\)\. See .*#cannot-start$`,
		answer: `missing: Secret [^ ]+/extra was deleted; new Pods cannot start`,
	},
	"a Secret that is missing, for a volume": {
		adds: `{"containers":[{"name":"app","volumeMounts":[{"name":"extra","mountPath":"/etc/extra"}]}],"volumes":[{"name":"extra","secret":{"secretName":"extra"}}]}`,
		breaks: func(p *place) {
			p.kubectl("delete", "secret", "extra")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: failedMount(`secret "extra" not found`),
		says:   "volume",
		event:  `the new Pod app-[0-9a-z-]+ has not started yet \((ContainerCreating|Pending)\)\. See .*#cannot-start$`,
		answer: `missing: Secret [^ ]+/extra was deleted; new Pods cannot start`,
	},
	"a volume that cannot be mounted": {
		adds: `{"containers":[{"name":"app","volumeMounts":[{"name":"extra","mountPath":"/etc/extra"}]}],"volumes":[{"name":"extra","configMap":{"name":"extra","items":[{"key":"text","path":"text"}]}}]}`,
		breaks: func(p *place) {
			p.kubectl("patch", "configmap/extra", "--patch", `{"data":{"text":null,"other":"B"}}`)
		}, shown: failedMount(`references non-existent config key: text`),
		says:   "volume",
		event:  `the new Pod app-[0-9a-z-]+ has not started yet \((ContainerCreating|Pending)\)\. See .*#cannot-start$`,
		answer: `stuck 1 of 1: container app of the new Pod app-[0-9a-z-]+ has not started yet \(ContainerCreating\)`,
	},
	"a quota that is used up": {
		breaks: func(p *place) {
			p.kubectl("create", "quota", "one", "--hard=pods=1")
			p.kubectl("wait", "resourcequota/one", "--for=jsonpath={.status.used.pods}=1", "--timeout=8m")
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: refusedPods,
		event:  `a quota leaves no room for a new Pod \(pods "app-[0-9a-z-]+" is forbidden: exceeded quota: one, requested: pods=1, used: pods=1, limited: pods=1\)\. See .*#quota$`,
		answer: `stuck 0 of 1: a quota leaves no room for a new Pod \(pods "app-[0-9a-z-]+" is forbidden: exceeded quota: one,`,
	},
	"a Pod that no node has room for": {
		breaks: func(p *place) {
			p.patchPodSpec(`{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"app"}}}]}}}`)
			p.edit("configmap", "mode", "mode=--http-port=8081")
		}, shown: unschedulable,
		event:  `the new Pod app-[0-9a-z-]+ cannot be scheduled \(Unschedulable: 0/2 nodes are available: .*\)\. See .*#unschedulable$`,
		answer: `stuck 1 of 1: the new Pod app-[0-9a-z-]+ cannot be scheduled \(Unschedulable: 0/2 nodes are available:`,
	},
}

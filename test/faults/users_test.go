package faults

import (
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
)

// manifest has four workloads that share three sources by different references.
const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: "0", size: "0"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: routes}
data: {colour: "0"}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {colour: "0"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - {name: app, image: web, envFrom: [{configMapRef: {name: settings}}], volumeMounts: [{name: token, mountPath: /token}]}
      volumes: [{name: token, secret: {secretName: token}}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
  annotations: {configmap.reloader.stakater.com/reload: "settings, routes", secret.reloader.stakater.com/auto: "true"}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      terminationGracePeriodSeconds: 0
      initContainers: [{name: init, image: init, envFrom: [{secretRef: {name: token}}]}]
      containers:
      - name: app
        image: api
        env: [{name: ROUTE, valueFrom: {configMapKeyRef: {name: routes, key: colour}}}]
        volumeMounts: [{name: all, mountPath: /all}]
      volumes: [{name: all, projected: {sources: [{configMap: {name: settings}}]}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: app
        image: db
        env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: colour}}}]
        volumeMounts: [{name: routes, mountPath: /routes}]
      volumes: [{name: routes, configMap: {name: routes}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, annotations: {configmap.reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: app, image: agent, envFrom: [{configMapRef: {name: settings}}, {configMapRef: {name: routes}}]}]
`

// workload is one of the manifest, with the sources that it has to be rolled for.
type workload struct {
	harness.Ref
	sources []harness.Ref
}

func (w workload) plural() string { return w.Kind + "s" }

func settings() harness.Ref { return harness.Ref{Kind: "configmap", Name: "settings"} }
func routes() harness.Ref   { return harness.Ref{Kind: "configmap", Name: "routes"} }
func token() harness.Ref    { return harness.Ref{Kind: "secret", Name: "token"} }

func sources() []harness.Ref { return []harness.Ref{settings(), routes(), token()} }

func workloads() []workload {
	return []workload{
		{harness.Ref{Kind: "deployment", Name: "web"}, []harness.Ref{settings(), token()}},
		{harness.Ref{Kind: "deployment", Name: "api"}, sources()},
		{harness.Ref{Kind: "statefulset", Name: "db"}, []harness.Ref{routes(), token()}},
		{harness.Ref{Kind: "daemonset", Name: "agent"}, []harness.Ref{settings(), routes()}},
	}
}

func (h *history) source() harness.Ref { return sources()[h.rand.IntN(len(sources()))] }

func (h *history) workload() workload { return workloads()[h.rand.IntN(len(workloads()))] }

// value never comes twice.
func (h *history) value() string {
	h.values++
	return "value-" + strconv.Itoa(h.values)
}

// userStep is one thing that somebody does on purpose, away from the proxy.
func (h *history) userStep() error {
	steps := []struct {
		weight int
		do     func() error
	}{
		{10, func() error { return h.edit(h.source()) }},
		{4, func() error { return h.noise() }},
		{3, func() error { return h.editTemplate(h.workload()) }},
		{2, func() error { return h.restart(h.workload()) }},
		{3, func() error { return h.release(h.workload()) }},
		{2, func() error { return h.makeAgain(h.source()) }},
	}
	all := 0
	for _, s := range steps {
		all += s.weight
	}
	n := h.rand.IntN(all)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			return s.do()
		}
	}
	return nil
}

// noise is what changes no content and no template.
func (h *history) noise() error {
	switch h.rand.IntN(4) {
	case 0:
		src := h.source()
		h.step("label %s", src)
		return h.ns.Label(h.ctx, src, "touched="+h.value())
	case 1:
		src := h.source()
		h.step("annotate %s", src)
		return h.ns.Annotate(h.ctx, src, "touched="+h.value())
	case 2:
		w, replicas := workloads()[h.rand.IntN(3)], 1+h.rand.IntN(3)
		h.step("scale %s to %d", w, replicas)
		return h.ns.Scale(h.ctx, w.Ref, replicas)
	default:
		w := h.workload()
		h.step("write a status of %s", w)
		return h.patch(w, fmt.Sprintf(`{"status":{"conditions":[{"type":"Noise","status":"True","message":%q}]}}`, h.value()), "status")
	}
}

func (h *history) edit(src harness.Ref) error {
	value := h.value()
	h.step("edit %s: %s", src, value)
	return h.ns.Edit(h.ctx, src, "colour="+value)
}

func (h *history) editTemplate(w workload) error {
	value := h.value()
	h.step("edit the template of %s: %s", w, value)
	return h.patch(w, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"edited":%q}}}}}`, value))
}

func (h *history) restart(w workload) error {
	value := h.value()
	h.step("restart %s: %s", w, value)
	return h.patch(w, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, value))
}

// release changes source and workload together, in either order.
func (h *history) release(w workload) error {
	src := w.sources[h.rand.IntN(len(w.sources))]
	if h.rand.IntN(2) == 0 {
		return errors.Join(h.edit(src), h.editTemplate(w))
	}
	return errors.Join(h.editTemplate(w), h.edit(src))
}

// makeAgain deletes a source and makes one of the same name with other content, with or without
// something in between.
func (h *history) makeAgain(src harness.Ref) error {
	h.step("delete %s", src)
	if err := h.ns.Delete(h.ctx, src); err != nil {
		return err
	}
	if h.rand.IntN(3) == 0 {
		if err := h.editTemplate(h.workload()); err != nil {
			return err
		}
	}
	value := h.value()
	h.step("make %s again: %s", src, value)
	object, data := "ConfigMap", "data"
	if src.Kind == "secret" {
		object, data = "Secret", "stringData"
	}
	return h.ns.Apply(h.ctx, fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s}\n%s: {colour: %s, size: \"1\"}\n", object, src.Name, data, value))
}

func (h *history) patch(w workload, body string, subresources ...string) error {
	return shared.Admin.AppsV1().RESTClient().Patch(types.MergePatchType).
		Namespace(h.ns.Name).Resource(w.plural()).Name(w.Name).SubResource(subresources...).
		Param("fieldManager", "kubectl-edit").Body([]byte(body)).Do(h.ctx).Error()
}

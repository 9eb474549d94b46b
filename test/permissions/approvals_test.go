package permissions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// writers may write all objects with approvals. Only one of them may approve.
const writers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: writes}
rules:
  - {apiGroups: ["", apps, batch], resources: [configmaps, secrets, deployments, deployments/status, deployments/scale, cronjobs, jobs, namespaces], verbs: [get, create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: approves}
rules:
  - {apiGroups: [reroll.dev], resources: [reloads], verbs: [approve]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: writes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: writes}
subjects: [{kind: ServiceAccount, name: writer, namespace: NAMESPACE}, {kind: ServiceAccount, name: approver, namespace: NAMESPACE}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: approves}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: approves}
subjects: [{kind: ServiceAccount, name: approver, namespace: NAMESPACE}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: approved, annotations: {reroll.dev/approved: "01", reroll.dev/approval: required}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: approved, annotations: {reroll.dev/approved: "01", reroll.dev/approval: required}}
spec:
  selector: {matchLabels: {app: approved}}
  template: {metadata: {labels: {app: approved}}, spec: {containers: [{name: app, image: web}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: minutely}
spec:
  schedule: "* * * * *"
  jobTemplate:
    metadata: {annotations: {reroll.dev/approved: "01"}}
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}
`

// Who may write an object may not approve its data for that reason alone.
func letsOnlyApproversApprove(t *testing.T, on *stage.Stage) {
	t.Helper()
	p := newPlaceOn(t, on, func(m *harness.Manifest) error {
		path, err := harness.ShippedPolicy()
		err = errors.Join(err, m.Guard(path))
		m.UnguardJobs() // among the workloads are Jobs like those of Reroll
		return err
	})
	p.must(p.ns.Apply(p.ctx, manyfold(p.ns.Name, false)))
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(writers, "NAMESPACE", p.ns.Name)))
	clients := map[string]dynamic.Interface{}
	for _, account := range []string{"writer", "approver"} {
		client, err := dynamic.NewForConfig(p.ns.As(account))
		p.must(err)
		clients[account] = client
	}
	edit := func(group, resource, name, text string) attempt {
		return attempt{group: group, resource: resource, name: name, patch: text}
	}
	const annotation, consent, need = "/metadata/annotations/reroll.dev~1", "/metadata/annotations/reroll.dev~1approved", "/metadata/annotations/reroll.dev~1approval"
	bare := func(key, value string) string { return op("add", "/metadata/annotations", `{"`+key+`": "`+value+`"}`) }
	p.must(harness.Await(p.ctx, "the policy to hold", func(context.Context) error {
		if err := p.try(clients["writer"], edit("", "configmaps", "web", bare("reroll.dev/approved", "02"))); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), harness.Approvals) {
			return fmt.Errorf("a writer who approves meets %w", cmp.Or(err, errors.New("nothing")))
		}
		return nil
	}))
	for about, a := range map[string]attempt{
		"a ConfigMap":                      edit("", "configmaps", "web", bare("reroll.dev/approved", "02")),
		"a Secret":                         edit("", "secrets", "web", bare("reroll.dev/approved", "02")),
		"a Deployment":                     edit("apps", "deployments", "web", op("add", consent, `"02"`)),
		"a CronJob":                        edit("batch", "cronjobs", "web", op("add", consent, `"02"`)),
		"another digest":                   edit("", "configmaps", "approved", op("replace", consent, `"02"`)),
		"another digest with other data":   edit("", "configmaps", "approved", `[{"op": "replace", "path": "`+consent+`", "value": "02"}, `+op("add", "/data", `{"colour": "red"}`)[1:]),
		"a new Job":                        {group: "batch", resource: "jobs", name: "new", object: job("", "'02'")},
		"a new ConfigMap":                  {resource: "configmaps", name: "new", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: new, annotations: {reroll.dev/approved: '02'}}}"},
		"no approval required any more":    edit("", "configmaps", "approved", op("remove", need, "")),
		"required in no words":             edit("", "configmaps", "approved", op("replace", need, `""`)),
		"no approval of a Deployment":      edit("apps", "deployments", "approved", op("remove", need, "")),
		"no annotation of a Deployment":    edit("apps", "deployments", "approved", op("remove", "/metadata/annotations", "")),
		"the annotation, and all the rest": edit("apps", "deployments", "approved", op("replace", "/metadata/annotations", `{"reroll.dev/approval": "required", "reroll.dev/approved": "02"}`)),
	} {
		if err := p.try(clients["writer"], a); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "You may not approve reloads in namespace "+p.ns.Name+". To write reroll.dev/approved, or to remove reroll.dev/approval, you need the verb approve") {
			t.Errorf("a writer, %s: it meets %v", about, err)
		}
		if err := p.try(clients["approver"], a); err != nil {
			t.Errorf("an approver, %s: it meets %v", about, err)
		}
	}
	for about, a := range map[string]attempt{
		"a Job of a CronJob":     {group: "batch", resource: "jobs", name: "new", object: job("[{apiVersion: batch/v1, kind: CronJob, name: web, uid: u-1, controller: true}]", "'02'")},
		"other data":             edit("", "configmaps", "approved", op("add", "/data", `{"colour": "red"}`)),
		"another annotation":     edit("apps", "deployments", "approved", op("add", annotation+"settle", `"2s"`)),
		"approval required":      edit("", "configmaps", "web", bare("reroll.dev/approval", "required")),
		"still required":         edit("", "configmaps", "approved", op("replace", need, `"yes"`)),
		"no consent any more":    edit("apps", "deployments", "approved", op("remove", consent, "")),
		"a ConfigMap is deleted": {resource: "configmaps", name: "approved"},
	} {
		if err := p.try(clients["writer"], a); err != nil {
			t.Errorf("a writer, %s: it meets %v", about, err)
		}
	}
	p.approvesBeyondObjects(clients)
	p.runsOnSchedule(clients)
}

// job is a Job with owners and a consent.
func job(owners, consent string) string {
	if owners == "" {
		owners = "[]"
	}
	return "{apiVersion: batch/v1, kind: Job, metadata: {name: new, annotations: {reroll.dev/approved: " + consent + "}, ownerReferences: " + owners +
		"}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}}"
}

// runsOnSchedule awaits a Job that Kubernetes creates from a template with a consent. That counts
// for nothing, and nobody makes it count by taking the Job from its CronJob.
func (p *place) runsOnSchedule(clients map[string]dynamic.Interface) {
	p.Helper()
	past := []byte(`{"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}`) // the next run is due at once
	_, err := p.on.Admin.BatchV1().CronJobs(p.ns.Name).Patch(p.ctx, "minutely", types.MergePatchType, past, metav1.PatchOptions{}, "status")
	p.must(err)
	var run string
	p.must(harness.Await(p.ctx, "a run of the CronJob", func(ctx context.Context) error {
		jobs, err := p.on.Admin.BatchV1().Jobs(p.ns.Name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range jobs.Items {
			if owners := jobs.Items[i].OwnerReferences; len(owners) == 1 && owners[0].Name == "minutely" && jobs.Items[i].Annotations["reroll.dev/approved"] == "01" {
				run = jobs.Items[i].Name
				return nil
			}
		}
		return fmt.Errorf("there is none among %d Jobs", len(jobs.Items))
	}))
	jobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	orphan := []byte(`[{"op": "remove", "path": "/metadata/ownerReferences"}]`)
	dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	if _, err := clients["writer"].Resource(jobs).Namespace(p.ns.Name).Patch(p.ctx, run, types.JSONPatchType, orphan, dry); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), harness.Approvals) {
		p.Errorf("a writer takes a Job with consent from its CronJob: %v", err)
	}
	if _, err := clients["approver"].Resource(jobs).Namespace(p.ns.Name).Patch(p.ctx, run, types.JSONPatchType, orphan, dry); err != nil {
		p.Error(err)
	}
}

// approvesBeyondObjects tries writes of subresources and of the namespace.
func (p *place) approvesBeyondObjects(clients map[string]dynamic.Interface) {
	p.Helper()
	dry := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	consent := []byte(`{"metadata": {"annotations": {"reroll.dev/approved": "02"}}}`)
	patch := func(account string, body []byte, subresource string) error {
		_, err := clients[account].Resource(deployments).Namespace(p.ns.Name).Patch(p.ctx, "web", types.MergePatchType, body, dry, subresource)
		return err
	}
	if err := patch("writer", consent, "status"); !apierrors.IsForbidden(err) {
		p.Errorf("a writer approves by the status: %v", err)
	}
	if err := patch("approver", consent, "status"); err != nil {
		p.Error(err)
	}
	if err := patch("writer", []byte(`{"spec": {"replicas": 3}}`), "scale"); err != nil {
		p.Errorf("a writer scales: %v", err)
	}
	_, err := p.on.Admin.CoreV1().Namespaces().Patch(p.ctx, p.ns.Name, types.MergePatchType, []byte(`{"metadata": {"annotations": {"reroll.dev/approval": "required"}}}`), metav1.PatchOptions{})
	p.must(err)
	lift := []byte(`{"metadata": {"annotations": {"reroll.dev/approval": null}}}`)
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	if _, err := clients["writer"].Resource(namespaces).Patch(p.ctx, p.ns.Name, types.MergePatchType, lift, dry); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), harness.Approvals) {
		p.Errorf("a writer lifts what the namespace requires: %v", err)
	}
	if _, err := clients["approver"].Resource(namespaces).Patch(p.ctx, p.ns.Name, types.MergePatchType, lift, dry); err != nil {
		p.Error(err)
	}
}

package controller_test

import (
	"fmt"
	"strings"
	"time"
)

// case of the table: what the controller does about deployment/web, or about, when configmap/cfg
// changes, and so what each of the commands has to say.
type agreed struct {
	flags string
	// objects are the manifests of workloads, and cfg are fields of the metadata of the ConfigMap.
	objects, cfg string
	// namespace are more fields of the metadata of the namespace.
	namespace string
	about     string
	rolls     bool
	// lacks reports whether the workload lacks a ConfigMap if that one is deleted, although it does
	// not roll the workload.
	lacks bool
	// idle reports whether lint has to say that nothing rolls a workload that is opted in.
	idle bool
	// wait is how long the controller waits before it rolls the workload, if not the usual time.
	wait time.Duration
	// clusterOnly is for a rule about what no manifest shows, so that stamp has nothing to do with
	// it.
	clusterOnly bool
}

// web is a Deployment that refers to the ConfigMap, with annotations.
func web(annotations string, more ...string) string {
	return of("apps/v1", "Deployment", "web", annotations, more...)
}

func of(apiVersion, kind, name, annotations string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: %s
kind: %s
metadata: {name: %s, namespace: shop, uid: u-%s-%s, resourceVersion: "10", generation: 1, creationTimestamp: "%s", annotations: {%s}%s}
spec:
  %sselector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, envFrom: [{configMapRef: {name: cfg}}]}]}}
status: {observedGeneration: %s, replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1}
`, apiVersion, kind, name, strings.ToLower(kind), name, made.Format(time.RFC3339), annotations, part(more, 0), part(more, 1), generation[kind == "Rollout"])
}

// generation is a text in the status of a Rollout.
var generation = map[bool]string{false: "1", true: `"1"`}

func part(more []string, i int) string {
	if i < len(more) {
		return more[i]
	}
	return ""
}

// rollout uses the pod template of another object.
func rollout(name, annotations, apiVersion, kind string) string {
	return fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %s, namespace: shop, uid: u-%s, resourceVersion: "10", generation: 1, annotations: {%s}}
spec: {selector: {matchLabels: {app: web}}, workloadRef: {apiVersion: %s, kind: %s, name: web}}
status: {observedGeneration: "1", workloadObservedGeneration: "1", replicas: 1, updatedReplicas: 1, availableReplicas: 1}
`, name, name, annotations, apiVersion, kind)
}

const (
	auto   = `reloader.stakater.com/auto: "true"`
	search = `reloader.stakater.com/search: "true"`
	match  = `annotations: {reloader.stakater.com/match: "true"}`
)

// annotated is a namespace with one annotation of Reroll.
func annotated(text string) string { return ", annotations: {reroll.dev/" + text + "}" }

func table() map[string]agreed {
	cron := strings.NewReplacer("  template: {", "  jobTemplate: {spec: {template: {", "]}}\n", "]}}}}\n", "selector: {matchLabels: {app: web}}", "schedule: '@daily'").
		Replace(of("batch/v1", "CronJob", "web", auto))
	owner := `, ownerReferences: [{apiVersion: serving.knative.dev/v1, kind: Service, name: web, uid: u-service-web, controller: true}]`
	optsIn, optsOut := annotated(`auto: "true"`), annotated(`auto: "false"`)
	return map[string]agreed{
		"opted in":                               {objects: web(auto), rolls: true},
		"not opted in":                           {objects: web("")},
		"all are opted in":                       {flags: "--auto-reload-all", objects: web(""), rolls: true},
		"opted out of all":                       {flags: "--auto-reload-all", objects: web(`reloader.stakater.com/auto: "false"`)},
		"opted in for ConfigMaps":                {objects: web(`configmap.reloader.stakater.com/auto: "true"`), rolls: true},
		"opted in for Secrets":                   {objects: web(`secret.reloader.stakater.com/auto: "true"`), idle: true},
		"a value that is no boolean":             {objects: web(`reloader.stakater.com/auto: "ja"`)},
		"named":                                  {objects: web(`configmap.reloader.stakater.com/reload: "a,cfg"`), rolls: true},
		"named by an expression":                 {objects: web(`configmap.reloader.stakater.com/reload: "c.*"`), rolls: true},
		"another one is named":                   {objects: web(`configmap.reloader.stakater.com/reload: "config"`), lacks: true},
		"excluded":                               {objects: web(auto + `, configmaps.exclude.reloader.stakater.com/reload: " cfg"`), idle: true},
		"another one is excluded":                {objects: web(auto + `, configmaps.exclude.reloader.stakater.com/reload: "config"`), rolls: true},
		"searched for and found":                 {objects: web(search), cfg: match, rolls: true},
		"searched for":                           {objects: web(search), idle: true},
		"found by nobody":                        {objects: web(""), cfg: match},
		"the source is ignored":                  {objects: web(auto), cfg: `annotations: {reloader.stakater.com/ignore: "true"}`, idle: true, lacks: true},
		"the annotation has another name":        {flags: "--auto-annotation=example.org/roll", objects: web(`example.org/roll: "true"`), rolls: true},
		"the annotation had this name":           {flags: "--auto-annotation=example.org/roll", objects: web(auto)},
		"labels that are not selected":           {flags: "--resource-label-selector=team=a", objects: web(auto), clusterOnly: true, idle: true},
		"labels that are selected":               {flags: "--resource-label-selector=team=a", objects: web(auto), cfg: "labels: {team: a}", rolls: true},
		"ConfigMaps are not read":                {flags: "--resources-to-ignore=configmaps", objects: web(auto), clusterOnly: true, idle: true},
		"Secrets are not read":                   {flags: "--resources-to-ignore=secrets", objects: web(auto), rolls: true},
		"other namespaces are watched":           {flags: "--namespaces=warehouse", objects: web(auto), clusterOnly: true},
		"this namespace is watched":              {flags: "--namespaces=warehouse,shop", objects: web(auto), rolls: true},
		"the namespace is ignored":               {flags: "--namespaces-to-ignore=shop", objects: web(auto), clusterOnly: true},
		"it is named and ignored":                {flags: "--namespaces=shop --namespaces-to-ignore=shop", objects: web(auto), rolls: true},
		"the namespace is not selected":          {flags: "--namespace-selector=tier=back", objects: web(auto), clusterOnly: true},
		"the namespace is selected":              {flags: "--namespace-selector=tier=front", objects: web(auto), rolls: true},
		"the namespace is being deleted":         {objects: web(auto), namespace: `, deletionTimestamp: "2026-02-02T11:00:00Z"`, clusterOnly: true},
		"a namespace that is named goes":         {flags: "--namespaces=shop", objects: web(auto), namespace: `, deletionTimestamp: "2026-02-02T11:00:00Z"`, rolls: true},
		"it is being deleted":                    {objects: web(auto, `, deletionTimestamp: "2026-02-02T11:00:00Z", finalizers: [foregroundDeletion]`), clusterOnly: true},
		"it is paused":                           {objects: web(auto, "", "paused: true\n  "), rolls: true},
		"its Pods are replaced by hand":          {objects: of("apps/v1", "StatefulSet", "web", auto, "", "updateStrategy: {type: OnDelete}\n  "), about: "statefulset/web", rolls: true},
		"a CronJob":                              {objects: cron, about: "cronjob/web", rolls: true},
		"CronJobs are left alone":                {flags: "--ignored-workload-types=cronjobs", objects: cron, about: "cronjob/web", clusterOnly: true},
		"a Rollout":                              {objects: of("argoproj.io/v1alpha1", "Rollout", "web", auto), about: "rollout/web", rolls: true},
		"Rollouts are left alone":                {flags: "--is-Argo-Rollouts=false", objects: of("argoproj.io/v1alpha1", "Rollout", "web", auto), about: "rollout/web", clusterOnly: true},
		"a kind of a user":                       {flags: "--workload-kind=example.org/v1/Pool", objects: of("example.org/v1", "Pool", "web", auto), about: "pool.example.org/web", rolls: true},
		"a Rollout asks for it":                  {objects: web("") + rollout("canary", auto, "apps/v1", "Deployment"), rolls: true},
		"a Rollout asks for another object":      {objects: web("") + rollout("canary", auto, "apps/v1", "StatefulSet")},
		"a Rollout asks for a foreign object":    {objects: web("") + rollout("canary", auto, "example.org/v1", "Deployment")},
		"a Rollout asks for nothing of it":       {objects: web(auto) + rollout("canary", `reloader.stakater.com/auto: "false"`, "apps/v1", "Deployment")},
		"what the first Rollout asks for counts": {objects: web("") + rollout("b", auto, "apps/v1", "Deployment") + rollout("a", `reloader.stakater.com/auto: "false"`, "apps/v1", "Deployment")},
		"the object that makes it is rolled":     {objects: web(auto, owner) + of("serving.knative.dev/v1", "Service", "web", ""), clusterOnly: true},
		"what made it is of another life":        {objects: web(auto, strings.Replace(owner, "u-service-web", "u-former", 1)) + of("serving.knative.dev/v1", "Service", "web", ""), rolls: true},
		"its namespace opts it in":               {objects: web(""), namespace: optsIn, rolls: true, clusterOnly: true},
		"it opts out of its namespace":           {objects: web(`reloader.stakater.com/auto: "false"`), namespace: optsIn, clusterOnly: true},
		"its template opts out":                  {objects: strings.Replace(web(""), "{labels: {app: web}}", `{labels: {app: web}, annotations: {reloader.stakater.com/auto: "false"}}`, 1), namespace: optsIn, clusterOnly: true},
		"its namespace opts out of all":          {flags: "--auto-reload-all", objects: web(""), namespace: optsOut, clusterOnly: true},
		"it opts in, and its namespace out":      {objects: web(auto), namespace: optsOut, rolls: true},
		"its namespace writes no boolean":        {flags: "--auto-reload-all", objects: web(""), namespace: annotated("auto: yeah"), rolls: true},
		"its namespace opts it in but for one":   {objects: web(`configmaps.exclude.reloader.stakater.com/reload: cfg`), namespace: optsIn, clusterOnly: true},
		"its namespace opts in what is ignored":  {objects: web(""), cfg: `annotations: {reloader.stakater.com/ignore: "true"}`, namespace: optsIn, lacks: true, clusterOnly: true},
		"its namespace is not watched as one":    {flags: "--namespaces=shop", objects: web(""), namespace: optsIn, clusterOnly: true},
		"the quiet period of its namespace":      {objects: web(auto), namespace: annotated("settle: 7s"), rolls: true, wait: 7 * time.Second},
		"its own quiet period beats that":        {objects: web(auto + `, reroll.dev/settle: 3s`), namespace: annotated("settle: 7s"), rolls: true, wait: 3 * time.Second},
		"only a notification":                    {objects: web(auto + `, reroll.dev/mode: notify`), lacks: true, clusterOnly: true},
		"only a notification for all":            {flags: "--mode=notify", objects: web(auto), lacks: true, clusterOnly: true},
		"only one for its namespace":             {objects: web(auto), namespace: annotated("mode: notify"), lacks: true, clusterOnly: true},
		"a reload in spite of its namespace":     {flags: "--mode=notify", objects: web(auto + `, reroll.dev/mode: reload`), namespace: annotated("mode: notify"), rolls: true},
		"a quiet period of its own":              {objects: web(auto + `, reroll.dev/settle: 7s`), rolls: true, wait: 7 * time.Second},
		"a tool delivers it":                     {objects: web(auto, ", labels: {app.kubernetes.io/managed-by: Helm}"), rolls: true, wait: 5 * time.Second},
		"a quiet period for all":                 {flags: "--settle=3s", objects: web(auto), rolls: true, wait: 3 * time.Second},
	}
}

// manifests have the ConfigMap with a value.
func (tc *agreed) manifests(value string) string {
	at, version := made, "20"
	if value != "one" {
		at, version = edited, "1000"
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: cfg, namespace: shop, uid: u-cfg, resourceVersion: "%s", creationTimestamp: "%s", managedFields: [{manager: kubectl, operation: Update, apiVersion: v1, time: "%s", fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}], %s}
data: {value: %s}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: front}%s}
---%s`, version, made.Format(time.RFC3339), at.Format(time.RFC3339), tc.cfg, value, tc.namespace, strings.ReplaceAll(tc.objects, "\napiVersion", "\n---\napiVersion"))
}

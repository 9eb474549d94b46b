//go:build !race

package controller_test

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/source"
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
	// held is the gate that a reload waits for, if any.
	held gate.Name
	// lacks reports whether the workload lacks a ConfigMap if that one is deleted, although it does
	// not roll the workload.
	lacks bool
	// spared reports whether only keys change that do not count, so that plan and why show which do.
	spared bool
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

// usesKey is a Deployment that is opted in and uses one key of the ConfigMap.
func usesKey(key, annotations string) string {
	if annotations != "" {
		annotations = ", " + annotations
	}
	return strings.Replace(web(auto+annotations), "envFrom: [{configMapRef: {name: cfg}}]", "env: [{name: KEY, valueFrom: {configMapKeyRef: {name: cfg, key: "+key+"}}}]", 1)
}

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
	// byLabel selects sources by a label, which grafana has.
	byLabel = `reroll.dev/sources: "plugins=grafana"`
	grafana = "labels: {plugins: grafana}"
	match   = `annotations: {reloader.stakater.com/match: "true"}`
)

// digestOf is the digest of the ConfigMap with a value.
func digestOf(value string) string {
	cm := corev1.ConfigMap{Data: map[string]string{"value": value}}
	return source.FromConfigMap(&cm, annotations.DefaultNames()).Digest.String()
}

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
		"selected by its labels":                 {objects: web(byLabel), cfg: grafana, rolls: true},
		"another label is selected":              {objects: web(byLabel), cfg: "labels: {plugins: loki}"},
		"selected by its labels, and excluded":   {objects: web(byLabel + `, configmaps.exclude.reloader.stakater.com/reload: "cfg"`), cfg: grafana},
		"selected by its labels, and opted out":  {objects: web(byLabel + `, reloader.stakater.com/auto: "false"`), cfg: grafana, rolls: true},
		"selected by its labels, and ignored":    {objects: web(byLabel), cfg: `labels: {plugins: grafana}, annotations: {reloader.stakater.com/ignore: "true"}`},
		"a selector that is empty":               {objects: web(`reroll.dev/sources: ""`), cfg: grafana},
		"a selector that is none":                {objects: web(`reroll.dev/sources: "plugins=grafana=x"`), cfg: grafana},
		"no used key changes":                    {objects: usesKey("other", `reroll.dev/keys: used`), spared: true, lacks: true},
		"a used key changes":                     {objects: usesKey("value", `reroll.dev/keys: used`), rolls: true},
		"a whole source is used":                 {objects: web(auto + `, reroll.dev/keys: used`), rolls: true},
		"only used keys count for all":           {flags: "--keys=used", objects: usesKey("other", ""), spared: true, lacks: true},
		"only used keys count for its namespace": {objects: usesKey("other", ""), namespace: annotated("keys: used"), spared: true, lacks: true, clusterOnly: true},
		"all keys count in spite of the flag":    {flags: "--keys=used", objects: usesKey("other", `reroll.dev/keys: all`), rolls: true},
		"no listed key changes":                  {objects: web(auto + `, reroll.dev/keys: "configmap/cfg=other"`), spared: true, lacks: true},
		"a key changes that is not excluded":     {objects: web(auto + `, reroll.dev/keys: "configmap/cfg=!other"`), rolls: true},
		"an excluded key changes":                {objects: web(auto + `, reroll.dev/keys: "configmap/cfg=!value"`), spared: true, lacks: true},
		"a list of keys with a mistake":          {objects: web(auto + `, reroll.dev/keys: "cfg=other"`), rolls: true},
		"named, and only used keys count":        {objects: usesKey("other", `configmap.reloader.stakater.com/reload: cfg, reroll.dev/keys: used`), rolls: true},
		"selected, and only used keys count":     {objects: usesKey("other", byLabel+`, reroll.dev/keys: used`), cfg: grafana, rolls: true},
		"not selected, and only used keys count": {objects: usesKey("other", byLabel+`, reroll.dev/keys: used`), cfg: "labels: {plugins: loki}", spared: true, lacks: true},
		"selected, but not for the controller":   {flags: "--resource-label-selector=team=a", objects: web(byLabel), cfg: grafana, clusterOnly: true},
		"selected, for the controller, too":      {flags: "--resource-label-selector=team=a", objects: web(byLabel), cfg: "labels: {plugins: grafana, team: a}", rolls: true},
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
		"approval is required on the workload":   {objects: web(auto + `, reroll.dev/approval: required`), rolls: true, held: gate.Approval},
		"approval is required on the source":     {objects: web(auto), cfg: `annotations: {reroll.dev/approval: required}`, rolls: true, held: gate.Approval},
		"approval is required on the namespace":  {objects: web(auto), namespace: `, annotations: {reroll.dev/approval: required}`, rolls: true, held: gate.Approval},
		"approval is required for all":           {flags: "--approval=required", objects: web(auto), rolls: true, held: gate.Approval},
		"approval in other words":                {objects: web(auto), cfg: `annotations: {reroll.dev/approval: "yes"}`, rolls: true, held: gate.Approval},
		"approved, but other data":               {objects: web(auto), cfg: `annotations: {reroll.dev/approval: required, reroll.dev/approved: "` + digestOf("one") + `"}`, rolls: true, held: gate.Approval},
		"approved":                               {objects: web(auto), cfg: `annotations: {reroll.dev/approval: required, reroll.dev/approved: "` + digestOf("two") + `"}`, rolls: true},
		"approved for all":                       {flags: "--approval=required", objects: web(auto), cfg: `annotations: {reroll.dev/approved: "` + digestOf("two") + `"}`, rolls: true},
		"a freeze":                               {objects: web(auto), namespace: `, annotations: {reroll.dev/freeze: '{"until":"2099-01-01T00:00:00Z"}'}`, rolls: true, held: gate.Freeze},
		"a window":                               {objects: web(auto + `, reroll.dev/window: deny 2026-01-01/2026-12-31 UTC`), rolls: true, held: gate.Window},
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

package permissions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// manyfold is a workload of each kind, with variables, annotations and labels of somebody else's.
func manyfold(namespace string, rollouts bool) string {
	const workload = `
apiVersion: GROUP
kind: KIND
metadata: {name: web, labels: {team: a}, annotations: {note: theirs, reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: KIND}}
  template:
    metadata: {labels: {app: KIND}, annotations: {note: theirs}}
    spec:
      initContainers: [{name: init, image: web, env: [{name: A, value: b}]}]
      containers:
        - name: app
          image: web
          command: [serve]
          args: [a]
          envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}]
          env: [{name: A, value: b}, {name: STAKATER_MODE, value: theirs}]
        - {name: side, image: web}
`
	docs := []string{
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {colour: green}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {colour: green}}",
	}
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		docs = append(docs, strings.NewReplacer("GROUP", "apps/v1", "KIND", kind).Replace(workload))
	}
	docs = append(docs, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: web, labels: {team: a}, annotations: {note: theirs, reloader.stakater.com/auto: "true"}}
spec:
  schedule: 0 0 29 2 *
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}}}}
`, jobOf("theirs", "{annotations: {note: theirs}}"), jobOf("hook", "{annotations: {helm.sh/hook: post-install}}"), jobOf("again", held), jobOf("copy-0123456789", copied))
	if rollouts {
		docs = append(docs, strings.NewReplacer("GROUP", "argoproj.io/v1alpha1", "KIND", "Rollout", "spec:\n  selector", "spec:\n  strategy: {canary: {}}\n  selector").Replace(workload),
			"{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: borrows, namespace: "+namespace+"}, spec: {strategy: {canary: {}}, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}")
	}
	return strings.Join(docs, "\n---\n")
}

const (
	held   = `{annotations: {reroll.dev/held: "true", reroll.dev/ledger: "{}"}}`
	copied = `{annotations: {reroll.dev/replaces: "{}"}}`
)

// jobOf is a Job that the controller makes of the CronJob web, or, with other metadata, somebody
// else's.
func jobOf(name, metadata string) string {
	if metadata == "" {
		metadata = `{labels: {reroll.dev/run: "1"}, annotations: {reroll.dev/held: "true", reroll.dev/ledger: "{}", cronjob.kubernetes.io/instantiate: manual},
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: web, uid: 35576b68, controller: true}]}`
	}
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: %s, name: %s}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}
`, strings.TrimSuffix(metadata, "}"), name)
}

// attempt is one write.
type attempt struct {
	group, resource string
	name            string   // web, if nothing is said
	of              []string // the subresource, if it is about one
	// patch changes an object that exists, object is one to be made. With neither, one is deleted.
	patch, object string
	// refused is what the policy says. Nothing: it lets it pass.
	refused string
	// stored reports whether the controller tries it without a dry run. Then nothing may let it pass.
	stored bool
	// beyond reports whether the shipped permissions do not allow it either.
	beyond bool
}

func (a attempt) verb() string {
	switch {
	case a.patch != "":
		return "patch"
	case a.object != "":
		return "create"
	default:
		return "delete"
	}
}

const digest = "dc30e0faa89a70dec1033016a2309bbeb9efcbd0"

// What the policy says of a workload.
const (
	notOfContainer  = "may not change anything of a container but its own variables"
	notTheContainer = "may not add, remove or rename containers"
	notTheVariable  = "may not change variables of a container that are not its own"
	notTheDigest    = "may set its own variables to digests only"
	notOfPod        = "may not change fields of a pod template beside its containers"
	notTheNote      = "may not change annotations of a workload that are not its own"
	notThePodNote   = "may not change annotations of a pod template that are not its own"
	notThePodLabel  = "may not change labels of a pod template"
	notTheLabel     = "may not change labels of a workload"
	notOfMetadata   = "may not change owners or finalizers of a workload"
	notThatJob      = "may create only suspended Jobs, of a CronJob or as a replacement of another Job"
	notWithAJob     = "may only write its ledger on an existing Job, and annotate or unsuspend a Job that it created"
	notThatOne      = "may not delete a Job that has an owner or is a hook"
	notOfSpec       = "may not change fields of a workload beside its pod template"
)

// onWorkloads are tried with each kind of workload.
func onWorkloads() map[string]attempt {
	const (
		pod, meta = "/spec/template/spec", "/spec/template/metadata"
		app, side = pod + "/containers/0", pod + "/containers/1"
	)
	return map[string]attempt{
		"image":                           {patch: op("replace", app+"/image", `"other"`), refused: notOfContainer},
		"image of the second container":   {patch: op("replace", side+"/image", `"other"`), refused: notOfContainer},
		"command":                         {patch: op("replace", app+"/command", `["sh"]`), refused: notOfContainer},
		"a command where there was none":  {patch: op("add", side+"/command", `["sh"]`), refused: notOfContainer},
		"no command":                      {patch: op("remove", app+"/command", ""), refused: notOfContainer},
		"args":                            {patch: op("replace", app+"/args", `["b"]`), refused: notOfContainer},
		"a user":                          {patch: op("add", app+"/securityContext", `{"runAsUser": 0}`), refused: notOfContainer},
		"an init container":               {patch: op("replace", pod+"/initContainers/0/image", `"other"`), refused: notOfPod},
		"a variable of an init container": {patch: op("add", pod+"/initContainers/0/env/-", variable("STAKATER_A_CONFIGMAP", digest)), refused: notOfPod},
		"another container":               {patch: op("add", pod+"/containers/-", `{"name": "more", "image": "web", "resources": {}}`), refused: notTheContainer},
		"a container fewer":               {patch: op("remove", side, ""), refused: notTheContainer},
		"serviceAccountName":              {patch: op("add", pod+"/serviceAccountName", `"admin"`), refused: notOfPod},
		"a volume":                        {patch: op("add", pod+"/volumes", `[{"name": "a", "secret": {"secretName": "web"}}]`), refused: notOfPod},
		"hostNetwork":                     {patch: op("add", pod+"/hostNetwork", "true"), refused: notOfPod},
		"the value of another variable":   {patch: op("replace", app+"/env/0/value", `"c"`), refused: notTheVariable},
		"another variable":                {patch: op("add", app+"/env/-", variable("LD_PRELOAD", "x")), refused: notTheVariable},
		"a variable fewer":                {patch: op("remove", app+"/env/0", ""), refused: notTheVariable},
		"a variable of that prefix":       {patch: op("replace", app+"/env/1/value", `"x"`), refused: notTheVariable},
		"a name that is no mark's":        {patch: op("add", app+"/env/-", variable("STAKATER_A_TOKEN", digest)), refused: notTheVariable},
		"a mark that is no digest":        {patch: op("add", app+"/env/-", variable("STAKATER_A_SECRET", "x")), refused: notTheDigest},
		"a mark from a Secret":            {patch: op("add", app+"/env/-", `{"name": "STAKATER_A_SECRET", "valueFrom": {"secretKeyRef": {"name": "web", "key": "colour"}}}`), refused: notTheDigest},
		"an annotation of others gone":    {patch: op("remove", "/metadata/annotations/note", ""), refused: notTheNote},
		"what kubectl applied last":       {patch: op("add", "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", `"{}"`), refused: notTheNote},
		"what Argo CD goes by":            {patch: op("add", "/metadata/annotations/argocd.argoproj.io~1sync-options", `"Prune=false"`), refused: notTheNote},
		"whose release it is":             {patch: op("add", "/metadata/annotations/meta.helm.sh~1release-name", `"x"`), refused: notTheNote},
		"what opts in":                    {patch: op("add", "/metadata/annotations/reloader.stakater.com~1auto", `"false"`), refused: notTheNote},
		"another annotation of the pods":  {patch: op("add", meta+"/annotations/more", `"x"`), refused: notThePodNote},
		"an annotation of the pods gone":  {patch: op("remove", meta+"/annotations/note", ""), refused: notThePodNote},
		"a label":                         {patch: op("replace", "/metadata/labels/team", `"b"`), refused: notTheLabel},
		"a label gone":                    {patch: op("remove", "/metadata/labels/team", ""), refused: notTheLabel},
		"whose instance it is":            {patch: op("add", "/metadata/labels/app.kubernetes.io~1instance", `"x"`), refused: notTheLabel},
		"an owner":                        {patch: op("add", "/metadata/ownerReferences", `[{"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": "35576b68"}]`), refused: notOfMetadata},
		"a finalizer":                     {patch: op("add", "/metadata/finalizers", `["example.org/keep"]`), refused: notOfMetadata},
		"a label of the pods":             {patch: op("add", meta+"/labels/more", `"x"`), refused: notThePodLabel},
		"a field of the spec":             {patch: op("add", "/spec/minReadySeconds", "5"), refused: notOfSpec},

		"the ledger":                {patch: op("add", "/metadata/annotations/reroll.dev~1ledger", `"{}"`)},
		"the mark in an annotation": {patch: op("add", meta+"/annotations/reloader.stakater.com~1last-reloaded-from", `"{}"`)},
		"a mark that was there":     {patch: op("add", meta+"/annotations/reroll.dev~1rolled", `"1-1"`)},
		"the mark in a variable":    {patch: op("add", app+"/env/-", variable("STAKATER_A_B_CONFIGMAP", digest))},
		// Of these, webhooks add and change some when it writes.
		"another annotation":      {patch: op("add", "/metadata/annotations/more", `"x"`)},
		"an annotation of others": {patch: op("replace", "/metadata/annotations/note", `"x"`)},
		"another label":           {patch: op("add", "/metadata/labels/more", `"x"`)},
		"the first variable":      {patch: op("add", side+"/env", "["+variable("STAKATER_A_SECRETPROVIDERCLASS", digest)+"]")},
	}
}

// op is a JSON Patch of one operation.
func op(what, path, value string) string {
	if value == "" {
		return fmt.Sprintf(`[{"op": %q, "path": %q}]`, what, path)
	}
	return fmt.Sprintf(`[{"op": %q, "path": %q, "value": %s}]`, what, path, value)
}

func variable(name, value string) string {
	return fmt.Sprintf(`{"name": %q, "value": %q}`, name, value)
}

// attempts are all that are tried.
func attempts(namespace string) map[string]attempt {
	const coordination, argo, batch = "coordination.k8s.io", "argoproj.io", "batch"
	made := func(version, kind, name, rest string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}%s}", version, kind, name, rest)
	}
	may := func(verb, resource, name string) string {
		return "It may not " + verb + " " + resource + " " + namespace + "/" + name + "."
	}
	tried := map[string]attempt{
		"deployments/replicas":       {group: "apps", resource: "deployments", patch: op("replace", "/spec/replicas", "0"), refused: notOfSpec},
		"statefulsets/replicas":      {group: "apps", resource: "statefulsets", patch: op("replace", "/spec/replicas", "0"), refused: notOfSpec},
		"deployments/pause":          {group: "apps", resource: "deployments", patch: op("add", "/spec/paused", "true")},
		"deployments/since when":     {group: "apps", resource: "deployments", patch: op("add", "/metadata/annotations/deployment.reloader.stakater.com~1paused-at", `"2030-01-01T00:00:00Z"`)},
		"deployments/for how long":   {group: "apps", resource: "deployments", patch: op("add", "/metadata/annotations/deployment.reloader.stakater.com~1pause-period", `"1h"`), refused: notTheNote},
		"statefulsets/since when":    {group: "apps", resource: "statefulsets", patch: op("add", "/metadata/annotations/deployment.reloader.stakater.com~1paused-at", `"2030-01-01T00:00:00Z"`), refused: notTheNote},
		"rollouts/pause":             {group: argo, resource: "rollouts", patch: op("add", "/spec/paused", "true"), refused: notOfSpec},
		"deployments/strategy":       {group: "apps", resource: "deployments", patch: op("replace", "/spec/strategy", `{"type": "Recreate"}`), refused: notOfSpec},
		"deployments/restart":        {group: "apps", resource: "deployments", patch: op("add", "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", `"x"`), refused: notThePodNote},
		"rollouts/strategy":          {group: argo, resource: "rollouts", patch: op("replace", "/spec/strategy", `{"blueGreen": {"activeService": "a"}}`), refused: notOfSpec},
		"rollouts/a template":        {group: argo, resource: "rollouts", name: "borrows", patch: op("add", "/spec/template", `{"spec": {"containers": [{"name": "app", "image": "web"}]}}`), refused: notTheContainer},
		"rollouts/restartAt":         {group: argo, resource: "rollouts", patch: op("add", "/spec/restartAt", `"2030-01-01T00:00:00Z"`)},
		"rollouts/restartAt, ledger": {group: argo, resource: "rollouts", name: "borrows", patch: `[{"op": "add", "path": "/spec/restartAt", "value": "2030-01-01T00:00:00Z"}, {"op": "add", "path": "/metadata/annotations", "value": {"reroll.dev/ledger": "{}"}}]`},

		"cronjobs/the ledger":               {group: batch, resource: "cronjobs", patch: op("add", "/metadata/annotations/reroll.dev~1ledger", `"{}"`)},
		"cronjobs/another annotation":       {group: batch, resource: "cronjobs", patch: op("add", "/metadata/annotations/more", `"x"`)},
		"cronjobs/image":                    {group: batch, resource: "cronjobs", patch: op("replace", "/spec/jobTemplate/spec/template/spec/containers/0/image", `"other"`), refused: notOfSpec},
		"cronjobs/suspend":                  {group: batch, resource: "cronjobs", patch: op("add", "/spec/suspend", "true"), refused: notOfSpec},
		"a CronJob gone":                    {group: batch, resource: "cronjobs", refused: may("delete", "batch/cronjobs", "web"), beyond: true},
		"jobs/one of a CronJob":             {group: batch, resource: "jobs", name: "web-abcdef0123", object: jobOf("web-abcdef0123", "")},
		"jobs/one that runs at once":        {group: batch, resource: "jobs", name: "web-abcdef0123", object: strings.Replace(jobOf("web-abcdef0123", ""), "suspend: true, ", "", 1), refused: notThatJob, stored: true},
		"jobs/a dry run of it":              {group: batch, resource: "jobs", name: "web-abcdef0123", object: strings.Replace(jobOf("web-abcdef0123", ""), "suspend: true, ", "", 1)},
		"jobs/one of nobody":                {group: batch, resource: "jobs", name: "more", object: jobOf("more", "{annotations: {note: theirs}}"), refused: notThatJob},
		"jobs/one of another name":          {group: batch, resource: "jobs", name: "api-abcdef0123", object: jobOf("api-abcdef0123", ""), refused: notThatJob},
		"jobs/one of another kind":          {group: batch, resource: "jobs", name: "web-abcdef0123", object: strings.Replace(jobOf("web-abcdef0123", ""), "kind: CronJob,", "kind: Thing,", 1), refused: notThatJob},
		"jobs/indexed, of a shorter name":   {group: batch, resource: "jobs", name: "we-abcdef0123", object: strings.Replace(jobOf("we-abcdef0123", ""), "suspend: true, ", "suspend: true, completionMode: Indexed, completions: 2, ", 1)},
		"jobs/of a shorter name":            {group: batch, resource: "jobs", name: "we-abcdef0123", object: jobOf("we-abcdef0123", ""), refused: notThatJob},
		"jobs/one that is let go":           {group: batch, resource: "jobs", name: "web-0123456789", patch: `[{"op": "remove", "path": "/metadata/annotations/reroll.dev~1held"}, {"op": "replace", "path": "/spec/suspend", "value": false}]`},
		"jobs/another annotation":           {group: batch, resource: "jobs", name: "web-0123456789", patch: op("add", "/metadata/annotations/more", `"x"`)},
		"jobs/another label":                {group: batch, resource: "jobs", name: "web-0123456789", patch: op("add", "/metadata/labels/more", `"x"`)},
		"jobs/no run any more":              {group: batch, resource: "jobs", name: "web-0123456789", patch: op("remove", "/metadata/labels/reroll.dev~1run", ""), refused: notWithAJob},
		"jobs/a hook":                       {group: batch, resource: "jobs", name: "web-0123456789", patch: op("add", "/metadata/annotations/helm.sh~1hook", `"test"`), refused: notWithAJob},
		"jobs/no owner":                     {group: batch, resource: "jobs", name: "web-0123456789", patch: op("remove", "/metadata/ownerReferences", ""), refused: notWithAJob},
		"jobs/more at a time":               {group: batch, resource: "jobs", name: "web-0123456789", patch: op("replace", "/spec/parallelism", "5"), refused: notWithAJob},
		"jobs/one of others that is let go": {group: batch, resource: "jobs", name: "theirs", patch: op("replace", "/spec/suspend", "false"), refused: notWithAJob},
		"jobs/a copy":                       {group: batch, resource: "jobs", name: "load-abcdef0123", object: jobOf("load-abcdef0123", copied)},
		"jobs/a copy of another name":       {group: batch, resource: "jobs", name: "load", object: jobOf("load", copied), refused: notThatJob},
		"jobs/a copy that runs at once":     {group: batch, resource: "jobs", name: "load-abcdef0123", object: strings.Replace(jobOf("load-abcdef0123", copied), "suspend: true, ", "", 1), refused: notThatJob, stored: true},
		"jobs/a copy that is noted":         {group: batch, resource: "jobs", name: "copy-0123456789", patch: op("add", "/metadata/annotations/reroll.dev~1deletes", `"u-1"`)},
		"jobs/a copy that is signed":        {group: batch, resource: "jobs", name: "copy-0123456789", patch: op("add", "/metadata/annotations/reroll.dev~1signed", `"0"`)},
		"jobs/one of others that is signed": {group: batch, resource: "jobs", name: "theirs", patch: op("add", "/metadata/annotations/reroll.dev~1signed", `"0"`), refused: notWithAJob},
		"jobs/one of others that is noted":  {group: batch, resource: "jobs", name: "theirs", patch: op("add", "/metadata/annotations/reroll.dev~1deletes", `"u-1"`), refused: notWithAJob},
		"jobs/one in the place of another":  {group: batch, resource: "jobs", name: "load", object: jobOf("load", held)},
		"jobs/one that runs there at once":  {group: batch, resource: "jobs", name: "load", object: strings.Replace(jobOf("load", held), "suspend: true, ", "", 1), refused: notThatJob, stored: true},
		"jobs/a dry run of one there":       {group: batch, resource: "jobs", name: "load", object: strings.Replace(jobOf("load", held), "suspend: true, ", "", 1)},
		"jobs/one there that is let go":     {group: batch, resource: "jobs", name: "again", patch: `[{"op": "remove", "path": "/metadata/annotations/reroll.dev~1held"}, {"op": "replace", "path": "/spec/suspend", "value": false}]`},
		"jobs/the ledger":                   {group: batch, resource: "jobs", name: "theirs", patch: op("add", "/metadata/annotations/reroll.dev~1ledger", `"{}"`)},
		"jobs/one of others that is held":   {group: batch, resource: "jobs", name: "theirs", patch: op("add", "/metadata/annotations/reroll.dev~1held", `"true"`), refused: notWithAJob},
		"jobs/an owner":                     {group: batch, resource: "jobs", name: "theirs", patch: op("add", "/metadata/ownerReferences", `[{"apiVersion": "v1", "kind": "ConfigMap", "name": "web", "uid": "35576b68"}]`), refused: notWithAJob},
		"jobs/one gone":                     {group: batch, resource: "jobs", name: "theirs"},
		"jobs/one of a CronJob gone":        {group: batch, resource: "jobs", name: "web-0123456789", refused: notThatOne},
		"jobs/a hook gone":                  {group: batch, resource: "jobs", name: "hook", refused: notThatOne},

		"a Deployment gone":        {group: "apps", resource: "deployments", refused: may("delete", "apps/deployments", "web"), beyond: true},
		"another Deployment":       {group: "apps", resource: "deployments", name: "more", object: strings.ReplaceAll(manifest[strings.LastIndex(manifest, "---\n"):], "web", "more"), refused: may("create", "apps/deployments", "more"), beyond: true},
		"a ConfigMap":              {resource: "configmaps", patch: op("replace", "/data/colour", `"red"`), refused: may("update", "/configmaps", "web"), beyond: true},
		"a Secret":                 {resource: "secrets", patch: op("replace", "/data/colour", `""`), refused: may("update", "/secrets", "web"), beyond: true},
		"a Secret gone":            {resource: "secrets", refused: may("delete", "/secrets", "web"), beyond: true},
		"another ConfigMap":        {resource: "configmaps", name: "more", object: made("v1", "ConfigMap", "more", ""), refused: may("create", "/configmaps", "more")},
		"another Secret":           {resource: "secrets", name: "more", object: made("v1", "Secret", "more", ""), refused: may("create", "/secrets", "more")},
		"another Lease":            {group: coordination, resource: "leases", name: "more", object: made("coordination.k8s.io/v1", "Lease", "more", ""), refused: may("create", "coordination.k8s.io/leases", "more")},
		"a pod":                    {resource: "pods", name: "more", object: made("v1", "Pod", "more", ", spec: {containers: [{name: a, image: a}]}"), refused: may("create", "/pods", "more"), beyond: true},
		"a permission":             {group: "rbac.authorization.k8s.io", resource: "roles", name: "more", object: made("rbac.authorization.k8s.io/v1", "Role", "more", ""), refused: may("create", "rbac.authorization.k8s.io/roles", "more"), beyond: true},
		"an event of the old kind": {resource: "events", name: "e", object: made("v1", "Event", "e", ", involvedObject: {kind: Deployment, namespace: "+namespace+", name: web}"), refused: may("create", "/events", "e"), beyond: true},

		"its own Lease":     {group: coordination, resource: "leases", name: "stakater-reloader-lock", object: made("coordination.k8s.io/v1", "Lease", "stakater-reloader-lock", "")},
		"its own ConfigMap": {resource: "configmaps", name: "reloader-meta-info", object: made("v1", "ConfigMap", "reloader-meta-info", "")},
		"its own Secret":    {resource: "secrets", name: "reroll-digest-key", object: made("v1", "Secret", "reroll-digest-key", "")},
		"an event": {group: "events.k8s.io", resource: "events", name: "e", object: made("events.k8s.io/v1", "Event", "e",
			`, eventTime: "2030-01-01T00:00:00.000000Z", action: A, reason: R, type: Normal, reportingController: reroll, reportingInstance: a, regarding: {kind: Deployment, namespace: `+namespace+`, name: web}`)},
	}
	for _, of := range []schema.GroupResource{
		{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "statefulsets"}, {Group: "apps", Resource: "daemonsets"},
		{Group: argo, Resource: "rollouts"},
	} {
		for about, a := range onWorkloads() {
			a.group, a.resource = of.Group, of.Resource
			tried[of.Resource+"/"+about] = a
		}
	}
	return tried
}

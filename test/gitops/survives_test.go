package gitops

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// outcome is what becomes of a write when the tool that deployed the workload goes on.
type outcome string

// The unchanged manifest is applied first, then one with another label of the workload, then one
// with another image.
const (
	kept      outcome = "kept"
	taken     outcome = "taken away by the next apply"
	withLabel outcome = "taken away with another change of the workload"
	withImage outcome = "taken away with another change of the containers"
	// The tool has said so before it acted.
	noted      outcome = "OutOfSync, and "
	notedTaken         = noted + taken
	// It stays, and the tool can change the object no more.
	refused outcome = "the reason why the next apply is refused"
	// There is no such write.
	none outcome = ""
)

// outcomes are those of one kind of workload: a variable of a container, an annotation of the pod
// template, the ledger, and the time that restarts a Rollout.
type outcomes struct {
	variable, annotation, ledger, restart outcome
}

func (o outcomes) of(w write) outcome {
	return map[string]outcome{"variable": o.variable, "annotation": o.annotation, "ledger": o.ledger, "restart": o.restart}[w.name]
}

// row is one tool, in one way of applying.
type row struct {
	name string
	tool tool
	// template stands in the pod templates that the tool has, and env in their containers in the
	// place of a variable.
	template, env string
	// rollout has variables of its own, and bare has none.
	deployment, rollout, bare outcomes
}

// What stands here was seen; docs/how-to/gitops.md says what follows for users.
func table() []row {
	var (
		// Lists of built-in kinds merge by name, everywhere, unless the whole object is written.
		builtIn = outcomes{kept, kept, kept, none}
		all     = outcomes{kept, kept, kept, kept}
		// Lists of custom kinds are replaced whole by who merges them without the server.
		noVariable = outcomes{taken, kept, kept, kept}
		untilEdit  = outcomes{withImage, kept, kept, kept}
		nothing    = outcomes{taken, taken, taken, taken}
		noBuiltIn  = outcomes{taken, taken, taken, none}
		// Argo CD compares the variables of a container only if Git has some.
		notedVariable = outcomes{notedTaken, kept, kept, kept}
	)
	return []row{
		{name: "Argo CD, client-side", tool: argoCD(), deployment: builtIn, rollout: notedVariable, bare: noVariable},
		{name: "Argo CD, server-side", tool: argoCD("ServerSideApply=true"), deployment: builtIn, rollout: all, bare: all},
		{name: "Argo CD, Replace=true", tool: argoCD("Replace=true"), deployment: noBuiltIn, rollout: outcomes{notedTaken, taken, taken, taken}, bare: nothing},
		{
			name: "Argo CD, annotations null in Git", tool: argoCD(), template: "annotations: null",
			deployment: outcomes{kept, notedTaken, kept, none}, rollout: notedVariable, bare: noVariable,
		},
		{
			name: "Argo CD, env null in Git", tool: argoCD(), env: "env: null",
			deployment: outcomes{notedTaken, kept, kept, none}, rollout: noVariable, bare: noVariable,
		},
		// No Rollouts: with RespectIgnoreDifferences, whatever the rule is about, Argo CD does not
		// change their containers any more.
		{
			// Where Git has no annotation at all in the pod template, the rule is of no use.
			name: "Argo CD, Replace=true, ignoring the annotations", tool: ignoring("Replace=true"),
			deployment: outcomes{taken, taken, kept, none},
		},
		{
			name: "Argo CD, Replace=true, some annotation, ignoring the annotations", tool: ignoring("Replace=true"), template: "annotations: {team: web}",
			deployment: outcomes{taken, kept, kept, none},
		},
		{name: "Flux", tool: flux(), deployment: builtIn, rollout: all, bare: all},
		{name: "Helm 3", tool: helm3(), deployment: builtIn, rollout: untilEdit, bare: untilEdit},
		{name: "Helm 4, client-side", tool: helm4("false"), deployment: builtIn, rollout: untilEdit, bare: untilEdit},
		{name: "Helm 4, server-side", tool: helm4("true"), deployment: builtIn, rollout: all, bare: all},
		{
			// The chart was made of an object of the cluster.
			name: "Helm 4, server-side, our annotation in the chart", tool: helm4("true"), template: "annotations: {reloader.stakater.com/last-reloaded-from: copied}",
			deployment: outcomes{kept, refused, kept, none}, rollout: outcomes{kept, refused, kept, kept}, bare: outcomes{kept, refused, kept, kept},
		},
		{name: "kubectl apply, client-side", tool: kubectl(), deployment: builtIn, rollout: noVariable, bare: noVariable},
		{
			name: "kubectl apply, client-side, annotations null", tool: kubectl(), template: "annotations: null",
			deployment: outcomes{kept, taken, kept, none}, rollout: noVariable, bare: noVariable,
		},
		{
			name: "kubectl apply, client-side, env null", tool: kubectl(), env: "env: null",
			deployment: outcomes{taken, kept, kept, none}, rollout: noVariable, bare: noVariable,
		},
		{name: "kubectl apply, server-side", tool: kubectl("--server-side"), deployment: builtIn, rollout: all, bare: all},
		{name: "an operator that writes whole objects", tool: operator(), deployment: noBuiltIn, rollout: nothing, bare: nothing},
	}
}

// subject is a workload that gets one write.
type subject struct {
	kind, name string
	env        string
	write      write
	want       outcome
}

func (r row) subjects() []subject {
	variables := cmp.Or(r.env, "env: [{name: LEVEL, value: info}]")
	var found []subject
	for _, w := range writes() {
		found = append(found,
			subject{"Deployment", "deployment-" + w.name, variables, w, r.deployment.of(w)},
			subject{"Rollout", "rollout-" + w.name, variables, w, r.rollout.of(w)},
			subject{"Rollout", "bare-" + w.name, "", w, r.bare.of(w)})
	}
	return slices.DeleteFunc(found, func(s subject) bool { return s.want == none })
}

// strays are changed by hand, after the writes. A tool that has seen that has seen the writes,
// since changes of one kind come in their order.
func (r row) strays() []subject {
	strays := []subject{{kind: "Deployment", name: "deployment-stray"}}
	if r.rollout != (outcomes{}) {
		strays = append(strays, subject{kind: "Rollout", name: "rollout-stray"})
	}
	return strays
}

// There are no pods: what becomes of an object does not depend on them.
const subjectManifest = `
apiVersion: API
kind: KIND
metadata: {name: NAME, labels: {app: NAME, stage: LABEL}}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template:
    metadata:
      labels: {app: NAME}
      TEMPLATE
    spec:
      containers:
        - name: web
          image: IMAGE
          ENV
`

func (s subject) manifest(template, label, image string) string {
	api := "apps/v1"
	if s.kind == "Rollout" {
		api = "argoproj.io/v1alpha1"
	}
	return strings.TrimSpace(strings.NewReplacer("API", api, "KIND", s.kind, "NAME", s.name, "LABEL", label, "TEMPLATE", template, "IMAGE", image, "ENV", s.env).
		Replace(subjectManifest))
}

// A write of the controller meets the tool that deployed the workload.
func TestWhatBecomesOfAWrite(t *testing.T) {
	for _, r := range table() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.playOn(t, shared)
		})
	}
}

// playOn plays the writes that the next apply is refused for one by one, and all others together.
func (r row) playOn(t *testing.T, on *site) {
	t.Helper()
	r.play(newPlaceOn(t, on))
	for _, s := range r.subjects() {
		if s.want == refused {
			r.refuse(newPlaceOn(t, on), s)
		}
	}
}

// earlierTable is the same for Rollouts up to version 1.8, whose lists are one value for the API
// server, too.
func earlierTable() []row {
	var (
		builtIn       = outcomes{kept, kept, kept, none}
		noVariable    = outcomes{taken, kept, kept, kept}
		notedVariable = outcomes{notedTaken, kept, kept, kept}
		conflict      = outcomes{refused, kept, kept, kept}
	)
	return []row{
		{name: "Argo CD, client-side", tool: argoCD(), deployment: builtIn, rollout: notedVariable, bare: noVariable},
		{name: "Argo CD, server-side", tool: argoCD("ServerSideApply=true"), deployment: builtIn, rollout: notedVariable, bare: notedVariable},
		{name: "Flux", tool: flux(), deployment: builtIn, rollout: noVariable, bare: noVariable},
		{name: "Helm 4, server-side", tool: helm4("true"), deployment: builtIn, rollout: conflict, bare: conflict},
		{name: "kubectl apply, server-side", tool: kubectl("--server-side"), deployment: builtIn, rollout: conflict, bare: conflict},
	}
}

// What the API server knows of a kind is the same for a whole cluster, so this has one of its own.
func TestWhatBecomesOfAWriteOfAnEarlierRollout(t *testing.T) {
	t.Parallel()
	own := stage.OfTest(t, shared.Binary)
	on := newSite(own, own.Cluster.InstallEarlierRolloutCRDs)
	for _, r := range earlierTable() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.playOn(t, on)
		})
	}
}

// refuse plays it with one workload alone, since nothing that is applied together with it comes
// through.
func (r row) refuse(p *place, s subject) {
	d := r.tool(p)
	manifest := s.manifest(r.template, "one", "web:1") + "\n"
	p.must(d.apply(manifest))
	p.put(s.write, s.kind, s.name)
	if err := d.apply(manifest); err == nil || !strings.Contains(err.Error(), `conflict with "`+workload.FieldManager+`"`) {
		p.Errorf("after the write %q of %s the next apply was expected to be refused for a conflict: %v", s.write.name, s.name, err)
	}
	if r.template != "" {
		// What the manifest does not have any more is nobody else's.
		p.must(d.apply(s.manifest("", "one", "web:1") + "\n"))
	}
	if !p.stands(s) {
		p.Errorf("the write %q of %s is gone", s.write.name, s.name)
	}
}

func (r row) play(p *place) {
	subjects := slices.DeleteFunc(r.subjects(), func(s subject) bool { return s.want == refused })
	manifest := func(label, image string) string {
		var all []string
		for _, s := range append(r.strays(), subjects...) {
			all = append(all, s.manifest(r.template, label, image))
		}
		return strings.Join(all, "\n---\n") + "\n"
	}
	d := r.tool(p)
	p.must(d.apply(manifest("one", "web:1")))
	for _, s := range subjects {
		p.put(s.write, s.kind, s.name)
	}
	var differing []string
	if w, ok := d.(watcher); ok {
		differing = w.differs(p.stray(r.strays())...)
	}
	seen := map[string]outcome{}
	for _, next := range []struct {
		label, image string
		lost         outcome
	}{{"one", "web:1", taken}, {"two", "web:1", withLabel}, {"two", "web:2", withImage}} {
		p.must(d.apply(manifest(next.label, next.image)))
		for _, s := range subjects {
			if seen[s.name] == "" && !p.stands(s) {
				seen[s.name] = next.lost
			}
		}
	}
	for _, s := range subjects {
		object := strings.ToLower(s.kind) + "/" + s.name
		got := cmp.Or(seen[s.name], kept)
		if slices.Contains(differing, object) {
			got = noted + got
		}
		if got != s.want {
			p.Errorf("the write %q of %s is %s; expected was %s", s.write.name, object, got, s.want)
		}
	}
}

// stray changes them, and returns their names.
func (p *place) stray(strays []subject) []string {
	p.Helper()
	var changed []string
	for _, s := range strays {
		object := harness.Ref{Kind: strings.ToLower(s.kind), Name: s.name}
		p.must(p.ns.Label(p.ctx, object, "stage=stray"))
		changed = append(changed, object.String())
	}
	return changed
}

func (p *place) stands(s subject) bool {
	p.Helper()
	obj, err := p.objects.Resource(p.kindOf(s.kind).Resource).Namespace(p.ns.Name).Get(p.ctx, s.name, metav1.GetOptions{})
	p.must(err)
	there, err := s.write.written(obj)
	p.must(err)
	return there
}

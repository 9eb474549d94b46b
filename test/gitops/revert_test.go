package gitops

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/reroll-dev/reroll/test/harness"
)

// full leaves no room for a third pod, so that a rollout of two does not end while it stands.
const full = `
apiVersion: v1
kind: ResourceQuota
metadata: {name: two}
spec:
  hard: {pods: "2"}
  scopes: [NotBestEffort]
`

// counted makes the quota count the pods of a workload.
func counted(manifest string) string {
	return strings.Replace(manifest, "image: web\n", "image: web\n          resources: {requests: {cpu: 10m}}\n", 1)
}

// annotated puts annotations into the pod template of a workload.
func annotated(manifest, annotations string) string {
	const labels = "metadata: {labels: {app: web}"
	return strings.Replace(manifest, labels+"}", labels+", annotations: "+annotations+"}", 1)
}

// disputed is a workload whose marks are taken away.
type disputed struct {
	*place
	source, web harness.Ref
}

func (p *place) disputed(kind string) *disputed {
	return &disputed{p, harness.Ref{Kind: "configmap", Name: "settings"}, harness.Ref{Kind: kind, Name: "web"}}
}

// begin runs the controller beside what was deployed. From then on no rollout ends.
func (d *disputed) begin(flags ...string) *harness.Controller {
	d.Helper()
	d.must(d.ns.AwaitReady(d.ctx, d.web))
	c := d.start(flags...)
	d.must(d.ns.AwaitAdopted(d.ctx, d.web))
	d.must(d.ns.Apply(d.ctx, full))
	return c
}

// ends lets rollouts end, and returns when all pods have the content and the controller has nothing
// left to do.
func (d *disputed) ends() {
	d.Helper()
	d.must(d.Admin.CoreV1().ResourceQuotas(d.ns.Name).Delete(d.ctx, "two", metav1.DeleteOptions{}))
	d.must(d.reported(d.ns.AwaitFresh(d.ctx, d.web, d.source)))
	d.must(d.ns.AwaitReady(d.ctx, d.web))
	d.must(d.ns.Quiet(d.ctx))
}

// writes counts those of the controller.
func (d *disputed) writes() int {
	d.Helper()
	n, err := d.ns.Writes(d.Cluster.AuditLog(), d.web)
	d.must(err)
	return n
}

func (d *disputed) edit(text string) {
	d.Helper()
	d.must(d.ns.Edit(d.ctx, d.source, "greeting="+text))
}

// told returns the text of an event when the workload has one whose text matches.
func (d *disputed) told(reason, pattern string) string {
	d.Helper()
	text := regexp.MustCompile(pattern)
	var found string
	d.must(d.reported(harness.Await(d.ctx, fmt.Sprintf("an event %s that matches %q", reason, pattern), func(ctx context.Context) error {
		events, err := d.ns.Events(ctx, d.web)
		if err != nil {
			return err
		}
		for i := range events {
			if events[i].Reason == reason && text.MatchString(events[i].Note) {
				found = events[i].Note
				return nil
			}
		}
		return fmt.Errorf("it has %s", notes(events))
	})))
	return found
}

// counts checks how often the workload was told about and written to, once all that was seen was
// acted upon.
func (d *disputed) counts(writes int, events map[string]int) {
	d.Helper()
	d.must(d.ns.Quiet(d.ctx))
	all, err := d.ns.Events(d.ctx, d.web)
	d.must(err)
	for reason, want := range events {
		got := 0
		for i := range all {
			if all[i].Reason == reason {
				got += harness.Times(&all[i])
			}
		}
		if got != want {
			d.Errorf("%s has %d events %s, want %d: %s", d.web, got, reason, want, notes(all))
		}
	}
	if got := d.writes(); got != writes {
		d.Errorf("%s was written to %d times, want %d", d.web, got, writes)
	}
	if d.Failed() {
		d.Fatal(d.ns.Report(context.WithoutCancel(d.ctx)))
	}
}

func (d *disputed) reported(err error) error {
	if err != nil {
		return errors.Join(err, errors.New(d.ns.Report(context.WithoutCancel(d.ctx))))
	}
	return nil
}

func notes(events []eventsv1.Event) string {
	var all []string
	for i := range events {
		all = append(all, events[i].Reason+": "+events[i].Note)
	}
	return strings.Join(all, "\n")
}

// A Rollout that is marked by a variable, under self-heal: what users of Reloader lose days to. The
// variable is wiped while all calls succeed and the Application says Synced; the pods are asked,
// and the second mark is one that stays.
func TestAVariableThatSelfHealTakesFromARollout(t *testing.T) {
	d := newPlace(t).disputed("rollout")
	repo := d.newRepository()
	first := repo.commit("web", files{"web.yaml": counted(rolloutOf(canary)), "settings.yaml": greeting("hello")})
	app := d.deploy(repo, automated(true))
	app.awaitSynced(first)
	d.begin("--reload-strategy=env-vars")

	next := repo.commit("another greeting", files{"settings.yaml": greeting("good morning")})
	app.refresh()
	d.told("Reverted", `^Rolled again: Argo CD \(probably\) removed the mark, and 2 of 2 Pods still used the previous [A-Za-z]+ 'settings'\. This time, the mark is an annotation`)
	d.ends()
	app.awaitSynced(next)
	app.refresh()
	d.counts(3, map[string]int{"Reloaded": 2, "Reverted": 1, "NotRolled": 0})

	// What was learned holds for the next commit.
	last := repo.commit("one more greeting", files{"settings.yaml": greeting("good evening")})
	app.refresh()
	d.told("Reloaded", `^Changes detected in 'settings'`)
	d.must(d.reported(d.ns.AwaitFresh(d.ctx, d.web, d.source)))
	d.must(d.ns.AwaitReady(d.ctx, d.web))
	app.awaitSynced(last)
	if differ := app.refresh().OutOfSync(); len(differ) > 0 {
		t.Errorf("Argo CD finds that %q differ from Git", differ)
	}
	d.counts(4, map[string]int{"Reloaded": 3, "Reverted": 1, "NotRolled": 0})
}

// Replace=true takes away whatever a Deployment is marked by. The event has a rule, and with it
// pasted a mark stays.
func TestTheRuleToPasteWorks(t *testing.T) {
	d := newPlace(t).disputed("deployment")
	d.must(d.ns.Apply(d.ctx, greeting("hello")))
	repo := d.newRepository()
	manifest := counted(deploymentOf())
	revision := repo.commit("web", files{"web.yaml": manifest})
	options := []any{"Replace=true"}
	app := d.deploy(repo, byHand(options...))
	app.sync(revision, options...)
	d.begin()

	d.edit("good morning")
	d.told("Reloaded", `^Changes detected in 'settings'`)
	app.sync(revision, options...)
	d.told("Reverted", `^Rolled again: Argo CD \(probably\) removed the mark, and 2 of 2 Pods still used the previous [A-Za-z]+ 'settings'`)
	app.sync(revision, options...)
	text := d.told("NotRolled", `^Not rolled: Argo CD \(probably\) removed every mark; 2 of 2 Pods still use the previous [A-Za-z]+ 'settings'\. `)
	app.sync(revision, options...)
	d.counts(3, map[string]int{"Reloaded": 2, "Reverted": 1, "NotRolled": 1})

	rule := regexp.MustCompile(`ignoreDifferences: (\[\{.*\}\]) and syncOptions: (\[[^]]*\])`).FindStringSubmatch(text)
	if rule == nil {
		t.Fatalf("there is no rule to paste in %q", text)
	}
	var rules, added []any
	d.must(errors.Join(yaml.Unmarshal([]byte(rule[1]), &rules), yaml.Unmarshal([]byte(rule[2]), &added)))
	options = append(options, added...)
	d.must(app.Patch(d.ctx, map[string]any{"spec": map[string]any{"ignoreDifferences": rules, "syncPolicy": map[string]any{"syncOptions": options}}}))
	revision = repo.commit("an annotation of ours", files{"web.yaml": annotated(manifest, "{team: web}")})
	app.sync(revision, options...)
	d.ends()
	d.must(d.ns.Apply(d.ctx, full))
	before := d.writes()

	d.edit("good evening")
	d.must(d.ns.Quiet(d.ctx))
	app.sync(revision, options...)
	d.ends()
	d.counts(before+1, map[string]int{"Reloaded": 3, "Reverted": 1, "NotRolled": 1})
}

// A Rollout has one mark that can stay with Argo CD, and Replace=true takes that, too. One try, and
// what to change; with that changed, the next content reaches the pods.
func TestReplaceOfARollout(t *testing.T) {
	d := newPlace(t).disputed("rollout")
	d.must(d.ns.Apply(d.ctx, greeting("hello")))
	repo := d.newRepository()
	revision := repo.commit("web", files{"web.yaml": counted(rolloutOf(canary))})
	app := d.deploy(repo, byHand("Replace=true"))
	app.sync(revision, "Replace=true")
	d.begin()

	d.edit("good morning")
	d.told("Reloaded", `^Changes detected in 'settings'`)
	app.sync(revision, "Replace=true")
	d.told("NotRolled", `^Not rolled: Argo CD \(probably\) removed every mark; 2 of 2 Pods still use the previous [A-Za-z]+ 'settings'\. Remove Replace=true, or .* from what Argo CD applies`)
	app.sync(revision, "Replace=true")
	// The first ledger, the reload, and the ledger again, which the sync took away with the mark.
	// It is written once in an hour.
	d.counts(3, map[string]int{"Reloaded": 1, "Reverted": 0, "NotRolled": 1})

	d.must(app.Patch(d.ctx, map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"syncOptions": nil}}}))
	d.edit("good evening")
	d.must(d.ns.Quiet(d.ctx))
	app.sync(revision)
	d.ends()
	d.counts(4, map[string]int{"Reloaded": 2, "Reverted": 0, "NotRolled": 1})
}

// Somebody has copied a Rollout from the cluster into Git, with our annotation. That is read
// beforehand and told; there is nothing else to try.
func TestAnAnnotationThatGitOwns(t *testing.T) {
	d := newPlace(t).disputed("rollout")
	d.must(d.ns.Apply(d.ctx, greeting("hello")))
	repo := d.newRepository()
	manifest := counted(rolloutOf(canary))
	revision := repo.commit("web", files{"web.yaml": annotated(manifest, "{reloader.stakater.com/last-reloaded-from: copied}")})
	app := d.deploy(repo, automated(true))
	app.awaitSynced(revision)
	d.begin()

	d.edit("good morning")
	d.told("MarkMayNotStay", `annotation reloader\.stakater\.com/last-reloaded-from is in the manifest that argocd-controller applies`)
	d.told("NotRolled", `^Not rolled: the field manager "argocd-controller" removed every mark; 2 of 2 Pods still use the previous [A-Za-z]+ 'settings'\. Remove .* the annotation of Reroll's mark, from what Argo CD applies`)
	app.refresh()
	d.counts(2, map[string]int{"Reloaded": 1, "Reverted": 0, "NotRolled": 1, "MarkMayNotStay": 1})

	revision = repo.commit("without the copy", files{"web.yaml": manifest})
	app.refresh()
	app.awaitSynced(revision)
	d.ends()
	d.must(d.ns.Apply(d.ctx, full))
	before := d.writes()
	d.edit("good evening")
	d.must(d.ns.Quiet(d.ctx))
	app.refresh()
	d.ends()
	app.awaitSynced(revision)
	d.counts(before+1, map[string]int{"Reloaded": 2, "Reverted": 0, "NotRolled": 1, "MarkMayNotStay": 1})
}

// A manifest with a null is applied after the content has changed, and before that was decided on.
func TestANullThatIsAppliedMeanwhile(t *testing.T) {
	const variables = "          env: [{name: LEVEL, value: info}]\n"
	t.Run("variables", func(t *testing.T) {
		d := newPlace(t).disputed("deployment")
		d.must(d.ns.Apply(d.ctx, greeting("hello")))
		user := kubectl()(d.place)
		d.must(user.apply(strings.Replace(counted(deploymentOf()), variables, "", 1)))
		c := d.begin()
		null := strings.Replace(counted(deploymentOf()), variables, "          env: null\n", 1)
		d.must(c.Freeze())
		d.edit("good morning")
		d.must(user.apply(null))
		d.must(c.Thaw())
		d.told("Reloaded", `^Changes detected in 'settings'`)
		d.must(user.apply(null))
		d.ends()
		template, err := d.ns.Template(d.ctx, d.web)
		d.must(err)
		if template.Annotations["reloader.stakater.com/last-reloaded-from"] == "" || len(template.Spec.Containers[0].Env) > 0 {
			t.Errorf("the mark was expected to be the annotation alone: %v, %v", template.Annotations, template.Spec.Containers[0].Env)
		}
		d.counts(2, map[string]int{"Reloaded": 1, "Reverted": 0, "NotRolled": 0, "MarkMayNotStay": 0})
	})
	t.Run("annotations", func(t *testing.T) {
		d := newPlace(t).disputed("deployment")
		d.must(d.ns.Apply(d.ctx, greeting("hello")))
		user := kubectl()(d.place)
		manifest := counted(deploymentOf())
		d.must(user.apply(manifest))
		c := d.begin("--reload-strategy=annotations")
		null := strings.Replace(manifest, "labels: {app: web}}\n    spec", "labels: {app: web}, annotations: null}\n    spec", 1)
		d.must(c.Freeze())
		d.edit("good morning")
		d.must(user.apply(null))
		d.must(c.Thaw())
		d.told("MarkMayNotStay", `its manifest declares the annotations of the pod template to be null`)
		d.must(user.apply(null))
		d.told("NotRolled", `^Not rolled: somebody removed every mark; 2 of 2 Pods still use the previous [A-Za-z]+ 'settings'\. Configure the client that writes this workload to keep the annotations of its pod template`)
		d.must(user.apply(null))
		d.counts(2, map[string]int{"Reloaded": 1, "Reverted": 0, "NotRolled": 1, "MarkMayNotStay": 1})

		d.must(user.apply(manifest))
		d.edit("good evening")
		d.must(d.ns.Quiet(d.ctx))
		d.must(user.apply(manifest))
		d.ends()
		d.counts(3, map[string]int{"Reloaded": 2, "Reverted": 0, "NotRolled": 1, "MarkMayNotStay": 1})
	})
}

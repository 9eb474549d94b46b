package edges

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/dashboard"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// troubled is a Deployment whose new pod cannot be scheduled, so that its reload comes to no end,
// and one whose reloads do.
const troubled = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {colour: green}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {colour: green}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  progressDeadlineSeconds: 1
  minReadySeconds: 0
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: stuck}}}]}}
      containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: app, image: web, envFrom: [{secretRef: {name: web}}]}]}
`

// served are the metrics of controllers in trouble of all kinds.
type served struct {
	// calm is before anything happened, lacking while a Secret did not exist, troubled when pods
	// did not follow, forbidden when permissions were taken away.
	calm, lacking, troubled, forbidden string
	// barred is one that started without any permission, again and again.
	barred []string
	// forgetful has lost its key, second acts beside the first.
	forgetful, second string
}

// reads returns the metrics once one of them has a value.
func (p *place) reads(c *harness.Controller, name string, labels map[string]string, least float64) string {
	p.Helper()
	p.must(harness.Await(p.ctx, fmt.Sprintf("%s%v to be %v", name, labels, least), func(ctx context.Context) error {
		found, err := c.Metric(ctx, name, labels)
		if err == nil && found.Sum < least {
			return fmt.Errorf("it is %v", found.Sum)
		}
		return err
	}))
	text, err := c.Metrics(p.ctx)
	p.must(err)
	return text
}

func (p *place) getIntoTrouble() served {
	p.Helper()
	stuck, other := harness.Ref{Kind: "deployment", Name: "stuck"}, harness.Ref{Kind: "deployment", Name: "other"}
	source, secret := harness.Ref{Kind: "configmap", Name: "web"}, harness.Ref{Kind: "secret", Name: "web"}
	p.must(p.ns.Apply(p.ctx, troubled))
	var s served
	c := p.start("ALERT_ON_RELOAD=true", "ALERT_WEBHOOK_URL=http://127.0.0.1:1/nobody")
	for _, ref := range []harness.Ref{stuck, other} {
		p.must(p.ns.AwaitReady(p.ctx, ref))
		p.must(p.ns.AwaitAdopted(p.ctx, ref))
	}
	s.calm = p.reads(c, "reloader_acting", nil, 1)
	second := p.start("POD_NAMESPACE=", "--resources-to-ignore=configmaps")
	s.second = p.reads(second, "reloader_acting", nil, 1)
	p.must(second.Stop(p.ctx))

	p.must(p.ns.Delete(p.ctx, secret))
	s.lacking = p.reads(c, "reloader_workloads_missing_source", map[string]string{"source_kind": "Secret"}, 1)
	p.must(p.ns.Apply(p.ctx, strings.Split(troubled, "---")[1]))
	p.must(p.ns.Edit(p.ctx, secret, "colour=blue"))
	p.reads(c, "reloader_rollout_duration_seconds", nil, 1)
	p.must(p.ns.Edit(p.ctx, source, "colour=red"))
	p.reads(c, "reloader_not_rolled_total", map[string]string{"cause": "unschedulable"}, 1)
	p.must(p.ns.Unmark(p.ctx, stuck))
	p.reads(c, "reloader_reverted_total", nil, 1)
	p.must(p.ns.Annotate(p.ctx, other, "reroll.dev/ledger-"))
	p.must(p.ns.AwaitAdopted(p.ctx, other))
	p.must(p.ns.Annotate(p.ctx, other, "reroll.dev/ledger-"))
	p.reads(c, "reloader_ledgers_taken_total", nil, 1)
	p.reads(c, "reloader_alerts_total", map[string]string{"result": "dropped"}, 1)
	p.must(p.ns.Annotate(p.ctx, other, "reroll.dev/churn=1/24h"))
	p.must(p.ns.Edit(p.ctx, secret, "colour=green"))
	s.troubled = p.reads(c, "reloader_workloads_held", map[string]string{"gate": "churn"}, 1)
	p.must(p.ns.Annotate(p.ctx, other, "reroll.dev/churn=off"))
	p.must(p.ns.AwaitFresh(p.ctx, other, secret))

	p.must(p.Admin.RbacV1().RoleBindings(p.ns.Name).DeleteCollection(p.ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=reroll-role-binding"}))
	p.must(p.ns.Edit(p.ctx, secret, "colour=red"))
	p.reads(c, "reloader_reload_executed_total", map[string]string{"success": "false"}, 1)
	s.forbidden = p.reads(c, "reloader_errors_total", map[string]string{"type": "event"}, 1)
	p.must(c.Stop(p.ctx))

	barred, err := p.installed.Launch(nil, nil)
	p.must(err)
	stage.EndWith(p, barred, "the controller without permissions")
	if why, err := barred.WhyNotReady(p.ctx); err != nil || why == "" {
		p.Fatalf("without permissions it is ready: %v", err)
	}
	refused := map[string]string{"method": "GET", "code": "403"}
	for least := 1.0; len(s.barred) < 5; {
		s.barred = append(s.barred, p.reads(barred, "rest_client_requests_total", refused, least))
		now, err := barred.Metric(p.ctx, "rest_client_requests_total", refused)
		p.must(err)
		least = now.Sum + 1 // however many came in a burst, the next is another number
	}
	barred.Kill()

	p.must(p.ns.Delete(p.ctx, harness.Ref{Kind: "secret", Name: "reroll-digest-key"}))
	path, err := harness.ShippedManifest()
	p.must(err)
	m, err := harness.ReadManifest(path)
	p.must(err)
	binary, err := p.Binary()
	p.must(err)
	p.installed, err = p.ns.Install(p.ctx, m, binary)
	p.must(err)
	c = p.start()
	s.forgetful = p.reads(c, "reloader_secrets_undecided_total", nil, 1)
	p.must(c.Stop(p.ctx))
	return s
}

// rule is one of a PrometheusRule.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func (p *place) rules() map[string]rule {
	p.Helper()
	path, err := harness.ShippedManifest()
	p.must(err)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "prometheus-rule.yaml"))
	p.must(err)
	var object struct {
		Spec struct{ Groups []struct{ Rules []rule } }
	}
	p.must(yaml.Unmarshal(text, &object))
	all := map[string]rule{}
	for _, r := range object.Spec.Groups[0].Rules {
		all[r.Alert] = r
	}
	return all
}

// past is what a Prometheus has scraped, by a clock of our own: what is served stays the same for
// some minutes.
type past struct {
	now     int64
	scrapes []dashboard.Scrape
}

const interval = 30

func (h *past) hold(minutes int, texts ...string) *past {
	for range minutes * 60 / interval {
		for i, text := range texts {
			h.scrapes = append(h.scrapes, dashboard.Scrape{At: h.now, Labels: map[string]string{"namespace": "reroll", "pod": fmt.Sprintf("reroll-%d", i), "job": "reroll"}, Text: text})
		}
		h.now += interval
	}
	return h
}

// fires are the alerts whose expression has found something for long enough at one time or another.
func (p *place) fires(ask *promql, h *past) []string {
	p.Helper()
	rules := p.rules()
	q := dashboard.Question{Expressions: map[string]string{}, Scrapes: h.scrapes}
	for at := int64(0); at < h.now; at += interval {
		q.Times = append(q.Times, at)
	}
	for name, r := range rules {
		q.Expressions[name] = r.Expr
	}
	var fired []string
	for name, a := range ask.ask(p, q) {
		var pending time.Duration
		var least time.Duration
		if rules[name].For != "" {
			var err error
			least, err = time.ParseDuration(rules[name].For)
			p.must(err)
		}
		for _, found := range a.Found {
			if len(found) == 0 {
				pending = 0
				continue
			}
			if pending >= least {
				fired = append(fired, name)
				break
			}
			pending += interval * time.Second
		}
	}
	slices.Sort(fired)
	return fired
}

func TestEachAlertRuleFiresWhenItHasToAndAtNoOtherTime(t *testing.T) {
	p := install(t)
	ask := newPromQL(p)
	s := p.getIntoTrouble()

	barred := (&past{}).hold(20, s.calm)
	for _, text := range s.barred {
		barred.hold(9, text)
	}
	// How many alerts were dropped meanwhile is a matter of time.
	dropped := regexp.MustCompile(`(?m)^reloader_alerts_total\{.*result="dropped".*$`)
	forbidden := dropped.ReplaceAllLiteralString(s.forbidden, dropped.FindString(s.troubled))
	held := func(gate string) string {
		const line = `reloader_workloads_held{gate="%s"} %d`
		return strings.Replace(s.calm, fmt.Sprintf(line, gate, 0), fmt.Sprintf(line, gate, 1), 1)
	}
	gone := (&past{}).hold(20, s.calm)
	gone.now += 20 * 60
	seen := map[string]bool{}
	for about, tc := range map[string]struct {
		past *past
		want []string
	}{
		"all is well":                 {(&past{}).hold(90, s.calm), nil},
		"it is there no more":         {gone, []string{"RerollAbsent"}},
		"a Secret was deleted":        {(&past{}).hold(20, s.calm).hold(20, s.lacking), []string{"RerollSourceMissing"}},
		"it is created again":         {(&past{}).hold(20, s.calm).hold(10, s.lacking).hold(20, s.calm), nil},
		"pods do not follow":          {(&past{}).hold(20, s.calm).hold(20, s.troubled), []string{"RerollAlertsDropped", "RerollLedgerTaken", "RerollNotRolled", "RerollReloadsHeld", "RerollReverted"}},
		"permissions were taken away": {(&past{}).hold(20, s.troubled).hold(9, forbidden), []string{"RerollEventsLost", "RerollReloadFails", "RerollReloadsHeld"}},
		"it has no permissions":       {barred, []string{"RerollNobodyActs", "RerollNotReady", "RerollReadsFail"}},
		"too many reloads fail":       {(&past{}).hold(20, strings.Replace(s.calm, "reloader_reloads_halted 0", "reloader_reloads_halted 1", 1)), []string{"RerollReloadsHalted"}},
		"an approval is pending":      {(&past{}).hold(20, s.calm).hold(70, held("approval")), []string{"RerollApprovalPending"}},
		"it was approved":             {(&past{}).hold(20, s.calm).hold(50, held("approval")).hold(20, s.calm), nil},
		"a program allows nothing":    {(&past{}).hold(20, s.calm).hold(70, held("judge")), []string{"RerollGateURLHolds"}},
		"the waves of a source stop":  {(&past{}).hold(20, strings.Replace(s.calm, "reloader_sources_stopped 0", "reloader_sources_stopped 1", 1)), []string{"RerollWavesStopped"}},
		"the key was lost":            {(&past{}).hold(20, s.forgetful), []string{"RerollSecretsUndecided"}},
		"a second one acts":           {(&past{}).hold(20, s.calm, s.second), []string{"RerollSeveralAct"}},
	} {
		t.Run(about, func(t *testing.T) {
			fired := p.fires(ask, tc.past)
			if diff := cmp.Diff(tc.want, fired); diff != "" {
				t.Errorf("alerts (-want +got):\n%s", diff)
			}
			for _, name := range fired {
				seen[name] = true
			}
		})
	}
	for name := range p.rules() {
		if !seen[name] {
			t.Errorf("%s has not been seen to fire", name)
		}
	}
	p.namesWhatIsServed(ask, s)
	p.theDashboardShows(ask, (&past{}).hold(20, s.calm).hold(10, s.troubled).hold(10, s.forbidden), s)
	p.thePageHasEach()
}

func (p *place) thePageHasEach() {
	p.Helper()
	path, err := harness.ShippedManifest()
	p.must(err)
	page, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "docs", "how-to", "monitor.md"))
	p.must(err)
	for name, r := range p.rules() {
		if !strings.Contains(string(page), "\n### "+name+"\n") {
			p.Errorf("docs/how-to/monitor.md does not describe %s", name)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
			p.Errorf("%s: %+v", name, r)
		}
	}
}

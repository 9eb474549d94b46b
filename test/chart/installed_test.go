package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

const (
	example = root + "/examples/argo-rollouts"
	// patience bounds what would hang, and nothing else.
	patience = 5 * time.Minute
)

var (
	web       = harness.Ref{Kind: "rollout", Name: "web"}
	neighbour = harness.Ref{Kind: "deployment", Name: "beside"}
	greeting  = harness.Ref{Kind: "configmap", Name: "greeting"}
)

// A Deployment shows what reloadStrategy does: on a Rollout all of its values write the same.
const besideManifest = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: beside, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: beside}}
  template:
    metadata: {labels: {app: beside}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}
`

// tutorial is examples/argo-rollouts as somebody follows its README.
type tutorial struct {
	*testing.T
	ctx        context.Context
	own, shop  *harness.Namespace // of the controller, of the example
	receiver   *harness.Receiver
	binary     string
	controller *harness.Controller
	quiets     int // since the receiver is there
}

func (u *tutorial) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func follow(t *testing.T) *tutorial {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	folder := t.TempDir()
	s := stage.OfTest(t, func() (string, error) { return harness.ForTests(ctx, folder) })
	u := &tutorial{T: t, ctx: ctx}
	u.must(s.Cluster.StartArgoRollouts(ctx, os.Stderr))
	u.must(s.Harness.AwaitKind(ctx, "rollouts"))
	s.Harness.ArgoRollouts = true
	var err error
	u.binary, err = s.Binary()
	u.must(err)
	u.own, err = s.Harness.NamedNamespace(ctx, "reroll")
	u.must(err)
	u.must(u.own.MarkWithRollouts(ctx))
	// Each marker is an alert too, and the receiver is to get all of them one by one.
	u.must(u.own.Delete(ctx, harness.Ref{Kind: "statefulset", Name: "marker-secret"}))
	u.shop, err = s.Harness.NamedNamespace(ctx, "shop")
	u.must(err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(u.shop.Report(context.Background()))
		}
	})
	return u
}

// address is where the example sends to.
func (u *tutorial) address() (host, path string) {
	u.Helper()
	text, err := os.ReadFile(filepath.Join(example, "values.yaml"))
	u.must(err)
	var values struct {
		Reloader struct {
			Deployment struct {
				Env struct{ Open map[string]string }
			}
		}
	}
	u.must(yaml.Unmarshal(text, &values))
	url := values.Reloader.Deployment.Env.Open["ALERT_WEBHOOK_URL"]
	host, path, found := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	if !found {
		u.Fatalf("the example sends to %q", url)
	}
	return "https://" + host, "/" + path
}

// helm does what helm install and helm upgrade do with these options. Of what is rendered one thing
// is changed: instead of Slack's host it names that of the receiver.
func (u *tutorial) helm(options ...string) {
	u.Helper()
	text, err := helm(u.T, "", append([]string{"template", "reroll", chart, "--skip-tests", "--namespace", u.own.Name, "--values", filepath.Join(example, "values.yaml")}, options...)...)
	u.must(err)
	slack, path := u.address()
	if n := strings.Count(text, slack+path); n != 1 {
		u.Fatalf("the address stands %d times in what is rendered:\n%s", n, text)
	}
	m, err := harness.ParseRendered(strings.Replace(text, slack+path, u.receiver.URL(), 1))
	u.must(err)
	if u.controller != nil {
		u.must(u.controller.Stop(u.ctx)) // the Deployment says Recreate
	}
	installed, err := u.own.Install(u.ctx, m, u.binary)
	u.must(err)
	u.controller, err = installed.Launch(nil, nil)
	u.must(err)
	stage.EndWith(u, u.controller, "the controller")
	u.must(u.controller.AwaitReady(u.ctx))
}

const alertOfTheExample = `{"attachments":[{"author_name":"Reloader","color":"good","text":"staging : Reloader detected changes in *greeting* of type *CONFIGMAP* in namespace *shop*. Hence reloaded *web* of type *Rollout* in namespace *shop*"}]}`

// seen are the numbers of revisions beyond the first, of pods that were made, and of alerts.
type seen struct{ rolled, pods, alerts int }

// expect compares what has come of all edits until now.
func (u *tutorial) expect(want seen) {
	u.Helper()
	u.must(u.own.Quiet(u.ctx))
	u.quiets++
	// Alerts come in the order of the reloads, so those about the markers are the last.
	marker := regexp.MustCompile(`\*marker-configmap\* of type \*StatefulSet\*`)
	u.must(harness.Await(u.ctx, "the alerts about the markers", func(context.Context) error {
		if u.receiver.Count(marker) < 2*u.quiets {
			return fmt.Errorf("the receiver has %q", u.receiver.Bodies())
		}
		return nil
	}))
	u.must(u.receiver.Wrong())
	var got seen
	var err error
	got.rolled, err = u.shop.Rolls(u.ctx, web)
	u.must(err)
	got.pods, err = u.shop.Made(u.ctx, web)
	u.must(err)
	others := regexp.MustCompile(`\*(marker-configmap\* of type \*StatefulSet|beside\* of type \*Deployment)\*`)
	alerts := slices.DeleteFunc(u.receiver.Bodies(), others.MatchString)
	got.alerts = len(alerts)
	if got != want {
		u.Errorf("until now %+v, want %+v", got, want)
	}
	if diff := cmp.Diff(slices.Repeat([]string{alertOfTheExample}, want.alerts), alerts); diff != "" {
		u.Errorf("alerts (-want +got):\n%s", diff)
	}
}

func (u *tutorial) restartAt() string {
	u.Helper()
	obj, err := u.shop.Get(u.ctx, web)
	u.must(err)
	at, _, err := unstructured.NestedString(obj.Object, "spec", "restartAt")
	u.must(err)
	return at
}

// rolled returns when all pods have the last content.
func (u *tutorial) rolled(times int) {
	u.Helper()
	u.must(u.shop.AwaitRolls(u.ctx, web, times))
	u.must(u.shop.AwaitFresh(u.ctx, web, greeting))
}

// marked checks that the mark names the ConfigMap, and returns it.
func (u *tutorial) marked() string {
	u.Helper()
	template, err := u.shop.Template(u.ctx, web)
	u.must(err)
	mark := template.Annotations["reloader.stakater.com/last-reloaded-from"]
	if !strings.HasPrefix(mark, `{"type":"CONFIGMAP","name":"greeting","namespace":"shop","hash":"`) || len(template.Spec.Containers[0].Env) != 1 {
		u.Errorf("the mark is %q, the variables are %v", mark, template.Spec.Containers[0].Env)
	}
	return mark
}

func TestTheExampleForArgoRolloutsDoesWhatItsReadmeSays(t *testing.T) {
	t.Parallel()
	u := follow(t)
	_, path := u.address()
	u.receiver = harness.StartReceiver(path)
	t.Cleanup(u.receiver.Close)
	u.helm()
	manifest, err := os.ReadFile(filepath.Join(example, "rollout.yaml"))
	u.must(err)
	u.must(u.shop.Apply(u.ctx, string(manifest)))
	u.must(u.shop.AwaitReady(u.ctx, web))

	u.must(u.shop.Edit(u.ctx, greeting, "text=good morning"))
	u.rolled(1)
	u.expect(seen{rolled: 1, pods: 4, alerts: 1})
	first := u.marked()
	if at := u.restartAt(); at != "" {
		t.Errorf("restarted at %s", at)
	}

	u.must(u.shop.Annotate(u.ctx, web, "reloader.stakater.com/rollout-strategy=restart"))
	u.must(u.shop.Apply(u.ctx, besideManifest))
	u.must(u.shop.AwaitReady(u.ctx, neighbour))
	u.must(u.shop.AwaitAdopted(u.ctx, neighbour))
	u.must(u.shop.Edit(u.ctx, greeting, "text=good evening"))
	u.rolled(1)
	variable := u.besideMarked("")
	u.expect(seen{rolled: 1, pods: 6, alerts: 2})
	restarted := u.restartAt()
	if _, err := time.Parse(time.RFC3339, restarted); err != nil {
		t.Errorf("restarted at %q: %v", restarted, err)
	}
	if mark := u.marked(); mark != first {
		t.Errorf("a restart has marked: %s", mark)
	}

	u.must(u.shop.Annotate(u.ctx, web, "reloader.stakater.com/rollout-strategy-"))
	u.helm("--set", "reloader.reloadStrategy=annotations")
	u.awaitOption(`"reloadStrategy":"annotations"`)
	u.must(u.shop.Edit(u.ctx, greeting, "text=good night"))
	u.rolled(2)
	u.expect(seen{rolled: 2, pods: 8, alerts: 3})
	if mark := u.marked(); mark == first {
		t.Errorf("the mark is that from before: %s", mark)
	}
	if now := u.besideMarked(`{"type":"CONFIGMAP","name":"greeting","namespace":"shop","hash":"`); now != variable {
		t.Errorf("the variable is %q, and was %q", now, variable)
	}
	if at := u.restartAt(); at != restarted {
		t.Errorf("restarted at %s, and before at %s", at, restarted)
	}
}

// besideMarked checks that the annotation on the Deployment begins like that, when all of its pods
// have the last content, and returns its variable.
func (u *tutorial) besideMarked(annotation string) string {
	u.Helper()
	u.must(u.shop.AwaitFresh(u.ctx, neighbour, greeting))
	template, err := u.shop.Template(u.ctx, neighbour)
	u.must(err)
	mark := template.Annotations["reloader.stakater.com/last-reloaded-from"]
	env := template.Spec.Containers[0].Env
	if !strings.HasPrefix(mark, annotation) || annotation == "" && mark != "" || len(env) != 1 || env[0].Name != "STAKATER_GREETING_CONFIGMAP" {
		u.Fatalf("the mark is %q, wanted was %q; the variables are %v", mark, annotation, env)
	}
	return env[0].Value
}

// awaitOption returns when the controller has written down that it runs with this.
func (u *tutorial) awaitOption(want string) {
	u.Helper()
	u.must(harness.Await(u.ctx, "the option "+want, func(ctx context.Context) error {
		info, err := u.own.Get(ctx, harness.Ref{Kind: "configmap", Name: "reloader-meta-info"})
		if err != nil {
			return err
		}
		if options, _, _ := unstructured.NestedString(info.Object, "data", "reloaderOptions"); !strings.Contains(options, want) {
			return errors.New("the options are " + options)
		}
		return nil
	}))
}

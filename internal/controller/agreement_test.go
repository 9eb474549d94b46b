//go:build !race

package controller_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/stamp"
	"github.com/reroll-dev/reroll/internal/workload"
)

var (
	made      = time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	installed = made.Add(time.Hour)
	edited    = made.Add(24 * time.Hour)
)

// Each rule is followed by the controller, by why, status, plan and lint, and by stamp as far as
// manifests show what it is about.
func TestTheControllerAndItsExplanationsAgree(t *testing.T) {
	for about, tc := range table() {
		t.Run(about, func(t *testing.T) { tc.play(t) })
	}
}

func (tc *agreed) config(t *testing.T) (*config.Config, *pflag.FlagSet) {
	t.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	if err := flags.Parse(strings.Fields(tc.flags)); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return &cfg, flags
}

func decoded(t *testing.T, text string) []runtime.Object {
	t.Helper()
	all, err := inspect.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var objects []runtime.Object
	for _, m := range all {
		objects = append(objects, m.Object)
	}
	return objects
}

func (tc *agreed) play(t *testing.T) {
	cfg, _ := tc.config(t)
	tc.with(t, cfg.Kinds)
}

// commandsRead returns objects as the commands read them, with the settings of the controller.
func commandsRead(t *testing.T, cfg *config.Config, flags *pflag.FlagSet, settings rules.Settings, all []runtime.Object) *inspect.Objects {
	t.Helper()
	s, err := inspect.Assume(cfg, flags, edited, "")
	if err != nil {
		t.Fatal(err)
	}
	s.Rules, s.Controller, s.NoKey, s.Installed = settings, "reroll", "", installed
	objects := inspect.NewObjects(s)
	for _, obj := range all {
		objects.Put(obj)
	}
	return objects
}

// answers are, by command, what is wrong with its answer; empty for a correct one.
type answers map[string]string

// with runs the case with these kinds only. Each command has a subtest, so that a failure shows
// which one does not follow a rule.
func (tc *agreed) with(t *testing.T, all kinds.Set) {
	t.Helper()
	cfg, flags := tc.config(t)
	settings := cfg.Rules()
	settings.Kinds = all
	played := controller.Play(t, settings, decoded(t, tc.manifests("one")), decoded(t, tc.manifests("two"))[0], installed, edited)
	name := cmp.Or(tc.about, "deployment/web")
	objects := commandsRead(t, cfg, flags, settings, played.Objects)
	got := answers{}
	key, err := objects.Workload("shop", name)
	if err == nil {
		got = tc.explained(t, objects, key, name, played.Now)
	} else if tc.rolls {
		got["why"] = err.Error()
	}
	got["controller"] = tc.played(key, played.Deeds)
	if !tc.clusterOnly {
		got["stamp"] = ""
		if changes := tc.stamped(t, settings, "one") != tc.stamped(t, settings, "two"); changes != tc.rolls {
			got["stamp"] = fmt.Sprintf("another value changes the template: %t", changes)
		}
	}
	for asked, wrong := range got {
		t.Run(asked, func(t *testing.T) {
			if wrong != "" {
				t.Errorf("want rolled: %t\n%s", tc.rolls, wrong)
			}
		})
	}
}

// next is what why has to say of a reload that waits for a gate.
func (tc *agreed) next() string {
	switch tc.held {
	case gate.Approval:
		return "nothing, until a user approves the data"
	case gate.Freeze, gate.Window:
		return "Reroll rolls it with the newest data at"
	default:
		return ""
	}
}

func (tc *agreed) quiet() time.Duration { return max(tc.wait, time.Second) }

// played is for the controller.
func (tc *agreed) played(key workload.Key, deeds []controller.Deed) string {
	i := slices.IndexFunc(deeds, func(d controller.Deed) bool { return d.Workload == key })
	if (i >= 0) != (tc.rolls && tc.held == "") || i >= 0 && deeds[i].After != tc.quiet() {
		return fmt.Sprintf("%v", deeds)
	}
	return ""
}

// explained is for the commands.
func (tc *agreed) explained(t *testing.T, objects *inspect.Objects, key workload.Key, name string, now time.Time) answers {
	t.Helper()
	got := answers{"why": "", "status": "", "plan": "", "lint": ""}
	x, err := objects.Explain("shop", name, "configmap/cfg", oldPod, now)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(x.Text(inspect.Paint{})), " ")
	rolls := strings.HasPrefix(text, "A change of ConfigMap cfg rolls "+key.String())
	if tc.spared {
		rolls = !strings.Contains(text, "keys that count: ") || !strings.Contains(text, "Ignored: written ")
	}
	if next := cmp.Or(tc.next(), "rolls it "+tc.quiet().String()+" after"); rolls != tc.rolls || tc.rolls && !strings.Contains(text, next) {
		got["why"] = text
	}
	status, err := objects.Status("shop", name, oldPod, now)
	if err != nil {
		t.Fatal(err)
	}
	a := status.Answers[0]
	rolls = a.LeftOut == "" && a.State == inspect.Waiting && a.Decision.Action == reload.Reload
	if settles := strings.HasPrefix(a.Detail, "to settle ("+tc.quiet().String()+")"); rolls != tc.rolls || tc.rolls && settles != (tc.held == "") || tc.rolls && a.Gate.By != tc.held {
		got["status"] = fmt.Sprintf("%s, %s (%s)", a.State, a.Detail, a.LeftOut)
	}
	plan, err := objects.Plan("shop", "configmap/cfg", oldPod, now)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(plan.Rolled, func(p inspect.Planned) bool {
		spares := tc.spared && strings.HasPrefix(p.Keys, "keys that count: ")
		return p.Key == key && (tc.held == "" || p.Gate.By == tc.held) && !spares
	}) != tc.rolls {
		got["plan"] = plan.Text(inspect.Paint{})
	}
	found := objects.Lint(false, now)
	if slices.ContainsFunc(found, func(f inspect.Finding) bool { return strings.Contains(f.Text, "nothing rolls it") }) != tc.idle {
		got["lint"] = fmt.Sprintf("%v", found)
	}
	return got
}

// oldPod is from before the edit.
func oldPod(string) ([]inspect.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.NewTime(made)}}
	return []inspect.Pod{{StartedPod: reload.ReadStart(pod), Labels: labels.Set{"app": "web"}}}, nil
}

// stamped are the manifests of the workloads with their stamps.
func (tc *agreed) stamped(t *testing.T, settings rules.Settings, value string) string {
	t.Helper()
	stream := stamp.New(stamp.Options{Settings: settings, Annotation: stamp.Usual, Jobs: true, Missing: stamp.MissingIgnore})
	if err := stream.Read("all.yaml", strings.NewReader(tc.manifests(value))); err != nil {
		t.Fatal(err)
	}
	result, err := stream.Stamp()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := result.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	_, workloads, _ := strings.Cut(out.String(), "kind: Namespace")
	return workloads
}

// If the ConfigMap is deleted instead, the controller and status agree about which workloads
// require it.
func TestTheControllerAndStatusAgreeAboutMissingSources(t *testing.T) {
	for about, tc := range table() {
		t.Run(about, func(t *testing.T) { tc.playDeletion(t) })
	}
}

func (tc *agreed) playDeletion(t *testing.T) {
	cfg, flags := tc.config(t)
	settings := cfg.Rules()
	settings.Kinds = cfg.Kinds
	gone := decoded(t, tc.manifests("one"))[0]
	gone.(metav1.Object).SetDeletionTimestamp(&metav1.Time{Time: edited})
	played := controller.Play(t, settings, decoded(t, tc.manifests("one")), gone, installed, edited)
	objects := commandsRead(t, cfg, flags, settings, played.Objects)
	status, err := objects.Status("shop", "", oldPod, played.Now)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for i := range status.Answers {
		if status.Answers[i].State == inspect.Missing {
			shown++
		}
	}
	want := map[bool]int{true: 1}[tc.rolls || tc.lacks]
	if played.Lacking != want || shown != want {
		t.Errorf("the controller counts %d and status shows %d, want %d\n%s", played.Lacking, shown, want, status.Text(inspect.Paint{}, inspect.Layout{}))
	}
}

// A kind that is taken out of the one list is known to nobody, and each that is in it is known to
// all.
func TestEachKindIsKnownToAll(t *testing.T) {
	for _, kind := range kinds.All() {
		object := kind.Object()
		tc := agreed{about: strings.ToLower(object.GroupKind().String()) + "/web", rolls: true}
		tc.objects = strings.Replace(of(object.GroupVersion().String(), object.Kind, "web", auto), "  template: ", "  "+strings.Join(kind.Template[1:], ": {")+": ", 1)
		tc.objects = strings.Replace(tc.objects, "]}}\n", "]}}"+strings.Repeat("}", len(kind.Template)-2)+"\n", 1)
		t.Run(kind.Name, tc.play)
		t.Run(kind.Name+" is taken out", func(t *testing.T) {
			without := tc
			without.rolls = false
			without.with(t, slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool { return k.Name == kind.Name }))
		})
	}
}

package kinds

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// load is a Job as the API server has it, with what that has added.
func load() *batchv1.Job {
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: strings.Repeat("l", 63), UID: "u-1", ResourceVersion: "7", Generation: 1,
		Labels: map[string]string{
			"team": "numbers", "app.kubernetes.io/instance": "shop", "kueue.x-k8s.io/queue-name": "all",
			"controller-uid": "u-1", "job-name": "load", batchv1.ControllerUidLabel: "u-1", batchv1.JobNameLabel: "load",
		},
		Annotations: map[string]string{
			"note": "kept", "argocd.argoproj.io/tracking-id": "shop", "meta.helm.sh/release-name": "shop", "reloader.stakater.com/auto": "true",
			"kubectl.kubernetes.io/last-applied-configuration": "{}", annotations.Ledger: "old",
		},
		Finalizers: []string{"example.com/billing", metav1.FinalizerDeleteDependents},
	}}
	o.Spec.Template = template()
	o.Spec.Template.Labels = map[string]string{"app": "load", "controller-uid": "u-1", "job-name": "load", batchv1.ControllerUidLabel: "u-1", batchv1.JobNameLabel: "load"}
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: "u-1"}}
	return o
}

// copied is the copy of a Job as the API server has it.
func copied(t *testing.T, o *batchv1.Job) (*batchv1.Job, *Copy) {
	t.Helper()
	w, err := job().Read(o, annotations.DefaultNames())
	if err != nil {
		t.Fatal(err)
	}
	d := &reload.Decision{
		Ledger:  ledger.Ledger{UID: o.UID, Counter: 4},
		Changes: []reload.Concern{{Source: source.Source{Key: source.Key{Kind: source.Secret, Namespace: "shop", Name: "db"}}}},
	}
	m := &workload.Marking{Env: []workload.EnvMark{{Container: "app", Variable: "A", Value: "1"}}}
	before := o.DeepCopy()
	made, err := CopyJob(o, &w, d, m, annotations.DefaultNames(), testKey())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(before.Labels, o.Labels) || len(o.Spec.Template.Spec.Containers[0].Env) != 0 || len(o.Spec.Template.Labels) != len(before.Spec.Template.Labels) {
		t.Error("the Job itself was written to")
	}
	made.UID = "c-1"
	made.Spec.Template.Labels = maps.Clone(made.Spec.Template.Labels)
	if made.Spec.Template.Labels == nil {
		made.Spec.Template.Labels = map[string]string{}
	}
	made.Spec.Template.Labels["controller-uid"], made.Spec.Template.Labels[batchv1.JobNameLabel] = "c-1", made.Name
	made.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"controller-uid": "c-1"}}
	of, err := ReadCopy(made)
	if err != nil || of.Of != w.Key || !IsCopy(made) || !of.SignedBy(testKey()) {
		t.Fatalf("read as %+v, %v", of, err)
	}
	return made, of
}

func TestTheCopyOfAJob(t *testing.T) {
	made, of := copied(t, load())
	if !suspends(made) || made.ResourceVersion != "" || len(made.OwnerReferences)+len(made.Finalizers) != 0 || len(made.Name) > 63 {
		t.Errorf("made as %+v", made.ObjectMeta)
	}
	if !maps.Equal(made.Labels, map[string]string{"team": "numbers"}) {
		t.Errorf("labels %v", made.Labels)
	}
	if keys := slices.Sorted(maps.Keys(made.Annotations)); !slices.Equal(keys, []string{"note", copyAnnotation, signedAnnotation}) {
		t.Errorf("annotations %v", keys)
	}
	if changes := of.Changes(); len(changes) != 1 || changes[0].Source.Key.String() != "Secret shop/db" {
		t.Errorf("for %v", changes)
	}
	if IsCopy(load()) {
		t.Error("a Job of the user's is taken for a copy")
	}
}

func TestWhatTakesThePlaceOfAJobIsNotApproved(t *testing.T) {
	o := load()
	o.Annotations[annotations.Approved] = "0123"
	made, of := copied(t, o)
	for about, values := range map[string]map[string]string{"the copy": made.Annotations, "the new Job": of.Replacement(testKey()).Annotations} {
		if _, kept := values[annotations.Approved]; kept {
			t.Errorf("%s has %v", about, values)
		}
	}
}

func TestWhatTakesThePlaceOfAJob(t *testing.T) {
	_, of := copied(t, load())
	next := of.Replacement(testKey())
	if next.Name != load().Name || next.UID != "" || next.ResourceVersion != "" || next.Spec.Selector != nil || next.Spec.ManualSelector != nil || !suspends(next) {
		t.Errorf("made as %+v", next)
	}
	if !maps.Equal(next.Spec.Template.Labels, map[string]string{"app": "load"}) || next.Spec.Template.Spec.Containers[0].Env[0].Value != "1" {
		t.Errorf("its pods are %+v", next.Spec.Template)
	}
	if next.Labels["team"] != "numbers" || next.Labels["app.kubernetes.io/instance"] != "shop" || next.Labels["job-name"] != "" || next.Labels[batchv1.ControllerUidLabel] != "" {
		t.Errorf("labels %v", next.Labels)
	}
	if next.Annotations["argocd.argoproj.io/tracking-id"] != "shop" || next.Annotations[annotations.Ledger] != of.Ledger || next.Annotations[copyAnnotation] != "" {
		t.Errorf("annotations %v", next.Annotations)
	}
	if !slices.Equal(next.Finalizers, []string{"example.com/billing"}) {
		t.Errorf("finalizers %v", next.Finalizers)
	}
	if patch, err := UnsuspendPatch(next); err != nil || strings.Contains(string(patch.Body), `"suspend":`) {
		t.Errorf("one that is in a queue is let go by %s, %v", patch.Body, err)
	}
	delete(next.Labels, queueLabel)
	if patch, err := UnsuspendPatch(next); err != nil || !strings.Contains(string(patch.Body), `"suspend":false`) {
		t.Errorf("let go by %s, %v", patch.Body, err)
	}

	o, yes := load(), true
	delete(o.Labels, queueLabel)
	o.Spec.ManualSelector, o.Spec.Suspend = &yes, &yes
	o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"job-name": "mine"}}
	o.Spec.Template.Labels = map[string]string{"job-name": "mine"}
	made, of := copied(t, o)
	if made.Spec.ManualSelector != nil || made.Spec.Template.Labels["job-name"] == "mine" {
		t.Error("the copy finds pods that are not its own")
	}
	next = of.Replacement(testKey())
	if next.Spec.ManualSelector == nil || next.Spec.Selector.MatchLabels["job-name"] != "mine" || !maps.Equal(next.Spec.Template.Labels, o.Spec.Template.Labels) || next.Labels["job-name"] != "load" {
		t.Errorf("the selector of the user's came out as %+v, %v", next.Spec, next.Labels)
	}
	if patch, err := UnsuspendPatch(next); err != nil || strings.Contains(string(patch.Body), "suspend\":") {
		t.Errorf("one that its user had suspended is let go by %s, %v", patch.Body, err)
	}
}

// What a copy, a run and a held Job have in their annotations and labels, anybody may have written.
func TestInvalidAnnotationsOfJobsAreErrors(t *testing.T) {
	ledger := ledger.Ledger{UID: "u-1", Counter: 4}.String()
	for text, want := range map[string]string{
		"":                           "unexpected end of JSON input",
		"{":                          "unexpected end of JSON input",
		`[]`:                         "cannot unmarshal array",
		`null`:                       "names no other Job",
		`{"name":"other"}`:           "names no other Job",
		`{"name":"copy","uid":"u"}`:  "names no other Job",
		`{"name":7,"uid":"u"}`:       "cannot unmarshal number",
		`{"name":"other","uid":"u"}`: "ledger must be a JSON object",
		`{"name":"other","uid":"u","ledger":"{\"v\":99}"}`:                                                          "newer",
		`{"name":"other","uid":"u","ledger":` + strconv.Quote(ledger) + `,"changed":7}`:                             "cannot unmarshal number",
		`{"name":"other","uid":"u","ledger":` + strconv.Quote(ledger) + `,"changed":[{"type":"X"},{}],"labels":{}}`: "",
	} {
		o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "copy", UID: "c", Annotations: map[string]string{copyAnnotation: text}}}
		of, err := ReadCopy(o)
		if !IsCopy(o) || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read as %+v, %v", text, of, err)
		}
		if err == nil && (len(of.Changes()) != 0 || of.Replacement(testKey()).Name != "other" || Next(of, nil, testKey()) != DropCopy) {
			t.Errorf("%s: for %v", text, of.Changes())
		}
	}

	yes := true
	owner := []metav1.OwnerReference{{Kind: "CronJob", Name: "report", UID: "u-9", Controller: &yes}}
	for about, tc := range map[string]struct {
		label     string
		owners    []metav1.OwnerReference
		run, held bool
	}{
		"a run":                              {"4", owner, true, false},
		"a counter that is none":             {"four", owner, false, true},
		"a counter that is too large":        {strings.Repeat("9", 30), owner, false, true},
		"a counter below all":                {"-1", owner, false, true},
		"a counter of none":                  {"0", owner, false, true},
		"a counter beyond all":               {"1099511627777", owner, false, true},
		"no label":                           {"", owner, false, true},
		"no owner":                           {"4", nil, false, true},
		"an owner that does not control it":  {"4", []metav1.OwnerReference{{Kind: "CronJob", Name: "report", UID: "u-9"}}, false, true},
		"an owner of which nothing is known": {"4", []metav1.OwnerReference{{Controller: &yes}}, true, false},
	} {
		for _, ledger := range []string{"", "{", ledger} {
			o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "j", OwnerReferences: tc.owners, Annotations: map[string]string{heldAnnotation: "no", annotations.Ledger: ledger}}}
			if tc.label != "" {
				o.Labels = map[string]string{workload.RunLabel: tc.label}
			}
			if _, run := ReadRun(o); run != tc.run || IsHeld(o) != tc.held {
				t.Errorf("%s, ledger %q: a run %v, held %v", about, ledger, run, IsHeld(o))
			}
			if step := Next(nil, o, testKey()); step != Finished {
				t.Errorf("%s, ledger %q: step %d", about, ledger, step)
			}
			if _, err := Note(o, testKey()); (err == nil) != (ledger != "" && ledger != "{") {
				t.Errorf("%s, ledger %q: noted with %v", about, ledger, err)
			}
			if _, err := UnsuspendPatch(o); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestJobsThatAreNeverReloaded(t *testing.T) {
	for about, tc := range map[string]struct {
		change              func(*batchv1.Job)
		optedIn, optedAsAll bool
	}{
		"opted in by itself": {func(*batchv1.Job) {}, true, true},
		"with all":           {func(o *batchv1.Job) { o.Annotations = nil }, false, true},
		"ended, by itself": {func(o *batchv1.Job) {
			o.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}, true, true},
		"ended, with all": {func(o *batchv1.Job) {
			o.Annotations, o.Status.Conditions = nil, []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}, false, false},
		"a hook of Helm":        {func(o *batchv1.Job) { o.Annotations["helm.sh/hook"] = "post-install" }, false, false},
		"a hook of Argo CD":     {func(o *batchv1.Job) { o.Annotations["argocd.argoproj.io/hook"] = "PreSync" }, false, false},
		"one that has an owner": {func(o *batchv1.Job) { o.OwnerReferences = []metav1.OwnerReference{{Kind: "Workflow", Name: "w"}} }, false, false},
	} {
		o := load()
		tc.change(o)
		w, err := job().Read(o, annotations.DefaultNames())
		if err != nil {
			t.Fatal(err)
		}
		if w.Policy.OptedIn(false) != tc.optedIn || w.Policy.OptedIn(true) != tc.optedAsAll {
			t.Errorf("%s: opted in %v, where all are %v", about, w.Policy.OptedIn(false), w.Policy.OptedIn(true))
		}
	}
}

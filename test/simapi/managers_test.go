package simapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// managerStep is one write to a source by somebody who owns fields of it.
type managerStep struct {
	manager string
	// how is apply, force, forget or edit.
	how string
	// edit changes the object that is there, and config is what is applied.
	edit   func(*corev1.ConfigMap)
	config *corev1.ConfigMap
}

type managerCase struct {
	steps []managerStep
	want  []string
}

func edits(manager string, edit func(*corev1.ConfigMap)) managerStep {
	return managerStep{manager: manager, how: "edit", edit: edit}
}

func applies(manager, how string, data, labels map[string]string) managerStep {
	return managerStep{manager: manager, how: how, config: &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a", Labels: labels}, Data: data,
	}}
}

type pairs = map[string]string

// managerCases are about who owns which fields, and since when. Each line is an answer, with the
// age of each entry: how many writes ago its time was set.
func managerCases() map[string]managerCase {
	label := func(value string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) { cm.Labels = pairs{"x": value} }
	}
	write := func(key, value string) func(*corev1.ConfigMap) {
		return func(cm *corev1.ConfigMap) { cm.Data[key] = value }
	}
	return map[string]managerCase{
		"an owner of data that writes a label has one time for both": {[]managerStep{edits("helm", label("1")), edits("helm", label("2"))}, []string{
			"Update helm 0: data/. data/a labels/. labels/x",
			"Update helm 0: data/. data/a labels/. labels/x",
		}},
		"an owner of data alone keeps its time when another one writes a label": {[]managerStep{edits("kubectl-label", label("1"))}, []string{
			"Update helm 1: data/. data/a; Update kubectl-label 0: labels/. labels/x",
		}},
		"a write that changes nothing moves no time": {[]managerStep{edits("helm", write("a", "1"))}, []string{
			"Update helm 1: data/. data/a",
		}},
		"what is applied belongs to who applies it, beside who wrote the same": {[]managerStep{
			applies("flux", "apply", pairs{"a": "1", "b": "1"}, nil), applies("flux", "apply", pairs{"a": "1", "b": "1"}, nil),
		}, []string{
			"Apply flux 0: data/a data/b; Update helm 1: data/. data/a",
			"Apply flux 1: data/a data/b; Update helm 2: data/. data/a",
		}},
		"who applies what is there already has no time": {[]managerStep{applies("flux", "apply", pairs{"a": "1"}, nil)}, []string{
			"Apply flux none: data/a; Update helm 1: data/. data/a",
		}},
		"who applies a label beside the same data gets a time for both": {[]managerStep{
			applies("flux", "force", pairs{"a": "2"}, nil), applies("flux", "apply", pairs{"a": "2"}, pairs{"x": "1"}),
		}, []string{
			"Apply flux 0: data/a; Update helm 1: data/.",
			"Apply flux 0: data/a labels/x; Update helm 2: data/.",
		}},
		"another value is a conflict, unless by force": {[]managerStep{
			applies("flux", "apply", pairs{"a": "2"}, nil), applies("flux", "force", pairs{"a": "2"}, nil),
		}, []string{
			"409 conflict",
			"Apply flux 0: data/a; Update helm 2: data/.",
		}},
		"what is not applied any more goes, unless another one owns it": {[]managerStep{
			applies("flux", "apply", pairs{"a": "1", "b": "1"}, nil), applies("flux", "apply", pairs{"c": "1"}, nil),
		}, []string{
			"Apply flux 0: data/a data/b; Update helm 1: data/. data/a",
			"Apply flux 0: data/c; Update helm 2: data/. data/a",
		}},
		"an update takes a field from who has applied it": {[]managerStep{
			applies("flux", "force", pairs{"a": "2"}, nil), edits("kubectl-edit", write("a", "3")),
		}, []string{
			"Apply flux 0: data/a; Update helm 1: data/.",
			"Update helm 2: data/.; Update kubectl-edit 0: data/a",
		}},
		"who has applied and updates is two owners": {[]managerStep{
			applies("flux", "force", pairs{"a": "2"}, nil), edits("flux", write("b", "1")),
		}, []string{
			"Apply flux 0: data/a; Update helm 1: data/.",
			"Apply flux 1: data/a; Update flux 0: data/b; Update helm 2: data/.",
		}},
		"once managers are forgotten, updates are not tracked until somebody applies": {[]managerStep{
			{manager: "kubectl", how: "forget"}, edits("helm", write("a", "2")),
			applies("flux", "force", pairs{"a": "3"}, nil), edits("helm", write("b", "1")),
		}, []string{
			"", "", "Apply flux 0: data/a; Update before-first-apply 0: data/.",
			"Apply flux 1: data/a; Update before-first-apply 1: data/.; Update helm 0: data/b",
		}},
	}
}

// managers does one write after the other, more than a second apart.
func managers(ctx context.Context, s server, o *outcome, steps []managerStep) error {
	obj, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	// times are the seconds in which each write was made, by the server's clock.
	times := []time.Time{obj.GetCreationTimestamp().Time}
	for _, step := range steps {
		s.wait(1100 * time.Millisecond)
		var next simapi.Object
		switch step.how {
		case "edit":
			edited := obj.DeepCopyObject().(*corev1.ConfigMap)
			edited.ResourceVersion = ""
			step.edit(edited)
			next, err = s.update(ctx, edited, step.manager)
		case "forget":
			next, err = s.forgetManagers(ctx, "configmaps", "a", step.manager)
		default:
			next, err = s.apply(ctx, step.config, step.manager, step.how == "force")
		}
		// A write of a pacemaker tells the time of the server: one that is refused, or changes
		// nothing, shows none.
		pace, paceErr := s.create(ctx, configMap(fmt.Sprintf("pace-%d", len(times)), "1"), "helm")
		if paceErr != nil {
			return paceErr
		}
		times = append(times, pace.GetCreationTimestamp().Time)
		if err != nil {
			o.say("%s", refused(err))
			continue
		}
		obj = next
		o.say("%s", entriesOf(obj, times))
	}
	return nil
}

// namespaceManagers labels a namespace that was created without any label.
func namespaceManagers(ctx context.Context, s server, o *outcome) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "labeled"}}
	obj, err := s.create(ctx, ns, "helm")
	if err != nil {
		return err
	}
	s.wait(1100 * time.Millisecond)
	edited := obj.DeepCopyObject().(*corev1.Namespace)
	metav1.SetMetaDataLabel(&edited.ObjectMeta, "x", "1")
	labeled, err := s.update(ctx, edited, "kubectl-label")
	if err != nil {
		return err
	}
	for _, m := range labeled.GetManagedFields() {
		if m.Subresource == "" { // the finalizer of a cluster and its status have managers of their own
			o.say("%s, later: %t: %s", m.Manager, m.Time.After(obj.GetCreationTimestamp().Time), strings.Join(fieldsOf(m), " "))
		}
	}
	return nil
}

func entriesOf(obj simapi.Object, times []time.Time) string {
	var entries []string
	for _, m := range obj.GetManagedFields() {
		entries = append(entries, fmt.Sprintf("%s %s %s: %s", m.Operation, m.Manager, age(m.Time, times), strings.Join(fieldsOf(m), " ")))
	}
	slices.Sort(entries)
	return strings.Join(entries, "; ")
}

// age is how many writes ago a time was set. The pacemaker may be made in the second after its
// write.
func age(at *metav1.Time, times []time.Time) string {
	if at == nil {
		return "none"
	}
	i := slices.IndexFunc(times, func(t time.Time) bool { return !at.After(t) })
	return fmt.Sprint(len(times) - 1 - i)
}

func fieldsOf(m metav1.ManagedFieldsEntry) []string {
	var tree map[string]map[string]any
	if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &tree); err != nil {
		return []string{err.Error()}
	}
	var fields []string
	add := func(within string, keys map[string]any) {
		if len(keys) == 0 {
			keys = map[string]any{".": nil} // the map and nothing in it
		}
		for key := range keys {
			fields = append(fields, strings.TrimPrefix(within, "f:")+"/"+strings.TrimPrefix(key, "f:"))
		}
	}
	for within, keys := range tree {
		if within == "f:metadata" {
			for below, leaves := range keys {
				leaves, _ := leaves.(map[string]any)
				add(below, leaves)
			}
			continue
		}
		add(within, keys)
	}
	slices.Sort(fields)
	return fields
}

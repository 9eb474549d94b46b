package gitops

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/harness"
)

// write is one of the writes by which the controller rolls a workload, or notes what it runs with.
type write struct {
	name string
	// marking is nil where the ledger is all that is written.
	marking *workload.Marking
	// at is where it can be seen: the value of an annotation, the time, or the list of variables.
	at []string
}

const (
	someHash      = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
	someLedger    = `{"v":1}`
	someVariable  = "STAKATER_SETTINGS_CONFIGMAP"
	someRestartAt = "2030-01-01T00:00:00Z"
)

func writes() []write {
	names := annotations.DefaultNames()
	from := workload.ReloadedFrom{Source: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "settings"}, Hash: someHash}
	return []write{
		{"variable", &workload.Marking{Env: []workload.EnvMark{{Container: "web", Variable: someVariable, Value: someHash}}},
			[]string{"spec", "template", "spec", "containers"}},
		{"annotation", &workload.Marking{ReloadedFrom: from.JSON()},
			[]string{"spec", "template", "metadata", "annotations", names.LastReloadedFrom}},
		{"ledger", nil,
			[]string{"metadata", "annotations", annotations.Ledger}},
		{"restart", &workload.Marking{RestartAt: someRestartAt}, []string{"spec", "restartAt"}},
	}
}

// written reports whether it is still there.
func (w write) written(obj *unstructured.Unstructured) (bool, error) {
	if w.name != "variable" {
		text, _, err := unstructured.NestedString(obj.Object, w.at...)
		return text != "", err
	}
	containers, _, err := unstructured.NestedSlice(obj.Object, w.at...)
	if err != nil {
		return false, err
	}
	for _, item := range containers {
		env, _, err := unstructured.NestedSlice(item.(map[string]any), "env")
		if err != nil {
			return false, err
		}
		for _, variable := range env {
			if variable.(map[string]any)["name"] == someVariable {
				return true, nil
			}
		}
	}
	return false, nil
}

// kindOf is how the controller knows a kind.
func (p *place) kindOf(name string) kinds.Kind {
	p.Helper()
	for _, k := range kinds.All() {
		if k.Name == name {
			return k
		}
	}
	p.Fatalf("the controller knows no %s", name)
	return kinds.Kind{}
}

// put makes a write, by the controller's field manager.
func (p *place) put(w write, kind, name string) {
	p.Helper()
	k := p.kindOf(kind)
	resource := p.objects.Resource(k.Resource).Namespace(p.ns.Name)
	p.must(harness.Await(p.ctx, "a write of "+name, func(ctx context.Context) error {
		obj, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := w.patch(k, obj)
		if err != nil {
			return err
		}
		after, err := resource.Patch(ctx, name, patch.Type, patch.Body, metav1.PatchOptions{FieldManager: workload.FieldManager})
		if err != nil {
			return err // who writes the status may have been faster
		}
		if there, err := w.written(after); err != nil || !there {
			return errors.Join(fmt.Errorf("the %s is not in what the API server answered: %v", w.name, after.Object), err)
		}
		return nil
	}))
}

// patch is the request that the controller makes.
func (w write) patch(k kinds.Kind, obj *unstructured.Unstructured) (kinds.Patch, error) {
	var read runtime.Object = obj
	if !k.Custom {
		read = &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, read); err != nil {
			return kinds.Patch{}, err
		}
	}
	workload, err := k.Read(read, annotations.DefaultNames())
	if err != nil {
		return kinds.Patch{}, err
	}
	return k.Patch(&workload, someLedger, w.marking, annotations.DefaultNames())
}

package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// custom is the adapter of a kind without a Go type, whose lists are not merged by name.
type custom struct {
	kind string
	// template is the path of the pod template.
	template []string
	parts    func(*unstructured.Unstructured) (Parts, error)
}

// Parts returns the relevant parts of an object.
func (c custom) Parts(obj runtime.Object) (Parts, error) {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return Parts{}, fmt.Errorf("got a %T, want a %s", obj, c.kind)
	}
	p, err := c.parts(o)
	if err != nil {
		return Parts{}, fmt.Errorf("read %s %s/%s: %w", c.kind, o.GetNamespace(), o.GetName(), err)
	}
	return p, nil
}

// Patch writes a ledger and a mark, by a merge patch unless the mark changes a list.
func (c custom) Patch(w *workload.Workload, ledger string, m *workload.Marking, names annotations.Names) (Patch, error) {
	body := map[string]any{"metadata": ledgerMeta(w, ledger)}
	if m != nil {
		annotations := templateAnnotations(m, names)
		if len(m.Env)+len(m.Removed) > 0 {
			return listPatch(w, ledger, m, annotations)
		}
		template := map[string]any{}
		if len(annotations) > 0 {
			template["metadata"] = patchMeta{Annotations: annotations}
		}
		put(body, template, c.template)
	}
	return encode(types.MergePatchType, body)
}

// put sets a value in nested maps, and creates missing ones.
func put(in map[string]any, value any, fields []string) {
	last := len(fields) - 1
	for _, field := range fields[:last] {
		next, ok := in[field].(map[string]any)
		if !ok {
			next = map[string]any{}
			in[field] = next
		}
		in = next
	}
	in[fields[last]] = value
}

// decode reads some fields of an object and ignores the others, so that other fields cannot make
// the object unreadable.
func decode(obj *unstructured.Unstructured, into any, paths ...string) error {
	wanted := map[string]any{}
	for _, path := range paths {
		fields := strings.Split(path, ".")
		value, found, err := unstructured.NestedFieldNoCopy(obj.Object, fields...)
		if err != nil {
			return err
		}
		if !found || value == nil {
			continue
		}
		put(wanted, value, fields)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(wanted, into)
}

// shapeOf returns what a JSON patch needs to know about an object.
func shapeOf(obj map[string]any, template ...string) *workload.Shape {
	at := func(fields ...string) map[string]any {
		m, _, _ := unstructured.NestedFieldNoCopy(obj, fields...)
		found, _ := m.(map[string]any)
		return found
	}
	under := func(fields ...string) []string { return slices.Concat(template, fields) }
	shape := &workload.Shape{
		Template:            template,
		Annotations:         at("metadata", "annotations") != nil,
		TemplateMetadata:    at(under("metadata")...) != nil,
		TemplateAnnotations: at(under("metadata", "annotations")...) != nil,
	}
	containers, _ := at(under("spec")...)["containers"].([]any)
	for _, item := range containers {
		container, _ := item.(map[string]any)
		env, _ := container["env"].([]any)
		var variables []string
		for _, item := range env {
			variable, _ := item.(map[string]any)
			name, _ := variable["name"].(string)
			variables = append(variables, name)
		}
		shape.Variables = append(shape.Variables, variables)
	}
	return shape
}

// operation is one operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// listPatch sets variables for kinds whose lists a merge patch would replace. It has no effect
// unless the object has the UID and the version from which the positions in the lists were read.
func listPatch(w *workload.Workload, ledger string, m *workload.Marking, ann map[string]string) (Patch, error) {
	if w.Shape == nil {
		return Patch{}, fmt.Errorf("%s was decoded without its containers", w.Key)
	}
	ops := []operation{
		{Op: "test", Path: "/metadata/uid", Value: w.UID},
		{Op: "test", Path: "/metadata/resourceVersion", Value: w.ResourceVersion},
	}
	ops = append(ops, setAll("/metadata/annotations", w.Shape.Annotations, map[string]string{annotations.Ledger: ledger})...)
	template := pointer(w.Shape.Template...)
	if len(ann) > 0 {
		if !w.Shape.TemplateMetadata {
			ops = append(ops, operation{Op: "add", Path: template + "/metadata", Value: map[string]any{}})
		}
		ops = append(ops, setAll(template+"/metadata/annotations", w.Shape.TemplateAnnotations, ann)...)
	}
	for i, name := range w.Containers {
		container := template + "/spec/containers/" + strconv.Itoa(i)
		if changes := listChanges(container+"/env", w.Shape.Variables[i], name, m); len(changes) > 0 {
			if name != "" { // some kinds set it in their controller
				ops = append(ops, operation{Op: "test", Path: container + "/name", Value: name})
			}
			ops = append(ops, changes...)
		}
	}
	return encode(types.JSONPatchType, ops)
}

// listChanges sets and removes variables of one container. There are the names of its variables, in
// their order.
func listChanges(env string, there []string, container string, m *workload.Marking) []operation {
	var ops []operation
	there = slices.Clone(there)
	for _, mark := range m.Env {
		if mark.Container != container {
			continue
		}
		value := patchEnv{Name: mark.Variable, Value: mark.Value}
		switch at := slices.Index(there, mark.Variable); {
		case at >= 0:
			ops = append(ops, operation{Op: "replace", Path: env + "/" + strconv.Itoa(at), Value: value})
			continue
		case len(there) == 0:
			ops = append(ops, operation{Op: "add", Path: env, Value: []patchEnv{value}})
		default:
			ops = append(ops, operation{Op: "add", Path: env + "/-", Value: value})
		}
		there = append(there, mark.Variable)
	}
	for _, mark := range m.Removed {
		// The following variables move up.
		if at := slices.Index(there, mark.Variable); mark.Container == container && at >= 0 {
			ops = append(ops, operation{Op: "remove", Path: env + "/" + strconv.Itoa(at)})
			there = slices.Delete(there, at, at+1)
		}
	}
	return ops
}

// setAll sets keys of a map that may not exist yet.
func setAll(path string, there bool, values map[string]string) []operation {
	if !there {
		return []operation{{Op: "add", Path: path, Value: values}}
	}
	var ops []operation
	for key, value := range values {
		ops = append(ops, operation{Op: "add", Path: path + pointer(key), Value: value})
	}
	slices.SortFunc(ops, func(a, b operation) int { return strings.Compare(a.Path, b.Path) })
	return ops
}

// pointer joins the names of fields as a JSON Pointer.
func pointer(fields ...string) string {
	var b strings.Builder
	for _, field := range fields {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field))
	}
	return b.String()
}

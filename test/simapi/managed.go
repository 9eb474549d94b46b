package simapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// owners are the managers of the fields of one source.
type owners map[ownerKey]*owner

// ownerKey tells the two ways to write apart: who applies and updates owns what it set in each way
// on its own.
type ownerKey struct {
	manager string
	applied bool
}

// owner has one time for all of its fields. It has none if it applied what was there already.
type owner struct {
	time   time.Time
	fields map[string]bool
	// text is what the fields are in FieldsV1, empty when they have changed since.
	text string
}

func (o *owner) drop(path string) {
	if o.fields[path] {
		delete(o.fields, path)
		o.text = ""
	}
}

func (o *owner) add(path string) {
	if !o.fields[path] {
		o.fields[path] = true
		o.text = ""
	}
}

// own works out who owns which field of a source after an update: who sets a field takes it from
// all others and gets the present time; a field that goes leaves no trace. Once nobody owns
// anything, nothing is tracked until somebody applies. Of a workload only labels, annotations
// and a pause are tracked.
func (s *Server) own(old, next Object, manager string) {
	after, ok := fieldsOf(next)
	if !ok {
		return
	}
	all := s.owners[next.GetUID()]
	if old != nil && len(all) == 0 {
		next.SetManagedFields(nil)
		return
	}
	var before map[string]string
	if old != nil {
		before, _ = fieldsOf(old)
	}
	if all == nil {
		all = owners{}
		s.owners[next.GetUID()] = all
	}
	set := changed(before, after)
	all.lose(after, set)
	if len(set) > 0 {
		mine := all.of(ownerKey{manager: manager})
		mine.time = s.stamp()
		for _, path := range set {
			mine.add(path)
		}
	}
	all.settle(next)
}

// changed are the fields that are new or have another value.
func changed(before, after map[string]string) []string {
	var set []string
	for path, value := range after {
		if was, ok := before[path]; !ok || was != value {
			set = append(set, path)
		}
	}
	return set
}

// lose takes fields from all managers that are gone, or that somebody else has set.
func (all owners) lose(after map[string]string, set []string) {
	for _, o := range all {
		for path := range o.fields {
			if _, ok := after[path]; !ok || slices.Contains(set, path) {
				o.drop(path)
			}
		}
	}
}

func (all owners) of(key ownerKey) *owner {
	if all[key] == nil {
		all[key] = &owner{fields: map[string]bool{}}
	}
	return all[key]
}

// settle shows on an object who owns what.
func (all owners) settle(obj Object) {
	maps.DeleteFunc(all, func(_ ownerKey, o *owner) bool { return len(o.fields) == 0 })
	obj.SetManagedFields(all.entries())
}

// fieldsOf lists the leaves of a source, and the maps they are in as "map/.".
func fieldsOf(obj Object) (map[string]string, bool) {
	fields := map[string]string{}
	within := func(name string, values map[string]string) {
		if len(values) > 0 {
			fields[name+"/."] = ""
		}
		for key, value := range values {
			fields[name+"/"+key] = value
		}
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		within("data", o.Data)
		within("binaryData", texts(o.BinaryData))
	case *corev1.Secret:
		within("data", texts(o.Data))
		fields["type"] = string(o.Type)
	case *appsv1.Deployment, *appsv1.StatefulSet, *appsv1.DaemonSet, *batchv1.CronJob:
		fields["spec/."] = "" // whoever changes it: what is asked are the annotations, and who paused
		if d, ok := o.(*appsv1.Deployment); ok && d.Spec.Paused {
			fields["spec/paused"] = "true"
		}
		if t, ok := template(obj); ok {
			within("template", t.Annotations)
		}
	case *corev1.Namespace:
	case *unstructured.Unstructured:
		fields = customFields(o)
	case *batchv1.Job:
		fields["spec/."], fields["spec/suspend"] = "", strconv.FormatBool(o.Spec.Suspend != nil && *o.Spec.Suspend)
	default:
		return nil, false
	}
	within("labels", obj.GetLabels())
	within("annotations", obj.GetAnnotations())
	return fields, true
}

func texts(raw map[string][]byte) map[string]string {
	text := make(map[string]string, len(raw))
	for key, value := range raw {
		text[key] = string(value)
	}
	return text
}

func (all owners) entries() []metav1.ManagedFieldsEntry {
	var entries []metav1.ManagedFieldsEntry
	for key, o := range all {
		entry := metav1.ManagedFieldsEntry{
			Manager: key.manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: o.tree(),
		}
		if key.applied {
			entry.Operation = metav1.ManagedFieldsOperationApply
		}
		if !o.time.IsZero() {
			entry.Time = new(metav1.NewTime(o.time))
		}
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(strings.Compare(string(a.Operation), string(b.Operation)), timeOf(a).Compare(timeOf(b)), strings.Compare(a.Manager, b.Manager))
	})
	return entries
}

func timeOf(e metav1.ManagedFieldsEntry) time.Time {
	if e.Time == nil {
		return time.Time{}
	}
	return e.Time.Time
}

func (o *owner) tree() *metav1.FieldsV1 {
	if o.text == "" {
		o.text = treeOf(o.fields)
	}
	return metav1.NewFieldsV1(o.text)
}

func treeOf(fields map[string]bool) string {
	top := map[string]any{}
	for path := range fields {
		within, key, nested := strings.Cut(path, "/")
		in := top
		switch within {
		case "labels", "annotations":
			in = child(in, "metadata")
		case "template":
			in, within = child(child(child(in, "spec"), "template"), "metadata"), "annotations"
		}
		switch {
		case !nested:
			in["f:"+within] = map[string]any{}
		case key == ".":
			child(in, within)["."] = map[string]any{}
		default:
			child(in, within)["f:"+key] = map[string]any{}
		}
	}
	for name, within := range top {
		// Who owns a map and nothing in it has no dot.
		if keys, _ := within.(map[string]any); len(keys) == 1 && keys["."] != nil {
			top[name] = map[string]any{}
		}
	}
	raw, _ := json.Marshal(top) // nested maps always can be
	return string(raw)
}

func child(of map[string]any, name string) map[string]any {
	in, ok := of["f:"+name].(map[string]any)
	if !ok {
		in = map[string]any{}
		of["f:"+name] = in
	}
	return in
}

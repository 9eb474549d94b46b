package simapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// owners are the managers of the fields of one source.
type owners map[string]*owner

// owner has one time for all of its fields.
type owner struct {
	time   time.Time
	fields map[string]bool
}

// own works out who owns which field of a source after an update, as server-side tracking does for everything but
// apply: who sets a field takes it from all others and gets the present time; a field that goes leaves no trace. For
// workloads nobody asks, so they have no managed fields here.
func (s *Server) own(old, next Object, manager string) {
	after, ok := fieldsOf(next)
	if !ok {
		return
	}
	var before map[string]string
	if old != nil {
		before, _ = fieldsOf(old)
	}
	all := s.owners[next.GetUID()]
	if all == nil {
		all = owners{}
		s.owners[next.GetUID()] = all
	}
	var set []string
	for path, value := range after {
		if was, ok := before[path]; !ok || was != value {
			set = append(set, path)
		}
	}
	for _, o := range all {
		for path := range o.fields {
			if _, ok := after[path]; !ok || slices.Contains(set, path) {
				delete(o.fields, path)
			}
		}
	}
	if len(set) > 0 {
		mine := all[manager]
		if mine == nil {
			mine = &owner{fields: map[string]bool{}}
			all[manager] = mine
		}
		mine.time = s.now.Truncate(time.Second)
		for _, path := range set {
			mine.fields[path] = true
		}
	}
	maps.DeleteFunc(all, func(_ string, o *owner) bool { return len(o.fields) == 0 })
	next.SetManagedFields(all.entries())
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
	for manager, o := range all {
		at := metav1.NewTime(o.time)
		entries = append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			Time: &at, FieldsType: "FieldsV1", FieldsV1: o.tree(),
		})
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), strings.Compare(a.Manager, b.Manager))
	})
	return entries
}

func (o *owner) tree() *metav1.FieldsV1 {
	top := map[string]any{}
	for path := range o.fields {
		within, key, nested := strings.Cut(path, "/")
		in := top
		if within == "labels" || within == "annotations" {
			in = child(in, "metadata")
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
	raw, _ := json.Marshal(top) // nested maps always can be
	return metav1.NewFieldsV1(string(raw))
}

func child(of map[string]any, name string) map[string]any {
	in, ok := of["f:"+name].(map[string]any)
	if !ok {
		in = map[string]any{}
		of["f:"+name] = in
	}
	return in
}

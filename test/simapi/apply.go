package simapi

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// beforeFirstApply owns all that was there of an object that nobody owned anything of.
const beforeFirstApply = "before-first-apply"

// Apply is server-side apply of a source: the manager owns all that it says, and what it said
// before and does not say any more goes, unless somebody else owns that too. What others own with
// another value is a conflict, or taken by force.
func (s *Server) Apply(config Object, manager string, force bool) (Object, error) {
	resource, name := ResourceOf(config), nameOf(config)
	s.begin()
	wanted := said(config)
	old, there := s.kept[resource][name]
	if !there {
		return s.applyNew(config, manager), nil
	}
	live, _ := fieldsOf(old)
	mine := ownerKey{manager, true}
	all := s.owners[old.GetUID()].copied()
	if len(all) == 0 {
		all.takes(ownerKey{manager: beforeFirstApply}, live).time = s.stamp()
	}
	if !force && all.conflict(mine, live, wanted) {
		return nil, apierrors.NewConflict(groupResource(resource), name.Name, errors.New("another manager owns a field with another value"))
	}
	next := clone(old)
	setFields(next, wanted)
	all.prune(next, mine, wanted)
	after, _ := fieldsOf(next)
	all.lose(after, changed(live, wanted))
	owner := all.takes(mine, wanted)
	same := equality.Semantic.DeepEqual(old, next)
	if !same {
		owner.time = s.stamp()
	}
	all.settle(next)
	if same && equality.Semantic.DeepEqual(old.GetManagedFields(), next.GetManagedFields()) {
		return old, nil
	}
	s.owners[old.GetUID()] = all
	s.put(resource, name, next, Event{Type: watch.Modified, Old: old, Manager: manager})
	return next, nil
}

func (s *Server) applyNew(config Object, manager string) Object {
	next := clone(config)
	s.make(next)
	all := owners{}
	s.owners[next.GetUID()] = all
	all.takes(ownerKey{manager, true}, said(config)).time = s.stamp()
	all.settle(next)
	s.put(ResourceOf(next), nameOf(next), next, Event{Type: watch.Added, Manager: manager})
	return next
}

// prune drops what somebody has applied before, does not apply any more, and owns alone.
func (all owners) prune(obj Object, mine ownerKey, wanted map[string]string) {
	before := all[mine]
	if before == nil {
		return
	}
	for path := range before.fields {
		if _, still := wanted[path]; !still && !all.shared(mine, path) && path != "type" {
			dropField(obj, path)
		}
	}
}

// ForgetManagers is the update with which a client takes all managed fields away. From then on none
// are tracked until somebody applies.
func (s *Server) ForgetManagers(resource string, name types.NamespacedName, manager string) error {
	old, err := s.Get(resource, name)
	if err != nil || len(old.GetManagedFields()) == 0 {
		return err
	}
	s.begin()
	next := clone(old)
	next.SetManagedFields(nil)
	s.owners[old.GetUID()] = owners{}
	s.put(resource, name, next, Event{Type: watch.Modified, Old: old, Manager: manager})
	return nil
}

// said are the fields that somebody applies. The maps that they are in are nobody's then.
func said(config Object) map[string]string {
	fields, _ := fieldsOf(config)
	maps.DeleteFunc(fields, func(path, value string) bool {
		return strings.HasSuffix(path, "/.") || path == "type" && value == ""
	})
	return fields
}

func (all owners) copied() owners {
	next := owners{}
	for key, o := range all {
		next[key] = &owner{time: o.time, fields: maps.Clone(o.fields), text: o.text}
	}
	return next
}

// takes makes the fields of one manager these and no others.
func (all owners) takes(key ownerKey, fields map[string]string) *owner {
	mine := all.of(key)
	for path := range mine.fields {
		if _, ok := fields[path]; !ok {
			mine.drop(path)
		}
	}
	for path := range fields {
		mine.add(path)
	}
	return mine
}

func (all owners) shared(mine ownerKey, path string) bool {
	for key, o := range all {
		if key != mine && o.fields[path] {
			return true
		}
	}
	return false
}

func (all owners) conflict(mine ownerKey, live, wanted map[string]string) bool {
	return slices.ContainsFunc(changed(live, wanted), func(path string) bool { return all.shared(mine, path) })
}

func setFields(obj Object, fields map[string]string) {
	labels, annotations := maps.Clone(obj.GetLabels()), maps.Clone(obj.GetAnnotations())
	for path, value := range fields {
		within, key, _ := strings.Cut(path, "/")
		switch within {
		case "labels":
			labels = with(labels, key, value)
		case "annotations":
			annotations = with(annotations, key, value)
		default:
			setContent(obj, within, key, value)
		}
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

func setContent(obj Object, within, key, value string) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		if within == "binaryData" {
			o.BinaryData = with(o.BinaryData, key, []byte(value))
		} else {
			o.Data = with(o.Data, key, value)
		}
	case *corev1.Secret:
		if within == "type" {
			o.Type = corev1.SecretType(value)
		} else {
			o.Data = with(o.Data, key, []byte(value))
		}
	}
}

func with[V any](values map[string]V, key string, value V) map[string]V {
	if values == nil {
		values = map[string]V{}
	}
	values[key] = value
	return values
}

func dropField(obj Object, path string) {
	within, key, _ := strings.Cut(path, "/")
	labels, annotations := maps.Clone(obj.GetLabels()), maps.Clone(obj.GetAnnotations())
	switch within {
	case "labels":
		delete(labels, key)
		obj.SetLabels(labels)
		return
	case "annotations":
		delete(annotations, key)
		obj.SetAnnotations(annotations)
		return
	}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		delete(o.Data, key)
		delete(o.BinaryData, key)
	case *corev1.Secret:
		delete(o.Data, key)
	}
}

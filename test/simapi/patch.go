package simapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Patch is a strategic merge patch, which without lists is what a JSON merge patch is. A version in
// it is a condition, and so is a uid.
func (s *Server) Patch(resource string, name types.NamespacedName, body []byte, manager string) (Object, error) {
	old, err := s.Get(resource, name)
	if err != nil {
		return nil, err
	}
	next, known := annotated(old, body)
	if !known {
		if next, err = merged(old, body); err != nil {
			return nil, err
		}
	}
	if err := sameVersion(next.GetResourceVersion(), old); err != nil {
		return nil, err
	}
	if next.GetUID() != old.GetUID() {
		gvk := old.GetObjectKind().GroupVersionKind()
		return nil, apierrors.NewInvalid(gvk.GroupKind(), name.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), next.GetUID(), "field is immutable"),
		})
	}
	if err := immutable(old, next); err != nil {
		return nil, err
	}
	return s.replace(old, next, manager), nil
}

// merged is an object after a patch.
func merged(old Object, body []byte) (Object, error) {
	before, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", old.GetName(), err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, body, old)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := reflect.New(reflect.TypeOf(old).Elem()).Interface().(Object)
	if err := json.Unmarshal(after, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

// annotated is that for a patch that names annotations, a version and a uid, and nothing else: most
// patches are such, and to merge them in general takes many times as long.
func annotated(old Object, body []byte) (Object, bool) {
	var patch struct {
		Metadata struct {
			UID             types.UID          `json:"uid"`
			ResourceVersion string             `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&patch); err != nil || patch.Metadata.Annotations == nil && bytes.Contains(body, []byte("annotations")) {
		return nil, false
	}
	next := clone(old)
	all := next.GetAnnotations()
	for key, value := range patch.Metadata.Annotations {
		switch {
		case strings.HasPrefix(key, "$"):
			return nil, false // a directive
		case value == nil:
			delete(all, key)
		default:
			if all == nil {
				all = map[string]string{}
			}
			all[key] = *value
		}
	}
	next.SetAnnotations(all)
	next.SetUID(cmp.Or(patch.Metadata.UID, next.GetUID()))
	next.SetResourceVersion(cmp.Or(patch.Metadata.ResourceVersion, next.GetResourceVersion()))
	return next, true
}

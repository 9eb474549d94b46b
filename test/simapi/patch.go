package simapi

import (
	"encoding/json"
	"fmt"
	"reflect"

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
	before, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, body, old)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	next := reflect.New(reflect.TypeOf(old).Elem()).Interface().(Object)
	if err := json.Unmarshal(after, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
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

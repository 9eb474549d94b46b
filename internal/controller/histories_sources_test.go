package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// sources are shared: at least two workloads reference each of them when a history begins.
func sources() []simapi.Source {
	return []simapi.Source{
		{Resource: "configmaps", Name: "settings"}, {Resource: "configmaps", Name: "routes"},
		{Resource: "secrets", Name: "token"}, {Resource: "secrets", Name: "cert"},
	}
}

// kindOf is the kind of one of them.
func kindOf(src simapi.Source) source.Kind {
	if src.Resource == "secrets" {
		return source.Secret
	}
	return source.ConfigMap
}

func (u *users) source() simapi.Source { return sources()[u.h.rand.IntN(len(sources()))] }

func (u *users) value() string {
	u.values++
	return fmt.Sprintf("value %d", u.values)
}

// data returns the data of a source for an edit. Text and bytes are alike here.
func data(obj simapi.Object) map[string]string {
	content := map[string]string{}
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		maps.Copy(content, o.Data)
	case *corev1.Secret:
		for key, value := range o.Data {
			content[key] = string(value)
		}
	}
	return content
}

func setData(obj simapi.Object, content map[string]string) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data = content
	case *corev1.Secret:
		o.Data = map[string][]byte{}
		for key, value := range content {
			o.Data[key] = []byte(value)
		}
	}
}

func (u *users) write(src simapi.Source, edit func(content map[string]string) bool) bool {
	old, err := u.h.server.Get(src.Resource, inShop(src.Name))
	if err != nil {
		return false
	}
	content := data(old)
	if !edit(content) {
		return false
	}
	u.before[src] = append(u.before[src], old)
	return u.save(src, u.hand(src), func(obj simapi.Object) { setData(obj, content) })
}

func (u *users) editSource(src simapi.Source) bool {
	return u.write(src, func(content map[string]string) bool {
		keys := slices.Sorted(maps.Keys(content))
		if len(keys) == 0 {
			return false
		}
		content[keys[u.h.rand.IntN(len(keys))]] = u.value()
		return true
	})
}

func (u *users) addKey(src simapi.Source) bool {
	return u.write(src, func(content map[string]string) bool {
		content["key-"+strconv.Itoa(u.h.rand.IntN(5))] = u.value()
		return true
	})
}

func (u *users) removeKey(src simapi.Source) bool {
	return u.write(src, func(content map[string]string) bool {
		keys := slices.Sorted(maps.Keys(content))
		if len(keys) < 2 {
			return false
		}
		delete(content, keys[u.h.rand.IntN(len(keys))])
		return true
	})
}

func (u *users) putBack(src simapi.Source) bool {
	earlier := u.before[src]
	if len(earlier) == 0 {
		return false
	}
	last := data(earlier[len(earlier)-1])
	return u.write(src, func(content map[string]string) bool {
		clear(content)
		maps.Copy(content, last)
		return true
	})
}

func (u *users) deleteSource(src simapi.Source) bool {
	old, err := u.h.server.Get(src.Resource, inShop(src.Name))
	if err != nil {
		return false
	}
	u.before[src] = append(u.before[src], old)
	return u.h.server.Delete(src.Resource, inShop(src.Name)) == nil
}

// createAgain recreates a deleted source, half of the time with its earlier data.
func (u *users) createAgain() bool {
	for _, src := range sources() {
		if _, err := u.h.server.Get(src.Resource, inShop(src.Name)); err == nil {
			continue
		}
		if u.h.rand.IntN(2) == 0 {
			return u.createSource(src)
		}
		return u.makeAgain(src)
	}
	return false
}

// makeAgain recreates a source with its earlier data.
func (u *users) makeAgain(src simapi.Source) bool {
	earlier := u.before[src]
	obj := earlier[len(earlier)-1].DeepCopyObject().(simapi.Object)
	obj.SetResourceVersion("")
	obj.SetManagedFields(nil)
	return u.make(src, obj)
}

func (u *users) createSource(src simapi.Source) bool {
	var obj simapi.Object = &corev1.ConfigMap{}
	if src.Resource == "secrets" {
		obj = &corev1.Secret{Type: corev1.SecretTypeOpaque}
	}
	obj.SetNamespace(namespace)
	obj.SetName(src.Name)
	setData(obj, map[string]string{"a": u.value(), "b": u.value()})
	u.dress(obj)
	return u.make(src, obj)
}

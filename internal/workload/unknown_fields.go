package workload

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// FieldNotes are what a user has to know about fields of a Pod spec that References does not follow:
// fields that this version does not know, and fields whose data no object outside the Pod holds.
// They can only be seen in the spec as the API server sends it in JSON, because decoding into the
// types of this version drops them. A note begins with the path of its field in the spec.
func FieldNotes(spec map[string]any) []string {
	n := fieldNotes{texts: referring(), leads: map[reflect.Type]bool{}}
	n.object("", spec, reflect.TypeFor[corev1.PodSpec]())
	return n.found
}

// mostNotes bounds the notes about one object, which may have thousands of such fields.
const mostNotes = 20

const (
	mayRefer   = "Reroll does not know this field; it may refer to an object whose changes roll nothing"
	countsAll  = "Reroll does not know this field; changes of the object count all the same"
	withoutKey = "it names no key, so the key that it uses is unknown, and changes of all keys count"
)

// referring are the types that refer to a source, or choose its keys, each with the text about an
// unknown field. The unknown fields of all types that lead to one of them are noted, too. Of other
// types, only those with the name of a reference are.
func referring() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[corev1.ConfigMapVolumeSource]():        countsAll,
		reflect.TypeFor[corev1.SecretVolumeSource]():           countsAll,
		reflect.TypeFor[corev1.ConfigMapProjection]():          countsAll,
		reflect.TypeFor[corev1.SecretProjection]():             countsAll,
		reflect.TypeFor[corev1.KeyToPath]():                    countsAll,
		reflect.TypeFor[corev1.ConfigMapKeySelector]():         countsAll,
		reflect.TypeFor[corev1.SecretKeySelector]():            countsAll,
		reflect.TypeFor[corev1.ConfigMapEnvSource]():           countsAll,
		reflect.TypeFor[corev1.SecretEnvSource]():              countsAll,
		reflect.TypeFor[corev1.ClusterTrustBundleProjection](): mayRefer,
		reflect.TypeFor[corev1.CSIVolumeSource]():              mayRefer,
		reflect.TypeFor[corev1.VolumeMount]():                  mayRefer,
	}
}

type fieldNotes struct {
	found []string
	texts map[reflect.Type]string
	// leads has the types that are known to lead, or not to lead, to one of texts.
	leads map[reflect.Type]bool
}

func (n *fieldNotes) note(path, text string) {
	if len(n.found) < mostNotes {
		n.found = append(n.found, path+": "+text)
	}
}

// object compares an object in JSON with the type that it is decoded into.
func (n *fieldNotes) object(path string, object map[string]any, known reflect.Type) {
	if object == nil {
		return
	}
	fields := jsonFields(known)
	text, refers := n.texts[known]
	if !refers {
		text = mayRefer
	}
	prefix := strings.TrimPrefix(path+".", ".")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		is := func(f jsonField) bool { return f.name == name }
		if !slices.ContainsFunc(fields, is) && !ofKnative(known, name) && (n.leadsOn(known) || soundsReferring(name)) {
			n.note(prefix+name, text)
		}
	}
	n.aboutKey(path, object, known)
	for _, field := range fields {
		switch value := object[field.name].(type) {
		case map[string]any:
			n.notFollowed(prefix+field.name, field.name)
			if field.of.Kind() == reflect.Struct {
				n.object(prefix+field.name, value, field.of)
			}
		case []any:
			if field.of.Kind() == reflect.Struct {
				for at, one := range value {
					of, _ := one.(map[string]any) // nil has no fields
					n.object(fmt.Sprintf("%s%s[%d]", prefix, field.name, at), of, field.of)
				}
			}
		}
	}
}

// aboutKey notes what may choose a value in another way than by a key.
func (n *fieldNotes) aboutKey(path string, object map[string]any, known reflect.Type) {
	switch known {
	case reflect.TypeFor[corev1.KeyToPath](), reflect.TypeFor[corev1.ConfigMapKeySelector](), reflect.TypeFor[corev1.SecretKeySelector]():
		if key, _ := object["key"].(string); key == "" {
			n.note(path, withoutKey)
		}
	}
}

// notFollowed notes fields whose data no object outside the Pod holds.
func (n *fieldNotes) notFollowed(path, name string) {
	switch name {
	case "fileKeyRef":
		n.note(path, "a container of the Pod writes this file; no object outside the Pod holds its data")
	case "podCertificate":
		n.note(path, "the kubelet requests this certificate for each Pod; no object outside the Pod holds it")
	}
}

// leadsOn reports whether a type refers to a source, or has a field that leads to one.
func (n *fieldNotes) leadsOn(t reflect.Type) bool {
	if leads, known := n.leads[t]; known {
		return leads
	}
	_, leads := n.texts[t]
	n.leads[t] = leads // a type may contain itself
	if !leads && t.Kind() == reflect.Struct {
		leads = slices.ContainsFunc(jsonFields(t), func(f jsonField) bool { return n.leadsOn(f.of) })
		n.leads[t] = leads
	}
	return leads
}

// soundsReferring reports whether a field may be a reference, by its name.
func soundsReferring(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"configmap", "secret", "keyref", "valuefrom", "envfrom", "datafrom"}, func(part string) bool {
		return strings.Contains(name, part)
	})
}

// ofKnative reports whether a field is one that Knative adds to the Pod spec of a Service.
func ofKnative(known reflect.Type, name string) bool {
	return known == reflect.TypeFor[corev1.PodSpec]() &&
		slices.Contains([]string{"containerConcurrency", "timeoutSeconds", "responseStartTimeoutSeconds", "idleTimeoutSeconds"}, name)
}

// jsonField is a field in JSON, with its type, or that of its elements.
type jsonField struct {
	name string
	of   reflect.Type
}

// jsonFields are the fields of a struct in JSON, with those of inlined ones.
func jsonFields(t reflect.Type) []jsonField {
	var all []jsonField
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct {
			all = append(all, jsonFields(field.Type)...)
			continue
		}
		of := field.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		all = append(all, jsonField{name, of})
	}
	return all
}

package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// mistyped is an annotation, or a key of a ConfigMap or Secret, with a value that is not a string.
type mistyped struct {
	key        string
	inTemplate bool
	inData     bool
	text       string
}

// quote converts the values of annotations and of data to strings, and returns those that were not
// strings.
func quote(plain *unstructured.Unstructured) []mistyped {
	all := quoteData(plain)
	for _, path := range [][]string{
		{"metadata", "annotations"},
		{"spec", "template", "metadata", "annotations"},
		{"spec", "jobTemplate", "spec", "template", "metadata", "annotations"},
	} {
		found, _, _ := unstructured.NestedFieldNoCopy(plain.Object, path...)
		written, _ := found.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(written)) {
			one := mistyped{key: key, inTemplate: len(path) > 2}
			about := "annotation " + key
			if one.inTemplate {
				about += " of the pod template"
			}
			switch value := written[key].(type) {
			case nil, string:
				continue
			case bool, int64, float64:
				as := fmt.Sprint(value)
				_, boolean := value.(bool)
				one.text = annotations.Unquoted(about, as, boolean)
				written[key] = as
			default:
				one.text = about + " is not a string; write its value in quotes"
				written[key] = ""
			}
			all = append(all, one)
		}
	}
	return all
}

// quoteData is quote for the data of a ConfigMap or Secret. The message has no value, because it
// may be secret.
func quoteData(plain *unstructured.Unstructured) []mistyped {
	if kind := plain.GroupVersionKind(); kind.Group != "" || kind.Kind != "ConfigMap" && kind.Kind != "Secret" {
		return nil
	}
	var all []mistyped
	for _, field := range []string{"data", "stringData", "binaryData"} {
		written, _ := plain.Object[field].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(written)) {
			switch written[key].(type) {
			case nil, string:
			default:
				written[key] = ""
				all = append(all, mistyped{key: key, inData: true, text: fmt.Sprintf("the value of key %q is not a string; write it in quotes", key)})
			}
		}
	}
	return all
}

// wrongField returns an error that names the field with a value of a wrong type, or nil if the
// field is unknown. It does not quote the value.
func wrongField(plain *unstructured.Unstructured, into runtime.Object) error {
	text, err := plain.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" || plain.GetKind() == "Secret" {
		return nil
	}
	want := "of another type"
	switch wrong.Type.Kind() {
	case reflect.String:
		want = "a string; write its value in quotes"
	case reflect.Bool:
		want = "a boolean, without quotes"
	case reflect.Int32, reflect.Int64:
		want = "an integer, without quotes"
	case reflect.Slice:
		want = "a list"
	case reflect.Struct, reflect.Map:
		want = "a mapping"
	}
	return fmt.Errorf("%s must be %s", wrong.Field, want)
}

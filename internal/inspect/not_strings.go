package inspect

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// mistyped is an annotation with a value that is not a string.
type mistyped struct {
	key        string
	inTemplate bool
	text       string
}

// quote converts the values of annotations to strings, and returns those that were not strings.
func quote(plain *unstructured.Unstructured) []mistyped {
	var all []mistyped
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

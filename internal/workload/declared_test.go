package workload

import (
	"reflect"
	"testing"
)

func TestWhatAManifestDeclares(t *testing.T) {
	applied := func(text string) map[string]string { return map[string]string{lastApplied: text} }
	for name, tc := range map[string]struct {
		own  map[string]string
		want Declared
	}{
		"nothing":                        {nil, Declared{}},
		"no annotations in the template": {applied(`{"spec":{"template":{"metadata":{"annotations":null,"labels":{"a":"b"}}}}}`), Declared{NoAnnotations: true}},
		"no annotations on the object":   {applied(`{"metadata":{"annotations":null},"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`), Declared{}},
		"no metadata in the template":    {applied(`{"metadata":{"annotations":null},"spec":{"template":{"metadata":null}}}`), Declared{}},
		"no variables in a container":    {applied(`{"spec":{"template":{"spec":{"containers":[{"name":"a","env":[]},{"name":"b","env":null}]}}}}`), Declared{NoEnv: []string{"b"}}},
		"no variables, no name":          {applied(`{"spec":{"template":{"spec":{"containers":[{"env":null}]}}}}`), Declared{NoEnv: []string{""}}},
		"a text in a value":              {applied(`{"spec":{"template":{"spec":{"containers":[{"name":"a","args":["\"env\":null"]}]}}}}`), Declared{}},
		"no manifest":                    {applied(`"env":null`), Declared{}},
		"lists where none belong":        {applied(`{"spec":{"template":[{"annotations":null,"env":null}],"x":{"env":null}}}`), Declared{}},
		"Argo CD replaces it":            {map[string]string{syncOptions: "Prune=false, Replace=true"}, Declared{Replaced: true}},
		"Argo CD does not":               {map[string]string{syncOptions: "Prune=false,Replace=false"}, Declared{}},
		"another option that begins so":  {map[string]string{syncOptions: "Replace=trueish"}, Declared{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := declaredIn(tc.own); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

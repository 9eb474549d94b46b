package stamp

import (
	"fmt"
	"slices"
	"strings"
)

// ParseKind reads GROUP/VERSION/KIND, with the path of the pod template behind a colon if that is not spec.template.
func ParseKind(text string) (Kind, error) {
	name, path, given := strings.Cut(text, ":")
	if !given {
		path = "spec.template"
	}
	parts := strings.Split(name, "/")
	k := Kind{Template: strings.Split(path, ".")}
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Kind{}, fmt.Errorf("%q is no kind: it must be like apps.kruise.io/v1alpha1/CloneSet, or apps.kruise.io/v1alpha1/CloneSet:spec.template", text)
	}
	if slices.Contains(k.Template, "") {
		return Kind{}, fmt.Errorf("%q has the path %q, which must be like spec.template", text, path)
	}
	k.Group, k.Kind = parts[0], parts[2]
	return k, nil
}

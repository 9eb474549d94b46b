package kinds

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Added is a custom kind that a user has added.
type Added struct {
	schema.GroupVersionKind
	// Template is the path of the pod template.
	Template []string
}

// ParseAdded reads GROUP/VERSION/KIND[:path.to.template].
func ParseAdded(text string) (Added, error) {
	kind, path, given := strings.Cut(strings.TrimSpace(text), ":")
	a := Added{Template: specTemplate()}
	words := strings.Split(kind, "/")
	if len(words) != 3 { //nolint:mnd // group, version and kind
		return a, errors.New("write GROUP/VERSION/KIND, such as example.org/v1/Sandbox, followed by :path.to.template if that is not spec.template")
	}
	a.Group, a.Version, a.Kind = words[0], words[1], words[2]
	for _, part := range []struct{ what, text, form, such string }{
		{"group", a.Group, `^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, "example.org"},
		{"version", a.Version, `^[a-z]([-a-z0-9]*[a-z0-9])?$`, "v1 or v1alpha1"},
		{"kind", a.Kind, `^[A-Z][A-Za-z0-9]*$`, "Sandbox, in the singular and as its objects have it"},
	} {
		if !regexp.MustCompile(part.form).MatchString(part.text) {
			return a, fmt.Errorf("%q is not a %s: write one such as %s", part.text, part.what, part.such)
		}
	}
	if given {
		if !regexp.MustCompile(`^spec(\.[A-Za-z_][A-Za-z0-9_]*)+$`).MatchString(path) {
			return a, fmt.Errorf("%q is not a path to a pod template: write names of fields with dots between them, beginning with spec, such as spec.template", path)
		}
		a.Template = strings.Split(path, ".")
	}
	known, isKnown := All().Of(a.Group, a.Kind)
	switch {
	case isKnown && !known.Custom:
		return a, fmt.Errorf("%s are rolled without that: remove it", known.Label())
	case isKnown && strings.Join(a.Template, ".") != strings.Join(specTemplate(), "."):
		return a, fmt.Errorf("the pod template of %s is known to be at spec.template: remove the path", known.Title)
	case !strings.Contains(a.Group, "."):
		return a, fmt.Errorf("%s is a kind of Kubernetes itself: only custom kinds can be added", a.GroupKind())
	}
	return a, nil
}

// kind includes the group in the name, because other groups may have a kind of that name.
func (a Added) kind() Kind {
	name := a.GroupKind().String()
	k := templated(name, name+" objects", a.GroupVersion().WithResource(""), a.Template)
	k.Use = Always
	return k
}

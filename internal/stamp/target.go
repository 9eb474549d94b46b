package stamp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Fallback is the annotation of a stamp if another tool uses the default one.
const Fallback = "checksum/reroll"

// target is a pod template that gets a stamp.
type target struct {
	about string
	ns    string
	line  int

	policy     policy.Policy
	references []workload.Reference
	renamed    renamed

	// order is the index of the object in its document.
	order int
	// key is the annotation, and value its new value.
	key, value string
	// present is the current stamp, or empty.
	present string
	// slots are the possible positions, the best one first.
	slots []slot
	// drops are stamps of an earlier call, and dropped are their keys.
	drops   []extent
	dropped []string
	// extent is the extent of the object, if other objects may be on its lines.
	extent extent
}

// template is the position of a pod template.
type template struct {
	path []string
	// key is nil if the template comes from a merge.
	key, node *yaml.Node
	// shared names the part of the path that is used in several places, if any.
	shared string
}

// find descends to the pod template, and records whether a change of it would change anything else.
func (t *tree) find(obj *object, kind *kinds.Kind) *template {
	if get(obj.node, kind.Template...) == nil {
		return nil
	}
	found := &template{path: kind.Template, node: obj.node}
	if obj.shared {
		found.shared = obj.String()
	}
	for i, name := range kind.Template {
		key, value := own(found.node, name)
		if value == nil || value.Kind == yaml.AliasNode || t.shared[value] {
			found.shared = strings.Join(kind.Template[:i+1], ".") + " of " + obj.String()
		}
		found.key, found.node = key, get(found.node, name)
	}
	if found.node.Kind != yaml.MappingNode {
		return nil
	}
	return found
}

var errNotOptedIn = errors.New("it is not opted in")

// readTarget returns nil for an object that gets no stamp.
func (o *Options) readTarget(d *document, edit func() *editor, t *tree, obj *object) (*target, error) {
	kind, ok := o.kindOf(obj)
	if !ok {
		return nil, nil
	}
	for _, path := range [][]string{{"metadata"}, append(slices.Clone(kind.Template), "metadata")} {
		if err := o.quoted(obj, get(obj.node, append(path, "annotations")...)); err != nil {
			return nil, err
		}
	}
	user, mistakes := o.templateUserOf(obj, kind)
	d.warnings = append(d.warnings, mistakes...)
	if user != nil {
		d.templateUsers = append(d.templateUsers, user)
		return nil, nil
	}
	pods := t.find(obj, kind)
	if pods == nil {
		return nil, nil // for example a Rollout whose workloadRef names another kind
	}
	specNode := get(pods.node, "spec")
	if err := wellFormed(obj, specNode); err != nil {
		return nil, err
	}
	spec, err := podSpec(specNode)
	if err != nil {
		return nil, wrong(pods.node, "the pod template of %s cannot be read: %v", obj, err)
	}
	written := get(pods.node, "metadata", "annotations")
	annotations := texts(written)
	policy, wrongly := o.annotated(obj, kind, written)
	d.warnings = append(d.warnings, warningsOf(obj, written, wrongly)...)
	policy = o.policyWithTemplateUsers(d, obj, kind, policy)
	if !policy.OptedIn(o.AutoReloadAll) {
		return nil, errNotOptedIn
	}
	found := &target{about: obj.String(), ns: obj.ns, line: obj.node.Line, policy: policy, references: workload.References(spec), renamed: renamedOf(obj)}
	if found.key, err = o.choose(obj, written); err != nil {
		return nil, wrong(pods.node, "%v", err)
	}
	if digest.IsStamp(annotations[found.key]) {
		found.present = annotations[found.key]
	}
	if found.slots, err = edit().slots(obj, pods, found.key); err != nil {
		return nil, err
	}
	found.extent = edit().extentOf(obj.node)
	if _, meta := own(pods.node, "metadata"); meta != nil {
		_, here := own(meta, "annotations")
		d.warnings = append(d.warnings, edit().drop(found, obj, here)...)
	}
	return found, nil
}

// wellFormed returns an error if a required list is not a list. Otherwise its content would be
// ignored without a message.
func wellFormed(obj *object, spec *yaml.Node) error {
	if spec == nil || isNull(spec) {
		return nil
	}
	if spec.Kind != yaml.MappingNode {
		return wrong(spec, "the pod template of %s cannot be read: its spec must be keys with values", obj)
	}
	for _, name := range []string{"containers", "initContainers", "volumes"} {
		list := get(spec, name)
		if list == nil || isNull(list) {
			continue
		}
		at := list
		if key, _ := own(spec, name); key != nil {
			at = key
		}
		if list.Kind != yaml.SequenceNode {
			return wrong(at, "the pod template of %s cannot be read: %s must be a list", obj, name)
		}
		for _, item := range list.Content {
			if resolved(item).Kind != yaml.MappingNode {
				return wrong(item, "the pod template of %s cannot be read: what is in %s must be keys with values", obj, name)
			}
		}
	}
	return nil
}

// podSpec decodes only the fields of a pod template with references, so that invalid values
// elsewhere do not matter.
func podSpec(n *yaml.Node) (*corev1.PodSpec, error) {
	all, err := plain(orNull(n))
	if err != nil {
		return nil, err
	}
	spec, _ := all.(map[string]any)
	little := map[string]any{"volumes": spec["volumes"]}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		var few []any
		for _, one := range containers {
			container, _ := one.(map[string]any)
			few = append(few, map[string]any{
				"name": container["name"], "env": withoutValues(container["env"]), "envFrom": container["envFrom"], "volumeMounts": mounts(container["volumeMounts"]),
			})
		}
		little[list] = few
	}
	little["volumes"] = volumes(spec["volumes"])
	raw, err := json.Marshal(little)
	if err != nil {
		return nil, err
	}
	var read corev1.PodSpec
	if err := json.Unmarshal(raw, &read); err != nil {
		if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fmt.Errorf("%s must be %s", asWritten(other.Field, other.Type.Kind()), inWords(other.Type.Kind()))
		}
		return nil, errors.New("its containers or volumes are not written as Kubernetes has them")
	}
	return &read, nil
}

// asWritten removes embedded Go structs from the path of a field, because manifests do not have
// them. A list and its items have the same path.
func asWritten(path string, kind reflect.Kind) string {
	names := slices.DeleteFunc(strings.Split(path, "."), func(name string) bool { return name != "" && unicode.IsUpper(rune(name[0])) })
	path = strings.Join(names, ".")
	if kind == reflect.Struct && slices.Contains([]string{"env", "envFrom", "volumeMounts", "sources", "items"}, names[len(names)-1]) {
		return "what is in " + path
	}
	return path
}

func inWords(kind reflect.Kind) string {
	switch kind {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "keys with values"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	default:
		return "a number"
	}
}

func orNull(n *yaml.Node) *yaml.Node {
	if n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n
}

func withoutValues(env any) any { return only(env, "name", "valueFrom") }
func mounts(all any) any        { return only(all, "name", "subPath", "subPathExpr") }
func volumes(all any) any       { return withoutModes(only(all, "name", "configMap", "secret", "projected")) }

// only keeps some fields of the items of a list.
func only(list any, names ...string) any {
	items, ok := list.([]any)
	if !ok {
		return list
	}
	var few []any
	for _, one := range items {
		item, ok := one.(map[string]any)
		if !ok {
			return list
		}
		kept := map[string]any{}
		for _, name := range names {
			if value, there := item[name]; there {
				kept[name] = value
			}
		}
		few = append(few, kept)
	}
	return few
}

// withoutModes drops numbers such as 0400, which keep their spelling and are not valid JSON.
func withoutModes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range []string{"mode", "defaultMode", "serviceAccountToken", "downwardAPI", "clusterTrustBundle", "podCertificate"} {
			delete(value, name)
		}
		for _, deeper := range value {
			withoutModes(deeper)
		}
	case []any:
		for _, one := range value {
			withoutModes(one)
		}
	}
	return value
}

// choose returns the annotation for the stamp. The annotation does not change, even if the other
// one becomes free.
func (o *Options) choose(obj *object, annotations *yaml.Node) (string, error) {
	const (
		free = iota
		ours
		theirs
	)
	state := func(key string) int {
		switch value := getOne(annotations, key, 0); {
		case value == nil:
			return free
		case value.Kind == yaml.ScalarNode && value.Anchor == "" && digest.IsStamp(value.Value):
			return ours
		default:
			return theirs
		}
	}
	first, second := state(o.Annotation), state(Fallback)
	switch {
	case first == ours, first == free && second != ours:
		return o.Annotation, nil
	case second != theirs && o.Annotation != Fallback:
		return Fallback, nil
	default:
		return "", fmt.Errorf("%s has values that no stamp is in both %s and %s: take another annotation by --annotation", obj, o.Annotation, Fallback)
	}
}

package stamp

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// warning is a message about a line of a document that does not prevent the stamp.
type warning struct {
	line int
	text string
}

// annotated reads the annotations of a workload and of its pod template like the controller.
func (o *Options) annotated(obj *object, kind *kinds.Kind, template *yaml.Node) (policy.Policy, []annotations.Mistake) {
	return workload.ReadAnnotations(kind.Kind, texts(get(obj.node, "metadata", "annotations")), texts(template), o.AutoReloadAll, o.Names)
}

// warningsOf returns the mistakes in annotations, each with its line.
func warningsOf(obj *object, template *yaml.Node, mistakes []annotations.Mistake) []warning {
	var all []warning
	for _, p := range mistakes {
		in := get(obj.node, "metadata", "annotations")
		if p.InTemplate {
			in = template
		}
		line := obj.node.Line
		if key, _ := own(in, p.Annotation); key != nil {
			line = key.Line
		}
		all = append(all, warning{line, obj.String() + ": " + p.String()})
	}
	return all
}

// quoted returns an error if a value of our annotations is not a string, because the API server
// rejects such an object.
func (o *Options) quoted(obj *object, written *yaml.Node) error {
	var failed error
	pairs(written, 0, func(key, value *yaml.Node) {
		if failed != nil || !o.Names.Known(key.Value) {
			return
		}
		if value.Kind != yaml.ScalarNode {
			failed = wrong(key, "%s: annotation %s is not a string; write its value in quotes", obj, key.Value)
			return
		}
		if value.Style != 0 {
			return
		}
		is, isBool := scalar(value).(bool)
		meant := value.Value
		if isBool {
			meant = strconv.FormatBool(is)
		}
		if isBool || notText(value.ShortTag()) {
			failed = wrong(value, "%s: %s", obj, annotations.Unquoted("annotation "+key.Value, meant, isBool))
		}
	})
	return failed
}

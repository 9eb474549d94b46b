package stamp

import (
	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// told is something about a line of a document that keeps nothing from being stamped.
type told struct {
	line int
	text string
}

// annotated reads the annotations of a workload and of its pod template as the controller does.
func (o *Options) annotated(obj *object, template *yaml.Node) (policy.Policy, []annotations.Problem) {
	kind := workload.Kind{
		Name:        obj.kind,
		Restartable: obj.group == "argoproj.io" && obj.kind == "Rollout",
		Pausable:    obj.group == "apps" && obj.kind == "Deployment",
	}
	return workload.ReadAnnotations(kind, texts(get(obj.node, "metadata", "annotations")), texts(template), o.All, o.Names)
}

// toldOf says what is wrong with annotations, each at its line.
func toldOf(obj *object, template *yaml.Node, problems []annotations.Problem) []told {
	var all []told
	for _, p := range problems {
		in := get(obj.node, "metadata", "annotations")
		if p.InTemplate {
			in = template
		}
		line := obj.node.Line
		if key, _ := own(in, p.Annotation); key != nil {
			line = key.Line
		}
		all = append(all, told{line, obj.String() + ": " + p.String()})
	}
	return all
}

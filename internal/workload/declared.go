package workload

import (
	"encoding/json"
	"strings"
)

// Declared is what the manifest of a workload contains, as far as the object shows it, that will
// remove marks.
type Declared struct {
	// NoAnnotations reports whether the annotations of the pod template are null, and NoEnv lists
	// the containers whose variables are null: applying that removes all of them.
	NoAnnotations bool
	NoEnv         []string
	// Replaced reports whether Argo CD replaces the whole object at each sync.
	Replaced bool
}

const (
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	syncOptions = "argocd.argoproj.io/sync-options"
)

// declaredIn reads the annotations of a workload.
func declaredIn(own map[string]string) Declared {
	d := Declared{Replaced: hasOption(own[syncOptions], "Replace=true")}
	// Hardly any manifest contains these, and parsing all manifests would cost more than everything
	// else.
	if text := own[lastApplied]; strings.Contains(text, `"annotations":null`) || strings.Contains(text, `"env":null`) {
		d.readManifest(text)
	}
	return d
}

func hasOption(list, option string) bool {
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == option {
			return true
		}
	}
	return false
}

// readManifest reads the pod template of a manifest. A text that is not a manifest shows nothing.
func (d *Declared) readManifest(text string) {
	var manifest struct {
		Spec struct {
			Template struct {
				Metadata map[string]json.RawMessage `json:"metadata"`
				Spec     struct {
					Containers []map[string]json.RawMessage `json:"containers"`
				} `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	template := manifest.Spec.Template
	d.NoAnnotations = isNull(template.Metadata, "annotations")
	for _, container := range template.Spec.Containers {
		if isNull(container, "env") {
			var name string
			_ = json.Unmarshal(container["name"], &name) // without a name, there is still an answer
			d.NoEnv = append(d.NoEnv, name)
		}
	}
}

func isNull(in map[string]json.RawMessage, field string) bool {
	value, declared := in[field]
	return declared && string(value) == "null"
}

// WhyReplaced returns why no mark stays, empty if the manifest does not show that.
func (d Declared) WhyReplaced() string {
	if d.Replaced {
		return "Argo CD replaces it whole at each sync (" + syncOptions + ": Replace=true)"
	}
	return ""
}

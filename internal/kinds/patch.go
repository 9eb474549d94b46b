package kinds

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Patch is one request that changes a workload.
type Patch struct {
	Type types.PatchType
	Body []byte
}

// The patch contains only these fields. The UID and the version make the API server reject a write
// that arrives late or concerns another object of that name.
type patchBody struct {
	Metadata patchMeta  `json:"metadata"`
	Spec     *patchSpec `json:"spec,omitempty"`
}

type patchMeta struct {
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type patchSpec struct {
	Template  *patchTemplate `json:"template,omitempty"`
	RestartAt string         `json:"restartAt,omitempty"`
	Paused    bool           `json:"paused,omitempty"`
}

type patchTemplate struct {
	Metadata *patchMeta        `json:"metadata,omitempty"`
	Spec     *patchTemplateTop `json:"spec,omitempty"`
}

type patchTemplateTop struct {
	Containers []patchContainer `json:"containers"`
}

type patchContainer struct {
	Name string     `json:"name"`
	Env  []patchEnv `json:"env"`
}

type patchEnv struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Delete string `json:"$patch,omitempty"`
}

func ledgerMeta(w *workload.Workload, ledger string) patchMeta {
	return patchMeta{
		UID:             w.UID,
		ResourceVersion: w.ResourceVersion,
		Annotations:     map[string]string{annotations.Ledger: ledger},
	}
}

// Resume ends a pause of ours and removes its annotation. For a workload that Reroll does not hold,
// it only removes the annotation.
func Resume(w *workload.Workload, names annotations.Names) (Patch, error) {
	body := map[string]any{"metadata": map[string]any{
		"uid": w.UID, "resourceVersion": w.ResourceVersion, "annotations": map[string]any{names.PausedAt: nil},
	}}
	if w.Pause.Ours() {
		body["spec"] = map[string]any{"paused": false}
	}
	return encode(types.MergePatchType, body)
}

// templateAnnotations are the annotations that a reload sets on the pod template.
func templateAnnotations(m *workload.Marking, names annotations.Names) map[string]string {
	ann := map[string]string{}
	if m.ReloadedFrom != "" {
		ann[names.LastReloadedFrom] = m.ReloadedFrom
	}
	if m.Rolled != "" {
		ann[annotations.Rolled] = m.Rolled
	}
	return ann
}

func encode(as types.PatchType, body any) (Patch, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Patch{}, fmt.Errorf("encode the patch: %w", err)
	}
	return Patch{Type: as, Body: raw}, nil
}

package metainfo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Halted is where no reload starts because too many failed, and why. The zero Halted is nowhere.
// The controller derives it from all workloads. Users who may read only some of them read it here.
type Halted struct {
	// All reports whether it is all namespaces, and Namespaces are those that it is in any case.
	All        bool     `json:"all,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	Why        string   `json:"why,omitempty"`
	// Newest is when the newest reload began, in seconds since 1970.
	Newest int64 `json:"newest,omitempty"`
}

// In reports whether no reload starts in a namespace.
func (h Halted) In(ns string) bool { return h.All || slices.Contains(h.Namespaces, ns) }

// Is reports whether no reload starts in some namespace.
func (h Halted) Is() bool { return h.All || len(h.Namespaces) > 0 }

// ReadHalted returns what the controller has written last.
func ReadHalted(cm *corev1.ConfigMap) Halted {
	var h Halted
	if err := json.Unmarshal([]byte(cm.Annotations[annotations.Halted]), &h); err != nil {
		return Halted{}
	}
	return h
}

// ReadAccepted returns when the newest reload began whose failure a user accepted, in seconds since
// 1970; 0 if there is none.
func ReadAccepted(cm *corev1.ConfigMap) int64 {
	at, err := strconv.ParseInt(cm.Annotations[annotations.Resumed], 10, 64)
	if err != nil || at < 0 {
		return 0
	}
	return at
}

// Published reads what an earlier controller wrote, and what a user accepted.
func Published(ctx context.Context, client clientset.Interface, info Info) (h Halted, accepted int64, err error) {
	cm, err := client.ConfigMaps(info.Namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Halted{}, 0, nil
	}
	if err != nil {
		return Halted{}, 0, fmt.Errorf("read ConfigMap %s/%s: %w", info.Namespace, Name, err)
	}
	return ReadHalted(cm), ReadAccepted(cm), nil
}

// WriteHalted writes where no reload starts, if that is not written already. It returns what a user
// accepted. Without the ConfigMap, it writes nothing.
func WriteHalted(ctx context.Context, client clientset.Interface, info Info, h Halted) (accepted int64, err error) {
	own := client.ConfigMaps(info.Namespace)
	cm, err := own.Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read ConfigMap %s/%s: %w", info.Namespace, Name, err)
	}
	wanted := ""
	if h.Is() {
		text, _ := json.Marshal(h) // names and numbers always can be
		wanted = string(text)
	}
	accepted = ReadAccepted(cm)
	if cm.Annotations[annotations.Halted] == wanted {
		return accepted, nil
	}
	if wanted == "" {
		delete(cm.Annotations, annotations.Halted)
	} else {
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[annotations.Halted] = wanted
	}
	if _, err = own.Update(ctx, cm, metav1.UpdateOptions{FieldManager: workload.FieldManager}); err != nil {
		return accepted, fmt.Errorf("write ConfigMap %s/%s: %w", info.Namespace, Name, err)
	}
	return accepted, nil
}

package harness

import (
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// What stakater/Reloader writes, made by hand from what is known of that program. It is not that
// program: it shows what becomes of its marks, and nothing about when it writes them.

// reloaderManager is the field manager that Reloader writes under.
const reloaderManager = "Reloader"

const (
	reloadedFrom = "reloader.stakater.com/last-reloaded-from"
	// deleteMarker stands in place of a hash for a source that is gone.
	deleteMarker = "aae45badef99284e4dae01d6046154ea9d99532f"
)

// MarkAsReloader puts a mark for the present content of a source into a pod template, as Reloader
// does: under the strategy "env-vars" a variable, under "annotations" an annotation. With "restart"
// it restarts the pods of a Rollout instead. For a source that does not exist it does what Reloader
// does when one is deleted.
func (n *Namespace) MarkAsReloader(ctx context.Context, strategy string, source, workload Ref) error {
	if strategy == "restart" {
		return n.replace(ctx, workload, reloaderManager, func(obj *unstructured.Unstructured) error {
			at := time.Now().Truncate(time.Second).Add(time.Second).UTC() // after all pods that are there
			return unstructured.SetNestedField(obj.Object, at.Format(time.RFC3339), "spec", "restartAt")
		})
	}
	hash, err := n.reloaderHash(ctx, source)
	if err != nil {
		return err
	}
	var mark func(t *corev1.PodTemplateSpec, container int)
	switch strategy {
	case "env-vars":
		mark = func(t *corev1.PodTemplateSpec, i int) {
			t.Spec.Containers[i].Env = reloaderVariable(t.Spec.Containers[i].Env, source, hash)
		}
	case "annotations":
		mark = func(t *corev1.PodTemplateSpec, i int) {
			if t.Annotations == nil {
				t.Annotations = map[string]string{}
			}
			t.Annotations[reloadedFrom] = n.reloaderAnnotation(source, hash, t.Spec.Containers[i].Name)
		}
	default:
		return fmt.Errorf("strategy %q must be env-vars, annotations or restart", strategy)
	}
	return n.replace(ctx, workload, reloaderManager, func(obj *unstructured.Unstructured) error {
		t, err := template(obj)
		if err != nil {
			return err
		}
		if len(t.Spec.Containers) == 0 {
			return final{errors.New("it has no container")}
		}
		mark(t, reloaderContainer(&t.Spec, source))
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
		if err != nil {
			return err
		}
		return unstructured.SetNestedMap(obj.Object, raw, "spec", "template")
	})
}

// reloaderHash is empty for a source that does not exist.
func (n *Namespace) reloaderHash(ctx context.Context, source Ref) (string, error) {
	var items []string
	var err error
	switch source.Kind {
	case "configmap":
		var cm *corev1.ConfigMap
		if cm, err = n.clients.typed.CoreV1().ConfigMaps(n.Name).Get(ctx, source.Name, metav1.GetOptions{}); err == nil {
			for key, value := range cm.Data {
				items = append(items, key+"="+value)
			}
			for key, value := range cm.BinaryData {
				items = append(items, key+"="+base64.StdEncoding.EncodeToString(value))
			}
		}
	case "secret":
		var secret *corev1.Secret
		if secret, err = n.clients.typed.CoreV1().Secrets(n.Name).Get(ctx, source.Name, metav1.GetOptions{}); err == nil {
			for key, value := range secret.Data {
				items = append(items, key+"="+string(value))
			}
		}
	default:
		return "", fmt.Errorf("%s rolls nothing: name a configmap or a secret", source)
	}
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read %s: %w", source, err)
	}
	return reloaderSHA(items), nil
}

func reloaderSHA(items []string) string {
	slices.Sort(items)
	sum := sha1.Sum([]byte(strings.Join(items, ";")))
	return hex.EncodeToString(sum[:])
}

func reloaderVariable(env []corev1.EnvVar, source Ref, hash string) []corev1.EnvVar {
	name := "STAKATER_" + reloaderName(source.Name) + "_" + strings.ToUpper(source.Kind)
	i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
	switch {
	case hash == "" && i >= 0:
		return slices.Delete(env, i, i+1)
	case hash == "":
		return env
	case i >= 0:
		env[i].Value = hash
		return env
	default:
		return append(env, corev1.EnvVar{Name: name, Value: hash})
	}
}

// reloaderName is the name in a variable: letters and digits, with one underscore for all that
// stands between them.
func reloaderName(name string) string {
	words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
	return strings.Join(words, "_")
}

func (n *Namespace) reloaderAnnotation(source Ref, hash, container string) string {
	if hash == "" {
		hash = deleteMarker
	}
	text, _ := json.Marshal(struct { // texts and a number always can be
		Type       string   `json:"type"`
		Name       string   `json:"name"`
		Namespace  string   `json:"namespace"`
		Hash       string   `json:"hash"`
		Containers []string `json:"containerRefs"`
		ObservedAt int64    `json:"observedAt"`
	}{strings.ToUpper(source.Kind), source.Name, n.Name, hash, []string{container}, time.Now().Unix()})
	return string(text)
}

// reloaderContainer is the regular container that has the mark: one that mounts the source, else
// one that has it in its environment. In place of an init container the first regular one has it,
// and so it has if none uses the source.
func reloaderContainer(spec *corev1.PodSpec, source Ref) int {
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		if v.ConfigMap != nil && source == (Ref{"configmap", v.ConfigMap.Name}) || v.Secret != nil && source == (Ref{"secret", v.Secret.SecretName}) {
			volumes[v.Name] = true
		}
		if v.Projected == nil {
			continue
		}
		for _, p := range v.Projected.Sources {
			if p.ConfigMap != nil && source == (Ref{"configmap", p.ConfigMap.Name}) || p.Secret != nil && source == (Ref{"secret", p.Secret.Name}) {
				volumes[v.Name] = true
			}
		}
	}
	mounts := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return volumes[m.Name] })
	}
	reads := func(c corev1.Container) bool { return environmentOf(c, source) }
	for _, uses := range []func(corev1.Container) bool{mounts, reads} {
		if i := slices.IndexFunc(spec.Containers, uses); i >= 0 {
			return i
		}
		if slices.ContainsFunc(spec.InitContainers, uses) {
			return 0
		}
	}
	return 0
}

func environmentOf(c corev1.Container, source Ref) bool {
	return slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool {
		return e.ConfigMapRef != nil && source == (Ref{"configmap", e.ConfigMapRef.Name}) || e.SecretRef != nil && source == (Ref{"secret", e.SecretRef.Name})
	}) || slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		from := e.ValueFrom
		return from != nil && (from.ConfigMapKeyRef != nil && source == (Ref{"configmap", from.ConfigMapKeyRef.Name}) ||
			from.SecretKeyRef != nil && source == (Ref{"secret", from.SecretKeyRef.Name}))
	})
}

package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// CSIDriver does what the Secrets Store CSI driver does with the API server: for each pod that
// mounts a SecretProviderClass it writes an object that tells which versions are mounted, and
// writes it again when they are rotated.
type CSIDriver struct {
	n        *Namespace
	statuses dynamic.ResourceInterface

	mu sync.Mutex
	// stores are what there is to mount, by the class.
	stores map[string][]any
}

// CSIDriver begins to mount, until the context ends.
func (n *Namespace) CSIDriver(ctx context.Context) (*CSIDriver, error) {
	d := &CSIDriver{n: n, stores: map[string][]any{}, statuses: n.clients.dynamic.Resource(schema.GroupVersionResource{
		Group: "secrets-store.csi.x-k8s.io", Version: "v1", Resource: "secretproviderclasspodstatuses",
	}).Namespace(n.Name)}
	pods := n.clients.typed.CoreV1().Pods(n.Name)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, opts)
		},
	}
	mount := func(c change) error {
		pod, ok := c.object.(*corev1.Pod)
		if !ok || c.deleted || pod.DeletionTimestamp != nil {
			return nil
		}
		for _, class := range classesOf(pod) {
			if err := d.mount(ctx, pod, class); err != nil {
				return err
			}
		}
		return nil
	}
	return d, follow(ctx, lw, mount, func(err error) { fmt.Printf("the CSI driver has given up: %v\n", err) })
}

// Store says what is in the store of a class from now on, by "id=version". What is mounted stays as
// it is.
func (d *CSIDriver) Store(class string, objects ...string) error {
	content := []any{}
	for _, object := range objects {
		id, version, ok := strings.Cut(object, "=")
		if !ok {
			return fmt.Errorf("%q is no id=version", object)
		}
		content = append(content, map[string]any{"id": id, "version": version})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stores[class] = content
	return nil
}

// Rotate brings pods of a workload what is in the store now: so many of those that have something
// else, or all of them for 0. It returns when they are told of, and it waits for those that have
// mounted nothing yet.
func (d *CSIDriver) Rotate(ctx context.Context, class string, workload Ref, most int) error {
	var told []string
	return Await(ctx, fmt.Sprintf("all pods of %s to have mounted %s", workload, class), func(ctx context.Context) error {
		pods, err := d.n.podsOf(ctx, workload)
		if err != nil {
			return err
		}
		mounted := map[string]*unstructured.Unstructured{}
		for i := range pods {
			status, err := d.statuses.Get(ctx, statusName(&pods[i], class), metav1.GetOptions{})
			if err != nil {
				return err
			}
			mounted[pods[i].Name] = status
		}
		for i := range pods {
			name := pods[i].Name
			if slices.Contains(told, name) || most > 0 && len(told) >= most {
				continue
			}
			d.setObjects(mounted[name], class)
			if _, err := d.statuses.Update(ctx, mounted[name], metav1.UpdateOptions{FieldManager: csiManager}); err != nil {
				return err
			}
			told = append(told, name)
		}
		if len(told) < most || len(told) == 0 {
			return errors.New("there are too few of them")
		}
		return nil
	})
}

const csiManager = "csi-secrets-store"

func (d *CSIDriver) mount(ctx context.Context, pod *corev1.Pod, class string) error {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "secrets-store.csi.x-k8s.io/v1", "kind": "SecretProviderClassPodStatus",
		"metadata": map[string]any{"name": statusName(pod, class), "namespace": pod.Namespace},
		"status": map[string]any{
			"podName": pod.Name, "secretProviderClassName": class, "mounted": true,
			"targetPath": "/var/lib/kubelet/pods/" + string(pod.UID) + "/volumes/kubernetes.io~csi/" + class + "/mount",
		},
	}}
	status.SetOwnerReferences([]metav1.OwnerReference{owner})
	d.setObjects(status, class)
	_, err := d.statuses.Create(ctx, status, metav1.CreateOptions{FieldManager: csiManager})
	if !apierrors.IsAlreadyExists(err) {
		return ignoreGone(err)
	}
	standing, err := d.statuses.Get(ctx, status.GetName(), metav1.GetOptions{})
	if err != nil || standing.GetOwnerReferences()[0].UID == pod.UID {
		return ignoreGone(err)
	}
	standing.SetOwnerReferences([]metav1.OwnerReference{owner}) // of a pod of the same name, before
	standing.Object["status"] = status.Object["status"]
	_, err = d.statuses.Update(ctx, standing, metav1.UpdateOptions{FieldManager: csiManager})
	return ignoreGone(err)
}

// ignoreGone is for what is deleted while it is written, with its pod or with its
// CustomResourceDefinition.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (d *CSIDriver) setObjects(status *unstructured.Unstructured, class string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fields, _ := status.Object["status"].(map[string]any)
	if objects := d.stores[class]; len(objects) > 0 {
		fields["objects"] = runtime.DeepCopyJSONValue(objects)
	} else {
		delete(fields, "objects")
	}
}

func statusName(pod *corev1.Pod, class string) string {
	return pod.Name + "-" + pod.Namespace + "-" + class
}

func classesOf(pod *corev1.Pod) []string {
	var classes []string
	for _, volume := range pod.Spec.Volumes {
		if volume.CSI != nil && volume.CSI.Driver == "secrets-store.csi.k8s.io" {
			classes = append(classes, volume.CSI.VolumeAttributes["secretProviderClass"])
		}
	}
	return classes
}

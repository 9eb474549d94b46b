package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// reportedKinds are those of which a report shows the annotations, in this order.
func (n *Namespace) reportedKinds() []string {
	return append(n.workloadKinds(), "configmap", "secret")
}

// Report tells what was seen in the namespace, for somebody who looks for the reason of a failure.
// It shows no content of ConfigMaps or Secrets.
func (n *Namespace) Report(ctx context.Context) string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace %s\n\nwhat the observer saw (* is a rollout):\n", n.Name)
	for _, s := range n.Observer.Timeline() {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	b.WriteString("\nobjects (times are UTC):\n")
	for _, kind := range n.reportedKinds() {
		n.reportObjects(ctx, &b, kind)
	}
	b.WriteString("\npods:\n")
	n.reportPods(ctx, &b)
	b.WriteString("\nevents:\n")
	n.reportEvents(ctx, &b)
	return b.String()
}

func (n *Namespace) reportObjects(ctx context.Context, b *strings.Builder, kind string) {
	resource, err := n.at(Ref{Kind: kind})
	if err != nil {
		fmt.Fprintf(b, "  %v\n", err)
		return
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(b, "  list %ss: %v\n", kind, err)
		return
	}
	for i := range list.Items {
		obj := &list.Items[i]
		if obj.GetName() == "kube-root-ca.crt" {
			continue // in every namespace, and of no interest
		}
		fmt.Fprintf(b, "  %s/%s, version %s, created %s, last written %s\n",
			kind, obj.GetName(), obj.GetResourceVersion(), atTime(new(obj.GetCreationTimestamp())), atTime(lastWritten(obj)))
		reportMap(b, "annotation", obj.GetAnnotations())
		reportTemplate(b, obj)
	}
}

// lastWritten is when somebody wrote it last, by what the API server notes of each writer.
func lastWritten(obj *unstructured.Unstructured) (last *metav1.Time) {
	for _, f := range obj.GetManagedFields() {
		if f.Time != nil && (last == nil || f.Time.After(last.Time)) {
			last = f.Time
		}
	}
	return last
}

// reportPods lists when Pods were created and started, because that decides which data they have.
func (n *Namespace) reportPods(ctx context.Context, b *strings.Builder) {
	pods, err := n.clients.typed.CoreV1().Pods(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(b, "  %v\n", err)
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		fmt.Fprintf(b, "  pod/%s (%s), created %s, started %s, %s", pod.Name, pod.UID, atTime(&pod.CreationTimestamp), atTime(pod.Status.StartTime), pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			fmt.Fprintf(b, ", ends by %s", atTime(pod.DeletionTimestamp))
		}
		b.WriteString("\n")
	}
	if len(pods.Items) == 0 {
		b.WriteString("  none\n")
	}
}

func atTime(t *metav1.Time) string {
	if t == nil {
		return "at an unknown time"
	}
	return t.UTC().Format(time.TimeOnly)
}

func reportTemplate(b *strings.Builder, obj *unstructured.Unstructured) {
	t, err := template(obj)
	if err != nil {
		return // the kind has none
	}
	reportMap(b, "template annotation", t.Annotations)
	for _, c := range t.Spec.Containers {
		for _, v := range c.Env {
			if v.ValueFrom == nil {
				fmt.Fprintf(b, "    container %s: %s=%s\n", c.Name, v.Name, v.Value)
			}
		}
	}
}

func reportMap(b *strings.Builder, what string, pairs map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		fmt.Fprintf(b, "    %s %s: %s\n", what, key, pairs[key])
	}
}

func (n *Namespace) reportEvents(ctx context.Context, b *strings.Builder) {
	events, err := n.AllEvents(ctx)
	if err != nil {
		fmt.Fprintf(b, "  %v\n", err)
		return
	}
	// What is said again and again, about markers above all, is one line.
	var lines []string
	times := map[string]int{}
	for i := range events {
		e := &events[i]
		// Those of pods and ReplicaSets say what the timeline says.
		if e.Regarding.Kind == "Pod" || e.Regarding.Kind == "ReplicaSet" {
			continue
		}
		line := fmt.Sprintf("%s/%s: %s %s %s", strings.ToLower(e.Regarding.Kind), e.Regarding.Name, e.Type, e.Reason, e.Note)
		if times[line] == 0 {
			lines = append(lines, line)
		}
		times[line] += Times(e)
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s (times: %d)\n", line, times[line])
	}
	if len(lines) == 0 {
		b.WriteString("  none\n")
	}
}

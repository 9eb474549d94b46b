package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Container is the only one of a pod that kwok leaves alone. It runs on this machine, as the pod
// says and with the permissions of its ServiceAccount, by a kubeconfig in the place of the token
// that a kubelet mounts.
type Container struct {
	// Log is what it has written.
	Log *Log

	pod     *corev1.Pod
	n       *Namespace
	proc    *process
	started metav1.Time
}

// RunContainer runs a binary as the container of a pod, and says in the status of the pod that it
// runs.
func (n *Namespace) RunContainer(ctx context.Context, pod *corev1.Pod, binary string) (*Container, error) {
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) > 0 {
		return nil, fmt.Errorf("pod %s has %d containers and %d before them: one can be run", pod.Name, len(pod.Spec.Containers), len(pod.Spec.InitContainers))
	}
	args, env, err := commandOf(&pod.Spec.Containers[0], n.Name, pod.Name)
	if err != nil {
		return nil, fmt.Errorf("run pod %s: %w", pod.Name, err)
	}
	kubeconfig, err := n.cluster.ServiceAccountKubeconfig(ctx, n.Name, pod.Spec.ServiceAccountName)
	if err != nil {
		return nil, fmt.Errorf("run pod %s: %w", pod.Name, err)
	}
	c := &Container{Log: &Log{}, pod: pod, n: n, started: metav1.Now()}
	if c.proc, err = startProcess(binary, args, append(env, "KUBECONFIG="+kubeconfig, RaceDetector), c.Log); err != nil {
		return nil, err
	}
	return c, c.say(ctx, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: c.started}})
}

// Ended waits for its end, says that in the status of the pod as a kubelet does, and returns the
// exit code.
func (c *Container) Ended(ctx context.Context) (int, error) {
	select {
	case <-c.proc.done:
	case <-ctx.Done():
		return 0, fmt.Errorf("the container of pod %s has not ended: %w; the end of its log:\n%s", c.pod.Name, context.Cause(ctx), c.Log.Tail(40))
	}
	code := c.proc.exitCode()
	phase := corev1.PodSucceeded
	last := &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: "Completed", StartedAt: c.started, FinishedAt: metav1.Now()} //nolint:gosec // exit codes are below 256
	if code != 0 {
		phase, last.Reason = corev1.PodFailed, "Error"
		if c.pod.Spec.Containers[0].TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
			last.Message = c.message()
		}
	}
	return code, c.say(ctx, phase, corev1.ContainerState{Terminated: last})
}

// message is the end of the log, no longer than a kubelet makes it.
func (c *Container) message() string {
	const lines, letters = 80, 2048
	text := c.Log.Tail(lines)
	return text[max(0, len(text)-letters):]
}

// Kill ends it, if it has not ended.
func (c *Container) Kill() {
	_ = c.proc.cmd.Process.Kill() // that it has ended already is as good
	<-c.proc.done
}

func (c *Container) say(ctx context.Context, phase corev1.PodPhase, state corev1.ContainerState) error {
	ready := corev1.ConditionFalse
	if state.Running != nil {
		ready = corev1.ConditionTrue
	}
	its := &c.pod.Spec.Containers[0]
	body, err := json.Marshal(map[string]any{"status": map[string]any{
		"phase": phase, "startTime": c.started,
		"conditions": append(others(c.pod), corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}),
		"containerStatuses": []corev1.ContainerStatus{{
			Name: its.Name, Image: its.Image, Ready: state.Running != nil, State: state,
		}},
	}})
	if err != nil {
		return err
	}
	_, err = c.n.clients.typed.CoreV1().Pods(c.n.Name).Patch(ctx, c.pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	if err != nil {
		return fmt.Errorf("write the status of pod %s: %w", c.pod.Name, err)
	}
	return nil
}

// others are the conditions that stay.
func others(pod *corev1.Pod) []corev1.PodCondition {
	return slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
}

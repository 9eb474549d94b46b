package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// TestTheCauseIsTheOneThatTheKubeletReports lets a real kubelet report each failure, and compares
// the event with the answers of both commands.
func TestTheCauseIsTheOneThatTheKubeletReports(t *testing.T) {
	t.Parallel()
	for name, f := range failures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.apply(failing)
			if f.adds != "" {
				p.patchPodSpec(f.adds)
			}
			p.kubectl("scale", "deployment/app", "--replicas=1")
			p.must(p.AwaitReady(p.ctx, deployment("app")))
			p.startController()
			p.awaitLedger("app")
			f.breaks(p)
			p.must(harness.Await(p.ctx, "the new Pod to fail", func(context.Context) error { return f.shown(p) }))
			p.kubectl("patch", "deployment/app", "--patch", `{"spec":{"progressDeadlineSeconds":1}}`)
			p.awaitEvent("app", "NotRolled", f.event)
			p.awaitAnswer(`deployment/app +`+f.answer, "status", "deployment/app")
			p.awaitAnswer(`Deployment [^ ]+/app is opted in, and `+strings.ReplaceAll(f.answer, "missing:", "missing a source:"), "why", "deployment/app")
			if f.says != "" {
				p.resembles(f.says)
			}
		})
	}
}

// resembles compares the status of the new Pod with that of the simulated kubelet. Messages and
// times differ, and so do the exit codes of an ordinary failure. A container that crashes runs from
// time to time.
func (p *place) resembles(says string) {
	p.t.Helper()
	p.must(harness.Await(p.ctx, "a status like that of the simulated kubelet", func(context.Context) error {
		pods := slices.DeleteFunc(p.podsOf("app"), func(pod corev1.Pod) bool {
			return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Ready })
		})
		if len(pods) == 0 {
			return errors.New("each Pod is ready")
		}
		simulated, err := harness.SimulatedStatus(&pods[0], says)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(shapeOf(&pods[0].Status), shapeOf(&simulated)); diff != "" {
			return fmt.Errorf("-real +simulated:\n%s", diff)
		}
		return nil
	}))
}

// shapeOf is what decides the cause.
func shapeOf(status *corev1.PodStatus) []string {
	shape := []string{"phase " + string(status.Phase)}
	for _, c := range status.Conditions {
		shape = append(shape, fmt.Sprintf("condition %s %s %s", c.Type, c.Status, c.Reason))
	}
	for _, s := range status.ContainerStatuses {
		shape = append(shape, fmt.Sprintf("ready %t", s.Ready))
		for when, state := range map[string]corev1.ContainerState{"now": s.State, "before": s.LastTerminationState} {
			switch {
			case state.Waiting != nil:
				shape = append(shape, fmt.Sprintf("%s: waiting %s, started %t, message %t", when, state.Waiting.Reason, *s.Started, state.Waiting.Message != ""))
			case state.Running != nil && s.RestartCount == 0:
				shape = append(shape, fmt.Sprintf("%s: running, started %t", when, *s.Started))
			case state.Terminated != nil && when == "before":
				shape = append(shape, fmt.Sprintf("%s: terminated %s, failed %t", when, state.Terminated.Reason, state.Terminated.ExitCode != 0))
			}
		}
	}
	slices.Sort(shape)
	return shape
}

func (p *place) patchPodSpec(patch string) {
	p.t.Helper()
	p.kubectl("patch", "deployment/app", "--patch", `{"spec":{"template":{"spec":`+patch+`}}}`)
}

func (p *place) awaitEvent(name, reason, note string) {
	p.t.Helper()
	pattern := regexp.MustCompile(note)
	p.must(harness.Await(p.ctx, "the event "+reason+" of "+name, func(ctx context.Context) error {
		events, err := p.Events(ctx, deployment(name))
		if err != nil {
			return err
		}
		var seen []string
		for i := range events {
			if events[i].Reason == reason && pattern.MatchString(events[i].Note) {
				return nil
			}
			seen = append(seen, events[i].Reason+": "+events[i].Note)
		}
		return fmt.Errorf("want %s\nseen:\n%s", note, strings.Join(seen, "\n"))
	}))
}

// awaitAnswer returns when a command of Reroll prints the answer, which may be wrapped at any
// blank.
func (p *place) awaitAnswer(answer string, args ...string) {
	p.t.Helper()
	pattern := regexp.MustCompile(answer)
	p.must(harness.Await(p.ctx, "the answer of reroll "+args[0], func(context.Context) error {
		out, err := p.reroll(args...)
		if err != nil {
			return err
		}
		if !pattern.MatchString(strings.Join(strings.Fields(out), " ")) {
			return fmt.Errorf("want %s\nseen:\n%s", answer, out)
		}
		return nil
	}))
}

// reroll returns what a command prints. That a workload is not up to date is no error.
func (p *place) reroll(args ...string) (string, error) {
	cmd := exec.CommandContext(p.ctx, shared.binary, append(args, "--namespace="+p.Name)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.cluster.Kubeconfig())
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil
	}
	return string(out), err
}

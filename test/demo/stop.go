package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// tellCrash tells why the new pod of the canary does not start: what its container has printed last,
// if it runs one.
func (d *demo) tellCrash(ctx context.Context) error {
	d.story.Expect("the new pod of " + canary + " to fail")
	var failing *corev1.Pod
	if err := harness.Await(ctx, "a pod of "+canary+" that does not start", func(ctx context.Context) error {
		list, err := d.client.CoreV1().Pods(d.namespace.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=" + canary})
		if err != nil {
			return err
		}
		for i := range list.Items {
			for _, s := range list.Items[i].Status.ContainerStatuses {
				if s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff" {
					failing = &list.Items[i]
					return nil
				}
			}
		}
		return errors.New("there is none")
	}); err != nil {
		return err
	}
	if !d.real {
		d.story.Tell("new pod", "%s: a crash loop, simulated", failing.Name)
		return nil
	}
	log, err := d.client.CoreV1().Pods(failing.Namespace).GetLogs(failing.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	d.story.Tell("new pod", "%s: a crash loop, printed %s", failing.Name, lines[len(lines)-1])
	return nil
}

// tellStop tells what Reroll reports: the event on the ConfigMap, and what reroll status shows.
func (d *demo) tellStop(ctx context.Context) error {
	d.story.Expect("Reroll to report that it rolls no further workload")
	note := ""
	if err := harness.Await(ctx, "the event WavesStopped", func(ctx context.Context) error {
		events, err := d.namespace.Events(ctx, d.source)
		if err != nil {
			return err
		}
		for i := range events {
			if events[i].Reason == "WavesStopped" {
				note, _, _ = strings.Cut(events[i].Note, " See http")
				return nil
			}
		}
		return errors.New("there is none")
	}); err != nil {
		return err
	}
	d.story.Tell("event", "WavesStopped on ConfigMap %s: %s", settings, note)
	status, err := d.status(ctx, followers()[0])
	if err != nil {
		return err
	}
	d.story.Tell("status", "%s", status)
	return nil
}

// status returns what reroll status shows of a Deployment that waits.
func (d *demo) status(ctx context.Context, name string) (string, error) {
	d.story.Expect("reroll status to show that " + name + " waits")
	shown := ""
	err := harness.Await(ctx, "reroll status of "+name, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, d.binary, "status", "--namespace="+d.namespace.Name, "deployment/"+name) //nolint:gosec // it was built here
		cmd.Env = append(os.Environ(), "KUBECONFIG="+d.place.Kubeconfig())
		out, err := cmd.Output()
		if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
			return err
		}
		shown = strings.Join(strings.Fields(string(out)), " ")
		if from := strings.Index(shown, "deployment/"+name); from >= 0 {
			shown, _, _ = strings.Cut(shown[from:], " 1 workload: ")
		}
		if !strings.Contains(shown, "waiting: wave -1 stopped") {
			return fmt.Errorf("it shows %q", shown)
		}
		return nil
	})
	return shown, err
}

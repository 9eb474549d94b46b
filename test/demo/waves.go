package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// In the demo of waves, three Deployments use one ConfigMap. Bad data keeps the canary from
// starting, and the others keep their pods until the data is mended.

const (
	canary   = "canary"
	settings = "shared-settings"
	port     = "port"
	badPort  = "eighty"
	goodPort = "8081"
)

// followers are rolled after the canary.
func followers() []string { return []string{"web", "api"} }

func wavesProgram() program {
	return program{
		title:   "Three Deployments use one ConfigMap. The canary is rolled before the others.",
		example: "examples/waves/waves.yaml",
		source:  harness.Ref{Kind: "configmap", Name: settings}, key: port, next: badPort,
		acts: func(d *demo) []func(context.Context) error {
			return []func(context.Context) error{d.applyWaves, d.spoil, d.mend}
		},
	}
}

// hasten makes the times of the example short, so that the demo takes seconds. A simulated pod is
// ready for a moment before it fails, which must not count as a start.
func (d *demo) hasten(manifest string) (string, error) {
	short := [][2]string{{"reroll.dev/soak: 30s", "reroll.dev/soak: 3s"}, {"progressDeadlineSeconds: 60", "progressDeadlineSeconds: 20"}}
	if !d.real {
		short[1][1] = "progressDeadlineSeconds: 30"
		short = append(short, [2]string{"minReadySeconds: 5", "minReadySeconds: 12"})
	}
	for _, change := range short {
		if !strings.Contains(manifest, change[0]) {
			return "", fmt.Errorf("%s does not contain %q", d.example, change[0])
		}
		manifest = strings.Replace(manifest, change[0], change[1], 1)
	}
	return manifest, nil
}

func (d *demo) applyWaves(ctx context.Context) error {
	text, err := os.ReadFile(d.example)
	if err != nil {
		return fmt.Errorf("read the example (run this from the root of the repository): %w", err)
	}
	manifest, err := d.hasten(string(text))
	if err != nil {
		return err
	}
	if err := d.namespace.Apply(ctx, manifest); err != nil {
		return err
	}
	d.story.Tell("apply", "%s: %s in wave -1, %s in wave 0", filepath.Base(filepath.Dir(d.example)), canary, strings.Join(followers(), " and "))
	for _, name := range append(followers(), canary) {
		d.story.Expect("the pods of " + name + " to be ready, and Reroll to note what they were started with")
		if err := errors.Join(d.namespace.AwaitReady(ctx, deployment(name)), d.namespace.AwaitAdopted(ctx, deployment(name))); err != nil {
			return err
		}
	}
	if err := d.namespace.Mark(ctx); err != nil {
		return err
	}
	d.story.Tell("ready", "one at a time; soak time and deadline are shortened")
	return nil
}

// spoil edits the ConfigMap so that no container can start with it, and shows where that ends.
func (d *demo) spoil(ctx context.Context) error {
	before, err := d.podsOfFollowers(ctx)
	if err != nil {
		return err
	}
	if !d.real {
		if err := d.namespace.KubeletOfNext(ctx, deployment(canary), "crash-loop"); err != nil {
			return err
		}
	}
	if err := d.set(ctx, badPort, "8080"); err != nil {
		return err
	}
	if err := d.tellCrash(ctx); err != nil {
		return err
	}
	if err := d.tellStop(ctx); err != nil {
		return err
	}
	d.story.Expect("Reroll to decide on all that came before")
	if err := d.namespace.Quiet(ctx); err != nil {
		return err
	}
	if err := d.wantRolls(ctx, 1, 0); err != nil {
		return err
	}
	after, err := d.podsOfFollowers(ctx)
	if err != nil {
		return err
	}
	for name := range before {
		if !after[name] {
			return fmt.Errorf("pod %s is gone; expected was that all wait for %s", name, canary)
		}
	}
	obj, err := d.client.AppsV1().Deployments(d.namespace.Name).Get(ctx, canary, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if obj.Status.AvailableReplicas != 1 {
		return fmt.Errorf("%d pods of %s serve; expected was the earlier one", obj.Status.AvailableReplicas, canary)
	}
	d.story.Tell("kept", "%s keep all %d pods; the earlier pod of %s serves", strings.Join(followers(), " and "), len(before), canary)
	return nil
}

// mend edits the ConfigMap again, and tells in which order the Deployments roll.
func (d *demo) mend(ctx context.Context) error {
	if err := d.set(ctx, goodPort, badPort); err != nil {
		return err
	}
	left := append([]string{canary}, followers()...)
	for len(left) > 0 {
		name, err := d.nextToRoll(ctx, left)
		if err != nil {
			return err
		}
		d.story.Expect("the rollout of " + name + " to complete")
		if err := errors.Join(d.namespace.AwaitReady(ctx, deployment(name)), d.namespace.AwaitFresh(ctx, deployment(name), d.source)); err != nil {
			return err
		}
		d.story.Tell("rolled", "%s: its pods are ready with port %s", name, goodPort)
		left = without(left, name)
	}
	d.story.Expect("Reroll to decide on all that came before")
	if err := d.namespace.Quiet(ctx); err != nil {
		return err
	}
	if err := d.wantRolls(ctx, 2, 1); err != nil {
		return err
	}
	d.story.Tell("done", "port %s reached one pod; %s rolled once each", badPort, strings.Join(followers(), " and "))
	return nil
}

// nextToRoll waits until one of the Deployments rolls with the mended data, and returns it. The
// canary has to be the first one.
func (d *demo) nextToRoll(ctx context.Context, left []string) (string, error) {
	if left[0] == canary {
		d.story.Expect(canary + " to roll again")
		return canary, d.namespace.AwaitRolls(ctx, deployment(canary), 2)
	}
	d.story.Expect("the next of " + strings.Join(left, " and ") + " to roll")
	found := ""
	err := harness.Await(ctx, "one of "+strings.Join(left, " and ")+" to roll", func(ctx context.Context) error {
		for _, name := range left {
			rolls, err := d.namespace.Rolls(ctx, deployment(name))
			if err != nil {
				return err
			}
			if rolls > 0 {
				found = name
				return nil
			}
		}
		return errors.New("none has")
	})
	return found, err
}

func without(names []string, name string) []string {
	var left []string
	for _, other := range names {
		if other != name {
			left = append(left, other)
		}
	}
	return left
}

// set edits the port.
func (d *demo) set(ctx context.Context, value, before string) error {
	if err := d.namespace.Edit(ctx, d.source, port+"="+value); err != nil {
		return err
	}
	d.story.Tell("edit", "ConfigMap %s: %s is now %q, was %q", settings, port, value, before)
	return nil
}

// wantRolls compares how often the canary, and each of the others, has rolled.
func (d *demo) wantRolls(ctx context.Context, ofCanary, ofOthers int) error {
	for _, name := range append(followers(), canary) {
		wanted := ofOthers
		if name == canary {
			wanted = ofCanary
		}
		rolls, err := d.namespace.Rolls(ctx, deployment(name))
		if err != nil {
			return err
		}
		if rolls != wanted {
			return fmt.Errorf("%s has rolled %s; expected was %s", name, times(rolls), times(wanted))
		}
	}
	return nil
}

func (d *demo) podsOfFollowers(ctx context.Context) (map[string]bool, error) {
	list, err := d.client.CoreV1().Pods(d.namespace.Name).List(ctx, metav1.ListOptions{LabelSelector: "app in (" + strings.Join(followers(), ",") + ")"})
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names[list.Items[i].Name] = true
		}
	}
	return names, nil
}

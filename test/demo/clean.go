package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// clean ends what was started. What happened before counts more than what goes wrong here.
func (d *demo) clean() error {
	// The context of the play may be over. The bound is for a cluster that does not answer any
	// more.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 3*time.Minute, errors.New("not within 3 minutes"))
	defer cancel()
	var errs []error
	if d.controller != nil && d.controller.Running() == nil {
		errs = append(errs, d.controller.Stop(ctx))
	}
	if d.end != nil {
		d.end() // what watches stops before what is watched
	}
	if d.namespace != nil && !d.own {
		d.story.Expect("the namespace " + d.namespace.Name + " to be gone")
		err := d.namespace.Remove(ctx)
		if err == nil {
			d.story.Tell("cleaned", "namespace %s is gone, and all that was in it", d.namespace.Name)
		}
		errs = append(errs, err)
	}
	if d.place != nil {
		errs = append(errs, d.place.Stop())
	}
	return errors.Join(errs...)
}

// lookAround says how to go on by hand.
func (d *demo) lookAround(existingContext string) {
	kubectl := "kubectl -n " + d.namespace.Name
	fmt.Println("\nEverything is left running. What Reroll counts, and whether it is ready:")
	if d.controller != nil {
		fmt.Printf("  curl -s http://%s/metrics | grep ^reloader_\n  curl -s http://%s/readyz\n", d.controller.Address(), d.controller.Address())
	}
	fmt.Println("To look around and to edit again, with kubectl if you have it:")
	if d.own {
		fmt.Println("  export KUBECONFIG=" + d.place.Kubeconfig())
	} else {
		kubectl += " --context " + existingContext
	}
	fmt.Println("  " + kubectl + " get deployments,replicasets,pods,events")
	fmt.Printf("  %s patch %s %s -p '{\"data\":{%q:%q}}'\n", kubectl, d.source.Kind, d.source.Name, d.key, d.next)
	fmt.Println("To end it: make cluster-down")
}

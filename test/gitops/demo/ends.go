package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/test/harness"
)

// quietPeriod is the default of --settle-gitops.
const quietPeriod = 5 * time.Second

func (d *demo) editByHand(ctx context.Context) error {
	began := time.Now()
	if err := d.shop.Edit(ctx, page(), "index.html=<h1>by hand</h1>"); err != nil {
		return err
	}
	d.story.Expect("self-heal to put the page back")
	if err := harness.Await(ctx, "the page as in Git", func(ctx context.Context) error { return d.serves(ctx, "hello") }); err != nil {
		return err
	}
	took := time.Since(began)
	if err := d.delivered(ctx); err != nil {
		return err
	}
	seen, err := d.seen(ctx, d.shop)
	if err != nil {
		return err
	}
	// What Argo CD puts back later than that is a change by then, and putting it back is another
	// one. A second is for the ways to here and to Reroll, which differ.
	if more := seen.since(d.until); took > quietPeriod-time.Second && more == (counts{2, 2}) {
		d.story.Tell("edit", "the ConfigMap by hand: self-heal put it back after %.1f s, later than the %s that Reroll waits: one rollout, and one back",
			took.Seconds(), quietPeriod)
		return d.judge(ctx, seen, more, "")
	}
	// That a content went and came back is noted, since a pod may have been started in between.
	if err := d.judge(ctx, seen, counts{writes: 1}, fmt.Sprintf("self-heal put the page back after %.1f s, and Reroll waits for %s of quiet", took.Seconds(), quietPeriod)); err != nil {
		return err
	}
	d.story.Tell("edit", "the ConfigMap by hand: self-heal put it back after %.1f s, within the %s that Reroll waits; nothing rolled", took.Seconds(), quietPeriod)
	return nil
}

func (d *demo) pruneSource(ctx context.Context) error {
	if err := os.Remove(d.repository.Path("web/templates/configmap.yaml")); err != nil {
		return err
	}
	d.pruned = true
	var err error
	if d.revision, err = d.repository.Commit(ctx, "No page"); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.gone(ctx, page()); err != nil {
		return fmt.Errorf("expected was that Argo CD prunes the ConfigMap: %w", err)
	}
	if err := d.expect(ctx, counts{}, "without --reload-on-delete a source that goes rolls nothing"); err != nil {
		return err
	}
	d.story.Tell("prune", "the ConfigMap, by a commit without it: nothing rolled")
	// However slow the machine is, the ConfigMap is not restored before that.
	if err := d.warnsOfPage(ctx); err != nil {
		return err
	}
	d.story.Tell("", "an event on web warns that new Pods cannot start")
	if d.revision, err = d.repository.Revert(ctx); err != nil {
		return err
	}
	if err := d.delivered(ctx); err != nil {
		return err
	}
	if err := d.serves(ctx, "hello"); err != nil {
		return err
	}
	if err := d.expect(ctx, counts{}, "it has the data that the Pods started with"); err != nil {
		return err
	}
	d.story.Tell("restore", "the ConfigMap, by a revert, with unchanged data: nothing rolled")
	return nil
}

func (d *demo) deleteApplication(ctx context.Context) error {
	acts, err := d.acts(d.shop)
	if err != nil {
		return err
	}
	said := d.controller.Log.Holding(d.shop.Name)
	d.story.Expect("Argo CD to delete the web server")
	if err := d.web.Delete(ctx); err != nil {
		return err
	}
	if err := d.gone(ctx, web(), page()); err != nil {
		return fmt.Errorf("expected was that the finalizer takes all along: %w", err)
	}
	// The rollouts of what was there stay counted.
	if err := d.expect(ctx, counts{}, "what is deleted is left alone"); err != nil {
		return err
	}
	if err := d.gone(ctx, web(), page()); err != nil {
		return fmt.Errorf("expected was that nothing comes again: %w", err)
	}
	now, err := d.acts(d.shop)
	if err != nil {
		return err
	}
	if more := now[len(acts):]; len(more) > 0 {
		return fmt.Errorf("requests of Reroll about what was deleted: %+v; expected was none", more)
	}
	if more := d.controller.Log.Holding(d.shop.Name)[len(said):]; len(more) > 0 {
		return fmt.Errorf("lines of Reroll's log about what was deleted; expected was none:\n%s", strings.Join(more, "\n"))
	}
	d.story.Tell("delete", "the Application with its finalizer: all objects are deleted and stay deleted; Reroll wrote nothing and logged nothing")
	return nil
}

// newNamespace plays the same Application again, in a namespace that is not there yet.
func (d *demo) newNamespace(ctx context.Context) error {
	staging, err := d.applicationOf(ctx, "web", d.repository, func(app *unstructured.Unstructured) {
		app.SetName("web-staging")
		_ = unstructured.SetNestedField(app.Object, d.staging.Name, "spec", "destination", "namespace")
	})
	if err != nil {
		return err
	}
	d.story.Expect("Argo CD to make another namespace and deploy there")
	if err := staging.AwaitHealthy(ctx, d.revision); err != nil {
		return err
	}
	if err := d.staging.AwaitReady(ctx, web()); err != nil {
		return err
	}
	seen, err := d.seen(ctx, d.staging)
	if err != nil {
		return err
	}
	if want := (counts{writes: 1}); seen != want {
		return fmt.Errorf("in the new namespace seen were %s; expected was %s, the ledger", seen, want)
	}
	if err := d.staging.AwaitAdopted(ctx, web()); err != nil {
		return err
	}
	if err := d.calm(ctx, d.staging); err != nil {
		return err
	}
	d.story.Tell("staging", "the same chart in a namespace that CreateNamespace makes: adopted, no rollout, no Warning")
	return nil
}
